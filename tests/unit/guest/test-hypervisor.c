/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real libvirtd and real QEMUs. The guests have no disk and no kernel: they sit in their
 * firmware, which costs next to nothing. "session": a libvirtd of this test's own, started by
 * libvirt itself as an unprivileged user with a home in a temporary folder, ended at the end.
 * "system": the machine's, where one runs and we are root. */
#include "guest/hypervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "guest/domain-xml.h"
#include "guest/forward.h"
#include "guest/kvm.h"
#include "guest/qemu-process.h"
#include "util/error.h"
#include "util/spawn.h"
#include "util/text.h"

static const char *uri;
static char *home; /* of the session's libvirtd */

static Hypervisor *open_or_skip(Fixture *f)
{
    Wait wait = patient();
    g_autoptr(GError) error = NULL;
    Hypervisor *hv;

    f->hypervisor.uri = (char *)uri;
    hv = hypervisor_open(&f->hypervisor, &wait, &error);
    if (hv == NULL)
        g_test_skip(error->message);
    return hv;
}

static HvDomain *start(Hypervisor *hv, Fixture *f)
{
    g_autoptr(HvDomain) domain = hv_domain_new();
    g_autoptr(GError) error = NULL;
    Wait wait = patient();

    g_assert_true(forward_port_find(&f->spec.forward_port, NULL));
    hv->ops->define(hv, &f->spec, domain, &error);
    g_assert_no_error(error);
    hv->ops->start(hv, domain, &wait, &error);
    g_assert_no_error(error);
    g_assert_true(domain->started);
    g_assert_cmpint(domain->pidfd, >=, 0);
    return g_steal_pointer(&domain);
}

static HvState state_of(Hypervisor *hv, HvDomain *domain)
{
    HvState state = HV_STATE_OFF;
    g_autoptr(GError) error = NULL;

    hv->ops->state(hv, domain, &state, &error);
    g_assert_no_error(error);
    return state;
}

static void destroy(Hypervisor *hv, HvDomain *domain)
{
    g_autoptr(GError) error = NULL;
    Wait wait = patient();

    hv->ops->destroy(hv, domain, &wait, &error);
    g_assert_no_error(error);
    g_assert_false(domain->started);
    g_assert_cmpint(state_of(hv, domain), ==, HV_STATE_GONE);
}

/* The owner that the hypervisor keeps for uuid, or NULL. */
static char *orphan_owner(Hypervisor *hv, const char *uuid)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) orphans = hv->ops->orphans(hv, &error);

    g_assert_no_error(error);
    for (guint i = 0; i < orphans->len; i++) {
        const HvOrphan *orphan = g_ptr_array_index(orphans, i);

        if (g_str_equal(orphan->uuid, uuid))
            return g_strdup(orphan->owner);
    }
    return NULL;
}

/* Whether the hypervisor says that a domain of this name runs. */
static gboolean is_running(Hypervisor *hv, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) names = hv->ops->running(hv, &error);
    gboolean found = FALSE;

    g_assert_no_error(error);
    for (guint i = 0; i < names->len; i++)
        found = found || g_str_equal(g_ptr_array_index(names, i), name);
    return found;
}

static void expect_message(const GError *error, const char *part)
{
    if (strstr(error->message, part) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, part);
}

static gboolean process_is_qemu(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid);
    g_autofree char *command = io_read_file(path, 1024 * 1024, NULL, NULL);

    return command != NULL && strstr(command, "qemu-system") != NULL;
}

