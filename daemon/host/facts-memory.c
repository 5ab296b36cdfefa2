/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts: memory, what it is made of, and how the kernel deals with it. */
#include <string.h>

#include "host/facts.h"
#include "host/tree.h"
#include "util/text.h"

/* One kind of module, counted: "8 x 32 GiB DDR4, 2933 MT/s". */
static void count_module(GPtrArray *kinds, GArray *counts, char *kind)
{
    guint index, one = 1;

    if (g_ptr_array_find_with_equal_func(kinds, kind, g_str_equal, &index)) {
        g_array_index(counts, guint, index)++;
        g_free(kind);
        return;
    }
    g_ptr_array_add(kinds, kind);
    g_array_append_val(counts, one);
}

static char *join_modules(const GPtrArray *kinds, const GArray *counts)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < kinds->len; i++)
        g_string_append_printf(text, "%s%u x %s", i > 0 ? "; " : "",
                               g_array_index(counts, guint, i),
                               (const char *)g_ptr_array_index(kinds, i));
    return g_strdup(text->str);
}

static char *udev_field(const char *text, guint device, const char *name)
{
    g_autofree char *key = g_strdup_printf("E:MEMORY_DEVICE_%u_%s", device, name);

    return tree_field(text, key, '=');
}

static char *udev_module(const char *text, guint device)
{
    g_autofree char *size = udev_field(text, device, "SIZE");
    g_autofree char *type = udev_field(text, device, "TYPE");
    g_autofree char *now = udev_field(text, device, "CONFIGURED_SPEED_MTS");
    g_autofree char *rated = udev_field(text, device, "SPEED_MTS");
    g_autofree char *shown = NULL;
    const char *speed = now != NULL ? now : rated;
    guint64 bytes;

    if (size == NULL || !text_parse_uint(size, &bytes) || bytes == 0)
        return NULL;
    shown = text_format_size(bytes);
    return g_strdup_printf("%s%s%s%s%s%s", shown, type != NULL ? " " : "", type != NULL ? type : "",
                           speed != NULL ? ", " : "", speed != NULL ? speed : "",
                           speed != NULL ? " MT/s" : "");
}

/* The SMBIOS tables themselves are for root alone; udev keeps what it read of them at boot. */
static char *read_modules(const char *root)
{
    enum { DEVICES_MAX = 256 };
    g_autofree char *text = tree_read(root, "/run/udev/data/+dmi:id");
    g_autoptr(GPtrArray) kinds = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; text != NULL && i < DEVICES_MAX; i++) {
        g_autofree char *prefix = g_strdup_printf("E:MEMORY_DEVICE_%u_", i);
        char *kind;

        if (strstr(text, prefix) == NULL)
            break;
        kind = udev_module(text, i);
        if (kind != NULL)
            count_module(kinds, counts, kind);
    }
    return join_modules(kinds, counts);
}

/* "2048kB: 16, 1048576kB: 4"; absent when there are none reserved. */
static char *read_hugepages(const char *root)
{
    const char *folder = "/sys/kernel/mm/hugepages";
    g_autoptr(GPtrArray) sizes = fact_folder(root, folder);
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < sizes->len; i++) {
        const char *name = g_ptr_array_index(sizes, i);
        g_autofree char *path = g_strdup_printf("%s/%s/nr_hugepages", folder, name);
        g_autofree char *count = tree_read(root, path);

        if (count != NULL && g_str_has_prefix(name, "hugepages-"))
            g_string_append_printf(text, "%s%s: %s", text->len > 0 ? ", " : "",
                                   name + strlen("hugepages-"), count);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

void facts_memory(GHashTable *facts, const char *root)
{
    static const FactFile files[] = {
        {"memory.ksm", "/sys/kernel/mm/ksm/run"},
        {"numa.balancing", "/proc/sys/kernel/numa_balancing"},
        {"memory.zswap", "/sys/module/zswap/parameters/enabled"},
    };
    g_autofree char *meminfo = tree_read(root, "/proc/meminfo");

    fact_add(facts, "memory.total", fact_kib(meminfo, "MemTotal"));
    fact_add(facts, "memory.swap", fact_kib(meminfo, "SwapTotal"));
    fact_add(facts, "memory.modules", read_modules(root));
    fact_add(facts, "memory.thp", fact_choice(root, "/sys/kernel/mm/transparent_hugepage/enabled"));
    fact_add(facts, "memory.thp-defrag",
             fact_choice(root, "/sys/kernel/mm/transparent_hugepage/defrag"));
    fact_add(facts, "memory.hugepages", read_hugepages(root));
    fact_add_files(facts, root, files, G_N_ELEMENTS(files));
}
