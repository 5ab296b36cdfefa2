/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/domain-xml.h"

#include <string.h>

#include "fixture.h"
#include "util/error.h"

static char *build_from(const Fixture *f, const char *template_text, GError **error)
{
    DomainXmlInput input = {.spec = &f->spec,
                            .template_text = template_text,
                            .template_name = "site.xml",
                            .cpu_mode = "maximum",
                            .keep_owner = TRUE};

    return domain_xml_build(&input, error);
}

static char *build(const Fixture *f)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *template_text = domain_xml_template(NULL, &error);
    char *xml;

    g_assert_no_error(error);
    xml = build_from(f, template_text, &error);
    g_assert_no_error(error);
    return xml;
}

/* expected NULL: nothing may be there. */
static void expect(const char *xml, const char *xpath, const char *expected)
{
    g_autofree char *value = domain_xml_query(xml, xpath);

    if (g_strcmp0(value, expected) != 0)
        g_error("%s is %s, not %s, in:\n%s", xpath, value, expected, xml);
}

static void test_kernel_guest(void)
{
    g_auto(Fixture) f;
    g_autofree char *xml = NULL, *console = NULL, *mac = NULL, *device = NULL;

    fixture_init(&f);
    f.guest.kernel = (char *)"/k/vmlinuz";
    f.guest.initrd = (char *)"/k/initrd";
    f.guest.cmdline = (char *)"console=ttyS0";
    f.spec.vcpus = 2;
    xml = build(&f);
    console = g_build_filename(f.folder, "console.log", NULL);
    mac = domain_xml_mac(f.spec.uuid);
    device =
        g_strdup_printf("virtio-net-pci,netdev=vmatrix0,mac=%s,bus=pcie.0,addr=0x10,romfile=", mac);
    expect(xml, "/domain/@type", "qemu");
    expect(xml, "/domain/name", f.spec.name);
    expect(xml, "/domain/uuid", f.spec.uuid);
    expect(xml, "/domain/metadata/*[namespace-uri()='" HV_METADATA_URI "']", f.spec.owner);
    expect(xml, "/domain/memory[@unit='KiB']", "65536");
    expect(xml, "/domain/vcpu", "2");
    expect(xml, "/domain/cpu/@mode", "maximum");
    expect(xml, "/domain/os/type/@machine", "q35");
    expect(xml, "/domain/os/kernel", "/k/vmlinuz");
    expect(xml, "/domain/os/initrd", "/k/initrd");
    expect(xml, "/domain/os/cmdline", "console=ttyS0");
    expect(xml, "/domain/devices/disk", NULL);
    expect(xml, "/domain/devices/interface", NULL);
    expect(xml, "/domain/devices/channel", NULL);
    expect(xml, "/domain/devices/graphics", NULL);
    expect(xml, "/domain/devices/memballoon/@model", "none");
    expect(xml, "/domain/devices/rng/@model", "virtio");
    expect(xml, "/domain/devices/serial[@type='file']/source/@path", console);
    expect(xml, "/domain/*[local-name()='commandline']/*[2]/@value",
           "user,id=vmatrix0,hostfwd=tcp:127.0.0.1:40022-:22");
    expect(xml, "/domain/*[local-name()='commandline']/*[4]/@value", device);
    expect(xml,
           "/domain/*[namespace-uri()='http://libvirt.org/schemas/domain/qemu/1.0']/*[1]/@value",
           "-netdev");
    expect(xml, "/domain/on_reboot", "destroy");
    expect(xml, "/domain/cputune", NULL);
}

