/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/domain-xml.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xpath.h>
#include <string.h>

#include "guest-domains.h"
#include "util/cpulist.h"
#include "util/error.h"
#include "util/io.h"

#define QEMU_URI "http://libvirt.org/schemas/domain/qemu/1.0"

enum { TEMPLATE_MAX = 1024 * 1024, DEFAULT_MEMORY_MIB = 256, KIB = 1024, IO_THREADS_MAX = 1024 };

G_DEFINE_AUTOPTR_CLEANUP_FUNC(xmlDoc, xmlFreeDoc)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(xmlXPathContext, xmlXPathFreeContext)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(xmlXPathObject, xmlXPathFreeObject)

/* libxml2 speaks xmlChar throughout. */
static const xmlChar *x(const char *text)
{
    return (const xmlChar *)text;
}

/* No network, no external entities, no messages on standard error. */
static xmlDoc *parse(const char *text, gsize length)
{
    if (length > G_MAXINT)
        return NULL;
    return xmlReadMemory(text, (int)length, "domain.xml", NULL,
                         XML_PARSE_NONET | XML_PARSE_NOBLANKS | XML_PARSE_NOERROR |
                             XML_PARSE_NOWARNING);
}

/* An error of an expression shows as NULL; libxml2 would print it as well. */
#if LIBXML_VERSION >= 21200
static void keep_quiet(void *context, const xmlError *wrong)
#else
static void keep_quiet(void *context, xmlError *wrong)
#endif
{
}

static xmlXPathObject *find(xmlDoc *doc, xmlNode *node, const char *xpath)
{
    g_autoptr(xmlXPathContext) context = xmlXPathNewContext(doc);

    context->error = keep_quiet;
    return xmlXPathNodeEval(node, x(xpath), context);
}

static xmlNode *child(const xmlNode *parent, const char *name)
{
    for (xmlNode *node = parent->children; node != NULL; node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    return NULL;
}

/* The first child of that name, made when it is missing. */
static xmlNode *ensure(xmlNode *parent, const char *name)
{
    xmlNode *node = child(parent, name);

    return node != NULL ? node : xmlNewChild(parent, NULL, x(name), NULL);
}

static void set(xmlNode *node, const char *attribute, const char *value)
{
    xmlSetProp(node, x(attribute), x(value));
}

static char *get(xmlNode *node, const char *attribute)
{
    xmlChar *value = xmlGetProp(node, x(attribute));
    char *copy = g_strdup((const char *)value);

    xmlFree(value);
    return copy;
}

static void set_text(xmlNode *node, const char *text)
{
    xmlNodeSetContent(node, NULL);
    xmlNodeAddContent(node, x(text));
}

static void set_number(xmlNode *node, guint64 number)
{
    g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, number);

    set_text(node, text);
}

static void drop(xmlNode *node)
{
    if (node == NULL)
        return;
    xmlUnlinkNode(node);
    xmlFreeNode(node);
}

/* Drop every child of that name (of parent). */
static void drop_all(xmlNode *parent, const char *name)
{
    xmlNode *node;

    while ((node = child(parent, name)) != NULL)
        drop(node);
}

/* XML 1.0 has no way to write most control characters; libxml2 would write them all the same, and
 * the hypervisor would then complain of a line of which nobody knows. */
static gboolean check_text(const HvSpec *spec, const char *what, const char *text, GError **error)
{
    gboolean fine = text == NULL || g_utf8_validate(text, -1, NULL);

    for (const char *c = text; fine && c != NULL && *c != '\0'; c++)
        fine = (guchar)*c >= 0x20 || *c == '\t' || *c == '\n' || *c == '\r';
    if (!fine)
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "domain %s: %s holds a control character or is not UTF-8: XML cannot carry it",
                    spec->name, what);
    return fine;
}

