/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "util/wait.h"

/* From now on SIGINT and SIGTERM (and SIGHUP) set this token; a second one does no harm. SIGPIPE is
 * ignored: a libvirt connection that breaks would kill the process. cancel must stay alive to the
 * end of the process, or until signals_release(). */
void signals_catch(Cancel *cancel);

/* Give the signals their default meaning again. */
void signals_release(void);
