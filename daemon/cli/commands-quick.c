/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands that need nothing but the database: vmatrix does them itself. */
#include "cli/command.h"

const Command *const commands[] = {
    &command_status, &command_watch, &command_log,     &command_pause, &command_resume,
    &command_cancel, &command_retry, &command_summary, &command_sql,   NULL,
};
