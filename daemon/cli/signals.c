/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>

static Cancel *volatile current;

static void on_signal(int number)
{
    cancel_set(current);
}

static void set_all(void (*handler)(int))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaction(numbers[i], &action, NULL);
}

void signals_catch(Cancel *cancel)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    current = cancel;
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
    set_all(on_signal);
}

void signals_release(void)
{
    set_all(SIG_DFL);
    current = NULL;
}
