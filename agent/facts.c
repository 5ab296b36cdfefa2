/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "facts.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"

static char *copy_text(const char *text)
{
    char *copy = malloc(strlen(text) + 1);

    return copy == NULL ? NULL : strcpy(copy, text);
}

void facts_add(struct facts *facts, const char *key, const char *value)
{
    struct fact *items, fact;

    if (value == NULL || *value == '\0' || facts_get(facts, key) != NULL)
        return;
    items = realloc(facts->items, (facts->count + 1) * sizeof(*items));
    if (items == NULL)
        return;
    facts->items = items;
    fact = (struct fact){copy_text(key), copy_text(value)};
    if (fact.key == NULL || fact.value == NULL) {
        free(fact.key);
        free(fact.value);
        return;
    }
    items[facts->count++] = fact;
}

void facts_addf(struct facts *facts, const char *key, const char *format, ...)
{
    char value[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    facts_add(facts, key, value);
}

void facts_add_of(struct facts *facts, const char *family, const char *name, const char *what,
                  const char *value)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    char key[64];
    size_t family_length = strlen(family);

    /* A key is what the host takes; a device can be called anything. */
    snprintf(key, sizeof(key), "%s.%.24s.%.20s", family, name, what);
    for (char *at = key + family_length + 1; at < key + strlen(key) - strlen(what) - 1; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
        *at = strchr(allowed, *at) == NULL ? '-' : *at;
    }
    facts_add(facts, key, value);
}

const char *facts_get(const struct facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].key, key) == 0)
            return facts->items[i].value;
    return NULL;
}

void facts_free(struct facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->items[i].key);
        free(facts->items[i].value);
    }
    free(facts->items);
    *facts = (struct facts){0};
}

const char *facts_arch(void)
{
#if defined(__x86_64__)
    return "x86_64";
#elif defined(__i386__)
    return "i686";
#elif defined(__aarch64__)
    return "aarch64";
#elif defined(__arm__)
    return "arm";
#elif defined(__riscv) && __riscv_xlen == 64
    return "riscv64";
#elif defined(__powerpc64__)
    return "ppc64";
#elif defined(__s390x__)
    return "s390x";
#else
    return "unknown";
#endif
}

/* Where the agent lies: its work folder in a guest. */
static void folder_facts(struct facts *facts, const char *self)
{
    char folder[OS_PATH_MAX], name[32];
    const char *slash = strrchr(self, '/');
    size_t length = slash == NULL ? 0 : slash == self ? 1 : (size_t)(slash - self);
    bool memory;

    if (length >= sizeof(folder))
        return;
    memcpy(folder, self, length);
    folder[length] = '\0';
    if (length == 0)
        strcpy(folder, ".");
    os_file_system(folder, name, sizeof(name), &memory);
    facts_add(facts, "agent.folder", folder);
    facts_add(facts, "agent.folder-fs", name);
}

void facts_collect(struct facts *ret_facts, const char *self)
{
    *ret_facts = (struct facts){0};
    facts_add(ret_facts, "agent.version", VMATRIX_AGENT_VERSION);
    facts_add(ret_facts, "agent.compiler", __VERSION__);
    folder_facts(ret_facts, self);
    facts_add(ret_facts, "os.name", os_name);
    facts_add(ret_facts, "os.arch", facts_arch());
    facts_addf(ret_facts, "cpu.allowed", "%d", os_cpus(NULL, 0));
    facts_cpuid(ret_facts);
    os_facts(ret_facts);
}
