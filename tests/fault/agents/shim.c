/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linked into the real agent for tests/fault/clocks.sh, by -Wl,--wrap=clock_gettime:
 * CLOCK_PPM makes its clock run fast; DELAY_MS delays each piece of input and output by a random
 * time up to that, as a jittery network would. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_PPM
#define CLOCK_PPM 0
#endif
#ifndef DELAY_MS
#define DELAY_MS 0
#endif

enum { NS_PER_S = 1000000000 };

int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int result = __real_clock_gettime(clock, ret_time);
    int64_t ns = (int64_t)ret_time->tv_sec * NS_PER_S + ret_time->tv_nsec;

    if (result != 0)
        return result;
    ns += ns / 1000000 * CLOCK_PPM;
    ret_time->tv_sec = (time_t)(ns / NS_PER_S);
    ret_time->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}

#if DELAY_MS > 0
static void write_all(int fd, const char *data, ssize_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, (size_t)length);

        if (n < 0)
            _exit(1);
        data += n;
        length -= n;
    }
}

/* Pass on what comes, late, to the end of input. */
static void relay(int from, int to)
{
    char buffer[4096];
    ssize_t n;

    while ((n = read(from, buffer, sizeof buffer)) > 0) {
        usleep((useconds_t)(rand() % (DELAY_MS * 1000)));
        write_all(to, buffer, n);
    }
}

/* Before main: the agent goes on as a child between two relays. */
__attribute__((constructor)) static void interpose(void)
{
    int input[2], output[2];
    int status = 0;
    pid_t agent, feeder;

    if (pipe(input) != 0 || pipe(output) != 0)
        _exit(1);
    agent = fork();
    if (agent == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        close(input[0]), close(input[1]), close(output[0]), close(output[1]);
        return;
    }
    close(input[0]), close(output[1]);
    feeder = fork();
    if (feeder == 0) {
        close(output[0]);
        relay(STDIN_FILENO, input[1]);
        _exit(0);
    }
    close(input[1]);
    relay(output[0], STDOUT_FILENO);
    waitpid(agent, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
#endif
