/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The doctor's checks of what the inventory names: hypervisors, guests' images, keys. */
#include "run/doctor.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/access.h"
#include "guest/hypervisor.h"
#include "guest/overlay.h"
#include "guest/ssh.h"

/* ---- hypervisors ---- */

/* Without an inventory: is there a libvirt that a first inventory could name? */
static const InventoryHypervisor *usual_hypervisor(void)
{
    static InventoryHypervisor usual = {
        .name = (char *)"qemu", .driver = (char *)"qemu", .accelerator = ACCELERATOR_TCG};

    usual.uri = (char *)(geteuid() == 0 ? "qemu:///system" : "qemu:///session");
    return &usual;
}

static char *describe(const InventoryHypervisor *config, GHashTable *facts)
{
    const char *version = g_hash_table_lookup(facts, "hypervisor.version");

    return g_strdup_printf("%s: %s reachable, accelerator %s%s%s", config->name,
                           config->uri != NULL ? config->uri : config->driver,
                           accelerator_name(config->accelerator),
                           version != NULL ? ", version " : "", version != NULL ? version : "");
}

static void check_hypervisor(const DoctorSubject *subject, const InventoryHypervisor *config,
                             GPtrArray *findings)
{
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GError) error = NULL;
    Wait wait = doctor_wait(subject, config->name);
    g_autoptr(Hypervisor) hv = hypervisor_open(config, &wait, &error);

    if (hv != NULL && hv->ops->facts(hv, NULL, facts, &error)) {
        doctor_add(findings, DOCTOR_OK, "hypervisor", describe(config, facts), NULL);
        return;
    }
    doctor_add(findings, subject->inventory != NULL ? DOCTOR_MISSING : DOCTOR_WARNING, "hypervisor",
               g_strdup_printf("%s: %s", config->name, error->message),
               g_strdup("its cells cannot run here; the rest of a matrix runs without them"));
}

void doctor_check_hypervisors(const DoctorSubject *subject, GPtrArray *findings)
{
    if (subject->inventory == NULL) {
        check_hypervisor(subject, usual_hypervisor(), findings);
        return;
    }
    for (guint i = 0; i < subject->inventory->hypervisors->len; i++) {
        const InventoryHypervisor *config = g_ptr_array_index(subject->inventory->hypervisors, i);

        if (hypervisor_driver(config->driver) == NULL ||
            hypervisor_driver(config->driver)->has_domain)
            check_hypervisor(subject, config, findings);
    }
}

/* ---- guests ---- */

static void free_hypervisor(gpointer data)
{
    hypervisor_free(data);
}

/* Those that can be opened; why others cannot has been said. Transfer full. */
static GPtrArray *open_all(const DoctorSubject *subject)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(free_hypervisor);

    for (guint i = 0; i < subject->inventory->hypervisors->len; i++) {
        const InventoryHypervisor *config = g_ptr_array_index(subject->inventory->hypervisors, i);
        Wait wait = doctor_wait(subject, config->name);
        Hypervisor *hv = hypervisor_open(config, &wait, NULL);

        if (hv != NULL)
            g_ptr_array_add(list, hv);
    }
    return list;
}

/* A file that we ourselves must be able to read; chain: and all its backing files. */
static gboolean check_file(const InventoryGuest *guest, const char *path, gboolean chain,
                           GPtrArray *findings)
{
    g_autofree char *why = NULL;

    if (path != NULL)
        why = chain ? overlay_blocked_by(path, NULL) : access_blocked_by(path, NULL, ACCESS_READ);
    if (why == NULL)
        return TRUE;
    doctor_add(findings, DOCTOR_MISSING, "image", g_strdup_printf("%s: %s", guest->name, why),
               g_strdup("build or copy it there, give access, or correct the inventory"));
    return FALSE;
}

/* Names of the hypervisors that can boot guest; for each that cannot, a warning: a plan need not
 * pair them. Transfer full. */
static char *bootable_by(const InventoryGuest *guest, const OverlayBase *base,
                         const GPtrArray *hypervisors, GPtrArray *findings)
{
    GString *names = g_string_new(NULL);

    for (guint i = 0; i < hypervisors->len; i++) {
        Hypervisor *hv = g_ptr_array_index(hypervisors, i);
        g_autoptr(GError) error = NULL;

        if (hv->ops->preflight == NULL ||
            (guest->disk == NULL && !inventory_boots_kernel(hv->config)))
            continue;
        if (hv->ops->preflight(hv, guest, base, &error))
            g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", hv->config->name);
        else
            doctor_add(findings, DOCTOR_WARNING, "guest", g_strdup(error->message),
                       g_strdup("do as it says, or pair the two in no plan"));
    }
    return g_string_free(names, FALSE);
}

