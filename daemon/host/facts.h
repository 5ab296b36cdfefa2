/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of probe.c share. Internal to host/. Facts are char* -> char*; one that the
 * machine does not have is absent, never empty. */
#pragma once
#include <glib.h>

typedef struct {
    const char *name, *path;
} FactFile;

/* Takes value; NULL or "" adds nothing. */
void fact_add(GHashTable *facts, const char *name, char *value);

/* Facts that are one file each. */
void fact_add_files(GHashTable *facts, const char *root, const FactFile *files, gsize n);

/* The content of the file below root with the word in brackets alone: "always [madvise] never".
 * NULL when it is not there or has none. Transfer full. */
char *fact_choice(const char *root, const char *path);

/* Names in the folder below root, sorted; empty when there is no such folder. Transfer full. */
GPtrArray *fact_folder(const char *root, const char *path);

/* Last part of where the link below root points, or NULL. Transfer full. */
char *fact_link(const char *root, const char *path);

/* The number of bytes in "16384 kB" of a field of a file such as /proc/meminfo, as text, or NULL.
 * Transfer full. */
char *fact_kib(const char *text, const char *key);

/* What the same file of each CPU says ("cpufreq/scaling_governor"), each once, sorted and joined by
 * commas; NULL where no CPU has it. Transfer full. */
char *fact_of_cpus(const char *root, const char *file);

/* Take names of machines, disks and network cards out of a text: UUIDs, MAC addresses, and the
 * values of words such as serial= on a command line become "(hidden)". Pure; transfer full. */
char *fact_conceal(const char *text);

/* The parts. */
void facts_cpu(GHashTable *facts, const char *root);
void facts_power(GHashTable *facts, const char *root);
void facts_memory(GHashTable *facts, const char *root);
void facts_devices(GHashTable *facts, const char *root);
void facts_system(GHashTable *facts, const char *root);
