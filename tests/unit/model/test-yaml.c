/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "model/yaml.h"
#include "util/error.h"

static NodeTree *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    NodeTree *tree = node_tree_parse("f.yaml", text, strlen(text), &error);

    g_assert_no_error(error);
    g_assert_nonnull(tree);
    return tree;
}

static void refuse(const char *text, gsize length, const char *message)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(node_tree_parse("f.yaml", text, length, &error));
    g_assert_true(vm_error_is(error, VM_ERROR_INVALID));
    g_assert_cmpstr(error->message, ==, message);
}

static void refuse_text(const char *text, const char *message)
{
    refuse(text, strlen(text), message);
}

static void test_tree(void)
{
    g_autoptr(NodeTree) tree = parse("a: no\nb: [010, \"\", '1']\nc:\n  dé: {e: }\n");
    const Node *root = tree->root, *b = node_get(root, "b"), *c = node_get(root, "c");
    const Node *first = g_ptr_array_index(b->items, 0), *second = g_ptr_array_index(b->items, 1);
    const Node *e = node_get(node_get(c, "dé"), "e");

    g_assert_cmpint(root->kind, ==, NODE_MAP);
    g_assert_cmpuint(root->keys->len, ==, 3);
    g_assert_cmpstr(node_get(root, "a")->text, ==, "no");
    g_assert_cmpint(b->kind, ==, NODE_LIST);
    g_assert_cmpstr(first->text, ==, "010");
    g_assert_true(first->plain);
    g_assert_false(second->plain);
    g_assert_cmpuint(second->line, ==, 2);
    g_assert_cmpuint(second->column, ==, 10);
    g_assert_cmpstr(e->text, ==, "");
    g_assert_cmpuint(e->line, ==, 4);
    g_assert_null(node_get(root, "d"));
    /* itself; a, no; b, list of 3; c, map; dé, map; e, "" */
    g_assert_cmpuint(root->weight, ==, 14);
    g_assert_cmpuint(root->height, ==, 3);
}

static void test_mark_and_line_ends(void)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a: 1\r\nb: [x,\r\n  y]\r\n";
    g_autoptr(NodeTree) tree = parse(text);
    const Node *y = g_ptr_array_index(node_get(tree->root, "b")->items, 1);

    g_assert_cmpstr(node_get(tree->root, "a")->text, ==, "1");
    g_assert_cmpuint(node_get(tree->root, "a")->column, ==, 4);
    g_assert_cmpuint(y->line, ==, 3);
    g_assert_cmpuint(y->column, ==, 3);
}

static void test_alias(void)
{
    g_autoptr(NodeTree) tree = parse("a: &x [1, 2]\nb: *x\nc: &k key\n? *k\n: d\n");
    const Node *a = node_get(tree->root, "a");

    g_assert_true(node_get(tree->root, "b") == a);
    g_assert_cmpstr(node_get(tree->root, "key")->text, ==, "d");
    g_assert_cmpuint(a->weight, ==, 3);
    /* 1 + a(1+3) + b(1+3) + c(1+1) + key(1) + d(1) */
    g_assert_cmpuint(tree->root->weight, ==, 13);
}

static void test_refused(void)
{
    refuse_text("a: 1\nb: 2\na: 3\n",
                "f.yaml:3:1: duplicate key \"a\": it stands in line 1 already");
    refuse_text("a:\n\tb: 1\n",
                "f.yaml:2:1: a tab in the indentation: YAML is indented with spaces only");
    refuse_text("a: &x {b: *x}\n",
                "f.yaml:1:11: a cycle: the alias *x stands inside its own anchor in line 1");
    refuse_text("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document begins here: a file holds one");
    refuse_text("a: &x {b: 1}\nc:\n  <<: *x\n",
                "f.yaml:3:3: merge keys (<<) are not used here: write the keys out");
    refuse_text("", "f.yaml:1:1: the file is empty: it must begin with \"version: 1\"");
    refuse_text("é: caf\xe9\n", "f.yaml:1:7: not UTF-8 text (byte 0xe9): save the file as UTF-8");
    refuse("a: \0b\n", 6, "f.yaml:1:4: a NUL byte: a plan or inventory is plain text");
    refuse_text("a: 1\nb: \x07\n", "f.yaml:2:4: control characters are not allowed (0x07): a plan "
                                   "or inventory is plain text");
}

