/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host/virtualisation.h"

#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "host/tree.h"

const char *virtualisation_signature(const char signature[12])
{
    /* KVM pads with NULs; a KVM that offers Hyper-V's interface answers as Hyper-V does, so that
     * "hyperv" is then told from the DMI strings. */
    static const struct {
        const char *signature, *name;
    } known[] = {
        {"KVMKVMKVM\0\0\0", "kvm"}, {"Linux KVM Hv", "kvm"},    {"TCGTCGTCGTCG", "tcg"},
        {"VBoxVBoxVBox", "vbox"},   {"VMwareVMware", "vmware"}, {"XenVMMXenVMM", "xen"},
        {"Microsoft Hv", "hyperv"}, {"bhyve bhyve ", "bhyve"},  {" lrpepyh  vr", "parallels"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (memcmp(signature, known[i].signature, 12) == 0)
            return known[i].name;
    return NULL;
}

#if defined(__x86_64__) || defined(__i386__)
static const char *ask_cpu(void)
{
    unsigned eax, ebx, ecx, edx;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return NULL;
    if ((ecx & (1u << 31)) == 0)
        return "none";
    __cpuid(0x40000000, eax, ebx, ecx, edx);
    const unsigned signature[3] = {ebx, ecx, edx};

    return virtualisation_signature((const char *)signature);
}
#else
static const char *ask_cpu(void)
{
    return NULL;
}
#endif

static const char *from_dmi(const char *root)
{
    static const struct {
        const char *vendor, *product, *name;
    } known[] = {
        /* QEMU's own strings say nothing of KVM or emulation: left to the other sources. */
        {"innotek GmbH", "", "vbox"}, {"Oracle Corporation", "VirtualBox", "vbox"},
        {"VMware", "", "vmware"},     {"Microsoft Corporation", "Virtual Machine", "hyperv"},
        {"Xen", "", "xen"},           {"Parallels", "", "parallels"},
        {"BHYVE", "", "bhyve"},       {"Google", "Google Compute Engine", "kvm"},
    };
    g_autofree char *vendor = tree_read(root, "/sys/class/dmi/id/sys_vendor");
    g_autofree char *product = tree_read(root, "/sys/class/dmi/id/product_name");

    if (vendor == NULL)
        return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (g_str_has_prefix(vendor, known[i].vendor) &&
            g_str_has_prefix(product != NULL ? product : "", known[i].product))
            return known[i].name;
    return NULL;
}

/* Clock sources that only exist inside a hypervisor's guest. */
static const char *from_clocks(const char *root)
{
    g_autofree char *clocks =
        tree_read(root, "/sys/devices/system/clocksource/clocksource0/available_clocksource");

    if (clocks == NULL)
        return NULL;
    if (strstr(clocks, "kvm-clock") != NULL)
        return "kvm";
    if (strstr(clocks, "hyperv_clocksource") != NULL)
        return "hyperv";
    if (strstr(clocks, "xen") != NULL)
        return "xen";
    return NULL;
}

static gboolean has_word(const char *words, const char *word)
{
    g_auto(GStrv) all = g_strsplit(words, " ", -1);

    return g_strv_contains((const char *const *)all, word);
}

/* "none" or "unknown" from the CPU flag "hypervisor", NULL where there are no flags (not x86). */
static const char *from_flags(const char *root)
{
    g_autofree char *cpuinfo = tree_read(root, "/proc/cpuinfo");
    g_autofree char *flags = cpuinfo != NULL ? tree_field(cpuinfo, "flags", ':') : NULL;

    if (flags == NULL)
        return NULL;
    return has_word(flags, "hypervisor") ? "unknown" : "none";
}

/* IBM's machines: z/VM and KVM name themselves in /proc/sysinfo, PowerVM in the device tree. */
static const char *from_firmware(const char *root)
{
    g_autofree char *sysinfo = tree_read(root, "/proc/sysinfo");
    g_autofree char *type = tree_read(root, "/sys/hypervisor/type");
    g_autofree char *hypervisor = tree_read(root, "/proc/device-tree/hypervisor/compatible");
    g_autofree char *lpar = tree_read(root, "/proc/device-tree/ibm,partition-name");

    if (type != NULL && g_str_equal(type, "xen"))
        return "xen";
    if (sysinfo != NULL && strstr(sysinfo, "z/VM") != NULL)
        return "zvm";
    if (sysinfo != NULL && strstr(sysinfo, "KVM") != NULL)
        return "kvm";
    if (hypervisor != NULL && strstr(hypervisor, "kvm") != NULL)
        return "kvm";
    return lpar != NULL ? "powervm" : NULL;
}

const char *virtualisation_detect(const char *root)
{
    const char *flags = from_flags(root);
    const char *found = NULL;

    if (g_strcmp0(flags, "none") == 0)
        return from_firmware(root) != NULL ? from_firmware(root) : "none";
    if (*root == '\0')
        found = ask_cpu();
    if (found == NULL || g_str_equal(found, "hyperv"))
        found = from_dmi(root) != NULL ? from_dmi(root) : found;
    if (found == NULL)
        found = from_firmware(root);
    if (found == NULL)
        found = from_clocks(root);
    return found != NULL ? found : flags;
}
