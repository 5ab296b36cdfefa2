/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix-engine: all commands. vmatrix starts it for those that need a hypervisor. */
#include "cli/program.h"

int main(int argc, char **argv)
{
    return program_main(argc, argv);
}