static void test_disk_guest(void)
{
    g_auto(Fixture) f;
    g_autofree char *xml = NULL;
    g_autoptr(OverlayBase) base = g_new0(OverlayBase, 1);
    const char *const inner = "/domain/devices/disk/backingStore/backingStore/source/@file";

    fixture_init(&f);
    base->chain = g_ptr_array_new_with_free_func(g_free);
    base->formats = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(base->chain, g_strdup("/i/base.qcow2"));
    g_ptr_array_add(base->formats, g_strdup("qcow2"));
    g_ptr_array_add(base->chain, g_strdup("/i/older.raw"));
    g_ptr_array_add(base->formats, g_strdup("raw"));
    f.spec.overlay = "/r/overlay.qcow2";
    f.spec.base = base;
    f.guest.firmware = (char *)"uefi";
    f.hypervisor.machine = (char *)"pc-q35-7.2";
    xml = build(&f);
    expect(xml, "/domain/devices/disk/source/@file", "/r/overlay.qcow2");
    expect(xml, "/domain/devices/disk/driver/@type", "qcow2");
    expect(xml, "/domain/devices/disk/driver/@cache", "none");
    expect(xml, "/domain/devices/disk/target/@bus", "virtio");
    expect(xml, "/domain/devices/disk/backingStore/format/@type", "qcow2");
    expect(xml, "/domain/devices/disk/backingStore/source/@file", "/i/base.qcow2");
    expect(xml, "/domain/devices/disk/backingStore/source/seclabel[@model='dac']/@relabel", "no");
    expect(xml, inner, "/i/older.raw");
    expect(xml, "/domain/devices/disk/backingStore/backingStore/format/@type", "raw");
    expect(xml, "/domain/os/@firmware", "efi");
    expect(xml, "/domain/os/firmware/feature[@name='secure-boot']/@enabled", "no");
    expect(xml, "starts-with(/domain/os/nvram, '/')", NULL); /* a boolean is no node */
    g_autofree char *nvram = domain_xml_query(xml, "/domain/os/nvram");
    g_assert_true(g_str_has_prefix(nvram, f.folder));
    expect(xml, "/domain/os/type/@machine", "pc-q35-7.2");
    expect(xml, "/domain/os/kernel", NULL);
}

static void test_network(void)
{
    g_auto(Fixture) f;
    g_autofree char *xml = NULL, *mac = NULL;

    fixture_init(&f);
    f.guest.address = ADDRESS_AUTO;
    f.guest.network = (char *)"default";
    xml = build(&f);
    mac = domain_xml_mac(f.spec.uuid);
    expect(xml, "/domain/devices/interface/@type", "network");
    expect(xml, "/domain/devices/interface/source/@network", "default");
    expect(xml, "/domain/devices/interface/mac/@address", mac);
    expect(xml, "/domain/devices/interface/model/@type", "virtio");
    expect(xml, "/domain/devices/channel/target/@name", "org.qemu.guest_agent.0");
    expect(xml, "/domain/*[local-name()='commandline']", NULL);
    f.guest.address = ADDRESS_LEASE;
    g_free(xml);
    xml = build(&f);
    expect(xml, "/domain/devices/channel", NULL);
}

static void test_bridge(void)
{
    g_auto(Fixture) f;
    g_autofree char *template_text = domain_xml_template(NULL, NULL);
    g_autofree char *xml = NULL;
    DomainXmlInput input = {
        .spec = &f.spec, .template_text = template_text, .template_name = "t", .bridge = TRUE};

    fixture_init(&f);
    f.guest.address = ADDRESS_ARP;
    f.guest.network = (char *)"br0";
    f.hypervisor.accelerator = ACCELERATOR_KVM;
    xml = domain_xml_build(&input, NULL);
    expect(xml, "/domain/@type", "kvm");
    expect(xml, "/domain/cpu", NULL);
    expect(xml, "/domain/devices/interface/@type", "bridge");
    expect(xml, "/domain/devices/interface/source/@bridge", "br0");
    expect(xml, "/domain/devices/interface/source/@network", NULL);
}

static void test_passthrough(void)
{
    g_auto(Fixture) f;
    g_autofree char *template_text = domain_xml_template(NULL, NULL);
    g_autofree char *xml = NULL;
    DomainXmlInput input = {.spec = &f.spec,
                            .template_text = template_text,
                            .template_name = "t",
                            .cpu_mode = "host-passthrough"};

    fixture_init(&f);
    f.spec.vcpus = 2;
    f.spec.cpus = "0,3";
    f.spec.memory = 0;
    xml = domain_xml_build(&input, NULL);
    expect(xml, "/domain/cpu[@mode='host-passthrough']/@migratable", "off");
    expect(xml, "/domain/cputune/vcpupin[@vcpu='0']/@cpuset", "0");
    expect(xml, "/domain/cputune/vcpupin[@vcpu='1']/@cpuset", "3");
    expect(xml, "/domain/cputune/vcpupin[@vcpu='2']", NULL);
    expect(xml, "/domain/cputune/emulatorpin/@cpuset", "0,3");
    expect(xml, "/domain/vcpu/@cpuset", "0,3");
    expect(xml, "/domain/vcpu", "2");
    expect(xml, "/domain/numatune", NULL);
    expect(xml, "/domain/memory", "262144");
}

