/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/overlay.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fixture.h"
#include "guest/access.h"
#include "guest/kvm.h"
#include "util/error.h"
#include "util/spawn.h"

/* A user that is neither root nor the owner of anything here: by number, so that no account is
 * needed. */
#define STRANGER "+54321"

static char *make_image(const Fixture *f, const char *name, const char *format, const char *backing)
{
    g_autofree char *path = g_build_filename(f->folder, name, NULL);
    const char *const plain[] = {"qemu-img", "create", "-q", "-f", format, path, "1M", NULL};
    const char *const chained[] = {"qemu-img", "create", "-q",    "-f", format, "-b",
                                   backing,    "-F",     "qcow2", path, NULL};
    Wait wait = patient();
    g_autoptr(GError) error = NULL;

    spawn_check(&wait, backing != NULL ? chained : plain, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(chmod(path, 0644), ==, 0);
    return g_steal_pointer(&path);
}

static void expect_message(const char *message, const char *part)
{
    if (message == NULL || strstr(message, part) == NULL)
        g_error("\"%s\" does not say \"%s\"", message, part);
}

static void test_probe(void)
{
    g_auto(Fixture) f;
    g_autofree char *raw = NULL, *first = NULL, *second = NULL;
    g_autoptr(OverlayBase) one = NULL, chain = NULL;
    g_autoptr(GError) error = NULL;
    Wait wait = patient();

    fixture_init(&f);
    raw = make_image(&f, "plain.img", "raw", NULL);
    first = make_image(&f, "first.qcow2", "qcow2", NULL);
    second = make_image(&f, "second.qcow2", "qcow2", "first.qcow2"); /* a relative backing name */
    one = overlay_base_probe(&wait, raw, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(one->format, ==, "raw");
    g_assert_cmpuint(one->virtual_size, ==, 1024 * 1024);
    chain = overlay_base_probe(&wait, second, "qcow2", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(chain->chain->len, ==, 2);
    g_assert_cmpstr(g_ptr_array_index(chain->chain, 1), ==, first);
    g_assert_cmpstr(g_ptr_array_index(chain->formats, 1), ==, "qcow2");
}

static void test_create_remove(void)
{
    g_auto(Fixture) f;
    g_autofree char *base = NULL, *overlay = NULL;
    g_autoptr(OverlayBase) info = NULL, probed = NULL;
    g_autoptr(GError) error = NULL;
    Wait wait = patient();

    fixture_init(&f);
    base = make_image(&f, "a base, with: odd 'name'.img", "qcow2", NULL);
    overlay = g_build_filename(f.folder, "overlay.qcow2", NULL);
    info = overlay_base_probe(&wait, base, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(overlay_create(&wait, overlay, base, info, &error));
    probed = overlay_base_probe(&wait, overlay, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(probed->format, ==, "qcow2");
    g_assert_cmpuint(probed->virtual_size, ==, 1024 * 1024);
    g_assert_cmpstr(g_ptr_array_index(probed->chain, 1), ==, base);

    g_assert_false(overlay_create(&wait, overlay, base, info, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_BUSY);
    g_assert_true(g_file_test(overlay, G_FILE_TEST_EXISTS));
    g_assert_true(overlay_remove(&wait, overlay, NULL));
    g_assert_false(g_file_test(overlay, G_FILE_TEST_EXISTS));
    g_assert_true(overlay_remove(&wait, overlay, NULL));
}

static void test_missing(void)
{
    g_auto(Fixture) f;
    g_autofree char *base = NULL, *second = NULL, *overlay = NULL;
    g_autoptr(OverlayBase) info = NULL;
    g_autoptr(GError) error = NULL;
    Wait wait = patient();

    fixture_init(&f);
    base = make_image(&f, "base.qcow2", "qcow2", NULL);
    second = make_image(&f, "second.qcow2", "qcow2", base);
    overlay = g_build_filename(f.folder, "overlay.qcow2", NULL);
    info = overlay_base_probe(&wait, second, NULL, NULL);
    g_assert_nonnull(info);
    g_assert_cmpint(g_unlink(base), ==, 0);

    g_assert_null(overlay_base_probe(&wait, base, NULL, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    expect_message(error->message, base);
    g_clear_error(&error);
    g_assert_null(overlay_base_probe(&wait, second, NULL, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    expect_message(error->message, base);
    g_clear_error(&error);
    g_assert_false(overlay_create(&wait, overlay, second, info, &error));
    expect_message(error->message, base);
    /* Nothing half-made is left. */
    g_assert_false(g_file_test(overlay, G_FILE_TEST_EXISTS));
}

static gboolean has_line(int fd)
{
    Wait wait = patient();
    char byte;

    return wait_fd(&wait, fd, POLLIN) == WAIT_READY && read(fd, &byte, 1) == 1;
}

/* A QEMU that has the image open, stopped before its first instruction. Its monitor's greeting says
 * that the image is open. */
static GPid hold_image(const char *path, gboolean read_only, int *ret_input)
{
    g_autofree char *drive = g_strdup_printf("file=%s,format=qcow2,if=none,id=d%s", path,
                                             read_only ? ",read-only=on" : "");
    char *argv[] = {(char *)"qemu-system-x86_64",
                    (char *)"-S",
                    (char *)"-display",
                    (char *)"none",
                    (char *)"-nodefaults",
                    (char *)"-qmp",
                    (char *)"stdio",
                    (char *)"-drive",
                    drive,
                    (char *)"-machine",
                    (char *)"pc",
                    (char *)"-device",
                    (char *)"virtio-blk-pci,drive=d",
                    NULL};
    GPid pid = 0;
    int output = -1;

    if (!g_spawn_async_with_pipes(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
                                  NULL, NULL, &pid, ret_input, &output, NULL, NULL))
        return 0;
    g_assert_true(has_line(output));
    close(output);
    return pid;
}

static void end_holder(GPid pid, int input)
{
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    close(input);
}

static void test_locked(void)
{
    g_auto(Fixture) f;
    g_autofree char *base = NULL, *overlay = NULL, *number = NULL;
    g_autoptr(OverlayBase) info = NULL;
    g_autoptr(GError) error = NULL;
    Wait wait = patient();
    int input = -1;
    GPid pid;

    fixture_init(&f);
    base = make_image(&f, "base.qcow2", "qcow2", NULL);
    overlay = make_image(&f, "overlay.qcow2", "qcow2", base);
    pid = hold_image(overlay, FALSE, &input);
    if (pid == 0) {
        g_test_skip("no qemu-system-x86_64 here");
        return;
    }
    number = g_strdup_printf("process %d", (int)pid);
    g_assert_false(overlay_remove(&wait, overlay, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_BUSY);
    expect_message(error->message, number);
    g_assert_true(g_file_test(overlay, G_FILE_TEST_EXISTS));
    g_clear_error(&error);
    /* Nor is it a base while someone writes to it; its own base, open read-only, is one. */
    g_assert_null(overlay_base_probe(&wait, overlay, NULL, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_BUSY);
    info = overlay_base_probe(&wait, base, NULL, NULL);
    g_assert_nonnull(info);
    end_holder(pid, input);
    g_assert_true(overlay_remove(&wait, overlay, NULL));
}

static void test_blocked(void)
{
    g_auto(Fixture) f;
    g_autofree char *folder = NULL, *inner = NULL, *base = NULL, *overlay = NULL, *blocked = NULL;

    fixture_init(&f);
    folder = g_build_filename(f.folder, "private", NULL);
    inner = g_build_filename("private", "base.qcow2", NULL);
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    g_assert_cmpint(chmod(f.folder, 0755), ==, 0);
    base = make_image(&f, inner, "qcow2", NULL);
    overlay = make_image(&f, "overlay.qcow2", "qcow2", base);
    g_assert_null(overlay_blocked_by(overlay, STRANGER));
    g_assert_null(overlay_blocked_by(overlay, NULL));

    g_assert_cmpint(chmod(base, 0600), ==, 0);
    blocked = overlay_blocked_by(overlay, STRANGER);
    expect_message(blocked, base);
    expect_message(blocked, "setfacl -m u:54321:r");

    /* The folder comes first. */
    g_assert_cmpint(chmod(folder, 0700), ==, 0);
    g_clear_pointer(&blocked, g_free);
    blocked = overlay_blocked_by(overlay, STRANGER);
    g_assert_true(g_str_has_prefix(blocked, folder));
    expect_message(blocked, "(owner ");
    expect_message(blocked, "chmod o+x");

    g_clear_pointer(&blocked, g_free);
    blocked = overlay_blocked_by(overlay, "no-such-user");
    expect_message(blocked, "no user no-such-user");
}

static void test_links(void)
{
    g_auto(Fixture) f;
    g_autofree char *folder = NULL, *link = NULL, *file = NULL, *blocked = NULL;

    fixture_init(&f);
    folder = g_build_filename(f.folder, "private", NULL);
    link = g_build_filename(f.folder, "link", NULL);
    file = g_build_filename(folder, "file", NULL);
    g_assert_cmpint(chmod(f.folder, 0755), ==, 0);
    g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    g_assert_cmpint(chmod(file, 0644), ==, 0);
    g_assert_cmpint(symlink(file, link), ==, 0);
    blocked = access_blocked_by(link, STRANGER, ACCESS_READ);
    g_assert_true(g_str_has_prefix(blocked, folder));
}

/* Set an access list in the kernel's own form: no setfacl is needed to test it. */
static gboolean set_acl(const char *path, guint32 named_user, guint16 named, guint16 mask)
{
    const struct {
        guint32 version;
        struct {
            guint16 tag, permissions;
            guint32 id;
        } entries[5];
    } acl = {GUINT32_TO_LE(2),
             {{GUINT16_TO_LE(0x01), GUINT16_TO_LE(6), G_MAXUINT32},
              {GUINT16_TO_LE(0x02), GUINT16_TO_LE(named), GUINT32_TO_LE(named_user)},
              {GUINT16_TO_LE(0x04), GUINT16_TO_LE(0), G_MAXUINT32},
              {GUINT16_TO_LE(0x10), GUINT16_TO_LE(mask), G_MAXUINT32},
              {GUINT16_TO_LE(0x20), GUINT16_TO_LE(0), G_MAXUINT32}}};

    return setxattr(path, "system.posix_acl_access", &acl, sizeof acl, 0) == 0;
}

static void test_access_rules(void)
{
    g_auto(Fixture) f;
    g_autofree char *file = NULL, *masked = NULL, *other = NULL;

    fixture_init(&f);
    file = g_build_filename(f.folder, "file", NULL);
    g_assert_cmpint(chmod(f.folder, 0755), ==, 0);
    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    if (!set_acl(file, 54321, 4, 4)) {
        g_test_skip("this file system keeps no POSIX access lists");
        return;
    }
    g_assert_null(access_blocked_by(file, STRANGER, ACCESS_READ));
    other = access_blocked_by(file, "+54322", ACCESS_READ);
    expect_message(other, file);
    g_assert_true(set_acl(file, 54321, 4, 0));
    masked = access_blocked_by(file, STRANGER, ACCESS_READ);
    expect_message(masked, "setfacl");
    g_assert_null(access_blocked_by(file, STRANGER, ACCESS_SEARCH));
    g_assert_null(access_blocked_by(file, "root", ACCESS_READ));
}

static void test_kvm(void)
{
    g_autofree char *missing = NULL, *other = NULL;

    g_assert_cmpint(kvm_probe("/dev/no-such-node", &missing), ==, KVM_MISSING);
    expect_message(missing, "/dev/no-such-node");
    expect_message(missing, "No such file");
    g_assert_cmpint(kvm_probe("/dev/null", &other), ==, KVM_MISSING);
    expect_message(other, "does not answer as KVM");
    g_assert_cmpint(kvm_probe("/dev/null", NULL), ==, KVM_MISSING);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/overlay/probe", test_probe);
    g_test_add_func("/overlay/create-remove", test_create_remove);
    g_test_add_func("/overlay/missing", test_missing);
    g_test_add_func("/overlay/locked", test_locked);
    g_test_add_func("/overlay/blocked", test_blocked);
    g_test_add_func("/access/links", test_links);
    g_test_add_func("/access/rules", test_access_rules);
    g_test_add_func("/kvm/probe", test_kvm);
    return g_test_run();
}
