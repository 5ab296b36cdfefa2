/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts: disks and network cards. Names of models, never of single pieces: no serial numbers, no
 * addresses. */
#include <string.h>

#include "host/facts.h"
#include "host/tree.h"
#include "util/text.h"

enum { SECTOR = 512 };

static void add_device(GHashTable *facts, const char *kind, const char *device, const char *name,
                       char *value)
{
    g_autofree char *fact = g_strdup_printf("%s.%s.%s", kind, device, name);

    fact_add(facts, fact, value);
}

/* What is no disk of its own: loops, memory, optical and floppy drives, and what lies on others. */
static gboolean is_disk(const char *name)
{
    static const char *const others[] = {"loop", "ram", "zram", "sr", "fd", "nbd"};

    for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
        gsize length = strlen(others[i]);

        if (g_str_has_prefix(name, others[i]) && g_ascii_isdigit(name[length]))
            return FALSE;
    }
    return TRUE;
}

static guint64 disk_size(const char *root, const char *name)
{
    g_autofree char *path = g_strdup_printf("/sys/block/%s/size", name);
    g_autofree char *text = tree_read(root, path);
    guint64 sectors;

    return text != NULL && text_parse_uint(text, &sectors) && sectors <= G_MAXUINT64 / SECTOR
               ? sectors * SECTOR
               : 0;
}

/* "SEAGATE ST16000NM006J"; of a memory card its name. */
static char *disk_model(const char *root, const char *name)
{
    g_autofree char *vendor_path = g_strdup_printf("/sys/block/%s/device/vendor", name);
    g_autofree char *model_path = g_strdup_printf("/sys/block/%s/device/model", name);
    g_autofree char *name_path = g_strdup_printf("/sys/block/%s/device/name", name);
    g_autofree char *vendor = tree_read(root, vendor_path);
    g_autofree char *model = tree_read(root, model_path);

    if (model == NULL)
        return tree_read(root, name_path);
    /* "0x1af4" of virtio and PCI is a number, and "ATA" is no vendor. */
    if (vendor == NULL || g_str_has_prefix(vendor, "0x") || g_str_equal(vendor, "ATA"))
        return g_steal_pointer(&model);
    return g_strdup_printf("%s %s", vendor, model);
}

static void add_disk(GHashTable *facts, const char *root, const char *name, guint64 size)
{
    g_autofree char *queue = g_strdup_printf("/sys/block/%s/queue", name);
    g_autofree char *rotational_path = g_strconcat(queue, "/rotational", NULL);
    g_autofree char *scheduler_path = g_strconcat(queue, "/scheduler", NULL);
    g_autofree char *cache_path = g_strconcat(queue, "/write_cache", NULL);
    g_autofree char *driver_path = g_strdup_printf("/sys/block/%s/device/driver", name);
    g_autofree char *rotational = tree_read(root, rotational_path);
    char *scheduler = fact_choice(root, scheduler_path);

    add_device(facts, "disk", name, "model", disk_model(root, name));
    add_device(facts, "disk", name, "size", g_strdup_printf("%" G_GUINT64_FORMAT, size));
    if (rotational != NULL)
        add_device(facts, "disk", name, "kind",
                   g_strdup(g_str_equal(rotational, "0") ? "solid state" : "rotating"));
    add_device(facts, "disk", name, "driver", fact_link(root, driver_path));
    add_device(facts, "disk", name, "scheduler",
               scheduler != NULL ? scheduler : tree_read(root, scheduler_path));
    add_device(facts, "disk", name, "write-cache", tree_read(root, cache_path));
}

static void add_disks(GHashTable *facts, const char *root)
{
    g_autoptr(GPtrArray) names = fact_folder(root, "/sys/block");

    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        guint64 size = disk_size(root, name);

        if (is_disk(name) && size > 0)
            add_disk(facts, root, name, size);
    }
}

/* A card has a driver; bridges, taps and the loopback have none. */
static void add_card(GHashTable *facts, const char *root, const char *name)
{
    g_autofree char *folder = g_strconcat("/sys/class/net/", name, NULL);
    g_autofree char *driver_path = g_strconcat(folder, "/device/driver", NULL);
    g_autofree char *state_path = g_strconcat(folder, "/operstate", NULL);
    g_autofree char *speed_path = g_strconcat(folder, "/speed", NULL);
    g_autofree char *mtu_path = g_strconcat(folder, "/mtu", NULL);
    char *driver = fact_link(root, driver_path);
    g_autofree char *speed = tree_read(root, speed_path);
    guint64 mbits;

    if (driver == NULL)
        return;
    add_device(facts, "net", name, "driver", driver);
    add_device(facts, "net", name, "state", tree_read(root, state_path));
    add_device(facts, "net", name, "mtu", tree_read(root, mtu_path));
    if (speed != NULL && text_parse_uint(speed, &mbits) && mbits > 0 && mbits < G_MAXUINT32)
        add_device(facts, "net", name, "mbits", g_strdup(speed));
}

void facts_devices(GHashTable *facts, const char *root)
{
    g_autoptr(GPtrArray) names = fact_folder(root, "/sys/class/net");

    add_disks(facts, root);
    for (guint i = 0; i < names->len; i++)
        add_card(facts, root, g_ptr_array_index(names, i));
}
