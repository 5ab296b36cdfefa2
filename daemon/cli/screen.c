/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/screen.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "util/error.h"
#include "util/io.h"

#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

struct Screen {
    struct termios before;
    sigset_t mask_before;
    int signal_fd;
};

static void put(const char *text, gsize length)
{
    const Wait wait = {.deadline_ns = WAIT_FOREVER, .guard_fd = -1, .step = "screen"};

    /* A terminal that is gone says so by SIGHUP. */
    io_write_all(&wait, STDOUT_FILENO, text, length, NULL);
}

static gboolean take_signals(Screen *screen, GError **error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
    sigset_t set;

    sigemptyset(&set);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, &screen->mask_before);
    screen->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen->signal_fd >= 0)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "signalfd: %s", g_strerror(errno));
    return FALSE;
}

Screen *screen_new(GError **error)
{
    g_autofree Screen *screen = g_new0(Screen, 1);
    struct termios raw;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &screen->before) != 0) {
        g_set_error_literal(error, VM_ERROR, VM_ERROR_INVALID,
                            "this needs a terminal; \"vmatrix status\" prints once, and --json "
                            "prints a line whenever something changes");
        return NULL;
    }
    if (!take_signals(screen, error))
        return NULL;
    raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    /* Stopped by Ctrl-Z it would leave the terminal as it is now. */
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    put(ENTER, strlen(ENTER));
    return g_steal_pointer(&screen);
}

void screen_free(Screen *screen)
{
    if (screen == NULL)
        return;
    put(LEAVE, strlen(LEAVE));
    tcsetattr(STDIN_FILENO, TCSADRAIN, &screen->before);
    close(screen->signal_fd);
    sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
    g_free(screen);
}

/* All signals that wait, together. */
static ScreenEvent read_signals(const Screen *screen)
{
    struct signalfd_siginfo info;
    ScreenEvent event = SCREEN_RESIZED;

    while (read(screen->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGWINCH)
            event = SCREEN_END;
    return event;
}

/* Whether a key says that it is enough; a terminal that is gone does. */
static gboolean read_keys(void)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof keys);

    if (n <= 0)
        return n == 0 || (errno != EINTR && errno != EAGAIN);
    return memchr(keys, 'q', (gsize)n) != NULL || memchr(keys, 'Q', (gsize)n) != NULL ||
           memchr(keys, '\004', (gsize)n) != NULL;
}

ScreenEvent screen_wait(Screen *screen, int fd, gint64 deadline_ns)
{
    const Wait wait = {.deadline_ns = deadline_ns, .guard_fd = -1, .step = "screen"};

    for (;;) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = screen->signal_fd, .events = POLLIN},
                               {.fd = fd, .events = POLLIN}};

        if (wait_fds(&wait, fds, G_N_ELEMENTS(fds)) != WAIT_READY)
            return SCREEN_TIMEOUT;
        if (fds[1].revents != 0)
            return read_signals(screen);
        if (fds[0].revents != 0 && read_keys())
            return SCREEN_END;
        if (fds[2].revents != 0)
            return SCREEN_OTHER;
    }
}

void screen_size(const Screen *screen, guint *ret_columns, guint *ret_rows)
{
    struct winsize size = {0};

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_columns = size.ws_col > 0 ? size.ws_col : 80;
    *ret_rows = size.ws_row > 0 ? size.ws_row : 24;
}

static guint width_of(gunichar c)
{
    return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

/* Past an escape sequence that sets colours ("\033[1m"): up to its letter. */
static const char *after_escape(const char *at)
{
    while (*at != '\0' && !g_ascii_isalpha(*at))
        at++;
    return *at != '\0' ? at + 1 : at;
}

/* One line, cut; its escape sequences are kept, so that a colour that was begun is ended. */
static void append_line(GString *out, const char *line, const char *end, guint columns)
{
    guint used = 0;

    while (line < end) {
        gboolean escape = *line == '\033';
        const char *next = escape ? after_escape(line) : g_utf8_next_char(line);

        used += escape ? 0 : width_of(g_utf8_get_char(line));
        if (escape || used <= columns)
            g_string_append_len(out, line, next - line);
        line = next;
    }
}

char *screen_cut(const char *text, guint columns, guint rows)
{
    GString *out = g_string_new(NULL);

    for (guint row = 0; *text != '\0' && row < rows; row++) {
        const char *end = strchrnul(text, '\n');

        append_line(out, text, end, columns);
        text = *end != '\0' ? end + 1 : end;
        if (*text != '\0' && row + 1 < rows)
            g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

void screen_draw(Screen *screen, const char *text)
{
    guint columns, rows;

    screen_size(screen, &columns, &rows);
    g_autofree char *cut = screen_cut(text, columns, rows);
    g_auto(GStrv) lines = g_strsplit(cut, "\n", -1);
    /* Each row is wiped before it is written: after a row that is full to its last column the
     * cursor stands on that column. */
    g_autofree char *joined = g_strjoinv("\r\n\033[K", lines);
    const char *rest = g_strv_length(lines) < rows ? "\r\n\033[J" : "";
    g_autofree char *all = g_strconcat("\033[H\033[K", joined, rest, NULL);

    put(all, strlen(all));
}
