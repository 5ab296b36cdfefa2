/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "util/io.h"

enum { CPUID_ENTRIES = 256, CPUID_1_ECX_SSE3 = 1U << 0 };

/* KVM's answer for a CPUID leaf 1 ECX, or all ones where it gives none. */
static guint32 supported_features(int kvm)
{
    gsize size = sizeof(struct kvm_cpuid2) + CPUID_ENTRIES * sizeof(struct kvm_cpuid_entry2);
    g_autofree struct kvm_cpuid2 *cpuid = g_malloc0(size);

    cpuid->nent = CPUID_ENTRIES;
    if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, cpuid) < 0)
        return G_MAXUINT32;
    for (guint i = 0; i < cpuid->nent; i++)
        if (cpuid->entries[i].function == 1)
            return cpuid->entries[i].ecx;
    return G_MAXUINT32;
}

static KvmState answer(KvmState state, char **ret_reason, char *reason)
{
    if (ret_reason != NULL)
        *ret_reason = reason;
    else
        g_free(reason);
    return state;
}

static KvmState probe_open(int kvm, const char *node, char **ret_reason)
{
    int version = ioctl(kvm, KVM_GET_API_VERSION, 0);

    if (version != KVM_API_VERSION)
        return answer(KVM_MISSING, ret_reason,
                      g_strdup_printf("%s does not answer as KVM (API version %d, not %d)", node,
                                      version, KVM_API_VERSION));
    autofd machine = ioctl(kvm, KVM_CREATE_VM, 0);

    if (machine < 0)
        return answer(
            KVM_PARTIAL, ret_reason,
            g_strdup_printf("%s opens and makes no machine: %s", node, g_strerror(errno)));
#if defined(__x86_64__)
    /* Every x86 CPU with VMX or SVM has SSE3, and QEMU's least KVM model (kvm64) asks for it. A KVM
     * that withholds it (kvm-pvm inside a cloud VM) emulates ordinary kernels: the firmware runs,
     * and Linux then stands still at 100 % CPU. */
    if (!(supported_features(kvm) & CPUID_1_ECX_SSE3))
        return answer(KVM_PARTIAL, ret_reason,
                      g_strdup_printf("%s opens, and gives guests less than any CPU with "
                                      "virtualisation has (no SSE3): it is a partial KVM of a "
                                      "nested host, where ordinary guests do not boot",
                                      node));
#endif
    return answer(KVM_USABLE, ret_reason, NULL);
}

KvmState kvm_probe(const char *node, char **ret_reason)
{
    autofd kvm = open(node, O_RDWR | O_CLOEXEC);

    if (kvm >= 0)
        return probe_open(kvm, node, ret_reason);
    return answer(errno == EACCES || errno == EPERM ? KVM_FORBIDDEN : KVM_MISSING, ret_reason,
                  g_strdup_printf("%s cannot be opened: %s%s", node, g_strerror(errno),
                                  errno == EACCES ? " (is the user in the group kvm?)" : ""));
}

gboolean kvm_host_is_tcg(void)
{
#if defined(__x86_64__)
    guint32 a, b, c, d;
    char signature[13] = "";

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1U << 31)))
        return FALSE;
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, sizeof b);
    memcpy(signature + 4, &c, sizeof c);
    memcpy(signature + 8, &d, sizeof d);
    return g_str_equal(signature, "TCGTCGTCGTCG");
#else
    return FALSE;
#endif
}
