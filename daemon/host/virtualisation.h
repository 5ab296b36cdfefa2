/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this host itself runs on. */
#pragma once
#include <glib.h>

/* "none", "kvm", "tcg" (QEMU without KVM), "vbox", "vmware", "xen", "hyperv", "bhyve",
 * "parallels", "zvm", "powervm", or "unknown" when the CPU says that there is a hypervisor and
 * nothing says which. NULL when the tree below root holds no evidence for either. On the real root
 * ("") of an x86 machine the hypervisor is asked itself (CPUID leaf 0x40000000). Static. */
const char *virtualisation_detect(const char *root);

/* The same from the 12 bytes of that CPUID leaf; NULL for a signature that nobody knows. Pure. */
const char *virtualisation_signature(const char signature[12]);
