/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening, migrating, refusing: what is refused stays as it was, byte for byte. */
#include "fixture.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/filesystem.h"
#include "store/migrate.h"
#include "store/views.h"
#include "util/error.h"
#include "util/io.h"

/* How a child ends. By a pointer, so that the compiler does not know that it never comes back: what
 * the callers hold stays reachable for valgrind. */
static void (*volatile leave)(int status) = _exit;

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *message = NULL;

    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &message);
    g_assert_cmpstr(message, ==, NULL);
    g_assert_cmpint(sqlite3_close(db), ==, SQLITE_OK);
}

static gboolean beside(const char *path, const char *suffix)
{
    g_autofree char *other = g_strconcat(path, suffix, NULL);

    return g_file_test(other, G_FILE_TEST_EXISTS);
}

/* Both ways of opening are refused, with this text in the message, and nothing has changed. */
static void assert_refused(const char *path, const char *text)
{
    g_autofree char *before = io_digest_file(NULL, path, NULL);
    gboolean log = beside(path, "-wal"), shm = beside(path, "-shm");

    for (StoreMode mode = STORE_READ_ONLY; mode <= STORE_READ_WRITE; mode++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Store) store = store_open(path, mode, &error);
        g_autofree char *after = io_digest_file(NULL, path, NULL);

        g_assert_null(store);
        g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
        g_assert_nonnull(strstr(error->message, text));
        g_assert_nonnull(strstr(error->message, path));
        g_assert_cmpstr(after, ==, before);
        g_assert_cmpint(beside(path, "-wal"), ==, log);
        g_assert_cmpint(beside(path, "-shm"), ==, shm);
        g_assert_false(beside(path, "-journal"));
    }
}

