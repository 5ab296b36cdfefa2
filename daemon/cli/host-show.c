/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrix host show: what this machine is, for a paper. */
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "run/site-facts.h"
#include "run/tuning.h"
#include "util/error.h"
#include "util/text.h"

enum { LABEL_WIDTH = 22, TEXT_WIDTH_MIN = 24, WIDTH_DEFAULT = 80 };

static const char not_told[] = "not told by this machine";

/* ---- how a fact is shown ---- */

typedef char *(*Show)(const char *value);

static char *show_plain(const char *value)
{
    return g_strdup(value);
}

static char *show_bytes(const char *value)
{
    guint64 bytes;

    return text_parse_uint(value, &bytes) ? text_format_size(bytes) : g_strdup(value);
}

static char *show_mhz(const char *value)
{
    return g_strconcat(value, " MHz", NULL);
}

static char *show_mbits(const char *value)
{
    return g_strconcat(value, " Mbit/s", NULL);
}

static char *show_mtu(const char *value)
{
    return g_strconcat("MTU ", value, NULL);
}

static char *show_cpus(const char *value)
{
    return g_strconcat("CPUs ", value, NULL);
}

static char *show_distance(const char *value)
{
    return g_strconcat("distances ", value, NULL);
}

static char *show_write_cache(const char *value)
{
    return g_strconcat("cache ", value, NULL);
}

static char *show_libvirt(const char *value)
{
    return g_strconcat("libvirt ", value, NULL);
}

static char *show_version(const char *value)
{
    return g_strconcat("hypervisor ", value, NULL);
}

static char *show_scheduler(const char *value)
{
    return g_strconcat("scheduler ", value, NULL);
}

static char *show_switch(const char *value)
{
    if (g_str_equal(value, "0") || g_str_equal(value, "N"))
        return g_strdup("off");
    return g_strdup(g_str_equal(value, "1") || g_str_equal(value, "Y") ? "on" : value);
}

static char *show_driver(const char *value)
{
    return g_strconcat("driver ", value, NULL);
}

static char *show_host(const char *value)
{
    if (g_str_equal(value, "none"))
        return g_strdup("nothing: this is the metal");
    return g_strdup_printf("%s: this host is itself a guest, and results say nothing of hardware",
                           value);
}

/* ---- the report ---- */

/* One fact ("cpu.model"), or, with a name that ends in ".", all facts that begin with it: a line
 * each. parts: facts of one thing ("disk.sda.…") joined to one line by these last words, in this
 * order. missed: who reads the report would look for it, so that its absence is told. */
typedef struct {
    const char *label, *name;
    Show show;
    gboolean missed;
} Line;

typedef struct {
    const char *last;
    Show show;
} Part;

typedef struct {
    const char *title;
    const Line *lines;
    const char *things; /* "disk." */
    const Part *parts;
} Section;

