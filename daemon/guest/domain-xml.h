/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domain XML as a tree: the only code that includes libxml2. Nothing is printed with format
 * strings, so that no name, path or text of a plan can break out of its place. */
#pragma once
#include <glib.h>

#include "guest/hypervisor.h"

typedef struct {
    const HvSpec *spec;
    const char *template_text; /* the whole template */
    const char *template_name; /* its path, for messages */
    const char *cpu_mode;      /* of a template without <cpu>: "host-passthrough", "maximum"; NULL
                                  leaves it to the hypervisor */
    gboolean bridge;           /* the guest's network is a bridge of the host, not libvirt's */
    gboolean keep_owner;       /* libvirt changes owners of image files: not those of the base */
} DomainXmlInput;

/* The template at path (NULL: the built-in one); transfer full. */
char *domain_xml_template(const char *path, GError **error);

/* The domain of one boot; transfer full. VM_ERROR_INVALID names the template's line, or the edit's
 * XPath and the domain, when something is not as it must be. */
char *domain_xml_build(const DomainXmlInput *input, GError **error);

/* String value of the first node that xpath finds in a document (absolute XPath 1.0, no namespace
 * prefixes); NULL when there is none or the document cannot be parsed. Transfer full. */
char *domain_xml_query(const char *xml, const char *xpath);

/* The same of every node it finds: char*; transfer full, never NULL. */
GPtrArray *domain_xml_query_all(const char *xml, const char *xpath);

/* A MAC address of QEMU's range ("52:54:00:…") made from a UUID's digest, so that each boot has its
 * own; transfer full. */
char *domain_xml_mac(const char *uuid);