static void test_killed(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = NULL;
    g_autofree char *owner = NULL, *after = NULL;
    g_auto(HvAddress) address = {0};
    Wait wait = patient();

    fixture_init(&f);
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    domain = start(hv, &f);
    g_assert_true(process_is_qemu(domain->pid));
    g_assert_cmpint(state_of(hv, domain), ==, HV_STATE_RUNNING);
    owner = orphan_owner(hv, f.spec.uuid);
    g_assert_cmpstr(owner, ==, f.spec.owner);
    g_assert_true(is_running(hv, domain->name));
    g_assert_true(hv->ops->address(hv, domain, &wait, &address, NULL));
    g_assert_cmpstr(address.host, ==, "127.0.0.1");
    g_assert_cmpuint(address.port, ==, f.spec.forward_port);
    g_assert_cmpstr(address.source, ==, "forward");
    g_assert_true(forward_port_taken(f.spec.forward_port));

    g_assert_cmpint(kill(domain->pid, SIGKILL), ==, 0);
    g_assert_cmpint(wait_fd(&wait, domain->pidfd, POLLIN), ==, WAIT_READY);
    g_assert_cmpint(state_of(hv, domain), ==, HV_STATE_GONE);
    destroy(hv, domain);
    destroy(hv, domain); /* already gone is success */
    g_assert_true(hv->ops->undefine(hv, domain, NULL));
    after = orphan_owner(hv, f.spec.uuid);
    g_assert_null(after);
    g_assert_false(is_running(hv, domain->name));
}

static void expect_fact(GHashTable *facts, const char *name, const char *expected)
{
    const char *value = g_hash_table_lookup(facts, name);

    if (value == NULL || strstr(value, expected) == NULL)
        g_error("fact %s is %s, without %s", name, value, expected);
}

static void test_facts(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = NULL;
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GError) error = NULL;

    fixture_init(&f);
    f.spec.cpus = "0";
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    domain = start(hv, &f);
    hv->ops->facts(hv, domain, facts, &error);
    g_assert_no_error(error);
    expect_fact(facts, "accelerator", "tcg");
    expect_fact(facts, "machine", "q35");
    expect_fact(facts, "libvirt.uri", uri);
    expect_fact(facts, "libvirt.version", ".");
    expect_fact(facts, "hypervisor.version", ".");
    expect_fact(facts, "domain.xml", f.spec.uuid);
    expect_fact(facts, "domain.xml", "<vcpupin vcpu='0' cpuset='0'/>");
    expect_fact(facts, "cpu.mode", "maximum");
    destroy(hv, domain);
    g_assert_false(hv->ops->facts(hv, domain, facts, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_GUEST_DIED);
}

/* "CPU 0/TCG", "CPU 1/KVM": the number, or -1 for any other thread. */
static int vcpu_of(const char *name)
{
    return g_str_has_prefix(name, "CPU ") ? (int)strtol(name + 4, NULL, 10) : -1;
}

static char *thread_allowed(pid_t pid, const char *thread, int *ret_vcpu)
{
    g_autofree char *comm = g_strdup_printf("/proc/%d/task/%s/comm", (int)pid, thread);
    g_autofree char *status = g_strdup_printf("/proc/%d/task/%s/status", (int)pid, thread);
    g_autofree char *name = io_read_file(comm, 4096, NULL, NULL);
    g_autofree char *text = io_read_file(status, 65536, NULL, NULL);
    const char *at = text != NULL ? strstr(text, "Cpus_allowed_list:") : NULL;

    if (name == NULL || at == NULL)
        return NULL; /* it has just ended */
    *ret_vcpu = vcpu_of(name);
    at += strlen("Cpus_allowed_list:");
    return g_strstrip(g_strndup(at, strcspn(at, "\n")));
}

/* Each thread of the real QEMU where it was asked to be. */
static void expect_threads(pid_t pid, const char *const *vcpus, const char *others)
{
    g_autofree char *folder = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint seen[2] = {0};
    const char *thread;

    g_assert_nonnull(dir);
    while ((thread = g_dir_read_name(dir)) != NULL) {
        int vcpu = -1;
        g_autofree char *allowed = thread_allowed(pid, thread, &vcpu);

        if (allowed == NULL)
            continue;
        seen[vcpu >= 0]++;
        g_test_message("thread %s: vCPU %d on %s", thread, vcpu, allowed);
        g_assert_cmpstr(allowed, ==, vcpu >= 0 ? vcpus[vcpu] : others);
    }
    g_assert_cmpuint(seen[0], >, 0);
    g_assert_cmpuint(seen[1], ==, g_strv_length((char **)vcpus));
}

