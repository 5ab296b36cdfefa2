/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inventory: what a site has. YAML, "version: 1"; see schema/inventory.schema.json. */
#pragma once
#include <glib.h>

typedef enum { ACCELERATOR_NONE, ACCELERATOR_KVM, ACCELERATOR_TCG, ACCELERATOR_NATIVE } Accelerator;
/* NONE: bare; NATIVE: a hypervisor with an engine of its own (VirtualBox, VMware). */

typedef struct {
    char *name;
    char *driver;            /* "bare", "qemu" (kvm and emulation), "vbox", "vmware", … */
    char *uri;               /* libvirt URI; NULL for bare */
    Accelerator accelerator; /* tcg is never a fall-back: it must be written in the inventory */
    char *machine;           /* machine type, or NULL for the template's */
    char *domain_template;   /* path of a domain XML template, or NULL for the built-in one */
    guint line, column;
} InventoryHypervisor;

typedef enum {
    ADDRESS_FORWARD, /* user-mode network, a free loopback port forwarded to the guest's SSH */
    ADDRESS_LEASE,   /* DHCP lease of a libvirt network */
    ADDRESS_AGENT,   /* QEMU guest agent */
    ADDRESS_ARP,     /* host ARP table */
    ADDRESS_FIXED,   /* the inventory's address */
    ADDRESS_AUTO,    /* lease, agent, ARP in that order */
} AddressMethod;

typedef enum {
    HOST_KEY_ENROLLED, /* recorded in the store by "vmatrix guest enroll" */
    HOST_KEY_LITERAL,  /* written in the inventory: "ssh-ed25519 AAAA…" */
    HOST_KEY_PER_BOOT, /* accept-new-per-boot: asked for explicitly */
} HostKeyPolicy;

typedef enum { SHUTDOWN_ACPI, SHUTDOWN_DESTROY } ShutdownMethod;

typedef struct {
    char *name;
    char *disk;        /* path of the base image, or NULL */
    char *disk_format; /* NULL: probed */
    char *kernel;      /* path, or NULL: boots from disk */
    char *initrd;
    char *cmdline;  /* kernel command line, or NULL */
    char *firmware; /* "bios" (default) or "uefi" */
    AddressMethod address;
    char *network;       /* libvirt network or bridge name; NULL with ADDRESS_FORWARD */
    char *fixed_address; /* with ADDRESS_FIXED */
    guint port;          /* SSH port in the guest, 22 */
    char *user;          /* "root" */
    char *key;           /* path of the private key */
    HostKeyPolicy host_key;
    char *host_key_literal;
    ShutdownMethod shutdown;
    char *agent;  /* path of another agent binary, or NULL for the one installed */
    char *folder; /* work folder in the guest, or NULL: searched for */
    guint line, column;
} InventoryGuest;

typedef struct {
    char *path;
    char *text;             /* the file as it was */
    char *digest;           /* hex SHA-256 of text */
    GPtrArray *hypervisors; /* InventoryHypervisor*; "bare" is always there */
    GPtrArray *guests;      /* InventoryGuest* */
} Inventory;

/* Read and validate. Relative paths and a leading ~/ are resolved (against the inventory's folder).
 * Every error says file:line:column. */
Inventory *inventory_load(const char *path, GError **error);
/* The same from memory; path is for messages and relative paths. length -1: up to the NUL. */
Inventory *inventory_parse(const char *path, const char *text, gssize length, GError **error);
void inventory_free(Inventory *inventory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inventory, inventory_free)

const InventoryHypervisor *inventory_hypervisor(const Inventory *inventory, const char *name);
const InventoryGuest *inventory_guest(const Inventory *inventory, const char *name);

/* Whether the driver can boot a kernel and initramfs directly, without a disk. */
gboolean inventory_boots_kernel(const InventoryHypervisor *hypervisor);

const char *accelerator_name(Accelerator accelerator); /* "none", "kvm", "tcg", "native" */
const char *address_method_name(AddressMethod method);
