/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VMATRIX_AGENT_AGENT_H
#define VMATRIX_AGENT_AGENT_H

#define AGENT_PROTOCOL 1

/* The build gives the version; a plain `cc *.c` has none to give. */
#ifndef VMATRIX_AGENT_VERSION
#define VMATRIX_AGENT_VERSION "unversioned"
#endif

/* Formats are checked as C99's printf, on mingw-w64 too. */
#if defined(__MINGW32__)
#define AGENT_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define AGENT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

#endif