static gboolean check_spec(const HvSpec *spec, GError **error)
{
    const InventoryGuest *guest = spec->guest;
    const struct {
        const char *what, *text;
    } texts[] = {
        {"its name", spec->name},
        {"its owner", spec->owner},
        {"the kernel command line", spec->cmdline},
        {"the overlay's path", spec->overlay},
        {"the run's folder", spec->folder},
        {"the guest's kernel", guest->kernel},
        {"the guest's initrd", guest->initrd},
        {"the guest's command line", guest->cmdline},
        {"the guest's network", guest->network},
        {"the hypervisor's machine", spec->hypervisor->machine},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        if (!check_text(spec, texts[i].what, texts[i].text, error))
            return FALSE;
    if (spec->cmdline != NULL && spec->cmdline[0] != '\0' && guest->kernel == NULL) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "domain %s: a kernel command line is set, and guest %s boots from its own "
                    "disk: give the guest a kernel in the inventory, or take cmdline away",
                    spec->name, guest->name);
        return FALSE;
    }
    return TRUE;
}

static void build_metadata(xmlNode *domain, const HvSpec *spec)
{
    xmlNode *node = xmlNewChild(ensure(domain, "metadata"), NULL, x("owner"), NULL);

    xmlSetNs(node, xmlNewNs(node, x(HV_METADATA_URI), x("vmatrix")));
    set_text(node, spec->owner != NULL ? spec->owner : "");
}

static void build_identity(xmlNode *domain, const HvSpec *spec)
{
    set(domain, "type", spec->hypervisor->accelerator == ACCELERATOR_KVM ? "kvm" : "qemu");
    set_text(ensure(domain, "name"), spec->name);
    set_text(ensure(domain, "uuid"), spec->uuid);
    build_metadata(domain, spec);
}

static xmlNode *add_pin(xmlNode *tune, const char *kind, const char *cpus)
{
    xmlNode *pin = xmlNewChild(tune, NULL, x(kind), NULL);

    set(pin, "cpuset", cpus);
    return pin;
}

/* vCPU i on the i-th CPU of the list; on all of them where there are not as many. */
static void pin_vcpus(xmlNode *tune, const HvSpec *spec)
{
    g_autoptr(GArray) cpus = cpulist_parse(spec->cpus);
    gboolean each = cpus != NULL && cpus->len == spec->vcpus;

    for (guint i = 0; i < spec->vcpus; i++) {
        g_autofree char *vcpu = g_strdup_printf("%u", i);
        g_autofree char *cpu =
            each ? g_strdup_printf("%u", g_array_index(cpus, guint, i)) : g_strdup(spec->cpus);

        set(add_pin(tune, "vcpupin", cpu), "vcpu", vcpu);
    }
}

/* libvirt numbers a template's I/O threads from 1. */
static void pin_io_threads(xmlNode *domain, xmlNode *tune, const char *cpus)
{
    xmlNode *threads = child(domain, "iothreads");
    xmlChar *text = threads != NULL ? xmlNodeGetContent(threads) : NULL;
    guint64 count = text != NULL ? g_ascii_strtoull((const char *)text, NULL, 10) : 0;

    xmlFree(text);
    for (guint64 i = 1; i <= MIN(count, IO_THREADS_MAX); i++) {
        g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, i);

        set(add_pin(tune, "iothreadpin", cpus), "iothread", number);
    }
}

static void build_pinning(xmlNode *domain, const HvSpec *spec)
{
    static const char *const kinds[] = {"vcpupin", "emulatorpin", "iothreadpin"};
    const char *emulator = spec->emulator != NULL ? spec->emulator : spec->cpus;
    xmlNode *tune = ensure(domain, "cputune");

    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        drop_all(tune, kinds[i]);
    pin_vcpus(tune, spec);
    add_pin(tune, "emulatorpin", emulator);
    pin_io_threads(domain, tune, emulator);
    /* Where whatever is not named above may run. */
    set(ensure(domain, "vcpu"), "cpuset", emulator);
}

static void build_nodes(xmlNode *domain, const HvSpec *spec)
{
    xmlNode *memory = ensure(ensure(domain, "numatune"), "memory");

    set(memory, "mode", "strict");
    set(memory, "nodeset", spec->nodes);
}

