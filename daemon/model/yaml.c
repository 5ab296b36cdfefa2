/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/yaml.h"

#include <string.h>
#include <yaml.h>

#include "util/error.h"
#include "util/text.h"

/* A list or mapping that is not closed yet. */
typedef struct {
    Node *node;
    Node *key;        /* map: the key that waits for its value, or NULL */
    GHashTable *seen; /* map: key text -> its Node */
} Frame;

typedef struct {
    yaml_parser_t parser;
    const char *text;
    gsize length;
    NodeTree *tree;
    GArray *open;        /* Frame, outermost first */
    GHashTable *anchors; /* name -> Node */
    guint total;         /* nodes so far, aliases expanded */
} Loader;

static void node_free(gpointer data)
{
    Node *node = data;

    g_free(node->text);
    g_clear_pointer(&node->keys, g_ptr_array_unref);
    g_clear_pointer(&node->items, g_ptr_array_unref);
    g_free(node);
}

static void frame_clear(gpointer data)
{
    Frame *frame = data;

    g_clear_pointer(&frame->seen, g_hash_table_unref);
}

static NodePlace place_of_mark(yaml_mark_t mark)
{
    return (NodePlace){(guint)mark.line + 1, (guint)mark.column + 1};
}

static NodePlace place_of_offset(const char *text, gsize offset)
{
    NodePlace place = {1, 1};

    for (gsize i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (((guchar)text[i] & 0xc0) != 0x80) {
            place.column++; /* continuation bytes belong to the character before */
        }
    }
    return place;
}

/* Whether the indentation of that line holds a tab: libyaml's own words for it do not say so. */
static gboolean indented_by_tab(const Loader *loader, guint line)
{
    const char *at = loader->text, *end = loader->text + loader->length;

    for (guint i = 1; i < line && at < end; i++) {
        const char *newline = memchr(at, '\n', (gsize)(end - at));

        at = newline == NULL ? end : newline + 1;
    }
    while (at < end && *at == ' ')
        at++;
    return at < end && *at == '\t';
}

static gboolean fail_parser(const Loader *loader, GError **error)
{
    const yaml_parser_t *parser = &loader->parser;
    const char *path = loader->tree->path;
    NodePlace place = place_of_mark(parser->problem_mark);

    if (parser->error == YAML_READER_ERROR) {
        gsize offset = MIN(parser->problem_offset, loader->length);

        return node_fail_at(path, place_of_offset(loader->text, offset), error,
                            "%s (0x%02x): a plan or inventory is plain text", parser->problem,
                            (guint)parser->problem_value);
    }
    if (indented_by_tab(loader, place.line))
        return node_fail_at(path, place, error,
                            "a tab in the indentation: YAML is indented with spaces only");
    return node_fail_at(
        path, place, error, "%s%s%s", parser->problem != NULL ? parser->problem : "not YAML",
        parser->context != NULL ? " " : "", parser->context != NULL ? parser->context : "");
}

static Frame *top(const Loader *loader)
{
    return loader->open->len == 0 ? NULL
                                  : &g_array_index(loader->open, Frame, loader->open->len - 1);
}

static gboolean wants_key(const Loader *loader)
{
    const Frame *frame = top(loader);

    return frame != NULL && frame->node->kind == NODE_MAP && frame->key == NULL;
}

/* Count weight more nodes; place is where they come from. */
static gboolean charge(Loader *loader, guint weight, NodePlace place, GError **error)
{
    if (weight > YAML_NODES_MAX - loader->total)
        return node_fail_at(loader->tree->path, place, error,
                            "more than %u nodes, each alias counted as all it stands for: too "
                            "large for a plan or inventory",
                            YAML_NODES_MAX);
    loader->total += weight;
    return TRUE;
}

static Node *add_node(Loader *loader, NodeKind kind, NodePlace place)
{
    Node *node = g_new0(Node, 1);

    node->kind = kind;
    node->path = loader->tree->path;
    node->line = place.line;
    node->column = place.column;
    node->weight = 1;
    g_ptr_array_add(loader->tree->nodes, node);
    return node;
}

static gboolean take_key(Loader *loader, Node *key, NodePlace place, GError **error)
{
    Frame *frame = top(loader);
    const Node *first = g_hash_table_lookup(frame->seen, key->text);
    g_autofree char *shown = text_escape(key->text, -1, 60);

    if (key->plain && strcmp(key->text, "<<") == 0)
        return node_fail_at(loader->tree->path, place, error,
                            "merge keys (<<) are not used here: write the keys out");
    if (first != NULL)
        return node_fail_at(loader->tree->path, place, error,
                            "duplicate key \"%s\": it stands in line %u already", shown,
                            first->line);
    g_hash_table_insert(frame->seen, key->text, key);
    g_ptr_array_add(frame->node->keys, key);
    frame->key = key;
    return TRUE;
}

