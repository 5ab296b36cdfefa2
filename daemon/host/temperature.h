/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How warm the CPUs are. */
#pragma once
#include <glib.h>

/* Thousandths of a degree Celsius of the hottest sensor of the CPUs, of /sys/class/hwmon and
 * /sys/class/thermal below root. FALSE: there is none (a virtual machine). */
gboolean temperature_read(const char *root, gint *ret_mc);