static void build_resources(xmlNode *domain, const DomainXmlInput *input)
{
    const HvSpec *spec = input->spec;
    xmlNode *memory = ensure(domain, "memory");

    set(memory, "unit", "KiB");
    set_number(memory, spec->memory > 0 ? spec->memory / KIB : (guint64)DEFAULT_MEMORY_MIB * KIB);
    drop_all(domain, "currentMemory");
    set_number(ensure(domain, "vcpu"), spec->vcpus);
    if (spec->cpus != NULL)
        build_pinning(domain, spec);
    if (spec->nodes != NULL)
        build_nodes(domain, spec);
    if (child(domain, "cpu") == NULL && input->cpu_mode != NULL) {
        xmlNode *cpu = xmlNewChild(domain, NULL, x("cpu"), NULL);

        set(cpu, "mode", input->cpu_mode);
        /* All that the host has, also what cannot be migrated (the invariant TSC): as bare has. */
        if (g_str_equal(input->cpu_mode, "host-passthrough"))
            set(cpu, "migratable", "off");
    }
}

static void set_or_drop(xmlNode *parent, const char *name, const char *text)
{
    if (text != NULL)
        set_text(ensure(parent, name), text);
    else
        drop_all(parent, name);
}

/* libvirt makes the variables' file at each boot; in the run's folder it goes with the run. */
static void build_uefi(xmlNode *os, const HvSpec *spec)
{
    g_autofree char *nvram = g_build_filename(spec->folder, "nvram.fd", NULL);

    set(os, "firmware", "efi");
    if (child(os, "firmware") == NULL) {
        /* Images and kernels of one's own are seldom signed. */
        xmlNode *feature = xmlNewChild(ensure(os, "firmware"), NULL, x("feature"), NULL);

        set(feature, "enabled", "no");
        set(feature, "name", "secure-boot");
    }
    set_text(ensure(os, "nvram"), nvram);
}

static void build_os(xmlNode *domain, const HvSpec *spec)
{
    const InventoryGuest *guest = spec->guest;
    xmlNode *os = ensure(domain, "os");
    xmlNode *type = ensure(os, "type");

    if (spec->hypervisor->machine != NULL)
        set(type, "machine", spec->hypervisor->machine);
    set_or_drop(os, "kernel", guest->kernel);
    set_or_drop(os, "initrd", guest->initrd);
    if (guest->kernel != NULL)
        set_or_drop(os, "cmdline", spec->cmdline != NULL ? spec->cmdline : guest->cmdline);
    if (g_strcmp0(guest->firmware, "uefi") == 0)
        build_uefi(os, spec);
}

/* The first <disk> that is no cdrom or floppy. */
static xmlNode *boot_disk(const xmlNode *devices)
{
    for (xmlNode *node = devices->children; node != NULL; node = node->next) {
        if (node->type != XML_ELEMENT_NODE || strcmp((const char *)node->name, "disk") != 0)
            continue;
        g_autofree char *device = get(node, "device");

        if (device == NULL || g_str_equal(device, "disk"))
            return node;
    }
    return NULL;
}

/* State the whole backing chain, each file with relabel="no": libvirt gives an overlay back to its
 * owner when the domain ends, but never the files behind it. */
static void build_backing(xmlNode *disk, const OverlayBase *base)
{
    xmlNode *parent = disk;

    drop_all(disk, "backingStore");
    for (guint i = 0; i < base->chain->len; i++) {
        xmlNode *store = xmlNewChild(parent, NULL, x("backingStore"), NULL);
        xmlNode *source, *label;

        set(store, "type", "file");
        set(xmlNewChild(store, NULL, x("format"), NULL), "type",
            g_ptr_array_index(base->formats, i));
        source = xmlNewChild(store, NULL, x("source"), NULL);
        set(source, "file", g_ptr_array_index(base->chain, i));
        label = xmlNewChild(source, NULL, x("seclabel"), NULL);
        set(label, "model", "dac");
        set(label, "relabel", "no");
        parent = store;
    }
    xmlNewChild(parent, NULL, x("backingStore"), NULL); /* the end of the chain */
}

