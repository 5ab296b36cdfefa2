/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program made of commands: what main() of vmatrix and vmatrix-engine have in common. */
#pragma once

/* Parse, set up, run one of commands[]; the exit code. */
int program_main(int argc, char **argv);