static void check_guest(const DoctorSubject *subject, const InventoryGuest *guest,
                        const GPtrArray *hypervisors, GPtrArray *findings)
{
    Wait wait = doctor_wait(subject, guest->name);
    g_autoptr(OverlayBase) base = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *names = NULL;

    if (!check_file(guest, guest->disk, TRUE, findings) ||
        !check_file(guest, guest->kernel, FALSE, findings) ||
        !check_file(guest, guest->initrd, FALSE, findings) ||
        !check_file(guest, guest->agent, FALSE, findings))
        return;
    if (guest->disk != NULL) {
        base = overlay_base_probe(&wait, guest->disk, guest->disk_format, &error);
        if (base == NULL) {
            doctor_add(findings, DOCTOR_MISSING, "image",
                       g_strdup_printf("%s: %s", guest->name, error->message),
                       g_strdup("see the line about qemu-img, or correct the inventory"));
            return;
        }
    }
    names = bootable_by(guest, base, hypervisors, findings);
    if (*names != '\0')
        doctor_add(findings, DOCTOR_OK, "guest",
                   g_strdup_printf("%s: can be booted by %s", guest->name, names), NULL);
    else
        doctor_add(findings, DOCTOR_MISSING, "guest",
                   g_strdup_printf("%s: no hypervisor here can boot it", guest->name),
                   g_strdup("see the lines above, or take it out of the inventory"));
}

void doctor_check_guests(const DoctorSubject *subject, GPtrArray *findings)
{
    g_autoptr(GPtrArray) hypervisors = NULL;

    if (subject->inventory == NULL)
        return;
    hypervisors = open_all(subject);
    for (guint i = 0; i < subject->inventory->guests->len; i++)
        check_guest(subject, g_ptr_array_index(subject->inventory->guests, i), hypervisors,
                    findings);
}

/* ---- keys ---- */

static void check_login_key(const InventoryGuest *guest, GPtrArray *findings)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *public = NULL;
    struct stat status;

    if (stat(guest->key, &status) != 0) {
        doctor_add(findings, DOCTOR_MISSING, "ssh-key",
                   g_strdup_printf("%s: %s: %s", guest->name, guest->key, g_strerror(errno)),
                   g_strdup_printf("ssh-keygen -t ed25519 -N '' -f %s, and put %s.pub into the "
                                   "guest",
                                   guest->key, guest->key));
        return;
    }
    public = ssh_public_key_of(guest->key, &error);
    if (public == NULL)
        doctor_add(findings, DOCTOR_MISSING, "ssh-key",
                   g_strdup_printf("%s: %s", guest->name, error->message),
                   g_strdup("name a private key without a passphrase"));
    else if ((status.st_mode & 077) != 0)
        doctor_add(findings, DOCTOR_WARNING, "ssh-key",
                   g_strdup_printf("%s: %s is open to others (mode %03o)", guest->name, guest->key,
                                   (guint)(status.st_mode & 0777)),
                   g_strdup_printf("chmod 600 %s", guest->key));
    else if (!g_str_has_prefix(public, "ssh-ed25519 "))
        doctor_add(findings, DOCTOR_WARNING, "ssh-key",
                   g_strdup_printf("%s: %s is no ed25519 key", guest->name, guest->key),
                   g_strdup("old and new SSH servers agree on ed25519 best"));
    else
        doctor_add(findings, DOCTOR_OK, "ssh-key",
                   g_strdup_printf("%s: %s", guest->name, guest->key), NULL);
}

static void check_host_key(const DoctorSubject *subject, const InventoryGuest *guest,
                           GPtrArray *findings)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = NULL;

    if (guest->host_key != HOST_KEY_ENROLLED)
        return;
    if (subject->store != NULL && !store_host_key_get(subject->store, guest->name, &key, &error))
        doctor_add(findings, DOCTOR_MISSING, "host-key", g_strdup(error->message),
                   g_strdup("see the line about the database"));
    else if (key == NULL)
        doctor_add(findings, DOCTOR_MISSING, "host-key",
                   g_strdup_printf("%s: not enrolled", guest->name),
                   g_strdup_printf("vmatrix guest enroll %s", guest->name));
    else
        doctor_add(findings, DOCTOR_OK, "host-key", g_strdup_printf("%s: enrolled", guest->name),
                   NULL);
}

void doctor_check_keys(const DoctorSubject *subject, GPtrArray *findings)
{
    for (guint i = 0; subject->inventory != NULL && i < subject->inventory->guests->len; i++) {
        const InventoryGuest *guest = g_ptr_array_index(subject->inventory->guests, i);

        if (guest->key != NULL)
            check_login_key(guest, findings);
        check_host_key(subject, guest, findings);
    }
}
