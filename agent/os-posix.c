/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Linux and FreeBSD share: processes, files, waiting. */
#if !defined(_WIN32)
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* ppoll, POLLRDHUP, mkdtemp */
#endif
#include "os-net.h"
#include "os-posix.h"
#include "os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

static bool fail(char *reason, const char *what)
{
    snprintf(reason, OS_REASON_MAX, "%s: %s", what, strerror(errno));
    return false;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* --- memory --- */

void *os_pages_new(size_t size, bool shared)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_ANON | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

void os_pages_free(void *pages, size_t size)
{
    if (pages != NULL)
        munmap(pages, size);
}

/* --- kernel work --- */

static int reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

bool os_fork_exit(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        reap(pid);
    return pid > 0;
}

/* --- files --- */

static bool scratch_in(const char *parent, char *ret_path)
{
    int length = snprintf(ret_path, OS_PATH_MAX - 32, "%s/vmatrix-XXXXXX", parent);

    errno = ENAMETOOLONG;
    return length < OS_PATH_MAX - 32 && mkdtemp(ret_path) != NULL;
}

/* In the parent that is named, else in the first usual place that takes it. */
static bool scratch_anywhere(const char *parent, char *ret_path, char *reason)
{
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/run", "."};
    int kept;

    if (parent != NULL && scratch_in(parent, ret_path))
        return true;
    kept = errno;
    if (parent != NULL) {
        snprintf(reason, OS_REASON_MAX, "cannot make a folder in '%.120s': %s: name a writable one",
                 parent, strerror(kept));
        return false;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (places[i] != NULL && scratch_in(places[i], ret_path))
            return true;
    return fail(reason, "no usual place for temporary files can be written: name a folder");
}

bool os_scratch_new(const char *parent, int copies, char *ret_path, char *reason)
{
    char sub[OS_PATH_MAX];

    if (!scratch_anywhere(parent, ret_path, reason))
        return false;
    for (int i = 0; i < copies; i++) {
        os_scratch_copy(ret_path, i, sub);
        if (mkdir(sub, 0700) < 0) {
            fail(reason, "cannot make a folder");
            os_scratch_remove(ret_path);
            return false;
        }
    }
    return true;
}

void os_scratch_copy(const char *path, int copy, char *ret_path)
{
    snprintf(ret_path, OS_PATH_MAX, "%.*s/%d", OS_PATH_MAX - 16, path, copy);
}

static void remove_tree(const char *path, int depth)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char sub[OS_PATH_MAX + 256];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(sub, sizeof(sub), "%s/%s", path, entry->d_name);
        if (unlink(sub) < 0 && depth > 0)
            remove_tree(sub, depth - 1);
    }
    if (folder != NULL)
        closedir(folder);
    rmdir(path);
}

void os_scratch_remove(const char *path)
{
    remove_tree(path, 1);
}

bool os_file_create(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    const char *at = data;
    ssize_t wrote = 0;

    if (fd < 0)
        return false;
    while (size > 0 && (wrote = write(fd, at, size)) > 0) {
        at += wrote;
        size -= (size_t)wrote;
    }
    return close(fd) == 0 && size == 0;
}

bool os_file_delete(const char *path)
{
    return unlink(path) == 0;
}

/* --- processes --- */

static sigset_t mask_before;
/* In a worker: the pipe its words go into, which its helpers must not keep open. */
static int worker_pipe = -1;

struct os_helper {
    pid_t pid;
};

/* Links of other copies, when those are threads of the process that was forked, must end when
 * their owner closes them. Descriptors are given out from the lowest: there are few. */
static void close_all_but(const struct os_link *link)
{
    enum { FIRST = STDERR_FILENO + 1, BEYOND = 1024 };

    for (int fd = FIRST; fd < BEYOND; fd++)
        if (fd != link->in && fd != link->out)
            close(fd);
}

struct os_helper *os_helper_start(os_helper_main *main, struct os_link *near_end,
                                  struct os_link *far_end, int cpu, char *reason)
{
    struct os_helper *helper = calloc(1, sizeof(*helper));
    pid_t parent = getpid();