static gboolean build_disk(xmlNode *devices, const DomainXmlInput *input, GError **error)
{
    const HvSpec *spec = input->spec;
    xmlNode *disk = boot_disk(devices);

    if (spec->overlay == NULL) {
        drop(disk);
        return TRUE;
    }
    if (disk == NULL) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "domain %s: template %s has no <disk> for guest %s's image: add one "
                    "(configs/domains/qemu.xml shows it)",
                    spec->name, input->template_name, spec->guest->name);
        return FALSE;
    }
    set(ensure(disk, "source"), "file", spec->overlay);
    if (spec->base != NULL && input->keep_owner)
        build_backing(disk, spec->base);
    return TRUE;
}

static void qemu_argument(xmlNode *commandline, const char *value)
{
    set(xmlNewChild(commandline, commandline->ns, x("arg"), NULL), "value", value);
}

/* Where libvirt's own devices do not go: it fills a bus from the low slots. */
static const char *root_bus(xmlNode *domain)
{
    g_autofree char *machine = get(ensure(ensure(domain, "os"), "type"), "machine");

    if (machine != NULL && (g_str_equal(machine, "pc") || g_str_has_prefix(machine, "pc-i440fx")))
        return "pci.0";
    return "pcie.0";
}

/* QEMU's own user-mode network with one port forwarded from loopback; works for every user, needs
 * no helper and no libvirt network. The empty romfile spares the boot ROM's run. */
static void build_forward(xmlNode *domain, const HvSpec *spec)
{
    xmlNs *ns = xmlSearchNsByHref(domain->doc, domain, x(QEMU_URI));
    xmlNode *commandline;
    g_autofree char *mac = domain_xml_mac(spec->uuid);
    g_autofree char *netdev = g_strdup_printf("user,id=vmatrix0,hostfwd=tcp:127.0.0.1:%u-:%u",
                                              spec->forward_port, spec->guest->port);
    g_autofree char *device = g_strdup_printf(
        "virtio-net-pci,netdev=vmatrix0,mac=%s,bus=%s,addr=0x10,romfile=", mac, root_bus(domain));

    if (ns == NULL)
        ns = xmlNewNs(domain, x(QEMU_URI), x("qemu"));
    commandline = xmlNewChild(domain, ns, x("commandline"), NULL);
    qemu_argument(commandline, "-netdev");
    qemu_argument(commandline, netdev);
    qemu_argument(commandline, "-device");
    qemu_argument(commandline, device);
}

static void build_interface(xmlNode *devices, const DomainXmlInput *input)
{
    const HvSpec *spec = input->spec;
    xmlNode *interface = ensure(devices, "interface");
    g_autofree char *mac = domain_xml_mac(spec->uuid);

    if (child(interface, "mac") == NULL)
        set(xmlNewChild(interface, NULL, x("mac"), NULL), "address", mac);
    if (spec->guest->network == NULL)
        return; /* a template's own, or a fixed address behind something we do not know */
    set(interface, "type", input->bridge ? "bridge" : "network");
    drop_all(interface, "source");
    set(xmlNewChild(interface, NULL, x("source"), NULL), input->bridge ? "bridge" : "network",
        spec->guest->network);
}

static gboolean uses_agent(AddressMethod method)
{
    return method == ADDRESS_AGENT || method == ADDRESS_AUTO;
}

static void build_console(xmlNode *devices, const HvSpec *spec)
{
    xmlNode *serial = child(devices, "serial");
    g_autofree char *path = g_build_filename(spec->folder, "console.log", NULL);

    if (serial == NULL)
        return; /* a template without a console has its reasons */
    set(serial, "type", "file");
    set(ensure(serial, "source"), "path", path);
}