static const Line machine_lines[] = {
    {"vendor", "machine.vendor", show_plain, TRUE},
    {"model", "machine.model", show_plain, TRUE},
    {"board", "machine.board", show_plain, FALSE},
    {"firmware", "firmware.kind", show_plain, TRUE},
    {"firmware vendor", "firmware.vendor", show_plain, FALSE},
    {"firmware version", "firmware.version", show_plain, TRUE},
    {"firmware date", "firmware.date", show_plain, FALSE},
    {"runs on", "virtualisation", show_host, TRUE},
    {0},
};
static const Line cpu_lines[] = {
    {"model", "cpu.model", show_plain, TRUE},
    {"family-model-stepping", "cpu.signature", show_plain, FALSE},
    {"microcode", "cpu.microcode", show_plain, TRUE},
    {"sockets", "cpu.sockets", show_plain, TRUE},
    {"cores", "cpu.cores", show_plain, TRUE},
    {"threads per core", "cpu.threads-per-core", show_plain, TRUE},
    {"CPUs", "cpu.count", show_plain, TRUE},
    {"CPUs online", "cpu.online", show_plain, TRUE},
    {"CPUs offline", "cpu.offline", show_plain, FALSE},
    {"CPUs isolated", "cpu.isolated", show_plain, FALSE},
    {"CPUs without ticks", "cpu.nohz-full", show_plain, FALSE},
    {"SMT", "cpu.smt", show_plain, TRUE},
    {"cache ", "cpu.cache.", show_plain, TRUE},
    {"flags", "cpu.flags", show_plain, FALSE},
    {0},
};
static const Line power_lines[] = {
    {"governor", "cpu.governor", show_plain, TRUE},
    {"frequency driver", "cpu.driver", show_plain, TRUE},
    {"driver's mode", "cpu.pstate", show_plain, FALSE},
    {"energy preference", "cpu.epp", show_plain, TRUE},
    {"boost (turbo)", "cpu.boost", show_plain, TRUE},
    {"lowest frequency", "cpu.mhz-min", show_mhz, FALSE},
    {"highest frequency", "cpu.mhz-max", show_mhz, TRUE},
    {"frequency limit", "cpu.mhz-limit", show_mhz, FALSE},
    {"C-state driver", "cpu.idle.driver", show_plain, TRUE},
    {"C-state governor", "cpu.idle.governor", show_plain, FALSE},
    {"C-states", "cpu.idle.states", show_plain, FALSE},
    {0},
};
static const Line mitigation_lines[] = {{"", "cpu.mitigations.", show_plain, TRUE}, {0}};
static const Line memory_lines[] = {
    {"total", "memory.total", show_bytes, TRUE},
    {"modules", "memory.modules", show_plain, TRUE},
    {"huge pages (THP)", "memory.thp", show_plain, TRUE},
    {"THP defrag", "memory.thp-defrag", show_plain, FALSE},
    {"huge pages reserved", "memory.hugepages", show_plain, FALSE},
    {"same-page merging", "memory.ksm", show_switch, TRUE},
    {"swap", "memory.swap", show_bytes, TRUE},
    {"zswap", "memory.zswap", show_switch, FALSE},
    {0},
};
static const Line numa_lines[] = {
    {"nodes", "numa.nodes", show_plain, TRUE},
    {"balancing", "numa.balancing", show_switch, FALSE},
    {0},
};
static const Part numa_parts[] = {
    {"cpus", show_cpus}, {"memory", show_bytes}, {"distance", show_distance}, {0}};
static const Part disk_parts[] = {
    {"model", show_plain},
    {"size", show_bytes},
    {"kind", show_plain},
    {"driver", show_driver},
    {"scheduler", show_scheduler},
    {"write-cache", show_write_cache},
    {0},
};
static const Part filesystem_parts[] = {
    {"type", show_plain}, {"device", show_plain}, {"options", show_plain}, {0}};
static const Part net_parts[] = {
    {"driver", show_driver}, {"state", show_plain}, {"mbits", show_mbits}, {"mtu", show_mtu}, {0}};
static const Line system_lines[] = {
    {"host", "host.name", show_plain, FALSE},
    {"operating system", "os.name", show_plain, TRUE},
    {"version", "os.version", show_plain, FALSE},
    {"kernel", "kernel.release", show_plain, TRUE},
    {"kernel build", "kernel.version", show_plain, FALSE},
    {"command line", "kernel.cmdline", show_plain, TRUE},
    {"tainted", "kernel.tainted", show_plain, FALSE},
    {"security modules", "kernel.lsm", show_plain, FALSE},
    {"lockdown", "kernel.lockdown", show_plain, FALSE},
    {0},
};
static const Line time_lines[] = {
    {"clock source", "clocksource", show_plain, TRUE},
    {"there are", "clocksource.available", show_plain, FALSE},
    {"synchronised by", "time.service", show_plain, TRUE},
    {"synchronised", "time.synchronised", show_plain, FALSE},
    {"entropy", "entropy.available", show_plain, FALSE},
    {"entropy from", "entropy.source", show_plain, FALSE},
    {0},
};
static const Line virtual_lines[] = {
    {"/dev/kvm", "kvm.device", show_plain, TRUE},
    {"nested guests", "kvm.nested", show_switch, TRUE},
    {"EPT", "kvm.ept", show_switch, FALSE},
    {"NPT", "kvm.npt", show_switch, FALSE},
    {"halt polling (ns)", "kvm.halt-poll-ns", show_plain, FALSE},
    {"", "program.", show_plain, FALSE},
    {0},
};
static const Part hypervisor_parts[] = {{"driver", show_driver},   {"uri", show_plain},
                                        {"libvirt", show_libvirt}, {"version", show_version},
                                        {"trouble", show_plain},   {0}};
static const Line setting_lines[] = {
    {"", "sysctl.", show_plain, FALSE},
    {"cgroup version", "cgroup.version", show_plain, TRUE},
    {"cgroup controllers", "cgroup.controllers", show_plain, FALSE},
    {"pressure (PSI)", "psi", show_plain, TRUE},
    {"schedstat", "schedstat", show_plain, TRUE},
    {0},
};