static const struct placement {
    guint vcpus;
    const char *cpus, *emulator; /* as asked */
    const char *each[3], *others;
} placements[] = {
    {1, "1", NULL, {"1", NULL}, "1"},
    {1, "1", "0", {"1", NULL}, "0"},
    {2, "1,0", NULL, {"1", "0", NULL}, "0-1"},
};

static gboolean has_cpu_1(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_ISSET(0, &set) && CPU_ISSET(1, &set);
}

static void test_placement(void)
{
    if (!has_cpu_1()) {
        g_test_skip("CPUs 0 and 1 are needed");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(placements); i++) {
        g_auto(Fixture) f;
        g_autoptr(Hypervisor) hv = NULL;
        g_autoptr(HvDomain) domain = NULL;

        fixture_init(&f);
        f.spec.vcpus = placements[i].vcpus;
        f.spec.cpus = placements[i].cpus;
        f.spec.emulator = placements[i].emulator;
        hv = open_or_skip(&f);
        if (hv == NULL)
            return;
        domain = start(hv, &f);
        expect_threads(domain->pid, placements[i].each, placements[i].others);
        destroy(hv, domain);
    }
}

/* A guest in its firmware does not hear the power button. */
static void test_shutdown(void)
{
    static const struct {
        ShutdownMethod method;
        gboolean forced;
    } cases[] = {{SHUTDOWN_ACPI, TRUE}, {SHUTDOWN_DESTROY, FALSE}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(Fixture) f;
        g_autoptr(Hypervisor) hv = NULL;
        g_autoptr(HvDomain) domain = NULL;
        g_autoptr(GError) error = NULL;
        gboolean forced = !cases[i].forced;
        Wait all = patient(), wait = wait_within(&all, CLOCK_NS_PER_S / 2);

        fixture_init(&f);
        f.guest.shutdown = cases[i].method;
        hv = open_or_skip(&f);
        if (hv == NULL)
            return;
        domain = start(hv, &f);
        wait = wait_within(&all, CLOCK_NS_PER_S / 2);
        wait.guard_fd = domain->pidfd;
        hv->ops->shutdown(hv, domain, &wait, &forced, &error);
        g_assert_no_error(error);
        g_assert_cmpint(forced, ==, cases[i].forced);
        g_assert_cmpint(state_of(hv, domain), ==, HV_STATE_GONE);
        g_assert_cmpint(kill(domain->pid, 0) == 0 && process_is_qemu(domain->pid), ==, FALSE);
    }
}