    if (helper != NULL)
        helper->pid = fork();
    if (helper != NULL && helper->pid == 0) {
        os_die_with(parent);
        worker_pipe = -1;
        *near_end = (struct os_link){.in = -1, .out = -1};
        close_all_but(far_end);
        if (cpu < 0 || os_pin(cpu))
            main(far_end);
        _exit(0);
    }
    os_link_close(far_end);
    if (helper == NULL || helper->pid < 0) {
        fail(reason, "cannot start a process");
        free(helper);
        return NULL;
    }
    return helper;
}

void os_helper_stop(struct os_helper *helper)
{
    if (helper == NULL)
        return;
    kill(helper->pid, SIGKILL);
    reap(helper->pid);
    free(helper);
}

bool os_helper_ended(struct os_helper *helper)
{
    pid_t reaped = waitpid(helper->pid, NULL, WNOHANG);

    if (reaped == 0)
        return false;
    free(helper);
    return true;
}

struct os_port {
    int to, gate;
};

struct os_worker {
    pid_t pid; /* its process group's number too; 0: none, or reaped */
    int from;  /* its words; -1: it has ended */
};

struct os_workers {
    int copies;
    int gate; /* the write end: closing it wakes all who read */
    struct os_worker *workers;
    struct pollfd *fds; /* os_wait's: standard input, and one a worker */
};

static void be_worker(struct os_workers *workers, pid_t parent, struct os_port *port)
{
    int null = open("/dev/null", O_RDWR);

    os_die_with(parent);
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
    close_fd(&workers->gate); /* else the gate never opens */
    for (int i = 0; i < workers->copies; i++)
        close_fd(&workers->workers[i].from);
    /* The session's stream is the agent's alone. */
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        close(null);
    } else {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
    }
    worker_pipe = port->to;
}

static bool start_worker(struct os_workers *workers, int copy, int gate, os_worker_main *main,
                         void *arg, char *reason)
{
    pid_t parent = getpid(), pid;
    int ends[2];

    if (pipe(ends) < 0)
        return fail(reason, "cannot make a pipe");
    pid = fork();
    if (pid == 0) {
        struct os_port port = {.to = ends[1], .gate = gate};
        close(ends[0]);
        be_worker(workers, parent, &port);
        main(arg, copy, &port);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        fail(reason, "cannot start a process");
        close(ends[0]);
        return false;
    }
    setpgid(pid, pid); /* here and there: whoever comes first */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    workers->workers[copy] = (struct os_worker){.pid = pid, .from = ends[0]};
    return true;
}

static struct os_workers *workers_new(int copies)
{
    struct os_workers *workers = calloc(1, sizeof(*workers));

    if (workers == NULL)
        return NULL;
    workers->copies = copies;
    workers->gate = -1;
    workers->workers = calloc((size_t)copies, sizeof(*workers->workers));
    workers->fds = calloc((size_t)copies + 1, sizeof(*workers->fds));
    if (workers->workers == NULL || workers->fds == NULL) {
        free(workers->workers);
        free(workers->fds);
        free(workers);
        return NULL;
    }
    for (int i = 0; i < copies; i++)
        workers->workers[i].from = -1;
    return workers;
}

struct os_workers *os_workers_start(int copies, os_worker_main *main, void *arg, char *reason)
{
    struct os_workers *workers = workers_new(copies);
    bool started = true;
    int gate[2];

    if (workers == NULL || pipe(gate) < 0) {
        fail(reason, "cannot make a pipe");
        os_workers_free(workers, 0);
        return NULL;
    }
    workers->gate = gate[1];
    for (int i = 0; started && i < copies; i++)
        started = start_worker(workers, i, gate[0], main, arg, reason);
    close(gate[0]);
    if (!started) {
        os_workers_free(workers, 0);
        return NULL;
    }
    return workers;
}

void os_port_tell(struct os_port *port, char word)
{
    /* A full or broken pipe: the runner's process is gone, and this one soon is. */
    if (write(port->to, &word, 1) != 1)
        _exit(1);
}

void os_port_wait_gate(struct os_port *port)
{
    char byte;

    while (read(port->gate, &byte, 1) < 0 && errno == EINTR)
        ;
}

void os_workers_open_gate(struct os_workers *workers)
{
    close_fd(&workers->gate);
}

