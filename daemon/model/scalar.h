/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forms of single values in plans and inventories. Strict: a number is digits, a unit is
 * always written, nothing is guessed. */
#pragma once
#include <glib.h>

typedef enum {
    SCALAR_OK,
    SCALAR_NO_UNIT,  /* a number alone */
    SCALAR_BAD_FORM, /* anything else */
    SCALAR_TOO_BIG,  /* the right form, but it does not fit */
} ScalarResult;

/* What a person may write, for messages. */
#define SCALAR_SIZE_FORMS "512MiB or 1GiB (binary), 500MB or 2GB (decimal)"
#define SCALAR_DURATION_FORMS "500ms, 90s, 10m or 2h"

/* "512MiB": bytes. Units: B, KiB, MiB, GiB, TiB, kB, MB, GB, TB. */
ScalarResult scalar_parse_size(const char *text, guint64 *ret_bytes);

/* "90s": nanoseconds. Units: ns, us, ms, s, m, h. */
ScalarResult scalar_parse_duration(const char *text, gint64 *ret_ns);

/* "3%", "2.5%": a fraction, 0..1. Above 100 % is SCALAR_TOO_BIG. */
ScalarResult scalar_parse_percent(const char *text, double *ret_fraction);

/* "500ppm", "0.5ppm": parts in a million, at most 1e6. */
ScalarResult scalar_parse_ppm(const char *text, double *ret_ppm);

/* "2", "0.5": a number of things, at most 1e6. */
ScalarResult scalar_parse_count(const char *text, double *ret_count);

/* "10K", "2.5K": a difference of temperature, at most 1000. */
ScalarResult scalar_parse_kelvin(const char *text, double *ret_kelvin);

/* "07:00": the minute of the day, 0..1439. Two digits each. */
ScalarResult scalar_parse_minute(const char *text, gint *ret_minute);
