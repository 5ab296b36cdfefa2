#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# For meson test --wrapper: the test program given, under valgrind.
exec valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --suppressions=/usr/share/glib-2.0/valgrind/glib.supp "$@"