/* The emulator apart from the vCPUs, and a template's own pinning and I/O threads. */
static void test_placement(void)
{
    static const char template_text[] =
        "<domain><iothreads>2</iothreads>"
        "<cputune><shares>2048</shares><vcpupin vcpu='7' cpuset='9'/>"
        "<emulatorpin cpuset='9'/><iothreadpin iothread='1' cpuset='9'/></cputune>"
        "<numatune><memory mode='interleave' nodeset='0-3'/></numatune></domain>";
    g_auto(Fixture) f;
    g_autofree char *xml = NULL;
    DomainXmlInput input = {.spec = &f.spec, .template_text = template_text, .template_name = "t"};

    fixture_init(&f);
    f.spec.vcpus = 2;
    f.spec.cpus = "5,4";
    f.spec.emulator = "0-1";
    f.spec.nodes = "1";
    xml = domain_xml_build(&input, NULL);
    expect(xml, "/domain/cputune/vcpupin[@vcpu='0']/@cpuset", "5");
    expect(xml, "/domain/cputune/vcpupin[@vcpu='1']/@cpuset", "4");
    expect(xml, "/domain/cputune/vcpupin[@vcpu='7']", NULL);
    expect(xml, "/domain/cputune/emulatorpin[2]", NULL);
    expect(xml, "/domain/cputune/emulatorpin/@cpuset", "0-1");
    expect(xml, "/domain/cputune/iothreadpin[@iothread='1']/@cpuset", "0-1");
    expect(xml, "/domain/cputune/iothreadpin[@iothread='2']/@cpuset", "0-1");
    expect(xml, "/domain/cputune/iothreadpin[3]", NULL);
    expect(xml, "/domain/cputune/shares", "2048");
    expect(xml, "/domain/vcpu/@cpuset", "0-1");
    expect(xml, "/domain/numatune/memory/@mode", "strict");
    expect(xml, "/domain/numatune/memory/@nodeset", "1");
    /* Fewer CPUs than vCPUs: each on all of them. */
    g_free(xml);
    f.spec.cpus = "3";
    xml = domain_xml_build(&input, NULL);
    expect(xml, "/domain/cputune/vcpupin[@vcpu='1']/@cpuset", "3");
}

/* Text that would end an element, an attribute or the document, were it printed. */
static void test_hostile_text(void)
{
    static const char *const hostile[] = {
        "</cmdline><kernel>/etc/shadow</kernel><cmdline>",
        "\"'><!-- & ]]>",
        "&lt;&amp;&#0;",
        "%s%n%999999s",
        "ünïcödé ☃",
        "<![CDATA[x]]>",
        "${x} $(y) `z`\nnew line",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(hostile); i++) {
        g_auto(Fixture) f;
        g_autofree char *xml = NULL, *path = NULL;

        fixture_init(&f);
        path = g_strconcat("/k/", hostile[i], NULL);
        f.guest.kernel = path;
        f.spec.cmdline = hostile[i];
        f.spec.owner = hostile[i];
        f.spec.overlay = path;
        xml = build(&f);
        expect(xml, "/domain/os/kernel", path);
        expect(xml, "/domain/os/kernel[2]", NULL);
        expect(xml, "/domain/os/cmdline", hostile[i]);
        expect(xml, "/domain/metadata/*", hostile[i]);
        expect(xml, "/domain/devices/disk/source/@file", path);
    }
}

static void expect_refused(const Fixture *f, const char *template_text, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *builtin = domain_xml_template(NULL, NULL);
    g_autofree char *xml = build_from(f, template_text != NULL ? template_text : builtin, &error);

    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_assert_null(xml);
    if (strstr(error->message, part) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, part);
}

