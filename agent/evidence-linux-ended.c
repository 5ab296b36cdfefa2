/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks that ended, as the kernel reports them to those who ask: taskstats over generic netlink
 * (Documentation/accounting/taskstats.rst). The reports wait in the socket's buffer: nobody is
 * woken by them. The layouts are the kernel's ABI; its headers are not at hand for every libc. */
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "evidence-linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NETLINK_GENERIC 16
#define BUFFER_BYTES (32 << 20) /* a report takes about 2 KiB of it */

struct address { /* sockaddr_nl */
    sa_family_t family;
    uint16_t pad;
    uint32_t pid, groups;
};

struct header { /* nlmsghdr, genlmsghdr */
    uint32_t length;
    uint16_t type, flags;
    uint32_t sequence, pid;
    uint8_t command, version;
    uint16_t reserved;
};
#define NETLINK_HEADER 16 /* bytes of it that are netlink's */
enum { MESSAGE_ERROR = 2, FAMILY_CONTROL = 16, FLAG_REQUEST = 1, FLAG_ACK = 4 };
enum { GET_FAMILY = 3, FAMILY_ID = 1, FAMILY_NAME = 2 };
enum { STATS_GET = 1, STATS_REGISTER = 3, STATS_DEREGISTER = 4 };
enum { TYPE_PID = 1, TYPE_STATS = 3, TYPE_AGGREGATE_PID = 4 };

struct attribute { /* nlattr, and where its data is */
    uint16_t length, type;
    const char *data;
    size_t size;
};

/* --- attributes --- */

static bool next_attribute(const char **at, const char *end, struct attribute *ret_attribute)
{
    struct attribute attribute;
    size_t padded;

    if (end - *at < 4)
        return false;
    memcpy(&attribute.length, *at, sizeof(attribute.length));
    memcpy(&attribute.type, *at + 2, sizeof(attribute.type));
    if (attribute.length < 4 || attribute.length > end - *at)
        return false;
    attribute.type &= 0x3fff;
    attribute.data = *at + 4;
    attribute.size = attribute.length - 4u;
    padded = (attribute.length + 3u) & ~3u;
    *at = padded > (size_t)(end - *at) ? end : *at + padded;
    *ret_attribute = attribute;
    return true;
}

static bool find_attribute(const char *at, const char *end, uint16_t type,
                           struct attribute *ret_attribute)
{
    while (next_attribute(&at, end, ret_attribute))
        if (ret_attribute->type == type)
            return true;
    return false;
}

static uint32_t number_at(const struct attribute *attribute, size_t offset)
{
    uint32_t number = 0;

    if (offset + sizeof(number) <= attribute->size)
        memcpy(&number, attribute->data + offset, sizeof(number));
    return number;
}

/* --- asking --- */

struct question {
    uint16_t family, attribute;
    uint8_t command;
    const char *text;
};

static bool ask(int fd, const struct question *question)
{
    char message[256] = {0};
    size_t text = strlen(question->text) + 1, length = sizeof(struct header) + 4 + text;
    struct header header = {
        .length = (uint32_t)length,
        .type = question->family,
        .flags = FLAG_REQUEST | FLAG_ACK,
        .command = question->command,
        .version = 1,
    };
    uint16_t attribute[2] = {(uint16_t)(4 + text), question->attribute};

    if (length + 4 > sizeof(message))
        return false;
    memcpy(message, &header, sizeof(header));
    memcpy(message + sizeof(header), attribute, sizeof(attribute));
    memcpy(message + sizeof(header) + 4, question->text, text);
    return send(fd, message, length, 0) == (ssize_t)length;
}

/* The kernel's answer is there when send has returned. Reports may come before it. ret_family is
 * set where it tells one. */
static bool answered(int fd, uint16_t *ret_family)
{
    char buffer[8192];
    ssize_t got;

    while ((got = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT)) >= NETLINK_HEADER ||
           (got < 0 && errno == ENOBUFS)) {
        struct attribute family;
        struct header header;
        int32_t error;

        if (got < (ssize_t)sizeof(header))
            continue;
        memcpy(&header, buffer, sizeof(header));
        memcpy(&error, buffer + NETLINK_HEADER, sizeof(error));
        if (header.type == MESSAGE_ERROR)
            return error == 0;
        if (header.type == FAMILY_CONTROL &&
            find_attribute(buffer + sizeof(header), buffer + got, FAMILY_ID, &family))
            memcpy(ret_family, family.data, sizeof(*ret_family));
    }
    return false;
}

