/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What several tests of this folder need: a guest to build from, a folder, a patient wait. */
#pragma once
#include <glib.h>
#include <unistd.h>

#include "guest/hypervisor.h"
#include "util/clock.h"
#include "util/io.h"
#include "util/wait.h"

typedef struct {
    char *folder;
    InventoryHypervisor hypervisor;
    InventoryGuest guest;
    HvSpec spec;
} Fixture;

static inline Wait patient(void)
{
    return (Wait){
        .deadline_ns = clock_mono_ns() + 60 * CLOCK_NS_PER_S, .guard_fd = -1, .step = "test"};
}

static inline void fixture_init(Fixture *f)
{
    *f = (Fixture){.folder = g_dir_make_tmp("vmatrix-guest-XXXXXX", NULL)};
    g_assert_nonnull(f->folder);
    f->hypervisor = (InventoryHypervisor){
        .name = (char *)"emulated", .driver = (char *)"qemu", .accelerator = ACCELERATOR_TCG};
    f->guest = (InventoryGuest){.name = (char *)"idle", .address = ADDRESS_FORWARD, .port = 22};
    f->spec =
        (HvSpec){.hypervisor = &f->hypervisor,
                 .guest = &f->guest,
                 .name = g_strdup_printf("vmatrix-test-%d-%08x", (int)getpid(), g_random_int()),
                 .uuid = g_uuid_string_random(),
                 .vcpus = 1,
                 .memory = 64 * 1024 * 1024,
                 .folder = f->folder,
                 .owner = "campaign 7 & run <8>",
                 .forward_port = 40022};
}

static inline void fixture_finish(Fixture *f)
{
    g_assert_true(io_remove_tree(f->folder, NULL));
    g_free(f->folder);
    g_free(f->spec.name);
    g_free(f->spec.uuid);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, fixture_finish)