static void test_refused(void)
{
    g_auto(Fixture) f;

    fixture_init(&f);
    expect_refused(&f, "<domain>\n<os>\n</domain>", "site.xml:3");
    expect_refused(&f, "", "site.xml:1");
    expect_refused(&f, "<network/>", "<network>");
    f.spec.overlay = "/r/o.qcow2";
    expect_refused(&f, "<domain/>", "no <disk>");
    f.spec.overlay = NULL;
    f.spec.cmdline = "quiet";
    expect_refused(&f, NULL, "kernel command line");
    f.spec.cmdline = NULL;
    f.spec.owner = "bell \a";
    expect_refused(&f, NULL, "control character");
    f.spec.owner = "latin \xe9";
    expect_refused(&f, NULL, "UTF-8");
}

static void test_entities_stay_out(void)
{
    g_auto(Fixture) f;
    g_autoptr(GError) error = NULL;
    g_autofree char *xml = NULL;

    fixture_init(&f);
    xml = build_from(&f,
                     "<!DOCTYPE domain [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>"
                     "<domain><title>&e;</title></domain>",
                     &error);
    g_assert_true(xml == NULL || strstr(xml, "root:") == NULL);
}

typedef struct {
    const char *xpath, *value, *check, *expected;
} EditCase;

static char *build_edited(const Fixture *f, const char *xpath, const char *value, GError **error)
{
    DomainEdit edit = {.xpath = (char *)xpath, .value = (char *)value};
    g_autoptr(GPtrArray) edits = g_ptr_array_new();
    Fixture edited = *f;
    g_autofree char *template_text = domain_xml_template(NULL, NULL);

    g_ptr_array_add(edits, &edit);
    edited.spec.edits = edits;
    edited.spec.guest = &f->guest;
    edited.spec.hypervisor = &f->hypervisor;
    return build_from(&edited, template_text, error);
}

static void test_edits(void)
{
    static const EditCase cases[] = {
        {"devices/disk/driver/@cache", "writeback", "/domain/devices/disk/driver/@cache",
         "writeback"},
        {"devices/disk/driver/@io", "io_uring", "/domain/devices/disk/driver/@io", "io_uring"},
        {"devices/disk[target/@dev='vda']/driver/@queues", "4",
         "/domain/devices/disk/driver/@queues", "4"},
        {"./os/type/@machine", "pc", "/domain/os/type/@machine", "pc"},
        {"/domain/clock/@offset", "local\"time", "/domain/clock/@offset", "local\"time"},
        {"on_crash", "preserve", "/domain/on_crash", "preserve"},
        {"on_crash/text()", "a<b&c", "/domain/on_crash", "a<b&c"},
        {"cpu/@mode", "host-model", "/domain/cpu/@mode", "host-model"},
        {"vcpu", "3", "/domain/vcpu", "3"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Fixture) f;
        g_autoptr(GError) error = NULL;
        g_autofree char *xml = NULL;

        fixture_init(&f);
        f.spec.overlay = "/r/o.qcow2";
        xml = build_edited(&f, cases[i].xpath, cases[i].value, &error);
        g_assert_no_error(error);
        expect(xml, cases[i].check, cases[i].expected);
    }
}

static void test_bad_edits(void)
{
    static const struct {
        const char *xpath, *part;
    } cases[] = {
        {"devices/tpm/@model", "no such element"},
        {"devices/disk/driver/@", "not an XPath"},
        {"devices[[", "not an XPath"},
        {"", "not an XPath"},
        {"count(devices)", "not an XPath"},
        {"vmatrix:owner", "not an XPath"},
        {"name", "vmatrix's own"},
        {"metadata/*", "vmatrix's own"},
        {"uuid/@x", "vmatrix's own"},
        {"@type", "accelerator"},
        {"devices", "holds others"},
        {".", "holds others"},
        {"comment()", "must name an element"},
        {"//@offset[1]", "must name an element"},
        {"vcpu/@9", "no attribute name"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Fixture) f;
        g_autoptr(GError) error = NULL;
        g_autofree char *xml = NULL;
        g_autofree char *quoted = g_strdup_printf("\"%s\"", cases[i].xpath);

        fixture_init(&f);
        xml = build_edited(&f, cases[i].xpath, "x", &error);
        g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
        g_assert_null(xml);
        if (strstr(error->message, cases[i].part) == NULL ||
            strstr(error->message, quoted) == NULL || strstr(error->message, f.spec.name) == NULL)
            g_error("%s: %s", cases[i].xpath, error->message);
    }
}