static uint16_t stats_family; /* the kernel's number for taskstats; there is one */

int evidence_ended_open(void)
{
    struct question question = {FAMILY_CONTROL, FAMILY_NAME, GET_FAMILY, "TASKSTATS"};
    struct address address = {.family = AF_NETLINK};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), size = BUFFER_BYTES;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        ask(fd, &question) && answered(fd, &stats_family) && stats_family != 0)
        return fd;
    close(fd);
    return -1;
}

bool evidence_ended_listen(int fd, bool on)
{
    struct question question = {stats_family, on ? STATS_REGISTER : STATS_DEREGISTER, STATS_GET,
                                NULL};
    char cpus[128];
    uint16_t none;

    if (evidence_text(AT_FDCWD, "/sys/devices/system/cpu/possible", cpus, sizeof(cpus)) <= 0)
        return false;
    cpus[strcspn(cpus, "\n")] = '\0';
    question.text = cpus;
    return ask(fd, &question) && answered(fd, &none);
}

/* --- reports --- */

/* Offsets in struct taskstats, linux/taskstats.h. Some kernels of version 15 had members put in
 * between, which version 16 took back. Before version 12 a task's process is not told. */
static const struct layout {
    size_t run, name, pid, parent, process;
} layouts[] = {{72, 80, 128, 132, 368}, {120, 128, 176, 180, 464}};
#define NAME_BYTES 32

static const struct layout *layout_of(const struct attribute *stats, uint32_t pid)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (stats->size >= layouts[i].process + 4 && number_at(stats, layouts[i].pid) == pid &&
            number_at(stats, layouts[i].process) != 0)
            return &layouts[i];
    return NULL;
}

/* One task. false: it is none that can be understood. */
static bool take_task(const struct attribute *aggregate, struct evidence_ended *ret_ended)
{
    const char *end = aggregate->data + aggregate->size;
    const struct layout *layout;
    struct attribute pid, stats;
    uint64_t run;

    if (!find_attribute(aggregate->data, end, TYPE_PID, &pid) ||
        !find_attribute(aggregate->data, end, TYPE_STATS, &stats))
        return false;
    layout = layout_of(&stats, number_at(&pid, 0));
    if (layout == NULL)
        return false;
    memcpy(&run, stats.data + layout->run, sizeof(run));
    *ret_ended = (struct evidence_ended){
        .pid = number_at(&stats, layout->process),
        .parent = number_at(&stats, layout->parent),
        .leader = number_at(&stats, layout->process) == number_at(&pid, 0),
        .cpu_ns = (int64_t)run,
    };
    memcpy(ret_ended->name, stats.data + layout->name, NAME_BYTES);
    return true;
}

static bool add_ended(struct evidence_snapshot *snapshot, const struct evidence_ended *ended)
{
    struct evidence_ended *grown =
        evidence_grow(snapshot->ended, snapshot->n_ended, &snapshot->room_ended, sizeof(*ended));

    if (grown == NULL)
        return false;
    snapshot->ended = grown;
    snapshot->ended[snapshot->n_ended++] = *ended;
    return true;
}

static bool take_message(const char *message, size_t size, struct evidence_snapshot *snapshot)
{
    struct attribute aggregate;
    struct evidence_ended ended;
    struct header header;

    if (size < sizeof(header))
        return true;
    memcpy(&header, message, sizeof(header));
    if (header.type != stats_family ||
        !find_attribute(message + sizeof(header), message + size, TYPE_AGGREGATE_PID, &aggregate))
        return true;
    if (take_task(&aggregate, &ended))
        return add_ended(snapshot, &ended);
    snapshot->sources |= EVIDENCE_TASKSTATS_LOST;
    return true;
}

bool evidence_ended_drain(int fd, struct evidence_snapshot *snapshot)
{
    char buffer[16384];
    bool room = true;

    if (snapshot != NULL)
        snapshot->sources |= EVIDENCE_FROM_TASKSTATS;
    while (room) {
        ssize_t got = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);

        if (got < 0 && errno == ENOBUFS) {
            if (snapshot != NULL)
                snapshot->sources |= EVIDENCE_TASKSTATS_LOST;
        } else if (got <= 0) {
            break;
        } else if (snapshot != NULL) {
            room = take_message(buffer, (size_t)got, snapshot);
        }
    }
    return room;
}
#else
typedef int evidence_linux_ended_is_empty_here;
#endif
