/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small /proc and /sys made by a test, in a temporary folder. */
#pragma once
#include <glib.h>

/* Path of an empty one. */
char *fake_tree_new(void);
/* Remove it, and free the path. */
void fake_tree_free(char *root);
/* Write a file; path begins with "/". Its folders are made. */
void fake_tree_put(const char *root, const char *path, const char *text);
/* The same with bytes. */
void fake_tree_put_bytes(const char *root, const char *path, const char *data, gsize length);
/* A process: its name, state ('S'), CPU ticks, and bytes that it wrote. */
void fake_tree_process(const char *root, int pid, const char *name, char state, int ticks,
                       int written);