/* Edits are applied in order: the last axis wins. */
static void test_edit_order(void)
{
    g_auto(Fixture) f;
    DomainEdit first = {.xpath = (char *)"vcpu/@current", .value = (char *)"1"};
    DomainEdit last = {.xpath = (char *)"vcpu/@current", .value = (char *)"2"};
    g_autoptr(GPtrArray) edits = g_ptr_array_new();
    g_autofree char *xml = NULL;

    fixture_init(&f);
    g_ptr_array_add(edits, &first);
    g_ptr_array_add(edits, &last);
    f.spec.edits = edits;
    xml = build(&f);
    expect(xml, "/domain/vcpu/@current", "2");
}

static void test_site_template(void)
{
    g_auto(Fixture) f;
    g_autofree char *xml = NULL;

    fixture_init(&f);
    f.hypervisor.machine = (char *)"pc";
    xml = build_from(&f,
                     "<domain xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
                     "<metadata><x:y xmlns:x='urn:x'>kept</x:y></metadata>"
                     "<currentMemory>5</currentMemory><cpu mode='custom'/>"
                     "<qemu:commandline><qemu:arg value='-s'/></qemu:commandline></domain>",
                     NULL);
    expect(xml, "/domain/metadata/*[namespace-uri()='urn:x']", "kept");
    expect(xml, "/domain/metadata/*[namespace-uri()='" HV_METADATA_URI "']", f.spec.owner);
    expect(xml, "/domain/currentMemory", NULL);
    expect(xml, "/domain/cpu/@mode", "custom");
    expect(xml, "/domain/*[local-name()='commandline'][1]/*/@value", "-s");
    g_autofree char *device =
        domain_xml_query(xml, "/domain/*[local-name()='commandline'][2]/*[4]/@value");
    g_assert_nonnull(strstr(device, "bus=pci.0,"));
}

static void test_query(void)
{
    g_autoptr(GPtrArray) all = domain_xml_query_all("<a><b>1</b><b>2</b></a>", "/a/b");

    g_assert_cmpuint(all->len, ==, 2);
    g_assert_cmpstr(g_ptr_array_index(all, 1), ==, "2");
    g_assert_null(domain_xml_query("<a>", "/a"));
    g_assert_null(domain_xml_query("<a/>", "/b"));
    g_assert_null(domain_xml_query("<a/>", "[["));
}

static void test_mac(void)
{
    g_autofree char *a = domain_xml_mac("6f9619ff-8b86-d011-b42d-00c04fc964ff");
    g_autofree char *b = domain_xml_mac("6f9619ff-8b86-d011-b42d-00c04fc964fe");

    g_assert_true(g_regex_match_simple("^52:54:00(:[0-9a-f]{2}){3}$", a, 0, 0));
    g_assert_cmpstr(a, !=, b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/domain-xml/kernel-guest", test_kernel_guest);
    g_test_add_func("/domain-xml/disk-guest", test_disk_guest);
    g_test_add_func("/domain-xml/network", test_network);
    g_test_add_func("/domain-xml/bridge", test_bridge);
    g_test_add_func("/domain-xml/passthrough-and-pinning", test_passthrough);
    g_test_add_func("/domain-xml/placement", test_placement);
    g_test_add_func("/domain-xml/hostile-text", test_hostile_text);
    g_test_add_func("/domain-xml/refused", test_refused);
    g_test_add_func("/domain-xml/entities", test_entities_stay_out);
    g_test_add_func("/domain-xml/edits", test_edits);
    g_test_add_func("/domain-xml/bad-edits", test_bad_edits);
    g_test_add_func("/domain-xml/edit-order", test_edit_order);
    g_test_add_func("/domain-xml/site-template", test_site_template);
    g_test_add_func("/domain-xml/query", test_query);
    g_test_add_func("/domain-xml/mac", test_mac);
    return g_test_run();
}