/* Hang a finished node (or an alias's target) into what is open. place is where it is written. */
static gboolean attach(Loader *loader, Node *node, NodePlace place, GError **error)
{
    Frame *frame = top(loader);

    if (frame == NULL) {
        loader->tree->root = node;
        return TRUE;
    }
    frame->node->weight += node->weight;
    frame->node->height = MAX(frame->node->height, node->height + 1);
    if (wants_key(loader))
        return take_key(loader, node, place, error);
    g_ptr_array_add(frame->node->items, node);
    frame->key = NULL;
    return TRUE;
}

static gboolean check_tag(const Loader *loader, const yaml_char_t *tag, NodePlace place,
                          GError **error)
{
    if (tag == NULL)
        return TRUE;
    g_autofree char *shown = text_escape((const char *)tag, -1, 60);

    return node_fail_at(loader->tree->path, place, error,
                        "the tag %s is not used here: the type of a value comes from its key",
                        shown);
}

static void set_anchor(Loader *loader, const yaml_char_t *anchor, Node *node)
{
    if (anchor != NULL)
        g_hash_table_replace(loader->anchors, g_strdup((const char *)anchor), node);
}

static gboolean on_scalar(Loader *loader, const yaml_event_t *event, GError **error)
{
    NodePlace place = place_of_mark(event->start_mark);
    const char *value = (const char *)event->data.scalar.value;

    if (!check_tag(loader, event->data.scalar.tag, place, error) ||
        !charge(loader, 1, place, error))
        return FALSE;
    if (strlen(value) != event->data.scalar.length)
        return node_fail_at(loader->tree->path, place, error, "a NUL character in the text");
    Node *node = add_node(loader, NODE_SCALAR, place);

    node->text = g_strdup(value);
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    set_anchor(loader, event->data.scalar.anchor, node);
    return attach(loader, node, place, error);
}

static gboolean on_start(Loader *loader, NodeKind kind, const yaml_event_t *event, GError **error)
{
    NodePlace place = place_of_mark(event->start_mark);
    const yaml_char_t *tag =
        kind == NODE_MAP ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const yaml_char_t *anchor =
        kind == NODE_MAP ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    Frame frame = {0};

    if (!check_tag(loader, tag, place, error) || !charge(loader, 1, place, error))
        return FALSE;
    if (wants_key(loader))
        return node_fail_at(loader->tree->path, place, error,
                            "a key must be text, not a list or a mapping");
    if (loader->open->len >= YAML_DEPTH_MAX)
        return node_fail_at(loader->tree->path, place, error, "nested more than %u levels deep",
                            YAML_DEPTH_MAX);
    frame.node = add_node(loader, kind, place);
    frame.node->items = g_ptr_array_new();
    if (kind == NODE_MAP) {
        frame.node->keys = g_ptr_array_new();
        frame.seen = g_hash_table_new(g_str_hash, g_str_equal);
    }
    set_anchor(loader, anchor, frame.node);
    g_array_append_val(loader->open, frame);
    return TRUE;
}

static gboolean on_end(Loader *loader, GError **error)
{
    Node *node = top(loader)->node;

    g_array_set_size(loader->open, loader->open->len - 1);
    return attach(loader, node, (NodePlace){node->line, node->column}, error);
}

static gboolean is_open(const Loader *loader, const Node *node)
{
    for (guint i = 0; i < loader->open->len; i++) {
        if (g_array_index(loader->open, Frame, i).node == node)
            return TRUE;
    }
    return FALSE;
}

static gboolean on_alias(Loader *loader, const yaml_event_t *event, GError **error)
{
    NodePlace place = place_of_mark(event->start_mark);
    const char *name = (const char *)event->data.alias.anchor;
    const char *path = loader->tree->path;
    Node *node = g_hash_table_lookup(loader->anchors, name);

    if (node == NULL)
        return node_fail_at(path, place, error, "the alias *%s has no anchor &%s before it", name,
                            name);
    if (is_open(loader, node))
        return node_fail_at(path, place, error,
                            "a cycle: the alias *%s stands inside its own anchor in line %u", name,
                            node->line);
    if (wants_key(loader) && node->kind != NODE_SCALAR)
        return node_fail_at(path, place, error, "a key must be text, not a list or a mapping");
    if (node->kind != NODE_SCALAR && loader->open->len + node->height + 1 > YAML_DEPTH_MAX)
        return node_fail_at(path, place, error, "nested more than %u levels deep", YAML_DEPTH_MAX);
    return charge(loader, node->weight, place, error) && attach(loader, node, place, error);
}

