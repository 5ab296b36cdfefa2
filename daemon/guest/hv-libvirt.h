/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the parts of the libvirt gateway (hv-libvirt*.c), and for no one else. */
#pragma once
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "guest/hypervisor.h"

typedef struct {
    virConnectPtr handle;
    virErrorPtr trouble; /* the failure last noted; any later call wipes libvirt's own copy */
    char *uri;
    gboolean local; /* its files and processes are on this host */
    char *user;     /* whom libvirt runs QEMU as ("+64055"); NULL: ourselves */
} LibvirtConnection;

static inline LibvirtConnection *hv_libvirt_connection(const Hypervisor *hv)
{
    return hv->connection;
}

gboolean hv_libvirt_open(Hypervisor *hv, const Wait *wait, GError **error);
void hv_libvirt_close(Hypervisor *hv);

/* Keep libvirt's last error of this thread; right after the call that failed. */
void hv_libvirt_note(Hypervisor *hv);

/* Whether the connection is broken. */
gboolean hv_libvirt_is_lost(const Hypervisor *hv);

/* Open again after a loss (libvirtd was restarted), trying for some seconds. */
gboolean hv_libvirt_reconnect(Hypervisor *hv, GError **error);

/* Turn the noted failure into a GError that quotes it: "hypervisor NAME: WHAT: MESSAGE". A lost
 * connection is VM_ERROR_HALT. Returns FALSE always. */
gboolean hv_libvirt_fail(const Hypervisor *hv, const char *what, GError **error);

/* A failure's message on one line; never NULL; transfer full. */
char *hv_libvirt_message(const virError *trouble);

typedef enum { CALL_DONE, CALL_GONE, CALL_FAILED } CallResult;

/* A call on a domain: below 0 is libvirt's failure. */
typedef int (*DomainCall)(virDomainPtr handle, gpointer data);

/* Look the domain up by UUID and call; once more after a lost connection. CALL_GONE (no error is
 * set): there is no such domain, or it is not running any more. */
CallResult hv_libvirt_call(Hypervisor *hv, const HvDomain *domain, const char *what,
                           DomainCall call, gpointer data, GError **error);

/* A call on the connection itself: below 0 is libvirt's failure. */
typedef int (*ConnectionCall)(virConnectPtr handle, gpointer data);

/* Call, and once more after a lost connection. */
gboolean hv_libvirt_ask(Hypervisor *hv, const char *what, ConnectionCall call, gpointer data,
                        GError **error);

/* The address operation. */
gboolean hv_libvirt_address(Hypervisor *hv, HvDomain *domain, const Wait *wait,
                            HvAddress *ret_address, GError **error);
