/* SPDX-License-Identifier: GPL-3.0-or-later */
#if !defined(_WIN32)
#include "os-kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- files --- */

intptr_t os_open(const char *path, bool writing)
{
    return open(path, (writing ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

void os_close(intptr_t handle)
{
    if (handle != OS_NO_HANDLE)
        close((int)handle);
}

const char *os_zero_device(void)
{
    return "/dev/zero";
}

const char *os_null_device(void)
{
    return "/dev/null";
}

bool os_read_byte(intptr_t handle)
{
    char byte;

    return read((int)handle, &byte, 1) == 1;
}

bool os_write_byte(intptr_t handle)
{
    return write((int)handle, "", 1) == 1;
}

bool os_stat(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

bool os_fstat(intptr_t handle)
{
    struct stat st;

    return fstat((int)handle, &st) == 0;
}

/* --- signals --- */

static void do_nothing(int number)
{
    (void)number;
}

bool os_signal_install(void)
{
    struct sigaction action = {.sa_handler = do_nothing};

    sigemptyset(&action.sa_mask);
    return sigaction(SIGUSR1, &action, NULL) == 0;
}

/* kill() of one's own process by its only thread returns after the handler did (POSIX kill). */
bool os_signal_send(void)
{
    return kill(getpid(), SIGUSR1) == 0;
}

bool os_signal_probe(void)
{
    return kill(getpid(), 0) == 0;
}

void os_signal_restore(void)
{
    signal(SIGUSR1, SIG_DFL);
}

/* --- processes and threads --- */

/* By fork and exec, as shells do; not by posix_spawn, which may share the parent's memory. */
bool os_run(const char *const *argv)
{
    pid_t pid = fork();
    int status = 1;

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        if (null >= 0) {
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (pid < 0)
        return false;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return status == 0;
}

static void *end_at_once(void *arg)
{
    return arg;
}

bool os_thread_start_join(void)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, end_at_once, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

/* Linux, and FreeBSD where procfs is mounted. */
bool os_program_path(char *ret_path, size_t size)
{
    static const char *const links[] = {"/proc/self/exe", "/proc/curproc/file"};

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        ssize_t length = readlink(links[i], ret_path, size - 1);

        if (length <= 0 || (size_t)length >= size - 1)
            continue;
        ret_path[length] = '\0';
        return true;
    }
    return false;
}

/* --- memory --- */

bool os_map_file(const char *path, struct os_map *ret_map)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *at = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return false;
    *ret_map = (struct os_map){at, (size_t)st.st_size};
    return true;
}

void os_unmap(struct os_map *map)
{
    if (map->at != NULL)
        munmap(map->at, map->size);
    *map = (struct os_map){NULL, 0};
}
#endif
