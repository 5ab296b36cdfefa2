/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the processor says of itself: the same on every OS, and with no /proc. Leaves are those of
 * Intel's and AMD's manuals; from 0x40000000 on they are the hypervisor's. */
#include "facts.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tsc.h"

struct leaf {
    uint32_t a, b, c, d;
};

/* All zero where there is no such leaf. */
static struct leaf cpuid(uint32_t number, uint32_t part)
{
    struct leaf leaf = {0};

    if ((uint32_t)__get_cpuid_max(number & 0x80000000, NULL) >= number)
        __cpuid_count(number, part, leaf.a, leaf.b, leaf.c, leaf.d);
    return leaf;
}

static void add_registers(struct facts *facts, const char *key, const uint32_t *registers,
                          size_t count)
{
    char text[64];
    const char *begin = text;

    memcpy(text, registers, count * sizeof(uint32_t));
    text[count * sizeof(uint32_t)] = '\0';
    facts_add(facts, key, begin + strspn(begin, " "));
}

static void identity_facts(struct facts *facts)
{
    struct leaf leaf = cpuid(0, 0), brand[3];
    uint32_t family, model;

    add_registers(facts, "cpu.vendor", (const uint32_t[]){leaf.b, leaf.d, leaf.c}, 3);
    for (uint32_t i = 0; i < 3; i++)
        brand[i] = cpuid(0x80000002 + i, 0);
    add_registers(facts, "cpu.model", &brand[0].a, 12);
    leaf = cpuid(1, 0);
    family = leaf.a >> 8 & 0xf;
    model = (leaf.a >> 4 & 0xf) | (leaf.a >> 12 & 0xf0);
    family += family == 0xf ? leaf.a >> 20 & 0xff : 0;
    facts_addf(facts, "cpu.signature", "%u/%u/%u", (unsigned)family, (unsigned)model,
               (unsigned)(leaf.a & 0xf));
}

/* The signatures of leaf 0x40000000, and what people call their owners. */
static const char *hypervisor_name(const char *signature)
{
    static const struct {
        const char *signature, *name;
    } known[] = {
        {"KVMKVMKVM", "kvm"},       {"TCGTCGTCGTCG", "tcg"},       {"VBoxVBoxVBox", "vbox"},
        {"VMwareVMware", "vmware"}, {"XenVMMXenVMM", "xen"},       {"Microsoft Hv", "hyperv"},
        {"bhyve bhyve ", "bhyve"},  {"prl hyperv  ", "parallels"}, {" lrpepyh  vr", "parallels"},
        {"ACRNACRNACRN", "acrn"},   {"___ NVMM ___", "nvmm"},      {"OpenBSDVMM58", "vmm"},
        {"Jailhouse", "jailhouse"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].signature, signature) == 0)
            return known[i].name;
    return NULL;
}

/* The hypervisor as the guest sees it; KVM that poses as Hyper-V says so 0x100 further on. */
static void hypervisor_facts(struct facts *facts)
{
    bool present = (cpuid(1, 0).c & 1u << 31) != 0;
    char signature[13] = "", second[13] = "";
    uint32_t r[3], a;

    facts_add(facts, "cpu.hypervisor", present ? "yes" : "no");
    if (!present)
        return;
    __cpuid(0x40000000, a, r[0], r[1], r[2]);
    memcpy(signature, r, 12);
    add_registers(facts, "cpu.hypervisor-vendor", r, 3);
    __cpuid(0x40000100, a, r[0], r[1], r[2]);
    memcpy(second, r, 12);
    (void)a;
    if (hypervisor_name(second) != NULL && strcmp(second, signature) != 0) {
        facts_add(facts, "cpu.hypervisor-vendor-too", second);
        facts_add(facts, "cpu.hypervisor-kind", hypervisor_name(second));
    }
    facts_add(facts, "cpu.hypervisor-kind", hypervisor_name(signature));
}

static void cache_facts(struct facts *facts)
{
    /* AMD's leaf has the same form; Intel's is there for others too, and empty. */
    uint32_t number = (cpuid(4, 0).a & 31) != 0 ? 4 : 0x8000001d;

    for (uint32_t i = 0; i < 8; i++) {
        struct leaf leaf = cpuid(number, i);
        unsigned type = leaf.a & 31, level = leaf.a >> 5 & 7;
        uint64_t size = (uint64_t)((leaf.b >> 22) + 1) * ((leaf.b >> 12 & 0x3ff) + 1) *
                        ((leaf.b & 0xfff) + 1) * ((uint64_t)leaf.c + 1);
        char key[32];

        if (type == 0)
            return;
        snprintf(key, sizeof(key), "cpu.cache.l%u%s", level,
                 type == 1   ? "d"
                 : type == 2 ? "i"
                             : "");
        facts_addf(facts, key, "%luK", (unsigned long)(size / 1024));
    }
}

static void counter_facts(struct facts *facts)
{
    struct leaf leaf = cpuid(0x15, 0);

    facts_add(facts, "clock.tsc-invariant", tsc_is_invariant() ? "yes" : "no");
    if (leaf.a != 0 && leaf.b != 0 && leaf.c != 0)
        facts_addf(facts, "clock.tsc-hz", "%lu",
                   (unsigned long)((uint64_t)leaf.c * leaf.b / leaf.a));
}

void facts_cpuid(struct facts *facts)
{
    identity_facts(facts);
    hypervisor_facts(facts);
    cache_facts(facts);
    counter_facts(facts);
}
#else
void facts_cpuid(struct facts *facts)
{
    (void)facts;
}
#endif