static gboolean on_document(Loader *loader, const yaml_event_t *event, GError **error)
{
    if (loader->tree->root == NULL)
        return TRUE;
    return node_fail_at(loader->tree->path, place_of_mark(event->start_mark), error,
                        "a second document begins here: a file holds one");
}

static gboolean handle(Loader *loader, const yaml_event_t *event, GError **error)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(loader, event, error);
    case YAML_SCALAR_EVENT:
        return on_scalar(loader, event, error);
    case YAML_ALIAS_EVENT:
        return on_alias(loader, event, error);
    case YAML_MAPPING_START_EVENT:
        return on_start(loader, NODE_MAP, event, error);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(loader, NODE_LIST, event, error);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return on_end(loader, error);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return TRUE;
}

static gboolean pump(Loader *loader, GError **error)
{
    gboolean good = TRUE, ended = FALSE;

    while (good && !ended) {
        yaml_event_t event;

        if (!yaml_parser_parse(&loader->parser, &event))
            return fail_parser(loader, error);
        ended = event.type == YAML_STREAM_END_EVENT;
        good = handle(loader, &event, error);
        yaml_event_delete(&event);
    }
    if (good && loader->tree->root == NULL)
        return node_fail_at(loader->tree->path, (NodePlace){1, 1}, error,
                            "the file is empty: it must begin with \"version: 1\"");
    return good;
}

static gboolean check_bytes(const char *path, const char *text, gsize length, GError **error)
{
    const char *end;

    if (length > YAML_BYTES_MAX)
        return node_fail_at(path, (NodePlace){1, 1}, error,
                            "%" G_GSIZE_FORMAT " bytes: at most %u are read", length,
                            YAML_BYTES_MAX);
    if (g_utf8_validate_len(text, length, &end))
        return TRUE;
    NodePlace place = place_of_offset(text, (gsize)(end - text));

    if (*end == '\0')
        return node_fail_at(path, place, error, "a NUL byte: a plan or inventory is plain text");
    return node_fail_at(path, place, error, "not UTF-8 text (byte 0x%02x): save the file as UTF-8",
                        (guint)(guchar)*end);
}

/* libyaml compares each %TAG with all before it, in one call that no event interrupts: a file of
 * nothing else would keep it busy for minutes. */
static gboolean check_directives(const char *path, const char *text, gsize length, GError **error)
{
    const char *at = text, *end = text + length;
    guint count = 0;

    while (at != NULL && at < end) {
        if (*at == '%' && ++count > YAML_DIRECTIVES_MAX)
            return node_fail_at(path, place_of_offset(text, (gsize)(at - text)), error,
                                "more than %u directives (lines that begin with \"%%\"): a plan "
                                "or inventory needs none",
                                YAML_DIRECTIVES_MAX);
        at = memchr(at, '\n', (gsize)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    return TRUE;
}

NodeTree *node_tree_parse(const char *path, const char *text, gsize length, GError **error)
{
    static const char bom[] = "\xef\xbb\xbf";
    Loader loader = {0};

    if (!check_bytes(path, text, length, error))
        return NULL;
    if (length >= 3 && memcmp(text, bom, 3) == 0) {
        text += 3; /* not counted in columns, as editors do not show it */
        length -= 3;
    }
    if (!check_directives(path, text, length, error))
        return NULL;
    loader.text = text;
    loader.length = length;
    loader.tree = g_new0(NodeTree, 1);
    loader.tree->path = g_strdup(path);
    loader.tree->nodes = g_ptr_array_new_with_free_func(node_free);
    loader.open = g_array_new(FALSE, FALSE, sizeof(Frame));
    g_array_set_clear_func(loader.open, frame_clear);
    loader.anchors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!yaml_parser_initialize(&loader.parser))
        g_error("out of memory");
    yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&loader.parser, (const unsigned char *)text, length);

    gboolean good = pump(&loader, error);

    yaml_parser_delete(&loader.parser);
    g_array_unref(loader.open);
    g_hash_table_unref(loader.anchors);
    if (!good)
        g_clear_pointer(&loader.tree, node_tree_free);
    return loader.tree;
}

void node_tree_free(NodeTree *tree)
{
    if (tree == NULL)
        return;
    g_clear_pointer(&tree->nodes, g_ptr_array_unref);
    g_free(tree->path);
    g_free(tree);
}
