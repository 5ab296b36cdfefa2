/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server of our own accepts in a thread, and does with each connection what the test says. */
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "guest/reach.h"
#include "util/clock.h"
#include "util/error.h"

enum { ROOM_S = 60, SEEN_MAX = 64 };

typedef struct {
    int listener;
    guint port;
    guint speak_at;     /* the connection (from 1) that is greeted; 0: none */
    guint speak_after;  /* … once this many have come */
    guint closed_first; /* so many are closed at once, before the others are left silent */
    guint dumb_first;   /* … but so many before them are silent for good */
    GThread *thread;
    int seen[SEEN_MAX];
    guint n_seen;
} Server;

static gpointer serve(gpointer data)
{
    Server *server = data;
    int fd;

    while (server->n_seen < SEEN_MAX && (fd = accept(server->listener, NULL, NULL)) >= 0) {
        server->seen[server->n_seen++] = fd;
        if (server->n_seen > server->dumb_first &&
            server->n_seen <= server->dumb_first + server->closed_first) {
            g_assert_cmpint(shutdown(fd, SHUT_RDWR), ==, 0);
            continue;
        }
        if (server->speak_at > 0 && server->n_seen == server->speak_after)
            g_assert_cmpint(send(server->seen[server->speak_at - 1], "SSH-", 4, MSG_NOSIGNAL), ==,
                            4);
    }
    return NULL;
}

static void server_start(Server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;

    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(server->listener, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(server->listener, SEEN_MAX), ==, 0);
    g_assert_cmpint(getsockname(server->listener, (struct sockaddr *)&address, &length), ==, 0);
    server->port = ntohs(address.sin_port);
    server->thread = g_thread_new("server", serve, server);
}

/* Ends the thread; the connections stay for the test to look at. */
static void server_stop(Server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    g_thread_join(server->thread);
    close(server->listener);
}

static void server_close(Server *server)
{
    for (guint i = 0; i < server->n_seen; i++)
        close(server->seen[i]);
}

static Wait room(gint64 seconds)
{
    return (Wait){
        .deadline_ns = clock_mono_ns() + seconds * CLOCK_NS_PER_S, .guard_fd = -1, .step = "test"};
}

/* The connection that was greeted is the one that is given; the others are closed. */
static void check_reached(Server *server)
{
    g_auto(Reach) reach = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(ROOM_S);
    char text[8] = "";
    int fd;

    server_start(server);
    g_assert_true(reach_init(&reach, "test", "guest g", "127.0.0.1", server->port, &error));
    fd = reach_first_byte(&reach, &wait, &error);
    g_assert_no_error(error);
    server_stop(server);
    g_assert_cmpuint(server->n_seen, <=, reach.attempts);
    g_assert_cmpint(recv(fd, text, sizeof text, MSG_DONTWAIT), ==, 4);
    g_assert_cmpstr(text, ==, "SSH-");
    g_assert_cmpint(send(fd, "x", 1, MSG_NOSIGNAL), ==, 1);
    for (guint i = 0; i < server->n_seen; i++)
        g_assert_cmpint(recv(server->seen[i], text, sizeof text, 0), ==,
                        i + 1 == server->speak_at ? 1 : 0);
    close(fd);
    server_close(server);
}

/* A connection from before the server was there stays dumb: a later one is greeted. */
static void test_dumb_first(void)
{
    check_reached(&(Server){.speak_at = 3, .speak_after = 3});
}

/* A server that takes long to greet is not left for younger connections. */
static void test_slow_greeting(void)
{
    check_reached(&(Server){.speak_at = 1, .speak_after = 10});
}

static void test_closed_first(void)
{
    check_reached(&(Server){.closed_first = 5, .speak_at = 6, .speak_after = 6});
}

/* A server that has closed some is there: the next one, though silent for long, is not given up for
 * younger ones. */
static void test_slow_after_closed(void)
{
    check_reached(&(Server){.closed_first = 2, .speak_at = 3, .speak_after = 5});
}

/* With the first that is closed those go that were made when there was no network. */
static void test_dumb_before_closed(void)
{
    check_reached(&(Server){.dumb_first = 1, .closed_first = 1, .speak_at = 3, .speak_after = 4});
    check_reached(&(Server){.dumb_first = 3, .closed_first = 2, .speak_at = 6, .speak_after = 7});
}

/* No more than four at a time, however long it lasts. */
static void test_bounded(void)
{
    Server server = {0};
    g_auto(Reach) reach = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(2);
    char text[8];
    guint open = 0;

    server_start(&server);
    g_assert_true(reach_init(&reach, "test", "guest g", "127.0.0.1", server.port, &error));
    g_assert_cmpint(reach_first_byte(&reach, &wait, &error), ==, -1);
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
    g_assert_nonnull(
        strstr(error->message, "no first byte of the SSH banner from guest g (attempts: "));
    server_stop(&server);
    for (guint i = 0; i < server.n_seen; i++)
        open += recv(server.seen[i], text, sizeof text, MSG_DONTWAIT) < 0;
    g_assert_cmpuint(open, ==, MIN(server.n_seen, REACH_OPEN_MAX));
    g_assert_cmpint(recv(server.seen[0], text, sizeof text, MSG_DONTWAIT), <, 0);
    server_close(&server);
}

