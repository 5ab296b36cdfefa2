/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What another user may do with a path, computed from mode bits and POSIX access rules: a daemon
 * cannot always become that user to try. */
#pragma once
#include <glib.h>

typedef enum {
    ACCESS_SEARCH, /* every folder on the way can be searched */
    ACCESS_READ,   /* and the file itself can be read */
} AccessWish;

/* The first folder or file on the way to path (absolute; links are followed, and both ways are
 * looked at) that stops user_name ("+64055": by number; NULL: ourselves), as one line with the way
 * out; NULL when nothing does. Transfer full. */
char *access_blocked_by(const char *path, const char *user_name, AccessWish wish);
