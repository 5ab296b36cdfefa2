/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One subject, whatever runs it: a table of operations a driver. */
#pragma once
#include <glib.h>

#include "model/inventory.h"
#include "guest/overlay.h"
#include "model/plan.h"
#include "util/wait.h"

#define HV_METADATA_URI "https://vmatrix.invalid/xmlns/domain/1"

/* Everything that defines one boot. Strings are borrowed for the call. */
typedef struct {
    const InventoryHypervisor *hypervisor;
    const InventoryGuest *guest;
    char *name; /* domain name: "vmatrix-<run id>" */
    char *uuid;
    guint vcpus;
    guint64 memory;          /* bytes; 0 stands for 256 MiB */
    const GPtrArray *edits;  /* DomainEdit* in order of axes, or NULL */
    const char *cmdline;     /* whole kernel command line, or NULL */
    const char *overlay;     /* path of this boot's overlay, or NULL (kernel+initramfs guest) */
    const OverlayBase *base; /* its base's chain; NULL: libvirt finds it, and changes the owner of
                                the base files for good where its daemon runs as root */
    const char *folder;      /* this run's folder: console.log goes there */
    const char *owner;       /* text for the metadata element: campaign uuid, run id */
    guint forward_port;      /* loopback port for ADDRESS_FORWARD */
    const char *cpus;        /* host CPUs for pinning, one a vCPU in their order ("0,1"), or NULL */
    const char *emulator;    /* host CPUs of the emulator's other threads; NULL: the same */
    const char *nodes;       /* NUMA nodes of the memory ("1"), or NULL: left to the kernel */
} HvSpec;

typedef enum {
    HV_STATE_RUNNING,
    HV_STATE_OFF,
    HV_STATE_GONE,
    HV_STATE_CRASHED,
    HV_STATE_PAUSED
} HvState;

typedef struct {
    char *host; /* numeric address */
    guint port;
    char *source; /* "forward", "lease", "agent", "arp", "fixed" */
} HvAddress;

void hv_address_clear(HvAddress *address);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HvAddress, hv_address_clear)

/* A domain with vmatrix's metadata, found by looking. */
typedef struct {
    char *uuid;
    char *name;
    char *owner; /* the text of the metadata element */
} HvOrphan;

void hv_orphan_free(HvOrphan *orphan);

typedef struct Hypervisor Hypervisor; /* one connection, or nothing for bare */
typedef struct HvDomain HvDomain;     /* one started (or about to start) subject */

struct hypervisor_ops {
    const char *driver;  /* "qemu", "bare" */
    gboolean has_domain; /* FALSE: bare; overlay, define … address and SSH are left out */
    gboolean (*open)(Hypervisor *hv, const Wait *wait, GError **error);
    void (*close)(Hypervisor *hv);
    /* Whether this guest could be booted here, as far as its files (base: its disk's chain, or
     * NULL) and its network go: the error says what is in the way. Nothing is changed. NULL with
     * bare. */
    gboolean (*preflight)(Hypervisor *hv, const InventoryGuest *guest, const OverlayBase *base,
                          GError **error);
    /* Make the domain's description; nothing is started. */
    gboolean (*define)(Hypervisor *hv, const HvSpec *spec, HvDomain *domain, GError **error);
    /* VM_ERROR_BUSY: another process took forward_port meanwhile; define again with another. */
    gboolean (*start)(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error);
    gboolean (*address)(Hypervisor *hv, HvDomain *domain, const Wait *wait, HvAddress *ret_address,
                        GError **error);
    gboolean (*state)(Hypervisor *hv, HvDomain *domain, HvState *ret_state, GError **error);
    /* Ask for a clean end; resent every few seconds until the wait ends. *ret_forced: it had to be
     * destroyed. */
    gboolean (*shutdown)(Hypervisor *hv, HvDomain *domain, const Wait *wait, gboolean *ret_forced,
                         GError **error);
    gboolean (*destroy)(Hypervisor *hv, HvDomain *domain, const Wait *wait, GError **error);
    /* Remove what define left behind (nothing for transient domains). */
    gboolean (*undefine)(Hypervisor *hv, HvDomain *domain, GError **error);
    /* Add facts (char* -> char*): versions, live XML under "domain.xml", accelerator. domain may be
     * NULL. */
    gboolean (*facts)(Hypervisor *hv, HvDomain *domain, GHashTable *facts, GError **error);
    /* HvOrphan*: all domains that carry vmatrix's metadata, running or not; transfer full. */
    GPtrArray *(*orphans)(Hypervisor *hv, GError **error);
    /* char*: names of all domains that run, whosever they are; transfer full. NULL with bare. */
    GPtrArray *(*running)(Hypervisor *hv, GError **error);
};

struct HvDomain {
    char *name;
    char *uuid;
    char *xml; /* as sent to the hypervisor */
    AddressMethod address_method;
    char *fixed_address;
    char *network;
    guint port; /* SSH port in the guest */
    guint forward_port;
    ShutdownMethod shutdown_method;
    pid_t pid; /* of the subject's process, 0 unknown */
    int pidfd; /* its pidfd: the guard of the run; -1 unknown */
    gboolean started;
};

HvDomain *hv_domain_new(void);
void hv_domain_free(HvDomain *domain); /* closes pidfd; does not touch the guest */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HvDomain, hv_domain_free)

struct Hypervisor {
    const struct hypervisor_ops *ops;
    const InventoryHypervisor *config; /* must outlive it */
    void *connection;                  /* the driver's own */
};

/* Find the driver's table and open. VM_ERROR_ENVIRONMENT names URI, driver and way out; KVM asked
 * for and missing is an error that says how to ask for emulation. */
Hypervisor *hypervisor_open(const InventoryHypervisor *config, const Wait *wait, GError **error);
void hypervisor_free(Hypervisor *hv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Hypervisor, hypervisor_free)

const struct hypervisor_ops *hypervisor_driver(const char *driver); /* or NULL */
