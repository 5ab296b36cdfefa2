/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this host's KVM is worth, found without libvirt. */
#pragma once
#include <glib.h>

typedef enum {
    KVM_USABLE,
    KVM_MISSING,   /* no node, or it is not KVM */
    KVM_FORBIDDEN, /* the node is there; we (not necessarily libvirt's user) may not open it */
    KVM_PARTIAL,   /* it opens, and cannot run an ordinary guest */
} KvmState;

/* Open node ("/dev/kvm"), ask its API version, make a machine, and compare what it gives to guests
 * with the least that a guest needs. *ret_reason (may be NULL): one line that names the node and
 * what is wrong, NULL with KVM_USABLE; transfer full. */
KvmState kvm_probe(const char *node, char **ret_reason);

/* Whether this host is itself emulated by QEMU's TCG (CPUID's hypervisor signature): nested AMD
 * under emulation cannot pass the host's CPU through. */
gboolean kvm_host_is_tcg(void);
