/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML text to a node tree: the only user of libyaml. All bounds hold event by event, so that a
 * hostile file costs no more than the part of it that is within them. */
#pragma once
#include <glib.h>

#include "model/node.h"

#define YAML_BYTES_MAX (4u << 20) /* of one file */
#define YAML_NODES_MAX 100000u    /* an alias counts as all that it stands for */
#define YAML_DEPTH_MAX 64u
#define YAML_DIRECTIVES_MAX 4u

typedef struct {
    char *path;
    Node *root;       /* never NULL */
    GPtrArray *nodes; /* owns every node: aliases make a node part of several */
} NodeTree;

/* One YAML document. Refused, with file:line:column: what is not UTF-8, tabs as indentation,
 * duplicate keys (both places are named), merge keys, tags, keys that are no scalars, cycles,
 * aliases without an anchor, a second document, an empty file, and what is beyond the bounds above.
 * A byte order mark and CRLF are fine. */
NodeTree *node_tree_parse(const char *path, const char *text, gsize length, GError **error);
void node_tree_free(NodeTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NodeTree, node_tree_free)
