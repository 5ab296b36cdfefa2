/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of the drivers, for hypervisor.c alone. */
#pragma once
#include "guest/hypervisor.h"

extern const struct hypervisor_ops hv_bare_ops;
extern const struct hypervisor_ops hv_libvirt_qemu_ops;