static void describe(int status, char *reason)
{
    if (WIFSIGNALED(status))
        snprintf(reason, OS_REASON_MAX, "was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(reason, OS_REASON_MAX, "ended with status %d", WEXITSTATUS(status));
}

/* End what a worker left behind, then the worker; its number is not free before it is reaped. */
static int end_worker(struct os_worker *worker)
{
    int status;

    kill(-worker->pid, SIGKILL);
    kill(worker->pid, SIGKILL);
    status = reap(worker->pid);
    worker->pid = 0;
    close_fd(&worker->from);
    return status;
}

/* Its pipe is at its end: it is ending by itself. */
static int ended_worker(struct os_worker *worker)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    return end_worker(worker);
}

bool os_workers_next(struct os_workers *workers, int *ret_copy, char *ret_word, char *reason)
{
    for (int i = 0; i < workers->copies; i++) {
        struct os_worker *worker = &workers->workers[i];
        ssize_t got = worker->from >= 0 ? read(worker->from, ret_word, 1) : -1;

        if (got < 0)
            continue;
        *ret_copy = i;
        if (got == 0) {
            *ret_word = '\0';
            describe(ended_worker(worker), reason);
        }
        return true;
    }
    return false;
}

static bool any_left(const struct os_workers *workers)
{
    bool left = false;

    for (int i = 0; i < workers->copies; i++)
        left |= workers->workers[i].pid > 0;
    return left;
}

void os_workers_free(struct os_workers *workers, int64_t grace_ns)
{
    int64_t deadline = os_clock_ns() + grace_ns;
    char word, reason[OS_REASON_MAX];
    int copy;

    if (workers == NULL)
        return;
    close_fd(&workers->gate);
    while (grace_ns > 0 && any_left(workers) && os_clock_ns() < deadline) {
        if (os_wait(OS_INPUT_IGNORED, workers, deadline) & OS_WAKE_STOP)
            break;
        while (os_workers_next(workers, &copy, &word, reason))
            ;
    }
    for (int i = 0; i < workers->copies; i++)
        if (workers->workers[i].pid > 0)
            end_worker(&workers->workers[i]);
    free(workers->workers);
    free(workers->fds);
    free(workers);
}

/* --- waiting --- */

static volatile sig_atomic_t asked_to_stop;

static void on_stop_signal(int number)
{
    (void)number;
    asked_to_stop = 1;
}

/* The signals are let through only while os_wait waits: none can be missed between. */
bool os_on_terminal(void)
{
    return isatty(STDOUT_FILENO) != 0;
}

void os_begin(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_stop_signal};
    sigset_t stops;

    sigemptyset(&stops);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(&stops, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &stops, &mask_before);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigdelset(&mask_before, numbers[i]);
    signal(SIGPIPE, SIG_IGN);
}

int posix_wait(struct pollfd *fds, nfds_t count, int64_t deadline_ns, bool *ret_stop)
{
    int64_t left = deadline_ns - os_clock_ns();
    struct timespec time = {0};
    int found;

    if (left > 0)
        time = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    found = ppoll(fds, count, deadline_ns == 0 ? NULL : &time, &mask_before);
    *ret_stop = asked_to_stop != 0;
    return found;
}

int os_wait(enum os_input input, struct os_workers *workers, int64_t deadline_ns)
{
    struct pollfd alone, *fds = workers == NULL ? &alone : workers->fds;
    int copies = workers == NULL ? 0 : workers->copies, woke = 0;
    bool stop;

    fds[0] = (struct pollfd){.fd = input == OS_INPUT_IGNORED ? -1 : STDIN_FILENO,
                             .events = input == OS_INPUT_WANTED ? POLLIN : POLLRDHUP};
    for (int i = 0; i < copies; i++)
        fds[1 + i] = (struct pollfd){.fd = workers->workers[i].from, .events = POLLIN};
    if (posix_wait(fds, (nfds_t)copies + 1, deadline_ns, &stop) <= 0)
        return stop ? OS_WAKE_STOP : 0;
    if (fds[0].revents != 0)
        woke |= OS_WAKE_INPUT;
    for (int i = 0; i < copies; i++)
        if (fds[1 + i].revents != 0)
            woke |= OS_WAKE_WORKER;
    return stop ? woke | OS_WAKE_STOP : woke;
}

ptrdiff_t os_input_read(void *buffer, size_t size)
{
    ssize_t got = read(STDIN_FILENO, buffer, size);

    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? -1 : 0;
    return got;
}
#else
typedef int os_posix_is_empty_here;
#endif