static gboolean build_devices(xmlNode *domain, const DomainXmlInput *input, GError **error)
{
    xmlNode *devices = ensure(domain, "devices");
    AddressMethod method = input->spec->guest->address;

    if (!build_disk(devices, input, error))
        return FALSE;
    build_console(devices, input->spec);
    if (!uses_agent(method))
        drop_all(devices, "channel");
    if (method == ADDRESS_FORWARD) {
        drop_all(devices, "interface");
        build_forward(domain, input->spec);
    } else {
        build_interface(devices, input);
    }
    return TRUE;
}

/* An edit's path is split into its element and, after the last "/@" (or as a whole), the attribute.
 * Quotes may hold "/@" too: such a path ends in "]" and has no attribute. */
static void split_edit(const char *xpath, char **ret_element, const char **ret_attribute)
{
    const char *at = strrchr(xpath, '@');
    gboolean attribute = at != NULL && (at == xpath || at[-1] == '/') && at[1] != '\0' &&
                         strpbrk(at, "]/()'\"= ") == NULL;

    *ret_attribute = attribute ? at + 1 : NULL;
    if (attribute && at == xpath)
        *ret_element = g_strdup(".");
    else if (attribute)
        *ret_element = g_strndup(xpath, (gsize)(at - xpath) - 1);
    else if (g_str_has_suffix(xpath, "/text()"))
        *ret_element = g_strndup(xpath, strlen(xpath) - strlen("/text()"));
    else
        *ret_element = g_strdup(xpath);
}

static gboolean edit_fail(const HvSpec *spec, const DomainEdit *edit, const char *why,
                          GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "domain %s (guest %s on %s): edit \"%s\": %s",
                spec->name, spec->guest->name, spec->hypervisor->name, edit->xpath, why);
    return FALSE;
}

/* What vmatrix finds its own domains by. */
static gboolean is_identity(xmlNode *root, xmlNode *node)
{
    if (node == root)
        return FALSE;
    while (node->parent != NULL && node->parent != root)
        node = node->parent;
    return node->parent == NULL || g_str_equal((const char *)node->name, "name") ||
           g_str_equal((const char *)node->name, "uuid") ||
           g_str_equal((const char *)node->name, "metadata");
}

static gboolean edit_node(xmlNode *root, xmlNode *node, const HvSpec *spec, const DomainEdit *edit,
                          const char *attribute, GError **error)
{
    if (node->type != XML_ELEMENT_NODE)
        return edit_fail(spec, edit, "it must name an element, or an attribute as the last step",
                         error);
    if (is_identity(root, node))
        return edit_fail(spec, edit, "name, uuid and metadata are vmatrix's own", error);
    if (attribute != NULL) {
        if (xmlValidateNCName(x(attribute), 0) != 0)
            return edit_fail(spec, edit, "its last step is no attribute name", error);
        if (node == root)
            return edit_fail(spec, edit, "the domain's type is the inventory's accelerator", error);
        set(node, attribute, edit->value);
        return TRUE;
    }
    if (xmlFirstElementChild(node) != NULL || node == root)
        return edit_fail(spec, edit, "this element holds others: name one of them", error);
    set_text(node, edit->value);
    return TRUE;
}

static gboolean apply_edit(xmlNode *root, const HvSpec *spec, const DomainEdit *edit,
                           GError **error)
{
    g_autofree char *element = NULL;
    const char *attribute;
    g_autoptr(xmlXPathObject) found = NULL;

    if (!check_text(spec, edit->xpath, edit->value, error))
        return FALSE;
    split_edit(edit->xpath, &element, &attribute);
    found = find(root->doc, root, element);
    if (found == NULL || found->type != XPATH_NODESET)
        return edit_fail(spec, edit, "it is not an XPath to elements of the domain", error);
    if (xmlXPathNodeSetIsEmpty(found->nodesetval))
        return edit_fail(spec, edit,
                         "no such element in the domain: an edit changes what the domain template "
                         "has (see domain.xml among the facts of a run)",
                         error);
    for (int i = 0; i < found->nodesetval->nodeNr; i++)
        if (!edit_node(root, found->nodesetval->nodeTab[i], spec, edit, attribute, error))
            return FALSE;
    return TRUE;
}