static void test_create(void)
{
    Fixture f;
    g_autofree char *deep = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = NULL;

    fixture_init(&f, "cell");
    deep = g_build_filename(f.folder, "a", "b", "new.db", NULL);
    store = store_open(deep, STORE_READ_WRITE, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(store_path(store), ==, deep);
    g_assert_cmpint(ask_int(store, "PRAGMA application_id"), ==, STORE_APPLICATION_ID);
    g_assert_cmpint(ask_int(store, "PRAGMA user_version"), >=, 1);
    g_assert_cmpint(ask_int(store, "PRAGMA foreign_keys"), ==, 1);
    g_assert_cmpint(ask_int(store, "PRAGMA synchronous"), ==, 2);
    g_autofree char *check = ask_text(store, "PRAGMA integrity_check");

    g_assert_cmpstr(check, ==, "ok");
    g_assert_true(beside(deep, "-wal"));
    fixture_finish(&f);
}

/* The header alone must say what the file is: also right after its making, with the log open. */
static void test_header_is_stamped(void)
{
    Fixture f;
    MigrateFile file = MIGRATE_MISSING;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_assert_true(migrate_inspect(f.path, &file, &error));
    g_assert_no_error(error);
    g_assert_cmpint(file, ==, MIGRATE_OURS);
    fixture_finish(&f);
}

static void test_reopen_changes_nothing(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_clear_pointer(&f.store, store_free);
    g_autofree char *before = io_digest_file(NULL, f.path, NULL);

    fixture_open(&f);
    g_clear_pointer(&f.store, store_free);
    g_autofree char *after = io_digest_file(NULL, f.path, NULL);

    g_assert_cmpstr(after, ==, before);
    g_assert_false(beside(f.path, "-wal"));
    fixture_finish(&f);
}

static void test_empty_file_is_new(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    g_assert_true(g_file_set_contents(f.path, "", 0, NULL));
    fixture_open(&f);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM campaign"), ==, 0);
    fixture_finish(&f);
}

static void test_read_only_missing(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    g_assert_null(store_open(f.path, STORE_READ_ONLY, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    g_assert_nonnull(strstr(error->message, "there is no database yet"));
    g_assert_false(g_file_test(f.path, G_FILE_TEST_EXISTS));
    g_clear_error(&error);
    g_assert_true(g_file_set_contents(f.path, "", 0, NULL));
    g_assert_null(store_open(f.path, STORE_READ_ONLY, &error));
    g_assert_nonnull(strstr(error->message, "empty"));
    fixture_finish(&f);
}

static void test_refuse_foreign(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    run_sql(f.path, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    assert_refused(f.path, "another program");
    run_sql(f.path, "PRAGMA application_id = 12345; PRAGMA journal_mode = WAL; INSERT INTO t "
                    "VALUES (2)");
    assert_refused(f.path, "another program");
    fixture_finish(&f);
}

static void test_refuse_no_database(void)
{
    static const char *const contents[] = {"x", "PK\003\004 a zip", "SQLite format 3",
                                           "SQLite format 2 and then a long text", NULL};
    g_autofree char *text = g_strnfill(9000, 'a');
    Fixture f;

    fixture_init(&f, "cell");
    for (const char *const *content = contents; *content != NULL; content++) {
        g_assert_true(g_file_set_contents(f.path, *content, -1, NULL));
        assert_refused(f.path, "not a vmatrix database");
    }
    g_assert_true(g_file_set_contents(f.path, text, -1, NULL));
    assert_refused(f.path, "no SQLite file");
    fixture_finish(&f);
}

static void test_refuse_folder(void)
{
    Fixture f;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    g_assert_null(store_open(f.folder, STORE_READ_WRITE, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT);
    g_assert_nonnull(strstr(error->message, "a folder"));
    fixture_finish(&f);
}

static void test_refuse_newer(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_clear_pointer(&f.store, store_free);
    run_sql(f.path, "PRAGMA user_version = 1000");
    assert_refused(f.path, "newer vmatrix (database version 1000");
    fixture_finish(&f);
}

/* A newer program that was killed: its version stands in the log alone. */
static void test_refuse_newer_in_log(void)
{
    Fixture f;
    pid_t child;
    int status;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_clear_pointer(&f.store, store_free);
    child = fork();
    if (child == 0) {
        sqlite3 *db = NULL;

        sqlite3_open(f.path, &db);
        sqlite3_exec(db, "PRAGMA user_version = 1000", NULL, NULL, NULL);
        leave(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
    g_autofree char *log = g_strconcat(f.path, "-wal", NULL);
    g_autofree char *before = io_digest_file(NULL, log, NULL);

    g_assert_nonnull(before);
    assert_refused(f.path, "newer vmatrix (database version 1000");
    g_autofree char *after = io_digest_file(NULL, log, NULL);

    g_assert_cmpstr(after, ==, before);
    fixture_finish(&f);
}

static void test_refuse_network(void)
{
    static const guint64 types[] = {0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997};
    Fixture f;
    g_autofree char *missing = NULL;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_open(&f);
    g_clear_pointer(&f.store, store_free);
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        filesystem_pretend(types[i]);
        assert_refused(f.path, "network file system");
    }
    missing = g_build_filename(f.folder, "sub", "missing.db", NULL);
    g_assert_null(store_open(missing, STORE_READ_WRITE, &error));
    g_assert_nonnull(strstr(error->message, "9p"));
    g_assert_false(g_file_test(missing, G_FILE_TEST_EXISTS));
    filesystem_pretend(0);
    fixture_finish(&f);
}

static void test_network_names(void)
{
    /* As statfs(2) gives it where f_type is a signed 32-bit number. */
    g_assert_cmpstr(filesystem_network_name((guint64)(gint32)0xff534d42, NULL), ==, "CIFS");
    g_assert_cmpstr(filesystem_network_name(0x6969, NULL), ==, "NFS");
    g_assert_cmpstr(filesystem_network_name(0x65735546, "sshfs"), ==, "SSHFS");
    g_assert_null(filesystem_network_name(0x65735546, "mergerfs"));
    g_assert_null(filesystem_network_name(0x65735546, NULL));
    g_assert_null(filesystem_network_name(0xef53, "sshfs"));  /* ext4 */
    g_assert_null(filesystem_network_name(0x01021994, NULL)); /* tmpfs */
    g_assert_null(filesystem_network_name(0x9123683e, NULL)); /* btrfs */
}

/* Two versions made up for this: numbered, forward, all or nothing. */
static void test_migrations(void)
{
    g_autoptr(GPtrArray) texts = migrate_texts();
    guint base = texts->len;
    Fixture f;
    gboolean changed = FALSE;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_ptr_array_add(texts, g_strdup("CREATE TABLE later (a); INSERT INTO later VALUES (7)"));
    g_ptr_array_add(texts, g_strdup("CREATE TABLE broken (a); SELECT nonsense"));
    g_assert_false(migrate_run(f.store, texts, &changed, &error));
    g_assert_nonnull(strstr(error->message, "migrate to version"));
    g_clear_error(&error);
    g_assert_cmpint(ask_int(f.store, "PRAGMA user_version"), ==, base);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM sqlite_schema WHERE name = 'later'"), ==,
                    0);
    g_ptr_array_set_size(texts, (gint)base + 1);
    g_assert_true(migrate_run(f.store, texts, &changed, &error));
    g_assert_no_error(error);
    g_assert_true(changed);
    g_assert_cmpint(ask_int(f.store, "PRAGMA user_version"), ==, base + 1);
    g_assert_cmpint(ask_int(f.store, "SELECT a FROM later"), ==, 7);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM campaign"), ==, 1);
    g_assert_cmpint(ask_int(f.store, "PRAGMA foreign_keys"), ==, 1);
    g_assert_true(migrate_run(f.store, texts, &changed, &error));
    g_assert_false(changed);
    g_clear_pointer(&f.store, store_free);
    /* Now this program is the older one. */
    assert_refused(f.path, "newer vmatrix");
    fixture_finish(&f);
}

static void test_migration_keeps_references(void)
{
    g_autoptr(GPtrArray) texts = migrate_texts();
    Fixture f;
    gboolean changed;
    g_autoptr(GError) error = NULL;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_ptr_array_add(texts, g_strdup("DELETE FROM cell WHERE number = 0"));
    g_assert_false(migrate_run(f.store, texts, &changed, &error));
    g_assert_nonnull(strstr(error->message, "without its 'cell'"));
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM cell"), ==, 4);
    fixture_finish(&f);
}

static void test_views_are_made_anew(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_clear_pointer(&f.store, store_free);
    run_sql(f.path, "DROP VIEW result; DROP VIEW campaign_1; CREATE VIEW mine AS SELECT 5 AS a;"
                    "UPDATE meta SET value = 'another' WHERE name = 'views-digest'");
    fixture_open(&f);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM result"), ==, 0);
    g_assert_cmpint(ask_int(f.store, "SELECT count(*) FROM campaign_1"), ==, 0);
    g_assert_cmpint(ask_int(f.store, "SELECT a FROM mine"), ==, 5);
    fixture_finish(&f);
}

/* A file name is a file name, whatever it looks like to SQLite. */
static void test_odd_names(void)
{
    static const char *const names[] = {"file:x?mode=memory", ":memory:", "a b%20c#d.db", NULL};
    g_autofree char *back = g_get_current_dir();
    Fixture f;

    fixture_init(&f, "cell");
    g_assert_cmpint(g_chdir(f.folder), ==, 0);
    for (const char *const *name = names; *name != NULL; name++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Store) store = store_open(*name, STORE_READ_WRITE, &error);

        g_assert_no_error(error);
        g_assert_true(g_file_test(*name, G_FILE_TEST_IS_REGULAR));
    }
    g_assert_cmpint(g_chdir(back), ==, 0);
    fixture_finish(&f);
}

/* In the child: as a user who may not write there. 0: it could be read. */
static int read_as_nobody(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = NULL;

    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    store = store_open(path, STORE_READ_ONLY, &error);
    if (store == NULL)
        return strstr(error->message, "may not write to the folder") != NULL ? 3 : 1;
    return ask_int(store, "SELECT count(*) FROM run") == 12 ? 0 : 1;
}

static int in_child(int (*call)(const char *path), const char *path)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        leave(call(path));
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_read_only_folder(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_clear_pointer(&f.store, store_free);
    g_assert_cmpint(g_chmod(f.folder, 0555), ==, 0);
    g_assert_cmpint(in_child(read_as_nobody, f.path), ==, 0);
    g_assert_false(beside(f.path, "-shm"));
    g_assert_cmpint(g_chmod(f.folder, 0755), ==, 0);
    fixture_finish(&f);
}

/* Someone who may only read, while a writer has the database open: works, by the writer's -shm. */
static void test_read_only_folder_in_use(void)
{
    Fixture f;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    g_assert_cmpint(g_chmod(f.folder, 0555), ==, 0);
    g_assert_cmpint(in_child(read_as_nobody, f.path), ==, 0);
    g_assert_cmpint(g_chmod(f.folder, 0755), ==, 0);
    fixture_finish(&f);
}

/* A writer was killed and its -shm is gone: the log is not empty, and cannot be read. */
static void test_read_only_folder_left_log(void)
{
    Fixture f;
    g_autofree char *shm = NULL;
    g_autofree char *copy = NULL, *copy_log = NULL, *log = NULL;
    g_autofree char *data = NULL;
    gsize length;

    fixture_init(&f, "cell");
    fixture_add_campaign(&f);
    log = g_strconcat(f.path, "-wal", NULL);
    copy = g_build_filename(f.folder, "copy.db", NULL);
    copy_log = g_strconcat(copy, "-wal", NULL);
    g_assert_true(g_file_get_contents(f.path, &data, &length, NULL));
    g_assert_true(g_file_set_contents(copy, data, (gssize)length, NULL));
    g_clear_pointer(&data, g_free);
    g_assert_true(g_file_get_contents(log, &data, &length, NULL));
    g_assert_cmpuint(length, >, 0);
    g_assert_true(g_file_set_contents(copy_log, data, (gssize)length, NULL));
    g_assert_cmpint(g_chmod(copy, 0644), ==, 0);
    g_assert_cmpint(g_chmod(copy_log, 0644), ==, 0);
    g_assert_cmpint(g_chmod(f.folder, 0555), ==, 0);
    g_assert_cmpint(in_child(read_as_nobody, copy), ==, 3);
    g_assert_cmpint(g_chmod(f.folder, 0755), ==, 0);
    fixture_finish(&f);
}

static void test_default_path(void)
{
    g_autofree char *named = NULL;

    g_setenv("VMATRIX_DB", "/somewhere/else.db", TRUE);
    named = store_default_path();
    g_assert_cmpstr(named, ==, "/somewhere/else.db");
    g_unsetenv("VMATRIX_DB");
    g_autofree char *path = store_default_path();

    if (geteuid() == 0)
        g_assert_cmpstr(path, ==, "/var/lib/vmatrix/vmatrix.db");
    else
        g_assert_true(g_str_has_suffix(path, "/vmatrix/vmatrix.db"));
}

int main(int argc, char **argv)
{
    umask(022); /* the tests of another user read what is made here */
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/open/create", test_create);
    g_test_add_func("/open/header-is-stamped", test_header_is_stamped);
    g_test_add_func("/open/reopen-changes-nothing", test_reopen_changes_nothing);
    g_test_add_func("/open/empty-file-is-new", test_empty_file_is_new);
    g_test_add_func("/open/read-only-missing", test_read_only_missing);
    g_test_add_func("/open/odd-names", test_odd_names);
    g_test_add_func("/open/default-path", test_default_path);
    g_test_add_func("/open/read-only-folder", test_read_only_folder);
    g_test_add_func("/open/read-only-folder-in-use", test_read_only_folder_in_use);
    g_test_add_func("/open/read-only-folder-left-log", test_read_only_folder_left_log);
    g_test_add_func("/refuse/foreign", test_refuse_foreign);
    g_test_add_func("/refuse/no-database", test_refuse_no_database);
    g_test_add_func("/refuse/folder", test_refuse_folder);
    g_test_add_func("/refuse/newer", test_refuse_newer);
    g_test_add_func("/refuse/newer-in-log", test_refuse_newer_in_log);
    g_test_add_func("/refuse/network", test_refuse_network);
    g_test_add_func("/refuse/network-names", test_network_names);
    g_test_add_func("/migrate/forward-all-or-nothing", test_migrations);
    g_test_add_func("/migrate/keeps-references", test_migration_keeps_references);
    g_test_add_func("/migrate/views-are-made-anew", test_views_are_made_anew);
    return g_test_run();
}
