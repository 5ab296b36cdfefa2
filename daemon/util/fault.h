/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fault points: places where a test can have the process killed, or see that it came by. They do
 * nothing unless the environment asked for it when the program started:
 *   VMATRIX_FAULT=NAME        SIGKILL at the first time the point is reached
 *   VMATRIX_FAULT=NAME:3      at the third time
 *   VMATRIX_FAULT_TRACE=FILE  append the name of each point that is reached */
#pragma once

/* The point is named WHERE-SIDE ("start-before"). */
void fault_point(const char *where, const char *side);
