#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# For meson test --wrapper: a program runs under valgrind, a script as it is.
if [ "$(head -c 4 "$1" | tail -c 3)" != ELF ]; then
    exec "$@"
fi
exec valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --suppressions=/usr/share/glib-2.0/valgrind/glib.supp "$@"
