/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "notify.h"

#include "config.h"
#include "util/clock.h"

#ifdef HAVE_LIBSYSTEMD
#include <systemd/sd-daemon.h>

/* Beyond what was promised, before the manager loses patience. */
static const gint64 margin_ns = 60 * CLOCK_NS_PER_S;

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
}

void notify_status(const char *text)
{
    sd_notifyf(0, "STATUS=%s", text);
}

void notify_alive(gint64 within_ns)
{
    if (sd_watchdog_enabled(0, NULL) > 0)
        sd_notifyf(0, "WATCHDOG=1\nWATCHDOG_USEC=%" G_GINT64_FORMAT,
                   (within_ns + margin_ns) / 1000);
}

gint64 notify_heartbeat_ns(void)
{
    uint64_t usec = 0;

    return sd_watchdog_enabled(0, &usec) > 0 ? (gint64)usec * 1000 / 2 : 0;
}

#else

void notify_ready(void)
{
}

void notify_stopping(void)
{
}

void notify_reloading(void)
{
}

void notify_status(const char *text)
{
}

void notify_alive(gint64 within_ns)
{
}

gint64 notify_heartbeat_ns(void)
{
    return 0;
}

#endif
