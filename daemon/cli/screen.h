/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A terminal that is drawn over in place: its alternate screen, keys without echo, and the signals
 * that matter to it as events. It is given back as it was, also on a signal. */
#pragma once
#include <glib.h>

#include "util/wait.h"

typedef struct Screen Screen;

/* From standard input and output, which must be one terminal: VM_ERROR_INVALID else. SIGINT,
 * SIGTERM, SIGHUP and SIGWINCH are taken over. */
Screen *screen_new(GError **error);
void screen_free(Screen *screen); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Screen, screen_free)

typedef enum {
    SCREEN_OTHER,   /* the other descriptor is ready */
    SCREEN_TIMEOUT, /* the deadline passed */
    SCREEN_RESIZED,
    SCREEN_END, /* q, Ctrl-C, Ctrl-D, or a signal */
} ScreenEvent;

/* Wait for fd (-1: none) to become readable, a key, a signal, or the deadline. */
ScreenEvent screen_wait(Screen *screen, int fd, gint64 deadline_ns);

/* The terminal's size now. */
void screen_size(const Screen *screen, guint *ret_columns, guint *ret_rows);

/* Show text, in place of what is shown: cut to the screen's size, in one write. */
void screen_draw(Screen *screen, const char *text);

/* The first rows lines of text, each cut to so many columns (escape sequences take none), padded by
 * nothing. Transfer full. */
char *screen_cut(const char *text, guint columns, guint rows);
