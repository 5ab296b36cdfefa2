/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A YAML file as a tree in which every node knows its place, and typed reading of it. A scalar is
 * text until the field that wants it gives it a type: "no" stays "no", "010" is never eight. */
#pragma once
#include <glib.h>

typedef enum { NODE_SCALAR, NODE_LIST, NODE_MAP } NodeKind;

typedef struct Node Node;
struct Node {
    NodeKind kind;
    const char *path;   /* file name for messages; owned by the tree */
    guint line, column; /* from 1; columns are characters */
    gboolean plain;     /* scalar: written without quotes */
    char *text;         /* scalar: its value, valid UTF-8 without NUL; else NULL */
    GPtrArray *keys;    /* map: Node* scalars, in file order; else NULL */
    GPtrArray *items;   /* list: Node*; map: the values, as keys; else NULL */
    guint weight;       /* nodes in it, itself too; an alias counts as what it stands for */
    guint height;       /* levels of nesting below it */
};

/* Where something stands in a file. */
typedef struct {
    guint line, column;
} NodePlace;

/* Set VM_ERROR_INVALID "PATH:LINE:COLUMN: …". Returns FALSE always, for "return node_fail(…)". */
gboolean node_fail(const Node *at, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* The same for a place that was kept when the tree is gone. */
gboolean node_fail_at(const char *path, NodePlace place, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* A scalar in quotes as it may be printed: escaped, cut when long; transfer full. */
char *node_quote(const Node *scalar);

/* `; did you mean "WORD"?` for the nearest of candidates (NULL-terminated), else
 * "; LABEL: a, b, c" (at most 12 of them), for the end of a message; transfer full. */
char *node_suggest(const char *word, const char *const *candidates, const char *label);

/* Whether node is of that kind; what ("repeat") begins the message. */
gboolean node_expect(const Node *node, NodeKind kind, const char *what, GError **error);

/* The value of a key of a map, or NULL. */
const Node *node_get(const Node *map, const char *key);

/* 1 to 64 characters [A-Za-z0-9._+:-], a letter or digit first: names of plans, levels, guests. */
gboolean node_is_name(const char *text);

typedef struct NodeField NodeField;

/* Read value into member (of the type that the reader writes). FALSE with error set. */
typedef gboolean (*NodeReader)(const Node *value, const NodeField *field, gpointer member,
                               GError **error);

/* One key of a mapping. Tables end with an entry whose key is NULL. */
struct NodeField {
    const char *key;
    NodeReader read;
    gsize offset; /* of the member in the target */
    gboolean required;
    guint64 min, max;           /* numbers, sizes (bytes), durations (ns); max 0: the type's */
    const char *const *choices; /* node_read_choice: min is the first one's value */
    const NodeField *fields;    /* node_read_nested */
};

/* Read a mapping by its table: an unknown key, a missing one and a wrong value are errors. Fields
 * are read in the table's order. what names the mapping ("repeat", "guest micro"). */
gboolean node_read_fields(const Node *map, const char *what, const NodeField *fields,
                          gpointer target, GError **error);

/* Readers; in brackets what member points to. Strings are replaced, not leaked. */
gboolean node_read_version(const Node *value, const NodeField *field, gpointer member,
                           GError **error); /* nothing: must be 1 */
gboolean node_read_nested(const Node *value, const NodeField *field, gpointer member,
                          GError **error); /* target of field->fields */
gboolean node_read_uint(const Node *value, const NodeField *field, gpointer member,
                        GError **error); /* guint */
gboolean node_read_uint64(const Node *value, const NodeField *field, gpointer member,
                          GError **error); /* guint64 */
gboolean node_read_size(const Node *value, const NodeField *field, gpointer member,
                        GError **error); /* guint64, bytes */
gboolean node_read_duration(const Node *value, const NodeField *field, gpointer member,
                            GError **error); /* gint64, ns */
gboolean node_read_percent(const Node *value, const NodeField *field, gpointer member,
                           GError **error); /* double, 0..1 */
gboolean node_read_ppm(const Node *value, const NodeField *field, gpointer member,
                       GError **error); /* double */
gboolean node_read_count(const Node *value, const NodeField *field, gpointer member,
                         GError **error); /* double, at least 0 */
gboolean node_read_kelvin(const Node *value, const NodeField *field, gpointer member,
                          GError **error); /* double, at least 0 */
gboolean node_read_minute(const Node *value, const NodeField *field, gpointer member,
                          GError **error); /* gint, of the day */
gboolean node_read_choice(const Node *value, const NodeField *field, gpointer member,
                          GError **error); /* an enum */
gboolean node_read_name(const Node *value, const NodeField *field, gpointer member,
                        GError **error); /* char*, node_is_name() */
gboolean node_read_string(const Node *value, const NodeField *field, gpointer member,
                          GError **error); /* char*, not empty, one line */
gboolean node_read_text(const Node *value, const NodeField *field, gpointer member,
                        GError **error); /* char*, may be empty, one line */
