/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vmatrixd: parse, set up, run. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/options.h"
#include "config.h"
#include "daemon-config.h"
#include "notify.h"
#include "run/daemon.h"
#include "util/error.h"
#include "util/io.h"
#include "util/log.h"

typedef struct {
    const char *db;
    const char *config;
    gboolean help;
    gboolean version;
} DaemonSettings;

static const OptionSpec daemon_options[] = {
    {.name = "db",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(DaemonSettings, db),
     .value = "FILE",
     .help = "the database whose queue is run"},
    {.name = "config",
     .kind = OPTION_TEXT,
     .offset = G_STRUCT_OFFSET(DaemonSettings, config),
     .value = "FILE",
     .help = "settings (default: " DAEMON_CONFIG_PATH ", if there)"},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(DaemonSettings, help),
     .help = "show this help"},
    {.name = "version",
     .kind = OPTION_FLAG,
     .offset = G_STRUCT_OFFSET(DaemonSettings, version),
     .help = "show the version"},
    {0},
};

static void show_help(void)
{
    g_autoptr(GString) text =
        g_string_new("usage: vmatrixd [OPTIONS]\n\n"
                     "The daemon that runs campaigns from the database's queue, one guest at a\n"
                     "time. \"vmatrix submit PLAN\" fills it; SIGTERM ends it, and the next start\n"
                     "goes on; SIGHUP rereads the settings.\n\n"
                     "Options\n");

    options_help(daemon_options, text);
    fputs(text->str, stdout);
}

static gboolean parse(int argc, char **argv, DaemonSettings *ret_settings, GError **error)
{
    static const OptionSpec *const tables[] = {daemon_options, NULL};
    DaemonSettings settings = {0};
    int next;

    if (!options_parse(tables, &settings, OPTIONS_ALL, argc, argv, &next, error))
        return FALSE;
    if (next < argc) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "unexpected argument \"%s\": vmatrixd takes options only; see --help",
                    argv[next]);
        return FALSE;
    }
    *ret_settings = settings;
    return TRUE;
}

/* ---- the running daemon ---- */

typedef struct {
    const char *config_path;
    gboolean config_optional;
    DaemonConfig config;
    DaemonOptions options;
    Cancel *cancel;
    int reload_fd; /* SIGHUP makes it readable */
} Daemon;

static Daemon *the_daemon; /* for the signal handlers */

static void on_signal(int number)
{
    const guint64 one = 1;
    int saved = errno;

    if (number != SIGHUP)
        cancel_set(the_daemon->cancel);
    else if (write(the_daemon->reload_fd, &one, sizeof one) < 0)
        errno = saved;
    errno = saved;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a libvirt connection that breaks must not end us */
}

static void use_config(Daemon *daemon)
{
    log_set_level(daemon->config.log);
    daemon->options.campaign.work = daemon->config.work;
    daemon->options.campaign.hooks = daemon->config.hooks;
    daemon->options.retry_ns = daemon->config.retry_ns;
}

/* SIGHUP. Bad settings leave the old ones in force; the database stays the one that was opened. */
static void reload(void *data)
{
    Daemon *daemon = data;
    g_auto(DaemonConfig) config = {0};
    g_autoptr(GError) error = NULL;
    guint64 count;

    if (read(daemon->reload_fd, &count, sizeof count) < 0)
        return;
    notify_reloading();
    if (!daemon_config_load(daemon->config_path, daemon->config_optional, &config, &error)) {
        g_warning("settings not reread, the old ones stay: %s", error->message);
    } else {
        DaemonConfig old = daemon->config;

        daemon->config = config;
        config = old;
        use_config(daemon);
        g_message("settings reread from %s", daemon->config_path);
    }
    notify_ready();
}

static void on_status(void *data, gint64 campaign)
{
    g_autofree char *text = campaign == 0
                                ? g_strdup("idle: nothing is due")
                                : g_strdup_printf("running campaign %" G_GINT64_FORMAT, campaign);

    notify_status(text);
}

static void on_alive(void *data, gint64 within_ns)
{
    notify_alive(within_ns);
}

static gboolean daemon_init(Daemon *daemon, const DaemonSettings *settings, GError **error)
{
    daemon->config_path = settings->config != NULL ? settings->config : DAEMON_CONFIG_PATH;
    daemon->config_optional = settings->config == NULL;
    if (!daemon_config_load(daemon->config_path, daemon->config_optional, &daemon->config, error))
        return FALSE;
    daemon->cancel = cancel_new();
    daemon->reload_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cancel_watch(daemon->cancel, daemon->reload_fd, reload, daemon);
    daemon->options = (DaemonOptions){
        .campaign = {.cancel = daemon->cancel, .resumable = TRUE, .alive = on_alive},
        .status = on_status,
        .heartbeat_ns = notify_heartbeat_ns()};
    use_config(daemon);
    the_daemon = daemon;
    catch_signals();
    return TRUE;
}

static void daemon_finish(Daemon *daemon)
{
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    cancel_free(daemon->cancel);
    io_clear_fd(&daemon->reload_fd);
    daemon_config_clear(&daemon->config);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Daemon, daemon_finish)

static gboolean serve(const DaemonSettings *settings, GError **error)
{
    g_auto(Daemon) daemon = {.reload_fd = -1};
    g_autofree char *fallback = store_default_path();
    g_autoptr(Store) store = NULL;
    const char *path;
    gboolean ok;

    if (!daemon_init(&daemon, settings, error))
        return FALSE;
    path = settings->db != NULL             ? settings->db
           : daemon.config.database != NULL ? daemon.config.database
                                            : fallback;
    store = store_open(path, STORE_READ_WRITE, error);
    if (store == NULL)
        return FALSE;
    g_message("vmatrixd " VMATRIX_VERSION ": serving the queue of %s", path);
    notify_ready();
    ok = daemon_run(store, &daemon.options, error);
    notify_stopping();
    g_message("vmatrixd: ended; the next start goes on");
    return ok;
}

int main(int argc, char **argv)
{
    DaemonSettings settings;
    g_autoptr(GError) error = NULL;

    if (!parse(argc, argv, &settings, &error)) {
        fprintf(stderr, "vmatrixd: %s\n", error->message);
        return vm_error_exit_code(error);
    }
    if (settings.help) {
        show_help();
        return VM_EXIT_DONE;
    }
    if (settings.version) {
        puts("vmatrixd " VMATRIX_VERSION);
        return VM_EXIT_DONE;
    }
    log_init(LOG_NORMAL);
    if (!serve(&settings, &error)) {
        g_warning("vmatrixd: %s", error->message);
        return vm_error_exit_code(error);
    }
    return VM_EXIT_DONE;
}