static const Section sections[] = {
    {"Machine", machine_lines, NULL, NULL},
    {"Processor", cpu_lines, NULL, NULL},
    {"Frequency and sleep", power_lines, NULL, NULL},
    {"Mitigations", mitigation_lines, NULL, NULL},
    {"Memory", memory_lines, NULL, NULL},
    {"NUMA", numa_lines, "numa.", numa_parts},
    {"Disks", NULL, "disk.", disk_parts},
    {"File systems", NULL, "filesystem.", filesystem_parts},
    {"Network", NULL, "net.", net_parts},
    {"Operating system", system_lines, NULL, NULL},
    {"Time", time_lines, NULL, NULL},
    {"Virtualisation", virtual_lines, "hypervisor.", hypervisor_parts},
    {"Settings", setting_lines, NULL, NULL},
};

/* ---- text ---- */

typedef struct {
    FILE *stream;
    guint width; /* of a line */
    gboolean colour;
    GHashTable *facts;
    GPtrArray *names; /* of all facts, sorted; borrowed */
} Report;

/* How much of text fits into room bytes: up to the last blank, or as much as there is. Never cuts
 * a character in two. */
static gsize fitting(const char *text, gsize room)
{
    gsize length = strlen(text), at = MIN(room, length);

    if (length <= room)
        return length;
    while (at > 0 && text[at] != ' ')
        at--;
    if (at > 0)
        return at;
    at = room;
    while (at > 1 && ((guchar)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void print_line(const Report *report, const char *label, const char *text)
{
    gsize indent = LABEL_WIDTH + 2;
    gsize room = report->width > indent + TEXT_WIDTH_MIN ? report->width - indent : TEXT_WIDTH_MIN;

    gsize over = strlen(label) >= LABEL_WIDTH ? strlen(label) + 1 - LABEL_WIDTH : 0;

    /* After a label that is too long the text begins further right, or on a line of its own. */
    fprintf(report->stream, "  %-*s", LABEL_WIDTH, label);
    if (over > 0 && over + TEXT_WIDTH_MIN > room)
        fprintf(report->stream, "\n%*s", (int)indent, "");
    else if (over > 0)
        fputc(' ', report->stream);
    for (gboolean first = TRUE; *text != '\0'; first = FALSE) {
        gsize length = fitting(text, first && over + TEXT_WIDTH_MIN <= room ? room - over : room);

        fprintf(report->stream, "%*s%.*s\n", first ? 0 : (int)indent, "", (int)length, text);
        text += length;
        while (*text == ' ')
            text++;
    }
}

/* Facts whose names begin with the line's: each on a line. Returns how many. */
static guint print_all(const Report *report, const Line *line)
{
    guint count = 0;

    for (guint i = 0; i < report->names->len; i++) {
        const char *name = g_ptr_array_index(report->names, i);
        g_autofree char *label = NULL, *text = NULL;

        if (!g_str_has_prefix(name, line->name))
            continue;
        label = g_strconcat(line->label, name + strlen(line->name), NULL);
        text = line->show(g_hash_table_lookup(report->facts, name));
        print_line(report, label, text);
        count++;
    }
    return count;
}

static void print_fact(const Report *report, const Line *line)
{
    const char *value = g_hash_table_lookup(report->facts, line->name);
    g_autofree char *text = value != NULL ? line->show(value) : NULL;

    if (text != NULL)
        print_line(report, line->label, text);
    else if (line->missed)
        print_line(report, line->label, not_told);
}

static void print_lines(const Report *report, const Line *lines)
{
    for (; lines != NULL && lines->name != NULL; lines++) {
        if (!g_str_has_suffix(lines->name, "."))
            print_fact(report, lines);
        else if (print_all(report, lines) == 0 && lines->missed)
            print_line(report, *lines->label != '\0' ? lines->label : "all", not_told);
    }
}

/* "disk.sda." of "disk.sda.size"; NULL for a fact that is no part of a thing. A thing's own name
 * may have points. Transfer full. */
static char *thing_of(const char *name, const char *things, const Part *parts)
{
    for (; parts->last != NULL; parts++) {
        g_autofree char *end = g_strconcat(".", parts->last, NULL);

        if (g_str_has_prefix(name, things) && g_str_has_suffix(name, end) &&
            strlen(name) > strlen(things) + strlen(end))
            return g_strndup(name, strlen(name) - strlen(parts->last));
    }
    return NULL;
}

static void print_thing(const Report *report, const char *things, const char *thing,
                        const Part *parts)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *label = g_strndup(thing + strlen(things), strlen(thing) - strlen(things) - 1);

    for (; parts->last != NULL; parts++) {
        g_autofree char *name = g_strconcat(thing, parts->last, NULL);
        const char *value = g_hash_table_lookup(report->facts, name);
        g_autofree char *shown = value != NULL ? parts->show(value) : NULL;

        if (shown != NULL)
            g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", shown);
    }
    print_line(report, label, text->str);
}

static guint print_things(const Report *report, const Section *section)
{
    g_autofree char *last = NULL;
    guint count = 0;

    for (guint i = 0; section->things != NULL && i < report->names->len; i++) {
        char *thing =
            thing_of(g_ptr_array_index(report->names, i), section->things, section->parts);

        if (thing == NULL)
            continue;
        if (g_strcmp0(thing, last) != 0) {
            print_thing(report, section->things, thing, section->parts);
            count++;
        }
        g_free(last);
        last = thing;
    }
    return count;
}

static void print_section(const Report *report, const Section *section)
{
    fprintf(report->stream, "%s%s%s\n", report->colour ? "\033[1m" : "", section->title,
            report->colour ? "\033[0m" : "");
    print_lines(report, section->lines);
    if (print_things(report, section) == 0 && section->lines == NULL)
        print_line(report, "all", not_told);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Borrowed names, sorted; transfer container. */
static GPtrArray *sorted_names(GHashTable *facts)
{
    GPtrArray *names = g_ptr_array_new();
    GHashTableIter iter;
    gpointer name;

    g_hash_table_iter_init(&iter, facts);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_ptr_array_add(names, name);
    g_ptr_array_sort(names, compare_names);
    return names;
}

static gboolean print_report(const Settings *settings, GHashTable *facts, GError **error)
{
    g_auto(Output) output = {0};
    g_autoptr(GPtrArray) names = sorted_names(facts);
    gboolean to_terminal = settings->output == NULL;
    guint width = to_terminal ? output_width(STDOUT_FILENO) : 0;
    Report report = {.width = width > 0 ? width : WIDTH_DEFAULT,
                     .colour = to_terminal && output_colour(settings, STDOUT_FILENO),
                     .facts = facts,
                     .names = names};

    if (!output_open(settings, &output, error))
        return FALSE;
    report.stream = output.stream;
    for (gsize i = 0; i < G_N_ELEMENTS(sections); i++) {
        if (i > 0)
            fputc('\n', report.stream);
        print_section(&report, &sections[i]);
    }
    return output_close(&output, error);
}

/* For programs: every fact under the name that the database has. */
static gboolean print_table(const Settings *settings, GHashTable *facts, GError **error)
{
    g_autoptr(GPtrArray) names = sorted_names(facts);
    g_autoptr(Table) table = table_new();

    table_column(table, "name", "fact", COLUMN_TEXT);
    table_column(table, "value", "value", COLUMN_TEXT);
    for (guint i = 0; i < names->len; i++) {
        table_row(table);
        table_text(table, g_ptr_array_index(names, i));
        table_text(table, g_hash_table_lookup(facts, g_ptr_array_index(names, i)));
    }
    return output_table(settings, table, error);
}

static int run_show(const Settings *settings, char **words, GError **error)
{
    g_autofree char *inventory_path = settings_inventory_path(settings);
    g_autofree char *db_path = settings_db_path(settings);
    g_autoptr(Inventory) inventory = NULL;
    g_autoptr(Cancel) cancel = cancel_new();
    g_autoptr(GHashTable) facts = NULL;
    gboolean ok;

    if (inventory_path != NULL && (inventory = inventory_load(inventory_path, error)) == NULL)
        return VM_EXIT_INVALID;
    signals_catch(cancel);
    facts = site_facts_read(&(SiteFacts){.root = tuning_root(),
                                         .inventory = inventory,
                                         .db_path = db_path,
                                         .work = settings->work,
                                         .cancel = cancel});
    signals_release();
    if (cancel_is_set(cancel))
        return VM_EXIT_INTERRUPTED;
    ok = settings_format(settings, FORMAT_TABLE) == FORMAT_TABLE
             ? print_report(settings, facts, error)
             : print_table(settings, facts, error);
    return ok ? VM_EXIT_DONE : VM_EXIT_ENVIRONMENT;
}

const Command command_host_show = {
    .name = "host show",
    .arguments = "",
    .group = "The host",
    .summary = "what this machine is, for a paper",
    .about = "Prints what each campaign stores of this host: processor, firmware, settings,\n"
             "disks, kernel, and the versions of the inventory's hypervisors. Serial numbers,\n"
             "UUIDs and addresses are in none of it. json and csv have every fact by its name.\n",
    .example = "vmatrix host show --json",
    .run = run_show,
};