static gboolean apply_edits(xmlNode *root, const HvSpec *spec, GError **error)
{
    for (guint i = 0; spec->edits != NULL && i < spec->edits->len; i++)
        if (!apply_edit(root, spec, g_ptr_array_index(spec->edits, i), error))
            return FALSE;
    return TRUE;
}

static xmlDoc *parse_template(const DomainXmlInput *input, GError **error)
{
    g_autoptr(xmlDoc) doc = NULL;
    const xmlError *wrong;

    xmlResetLastError();
    doc = parse(input->template_text, strlen(input->template_text));
    wrong = xmlGetLastError();
    if (doc == NULL) {
        g_autofree char *why = g_strchomp(g_strdup(wrong != NULL ? wrong->message : "not XML"));

        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "%s:%d: domain template: %s",
                    input->template_name, wrong != NULL ? wrong->line : 1, why);
        return NULL;
    }
    if (strcmp((const char *)xmlDocGetRootElement(doc)->name, "domain") != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s:1: domain template: its root element is <%s>, not <domain>",
                    input->template_name, (const char *)xmlDocGetRootElement(doc)->name);
        return NULL;
    }
    return g_steal_pointer(&doc);
}

static char *print(xmlDoc *doc)
{
    xmlChar *text = NULL;
    int length = 0;
    char *copy;

    xmlDocDumpFormatMemoryEnc(doc, &text, &length, "UTF-8", 1);
    copy = g_strndup((const char *)text, (gsize)length);
    xmlFree(text);
    return copy;
}

char *domain_xml_build(const DomainXmlInput *input, GError **error)
{
    g_autoptr(xmlDoc) doc = NULL;
    xmlNode *domain;

    if (!check_spec(input->spec, error) || (doc = parse_template(input, error)) == NULL)
        return NULL;
    domain = xmlDocGetRootElement(doc);
    build_identity(domain, input->spec);
    build_resources(domain, input);
    build_os(domain, input->spec);
    if (!build_devices(domain, input, error) || !apply_edits(domain, input->spec, error))
        return NULL;
    return print(doc);
}

char *domain_xml_template(const char *path, GError **error)
{
    g_autoptr(GBytes) bytes = NULL;

    if (path != NULL)
        return io_read_file(path, TEMPLATE_MAX, NULL, error);
    bytes = g_resource_lookup_data(guest_domains_get_resource(), "/vmatrix/domains/qemu.xml",
                                   G_RESOURCE_LOOKUP_FLAGS_NONE, error);
    if (bytes == NULL)
        return NULL;
    return g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

GPtrArray *domain_xml_query_all(const char *xml, const char *xpath)
{
    GPtrArray *values = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(xmlDoc) doc = parse(xml, strlen(xml));
    g_autoptr(xmlXPathObject) found = NULL;

    if (doc == NULL)
        return values;
    found = find(doc, (xmlNode *)doc, xpath);
    if (found == NULL || found->type != XPATH_NODESET || found->nodesetval == NULL)
        return values;
    for (int i = 0; i < found->nodesetval->nodeNr; i++) {
        xmlChar *text = xmlXPathCastNodeToString(found->nodesetval->nodeTab[i]);

        g_ptr_array_add(values, g_strdup((const char *)text));
        xmlFree(text);
    }
    return values;
}

char *domain_xml_query(const char *xml, const char *xpath)
{
    g_autoptr(GPtrArray) values = domain_xml_query_all(xml, xpath);

    return values->len > 0 ? g_strdup(g_ptr_array_index(values, 0)) : NULL;
}

char *domain_xml_mac(const char *uuid)
{
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, uuid, -1);

    return g_strdup_printf("52:54:00:%.2s:%.2s:%.2s", digest, digest + 2, digest + 4);
}
