/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run a program to its end: argument vector, no shell, locale C, its own process group that is
 * ended with SIGKILL when the wait ends first, bounded output. */
#pragma once
#include <glib.h>

#include "util/wait.h"

typedef struct {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *env;  /* "NAME=value" added to the environment, or NULL */
    const char *folder;      /* working folder, or NULL */
    const void *input;       /* for its standard input, or NULL for /dev/null */
    gsize input_length;
    gsize output_max; /* bytes kept of each stream; 0 stands for 1 MiB */
} SpawnRequest;

typedef struct {
    int status;         /* exit code; 128 + N when ended by signal N */
    GBytes *output;     /* standard output, cut at output_max */
    GBytes *errors;     /* standard error, the same */
    gboolean truncated; /* something was cut; the rest was read and thrown away */
} SpawnResult;

void spawn_result_clear(SpawnResult *result); /* leaves it zeroed */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SpawnResult, spawn_result_clear)

/* FALSE only when the program could not be started or the wait ended first; an exit code other than
 * 0 is a result. */
gboolean spawn_run(const Wait *wait, const SpawnRequest *request, SpawnResult *ret_result,
                   GError **error);

/* The same, and an exit code other than 0 is VM_ERROR_ENVIRONMENT with the last line of standard
 * error in its message. ret_output (may be NULL): standard output as text, transfer full. */
gboolean spawn_check(const Wait *wait, const char *const *argv, char **ret_output, GError **error);