static void test_refused_starts(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = NULL, second = hv_domain_new(), third = hv_domain_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *first_uuid = NULL;
    Wait wait = patient();

    fixture_init(&f);
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    domain = start(hv, &f);
    /* Another domain by the same name. */
    first_uuid = f.spec.uuid;
    f.spec.uuid = g_uuid_string_random();
    g_assert_true(forward_port_find(&f.spec.forward_port, NULL));
    g_assert_true(hv->ops->define(hv, &f.spec, second, NULL));
    g_assert_false(hv->ops->start(hv, second, &wait, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_FAILED);
    expect_message(error, first_uuid);
    g_assert_false(second->started);
    g_clear_error(&error);
    /* Another name on the port that the first holds. */
    g_free(f.spec.name);
    f.spec.name = g_strdup_printf("vmatrix-test-%d-%08x", (int)getpid(), g_random_int());
    f.spec.forward_port = domain->forward_port;
    g_assert_true(hv->ops->define(hv, &f.spec, third, NULL));
    g_assert_false(hv->ops->start(hv, third, &wait, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_BUSY);
    g_assert_cmpint(state_of(hv, domain), ==, HV_STATE_RUNNING);
    destroy(hv, domain);
}

/* The hypervisor's own words reach the reader. */
static void test_quotes_qemu(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = hv_domain_new();
    g_autoptr(GError) error = NULL;
    Wait wait = patient();

    fixture_init(&f);
    f.spec.memory = G_GUINT64_CONSTANT(1) << 46;
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    g_assert_true(forward_port_find(&f.spec.forward_port, NULL));
    g_assert_true(hv->ops->define(hv, &f.spec, domain, NULL));
    g_assert_false(hv->ops->start(hv, domain, &wait, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_FAILED);
    expect_message(error, "annot allocate memory");
    g_assert_null(strchr(error->message, '\n'));
}

/* Every source is asked, and the time-out says what each answered. */
static void test_no_address(void)
{
    static const char network[] = "<domain><os><type machine='q35'>hvm</type></os><devices>"
                                  "<interface type='user'/></devices></domain>";
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;
    g_auto(HvAddress) address = {0};
    Wait all = patient(), wait;

    fixture_init(&f);
    path = g_build_filename(f.folder, "user.xml", NULL);
    g_assert_true(g_file_set_contents(path, network, -1, NULL));
    f.hypervisor.domain_template = path;
    f.guest.address = ADDRESS_AUTO;
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    domain = start(hv, &f);
    wait = wait_within(&all, CLOCK_NS_PER_S / 2);
    wait.guard_fd = domain->pidfd;
    g_assert_false(hv->ops->address(hv, domain, &wait, &address, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
    expect_message(error, "lease: ");
    expect_message(error, "agent: ");
    expect_message(error, "arp: ");
    destroy(hv, domain);
    g_clear_error(&error);
    wait = patient();
    g_assert_false(hv->ops->address(hv, domain, &wait, &address, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_GUEST_DIED);
}

static void test_unknown_network(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = hv_domain_new();
    g_autoptr(GError) error = NULL;

    fixture_init(&f);
    f.guest.address = ADDRESS_LEASE;
    f.guest.network = (char *)"no-such-net";
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    g_assert_false(hv->ops->define(hv, &f.spec, domain, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    expect_message(error, "no-such-net");
    expect_message(error, uri);
}

static void make_overlay(Fixture *f, char **ret_base, char **ret_overlay)
{
    Wait wait = patient();
    char *base = g_build_filename(f->folder, "base.qcow2", NULL);
    char *overlay = g_build_filename(f->folder, "overlay.qcow2", NULL);
    const char *const argv[] = {"qemu-img", "create", "-q", "-f", "qcow2", base, "1M", NULL};
    g_autoptr(OverlayBase) info = NULL;

    g_assert_true(spawn_check(&wait, argv, NULL, NULL));
    g_assert_cmpint(chmod(base, 0444), ==, 0);
    info = overlay_base_probe(&wait, base, NULL, NULL);
    g_assert_nonnull(info);
    g_assert_true(overlay_create(&wait, overlay, base, info, NULL));
    f->spec.overlay = overlay;
    f->spec.base = g_steal_pointer(&info);
    *ret_base = base;
    *ret_overlay = overlay;
}

static void test_disk(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *base = NULL, *overlay = NULL;
    Wait wait = patient();
    struct stat st;

    fixture_init(&f);
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    g_assert_cmpint(chmod(f.folder, 0711), ==, 0);
    make_overlay(&f, &base, &overlay);
    domain = start(hv, &f);
    g_assert_false(overlay_remove(&wait, overlay, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_BUSY);
    destroy(hv, domain);
    g_assert_true(overlay_remove(&wait, overlay, NULL));
    /* The site's image is as it was, its owner too. */
    g_assert_cmpint(stat(base, &st), ==, 0);
    g_assert_cmpuint(st.st_uid, ==, geteuid());
    g_assert_cmpuint(st.st_mode & 07777, ==, 0444);
    overlay_base_free((OverlayBase *)f.spec.base);
}

/* Only where libvirt runs QEMU as another user. */
static void test_blocked_folder(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = hv_domain_new();
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GError) error = NULL;
    g_autofree char *kernel = NULL;

    fixture_init(&f);
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    g_assert_true(hv->ops->facts(hv, NULL, facts, NULL));
    if (g_hash_table_lookup(facts, "hypervisor.user") == NULL) {
        g_test_skip("QEMU runs as ourselves here");
        return;
    }
    kernel = g_build_filename(f.folder, "vmlinuz", NULL);
    g_assert_true(g_file_set_contents(kernel, "x", 1, NULL));
    f.guest.kernel = kernel;
    g_assert_cmpint(chmod(f.folder, 0700), ==, 0);
    g_assert_false(hv->ops->define(hv, &f.spec, domain, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    expect_message(error, f.folder);
    expect_message(error, "chmod o+x");
}

/* What cannot be opened says why, and what to do. */
static void test_bad_opens(void)
{
    static const struct {
        const char *driver, *uri, *part;
        VmErrorCode code;
    } cases[] = {
        {"qemu", "qemu+unix:///system?socket=/no/such/socket", "virtlogd -d; libvirtd -d",
         VM_ERROR_ENVIRONMENT},
        {"qemu", "test:///default", "not to QEMU", VM_ERROR_INVALID},
        {"quemu", NULL, "it has qemu, bare", VM_ERROR_UNSUPPORTED},
    };
    Wait wait = patient();

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        InventoryHypervisor config = {.name = (char *)"h",
                                      .driver = (char *)cases[i].driver,
                                      .uri = (char *)cases[i].uri,
                                      .accelerator = ACCELERATOR_TCG};
        g_autoptr(GError) error = NULL;

        g_assert_null(hypervisor_open(&config, &wait, &error));
        g_assert_error(error, VM_ERROR, (gint)cases[i].code);
        expect_message(error, cases[i].part);
    }
}

static void test_no_kvm(void)
{
    InventoryHypervisor config = {.name = (char *)"fast",
                                  .driver = (char *)"qemu",
                                  .uri = (char *)"qemu:///session",
                                  .accelerator = ACCELERATOR_KVM};
    g_autoptr(GError) error = NULL;
    Wait wait = patient();

    if (kvm_probe("/dev/kvm", NULL) == KVM_USABLE) {
        g_test_skip("KVM can be used here");
        return;
    }
    g_assert_null(hypervisor_open(&config, &wait, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    expect_message(error, "/dev/kvm");
    expect_message(error, "accelerator: tcg");
}

static void test_bare(void)
{
    InventoryHypervisor config = {.name = (char *)"bare", .driver = (char *)"bare"};
    g_autoptr(GError) error = NULL;
    g_autoptr(HvDomain) domain = hv_domain_new();
    Wait wait = patient();
    g_autoptr(Hypervisor) hv = hypervisor_open(&config, &wait, &error);

    g_assert_no_error(error);
    g_assert_false(hv->ops->has_domain);
    g_assert_false(hv->ops->start(hv, domain, &wait, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_UNSUPPORTED);
    hv_domain_free(NULL);
    hypervisor_free(NULL);
    hv_orphan_free(NULL);
}

static pid_t daemon_pid(const char *name)
{
    g_autofree char *path = g_build_filename(home, "run", "libvirt", name, NULL);
    g_autofree char *text = io_read_file(path, 64, NULL, NULL);
    guint64 pid = 0;

    return text != NULL && text_parse_uint(g_strstrip(text), &pid) ? (pid_t)pid : 0;
}

static void kill_daemon(void)
{
    Wait wait = patient();
    pid_t pid = daemon_pid("libvirtd.pid");
    int daemon_fd = pidfd_open(pid, 0);

    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(wait_fd(&wait, daemon_fd, POLLIN), ==, WAIT_READY);
    close(daemon_fd);
}

/* The daemon goes away under a running guest: the next call connects again (which starts a new
 * one), and finds the same guest by its UUID. */
static void test_daemon_restart(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = NULL;
    g_autofree char *owner = NULL;
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GError) error = NULL;
    pid_t qemu;

    fixture_init(&f);
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    domain = start(hv, &f);
    qemu = domain->pid;
    kill_daemon();
    g_assert_cmpint(state_of(hv, domain), ==, HV_STATE_RUNNING);
    g_assert_cmpint(domain->pid, ==, qemu);
    g_assert_true(process_is_qemu(qemu));
    owner = orphan_owner(hv, f.spec.uuid);
    g_assert_cmpstr(owner, ==, f.spec.owner);
    /* Calls on the connection itself survive too. */
    kill_daemon();
    hv->ops->facts(hv, domain, facts, &error);
    g_assert_no_error(error);
    expect_fact(facts, "domain.xml", f.spec.uuid);
    kill_daemon();
    destroy(hv, domain);
}

/* A guest of this UUID that is there and does not run: what a libvirtd leaves that was killed while
 * it started one. */
static pid_t leave_half_started(const HvDomain *domain)
{
    const char *argv[] = {"virsh", "-q", "-c", uri, "create", "--paused", "/dev/stdin", NULL};
    SpawnRequest request = {
        .argv = argv, .input = domain->xml, .input_length = strlen(domain->xml)};
    g_auto(SpawnResult) result = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = patient();
    autofd pidfd = -1;
    pid_t pid = 0;

    spawn_run(&wait, &request, &result, &error);
    g_assert_no_error(error);
    g_assert_cmpint(result.status, ==, 0);
    g_assert_true(qemu_process_find(domain->name, domain->uuid, &pid, &pidfd));
    return pid;
}

/* The daemon is lost during a start, and what is found afterwards never ran: it is not believed. */
static void test_half_started(void)
{
    g_auto(Fixture) f;
    g_autoptr(Hypervisor) hv = NULL;
    g_autoptr(HvDomain) domain = hv_domain_new();
    g_autoptr(GError) error = NULL;
    Wait wait = patient();
    pid_t half;

    fixture_init(&f);
    hv = open_or_skip(&f);
    if (hv == NULL)
        return;
    g_assert_true(forward_port_find(&f.spec.forward_port, NULL));
    hv->ops->define(hv, &f.spec, domain, &error);
    g_assert_no_error(error);
    half = leave_half_started(domain);
    kill_daemon();
    hv->ops->start(hv, domain, &wait, &error);
    g_assert_no_error(error);
    g_assert_cmpint(state_of(hv, domain), ==, HV_STATE_RUNNING);
    g_assert_cmpint(domain->pidfd, >=, 0);
    g_assert_cmpint(domain->pid, !=, half);
    g_assert_false(kill(half, 0) == 0 && process_is_qemu(half));
    destroy(hv, domain);
}

/* Libvirt starts a session's daemons by itself, for a user with a passwd entry. */
static void enter_session(void)
{
    const struct passwd *nobody = getpwnam("nobody");
    g_autofree char *run = NULL;

    run = g_build_filename(home, "run", NULL);
    g_assert_cmpint(g_mkdir(run, 0700), ==, 0);
    if (geteuid() == 0 && nobody != NULL) {
        g_assert_cmpint(chown(home, nobody->pw_uid, nobody->pw_gid), ==, 0);
        g_assert_cmpint(chown(run, nobody->pw_uid, nobody->pw_gid), ==, 0);
        g_assert_cmpint(setgroups(0, NULL), ==, 0);
        g_assert_cmpint(setgid(nobody->pw_gid), ==, 0);
        g_assert_cmpint(setuid(nobody->pw_uid), ==, 0);
    }
    g_setenv("HOME", home, TRUE);
    g_setenv("XDG_RUNTIME_DIR", run, TRUE);
    g_unsetenv("XDG_CONFIG_HOME");
    g_unsetenv("XDG_CACHE_HOME");
}

static void end_pid_file(const char *folder, const char *name, int signal_number)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *text = io_read_file(path, 64, NULL, NULL);
    Wait wait = patient();
    guint64 pid = 0;
    autofd fd = -1;

    if (text == NULL || !text_parse_uint(g_strstrip(text), &pid) || pid == 0)
        return;
    fd = pidfd_open((pid_t)pid, 0);
    if (fd >= 0 && pidfd_send_signal(fd, signal_number, NULL, 0) == 0)
        wait_fd(&wait, fd, POLLIN);
}

/* Whatever a failed test left behind ends here: guests first, since libvirtd stays for them. */
static void leave_session(void)
{
    g_autofree char *daemons = g_build_filename(home, "run", "libvirt", NULL);
    g_autofree char *guests = g_build_filename(daemons, "qemu", "run", NULL);
    g_autoptr(GDir) dir = g_dir_open(guests, 0, NULL);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
        if (g_str_has_prefix(name, "vmatrix-test-") && g_str_has_suffix(name, ".pid"))
            end_pid_file(guests, name, SIGKILL);
    end_pid_file(daemons, "libvirtd.pid", SIGTERM);
    end_pid_file(daemons, "virtlogd.pid", SIGTERM);
    g_assert_true(io_remove_tree(home, NULL));
    g_free(home);
}

static gboolean system_runs(void)
{
    return geteuid() == 0 && (g_file_test("/run/libvirt/libvirt-sock", G_FILE_TEST_EXISTS) ||
                              g_file_test("/run/libvirt/virtqemud-sock", G_FILE_TEST_EXISTS));
}

static const char *reason;

static void test_skipped(void)
{
    g_test_skip(reason);
}

/* Why nothing of this can be tried here, or NULL. */
static const char *find_reason(gboolean session)
{
    autofd fd = pidfd_open(getpid(), 0);

    if (fd < 0)
        return "pidfd_open does not work here (an old kernel, or valgrind)";
    if (!session && !system_runs())
        return "needs root and a running libvirtd of the system (virtlogd -d; libvirtd -d)";
    return NULL;
}

static void add_tests(gboolean session)
{
    g_test_add_func("/hypervisor/killed", test_killed);
    g_test_add_func("/hypervisor/facts", test_facts);
    g_test_add_func("/hypervisor/placement", test_placement);
    g_test_add_func("/hypervisor/shutdown", test_shutdown);
    g_test_add_func("/hypervisor/disk", test_disk);
    g_test_add_func("/hypervisor/blocked-folder", test_blocked_folder);
    g_test_add_func("/hypervisor/unknown-network", test_unknown_network);
    if (!session)
        return;
    g_test_add_func("/hypervisor/refused-starts", test_refused_starts);
    g_test_add_func("/hypervisor/quotes-qemu", test_quotes_qemu);
    g_test_add_func("/hypervisor/no-address", test_no_address);
    g_test_add_func("/hypervisor/bad-opens", test_bad_opens);
    g_test_add_func("/hypervisor/no-kvm", test_no_kvm);
    g_test_add_func("/hypervisor/bare", test_bare);
    g_test_add_func("/hypervisor/daemon-restart", test_daemon_restart);
    g_test_add_func("/hypervisor/half-started", test_half_started);
}

static int run_session(void)
{
    int status = 1;
    pid_t child;

    home = g_dir_make_tmp("vmatrix-session-XXXXXX", NULL);
    g_assert_nonnull(home);
    child = fork();
    if (child == 0) {
        enter_session();
        exit(g_test_run());
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    leave_session();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    gboolean session;

    g_test_init(&argc, &argv, NULL);
    session = argc < 2 || g_str_equal(argv[1], "session");
    uri = session ? "qemu:///session" : "qemu:///system";
    reason = find_reason(session);
    if (reason == NULL)
        add_tests(session);
    else
        g_test_add_func("/hypervisor/skipped", test_skipped);
    return session && reason == NULL ? run_session() : g_test_run();
}