/* A quoted "<<" is a key like any other, and a tab after the indentation is white space. */
static void test_not_refused(void)
{
    g_autoptr(NodeTree) tree = parse("\"<<\": 1\na:\t2\n");

    g_assert_cmpstr(node_get(tree->root, "<<")->text, ==, "1");
    g_assert_cmpstr(node_get(tree->root, "a")->text, ==, "2");
}

static char *nested(guint depth)
{
    GString *text = g_string_new("");

    for (guint i = 0; i < depth; i++)
        g_string_append_c(text, '[');
    for (guint i = 0; i < depth; i++)
        g_string_append_c(text, ']');
    return g_string_free(text, FALSE);
}

static void test_depth(void)
{
    g_autofree char *most = nested(YAML_DEPTH_MAX), *more = nested(YAML_DEPTH_MAX + 1);
    g_autofree char *far = nested(50000);
    g_autoptr(NodeTree) tree = parse(most);

    g_assert_cmpuint(tree->root->height, ==, YAML_DEPTH_MAX - 1);
    refuse_text(more, "f.yaml:1:65: nested more than 64 levels deep");
    refuse_text(far, "f.yaml:1:65: nested more than 64 levels deep");
}

/* An alias may not smuggle depth in: each step adds 40 levels. */
static void test_depth_by_alias(void)
{
    g_autofree char *part = nested(40);
    g_autofree char *whole =
        g_strdup_printf("- &x %s\n- %.*s*x%.*s\n", part, 30, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 30,
                        "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");

    refuse_text(whole, "f.yaml:2:33: nested more than 64 levels deep");
}

static char *bomb(guint steps)
{
    GString *text = g_string_new("x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n");

    for (guint i = 1; i <= steps; i++) {
        g_string_append_printf(text, "x%u: &x%u [", i, i);
        for (guint j = 0; j < 10; j++)
            g_string_append_printf(text, "%s*x%u", j == 0 ? "" : ", ", i - 1);
        g_string_append(text, "]\n");
    }
    return g_string_free(text, FALSE);
}

static void test_budget(void)
{
    g_autofree char *small = bomb(3), *large = bomb(100);
    g_autoptr(NodeTree) tree = parse(small);
    g_autoptr(GError) error = NULL;

    g_assert_cmpuint(tree->root->weight, <, YAML_NODES_MAX);
    g_assert_cmpuint(tree->root->weight, >, 10000);
    g_assert_cmpuint(tree->nodes->len, <, 100); /* shared, not copied */
    g_assert_null(node_tree_parse("f.yaml", large, strlen(large), &error));
    g_assert_nonnull(strstr(error->message, "f.yaml:5:"));
    g_assert_nonnull(strstr(error->message, "more than 100000 nodes"));
}

static void test_size(void)
{
    gsize length = YAML_BYTES_MAX + 1;
    g_autofree char *text = g_malloc(length);

    memset(text, '#', length);
    refuse(text, length, "f.yaml:1:1: 4194305 bytes: at most 4194304 are read");
}

static void test_directives(void)
{
    g_autoptr(NodeTree) tree = parse("%YAML 1.1\n---\na: 1\n");
    GString *text = g_string_new("");

    g_assert_cmpstr(node_get(tree->root, "a")->text, ==, "1");
    for (guint i = 0; i < 200000; i++)
        g_string_append_printf(text, "%%TAG !%u! x\n", i);
    g_string_append(text, "---\na: 1\n");
    refuse_text(text->str,
                "f.yaml:5:1: more than 4 directives (lines that begin with \"%\"): a plan "
                "or inventory needs none");
    g_string_free(text, TRUE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/yaml/tree", test_tree);
    g_test_add_func("/yaml/mark-and-line-ends", test_mark_and_line_ends);
    g_test_add_func("/yaml/alias", test_alias);
    g_test_add_func("/yaml/refused", test_refused);
    g_test_add_func("/yaml/not-refused", test_not_refused);
    g_test_add_func("/yaml/depth", test_depth);
    g_test_add_func("/yaml/depth-by-alias", test_depth_by_alias);
    g_test_add_func("/yaml/budget", test_budget);
    g_test_add_func("/yaml/directives", test_directives);
    g_test_add_func("/yaml/size", test_size);
    return g_test_run();
}