/* The oldest has its time, and no more: what is dumb for good makes room. */
static void test_patience(void)
{
    Server server = {0};
    g_auto(Reach) reach = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(2);
    char text[8];

    server_start(&server);
    g_assert_true(reach_init(&reach, "test", "guest g", "127.0.0.1", server.port, &error));
    reach.patience_ns = 300 * CLOCK_NS_PER_MS;
    g_assert_cmpint(reach_first_byte(&reach, &wait, &error), ==, -1);
    server_stop(&server);
    g_assert_cmpuint(server.n_seen, >, REACH_OPEN_MAX);
    g_assert_cmpint(recv(server.seen[0], text, sizeof text, MSG_DONTWAIT), ==, 0);
    server_close(&server);
}

typedef struct {
    char *path;
    gint stop;
    gint64 between_us;
} Writer;

/* A guest that writes to its console all the time. */
static gpointer write_console(gpointer data)
{
    Writer *writer = data;

    while (!g_atomic_int_get(&writer->stop)) {
        FILE *console = fopen(writer->path, "a");

        g_assert_nonnull(console);
        fputs("[    1.0] something\n", console);
        fclose(console);
        g_usleep((gulong)writer->between_us);
    }
    return NULL;
}

/* Attempts follow on what the guest writes, though the pace alone would make one an hour; the third
 * is greeted. */
static void test_console(void)
{
    Server server = {.speak_at = 3, .speak_after = 3};
    Writer writer = {.between_us = 1000};
    g_auto(Reach) reach = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(ROOM_S);
    GThread *thread;
    int fd = g_file_open_tmp(NULL, &writer.path, &error);

    g_assert_no_error(error);
    close(fd);
    server_start(&server);
    g_assert_true(reach_init(&reach, "test", "guest g", "127.0.0.1", server.port, &error));
    reach_watch_console(&reach, writer.path);
    reach.watched_ns = 3600 * CLOCK_NS_PER_S;
    thread = g_thread_new("console", write_console, &writer);
    fd = reach_first_byte(&reach, &wait, &error);
    g_assert_no_error(error);
    g_atomic_int_set(&writer.stop, 1);
    g_thread_join(thread);
    server_stop(&server);
    /* Never more than one each 120 ms, whatever is written. */
    g_assert_cmpint((gint64)reach.attempts, <=,
                    (clock_mono_ns() - reach.start_ns) / (120 * CLOCK_NS_PER_MS) + 1);
    close(fd);
    server_close(&server);
    g_unlink(writer.path);
    g_free(writer.path);
}

/* A guest that writes nothing is tried at the pace; a console that is not there changes nothing. */
static void test_silent_console(void)
{
    Server server = {0};
    g_auto(Reach) reach = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;
    Wait wait = room(1);
    int fd = g_file_open_tmp(NULL, &path, &error);

    g_assert_no_error(error);
    close(fd);
    server_start(&server);
    g_assert_true(reach_init(&reach, "test", "guest g", "127.0.0.1", server.port, &error));
    reach_watch_console(&reach, "/no such console");
    g_assert_false(reach.watched);
    reach_watch_console(&reach, path);
    g_assert_true(reach.watched);
    reach.watched_ns = 3600 * CLOCK_NS_PER_S;
    g_assert_cmpint(reach_first_byte(&reach, &wait, &error), ==, -1);
    g_assert_cmpuint(reach.attempts, ==, 1);
    server_stop(&server);
    server_close(&server);
    g_unlink(path);
}

/* After work on a connection went wrong, another one is given. */
static void test_again(void)
{
    Server server = {.speak_at = 1, .speak_after = 1};
    g_auto(Reach) reach = {0};
    g_autoptr(GError) error = NULL;
    Wait wait = room(ROOM_S), brief = room(1);
    int fd;

    server_start(&server);
    g_assert_true(reach_init(&reach, "test", "guest g", "127.0.0.1", server.port, &error));
    fd = reach_first_byte(&reach, &wait, &error);
    g_assert_no_error(error);
    close(fd);
    reach_again(&reach, "handshake: nonsense");
    g_assert_cmpint(reach_first_byte(&reach, &brief, &error), ==, -1);
    g_assert_error(error, VM_ERROR, VM_ERROR_TIMEOUT);
    server_stop(&server);
    g_assert_cmpuint(server.n_seen, >=, 2);
    server_close(&server);
}

static void test_not_numeric(void)
{
    g_auto(Reach) reach = {0};
    g_autoptr(GError) error = NULL;

    g_assert_false(reach_init(&reach, "ssh", "guest g", "localhost", 22, &error));
    g_assert_error(error, VM_ERROR, VM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "ssh: guest g: not a numeric address"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reach/dumb-first", test_dumb_first);
    g_test_add_func("/reach/slow-greeting", test_slow_greeting);
    g_test_add_func("/reach/closed-first", test_closed_first);
    g_test_add_func("/reach/slow-after-closed", test_slow_after_closed);
    g_test_add_func("/reach/dumb-before-closed", test_dumb_before_closed);
    g_test_add_func("/reach/bounded", test_bounded);
    g_test_add_func("/reach/patience", test_patience);
    g_test_add_func("/reach/again", test_again);
    g_test_add_func("/reach/console", test_console);
    g_test_add_func("/reach/silent-console", test_silent_console);
    g_test_add_func("/reach/not-numeric", test_not_numeric);
    return g_test_run();
}
