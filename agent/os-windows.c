/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows has no fork: workers are threads, and benchmarks that need a second process say in their
 * `os` that they do not run here. */
#if defined(_WIN32)
#include "os.h"

#include <windows.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const os_name = "windows";

static bool fail(char *reason, const char *what)
{
    snprintf(reason, OS_REASON_MAX, "%s: Windows error %lu", what, GetLastError());
    return false;
}

/* --- clock --- */

const char *os_clock_name(void)
{
    return "QueryPerformanceCounter";
}

int64_t os_clock_ns(void)
{
    LARGE_INTEGER count, frequency;

    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    return count.QuadPart / frequency.QuadPart * 1000000000 +
           count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}

/* --- CPUs --- */

int os_cpus(int *ret_cpus, int max)
{
    DWORD_PTR mine, all;
    int count = 0;

    if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all))
        mine = 1;
    for (int cpu = 0; cpu < (int)(8 * sizeof(mine)); cpu++) {
        if (!(mine >> cpu & 1))
            continue;
        if (count < max)
            ret_cpus[count] = cpu;
        count++;
    }
    return count;
}

bool os_pin(int cpu)
{
    return cpu >= 0 && cpu < (int)(8 * sizeof(DWORD_PTR)) &&
           SetThreadAffinityMask(GetCurrentThread(), (DWORD_PTR)1 << cpu) != 0;
}

/* --- memory --- */

void *os_pages_new(size_t size, bool shared)
{
    (void)shared; /* threads share all */
    return VirtualAlloc(NULL, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
}

void os_pages_free(void *pages, size_t size)
{
    (void)size;
    if (pages != NULL)
        VirtualFree(pages, 0, MEM_RELEASE);
}

uint64_t os_memory_available(void)
{
    MEMORYSTATUSEX status = {.dwLength = sizeof(status)};

    return GlobalMemoryStatusEx(&status) ? status.ullAvailPhys : 0;
}

/* --- kernel work --- */

void os_null_syscall(void)
{
    SwitchToThread();
}

bool os_fork_exit(void)
{
    return false;
}

/* --- what may spoil an invocation --- */

static int64_t filetime_ns(FILETIME time)
{
    return (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) * 100;
}

void os_watch_read(struct os_watch *ret_watch)
{
    FILETIME idle, kernel, user; /* of all CPUs; idle is part of kernel */

    *ret_watch =
        (struct os_watch){.steal_ns = -1, .busy_ns = -1, .swapped_in_pages = -1, .switches = -1};
    if (GetSystemTimes(&idle, &kernel, &user))
        ret_watch->busy_ns = filetime_ns(kernel) - filetime_ns(idle) + filetime_ns(user);
}

/* --- files --- */

static bool new_folder(const char *parent, char *ret_path)
{
    static unsigned number;

    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(ret_path, OS_PATH_MAX - 32, "%s\\vmatrix-%lu-%u", parent, GetCurrentProcessId(),
                 number++);
        if (CreateDirectoryA(ret_path, NULL))
            return true;
        if (GetLastError() != ERROR_ALREADY_EXISTS)
            return false;
    }
    return false;
}

bool os_scratch_new(const char *parent, int copies, char *ret_path, char *reason)
{
    char usual[MAX_PATH + 1] = ".", sub[OS_PATH_MAX];

    GetTempPathA(sizeof(usual), usual);
    if (!new_folder(parent == NULL ? usual : parent, ret_path))
        return fail(reason, "cannot make a folder in the work folder: name a writable one");
    for (int i = 0; i < copies; i++) {
        os_scratch_copy(ret_path, i, sub);
        if (!CreateDirectoryA(sub, NULL)) {
            fail(reason, "cannot make a folder");
            os_scratch_remove(ret_path);
            return false;
        }
    }
    return true;
}

void os_scratch_copy(const char *path, int copy, char *ret_path)
{
    snprintf(ret_path, OS_PATH_MAX, "%.*s\\%d", OS_PATH_MAX - 16, path, copy);
}

static void remove_tree(const char *path, int depth)
{
    char pattern[OS_PATH_MAX + 8], sub[OS_PATH_MAX + MAX_PATH + 8];
    WIN32_FIND_DATAA entry;
    HANDLE find;
    BOOL more;

    snprintf(pattern, sizeof(pattern), "%s\\*", path);
    find = FindFirstFileA(pattern, &entry);
    for (more = find != INVALID_HANDLE_VALUE; more; more = FindNextFileA(find, &entry)) {
        if (strcmp(entry.cFileName, ".") == 0 || strcmp(entry.cFileName, "..") == 0)
            continue;
        snprintf(sub, sizeof(sub), "%s\\%s", path, entry.cFileName);
        if (!DeleteFileA(sub) && depth > 0)
            remove_tree(sub, depth - 1);
    }
    if (find != INVALID_HANDLE_VALUE)
        FindClose(find);
    RemoveDirectoryA(path);
}

void os_scratch_remove(const char *path)
{
    remove_tree(path, 1);
}

bool os_file_create(const char *path, const void *data, size_t size)
{
    HANDLE file =
        CreateFileA(path, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
    DWORD wrote = 0;
    bool good;

    if (file == INVALID_HANDLE_VALUE)
        return false;
    good = size == 0 || (WriteFile(file, data, (DWORD)size, &wrote, NULL) && wrote == size);
    return CloseHandle(file) && good;
}

bool os_file_delete(const char *path)
{
    return DeleteFileA(path);
}

void os_file_system(const char *path, char *ret_name, size_t size, bool *ret_memory)
{
    char root[MAX_PATH + 1];

    *ret_memory = false;
    if (!GetVolumePathNameA(path, root, sizeof(root)) ||
        !GetVolumeInformationA(root, NULL, 0, NULL, NULL, NULL, ret_name, (DWORD)size))
        ret_name[0] = '\0';
}

/* --- helpers: there are none --- */

struct os_helper *os_helper_start(os_helper_main *main, struct os_link *near_end,
                                  struct os_link *far_end, int cpu, char *reason)
{
    (void)main, (void)near_end, (void)far_end, (void)cpu;
    snprintf(reason, OS_REASON_MAX, "helper processes are not made on Windows");
    return NULL;
}

void os_helper_stop(struct os_helper *helper)
{
    (void)helper;
}

bool os_helper_ended(struct os_helper *helper)
{
    (void)helper;
    return true;
}

/* --- workers --- */

#define WORDS_MAX 8 /* a worker has three words to say, and its end */

struct os_port {
    struct os_workers *workers;
    int copy;
    os_worker_main *main;
    void *arg;
    HANDLE thread;
    char words[WORDS_MAX];
    int told, heard; /* words by the worker; by the runner */
};

struct os_workers {
    int copies;
    HANDLE gate;           /* manual reset: wakes all */
    HANDLE spoke;          /* automatic reset */
    CRITICAL_SECTION lock; /* words, told, heard */
    struct os_port *ports;
};

static void say(struct os_port *port, char word)
{
    EnterCriticalSection(&port->workers->lock);
    if (port->told < WORDS_MAX)
        port->words[port->told++] = word;
    LeaveCriticalSection(&port->workers->lock);
    SetEvent(port->workers->spoke);
}

static DWORD WINAPI worker_thread(void *arg)
{
    struct os_port *port = arg;

    port->main(port->arg, port->copy, port);
    say(port, '\0');
    return 0;
}

static struct os_workers *workers_new(int copies)
{
    struct os_workers *workers = calloc(1, sizeof(*workers));

    if (workers == NULL)
        return NULL;
    workers->ports = calloc((size_t)copies, sizeof(*workers->ports));
    workers->gate = CreateEventA(NULL, TRUE, FALSE, NULL);
    workers->spoke = CreateEventA(NULL, FALSE, FALSE, NULL);
    InitializeCriticalSection(&workers->lock);
    workers->copies = workers->ports == NULL ? 0 : copies;
    return workers;
}

struct os_workers *os_workers_start(int copies, os_worker_main *main, void *arg, char *reason)
{
    struct os_workers *workers = workers_new(copies);
    bool started = workers != NULL && workers->copies == copies && workers->gate != NULL &&
                   workers->spoke != NULL;

    for (int i = 0; started && i < copies; i++) {
        struct os_port *port = &workers->ports[i];
        port->workers = workers;
        port->copy = i;
        port->main = main;
        port->arg = arg;
        port->thread = CreateThread(NULL, 0, worker_thread, port, 0, NULL);
        started = port->thread != NULL;
    }
    if (!started) {
        fail(reason, "cannot start a thread");
        os_workers_free(workers, 0);
        return NULL;
    }
    return workers;
}

void os_port_tell(struct os_port *port, char word)
{
    say(port, word);
}

void os_port_wait_gate(struct os_port *port)
{
    WaitForSingleObject(port->workers->gate, INFINITE);
}

void os_workers_open_gate(struct os_workers *workers)
{
    SetEvent(workers->gate);
}

bool os_workers_next(struct os_workers *workers, int *ret_copy, char *ret_word, char *reason)
{
    bool found = false;

    EnterCriticalSection(&workers->lock);
    for (int i = 0; !found && i < workers->copies; i++) {
        struct os_port *port = &workers->ports[i];
        found = port->heard < port->told;
        if (found) {
            *ret_copy = i;
            *ret_word = port->words[port->heard++];
        }
    }
    LeaveCriticalSection(&workers->lock);
    if (found && *ret_word == '\0')
        snprintf(reason, OS_REASON_MAX, "ended early");
    return found;
}

/* A thread that does not end is terminated: the agent drops the invocation, or ends, after that. */
void os_workers_free(struct os_workers *workers, int64_t grace_ns)
{
    int64_t deadline = os_clock_ns() + grace_ns;

    if (workers == NULL)
        return;
    for (int i = 0; i < workers->copies; i++) {
        HANDLE thread = workers->ports[i].thread;
        int64_t left = deadline - os_clock_ns();

        if (thread == NULL)
            continue;
        if (WaitForSingleObject(thread, left > 0 ? (DWORD)(left / 1000000) : 0) != WAIT_OBJECT_0) {
            TerminateThread(thread, 1);
            WaitForSingleObject(thread, INFINITE);
        }
        CloseHandle(thread);
    }
    if (workers->gate != NULL)
        CloseHandle(workers->gate);
    if (workers->spoke != NULL)
        CloseHandle(workers->spoke);
    DeleteCriticalSection(&workers->lock);
    free(workers->ports);
    free(workers);
}

/* --- standard input, which cannot be waited for: a thread reads it --- */

static struct {
    CRITICAL_SECTION lock; /* data, filled, ended */
    HANDLE came;           /* manual reset: there is data, or the end */
    HANDLE over;           /* manual reset: the end */
    HANDLE room;           /* automatic reset */
    char data[65536];
    size_t filled;
    bool ended;
    HANDLE thread;
} input;

static HANDLE stop_event;

static DWORD WINAPI input_thread(void *arg)
{
    HANDLE handle = GetStdHandle(STD_INPUT_HANDLE);
    char buffer[4096];
    DWORD got = 0;
    bool more = true;

    (void)arg;
    while (more) {
        size_t sent = 0;

        more = ReadFile(handle, buffer, sizeof(buffer), &got, NULL) && got > 0;
        do {
            size_t take;
            EnterCriticalSection(&input.lock);
            take = sizeof(input.data) - input.filled;
            take = !more ? 0 : take < got - sent ? take : got - sent;
            memcpy(input.data + input.filled, buffer + sent, take);
            input.filled += take;
            input.ended = !more;
            sent += take;
            SetEvent(input.came);
            if (!more)
                SetEvent(input.over);
            LeaveCriticalSection(&input.lock);
            if (more && sent < got)
                WaitForSingleObject(input.room, INFINITE);
        } while (more && sent < got);
    }
    return 0;
}

ptrdiff_t os_input_read(void *buffer, size_t size)
{
    ptrdiff_t result;

    EnterCriticalSection(&input.lock);
    if (input.filled > 0) {
        size_t take = size < input.filled ? size : input.filled;
        memcpy(buffer, input.data, take);
        input.filled -= take;
        memmove(input.data, input.data + take, input.filled);
        SetEvent(input.room);
        result = (ptrdiff_t)take;
    } else {
        result = input.ended ? 0 : -1;
    }
    if (input.filled == 0 && !input.ended)
        ResetEvent(input.came);
    LeaveCriticalSection(&input.lock);
    return result;
}

static BOOL WINAPI on_console_event(DWORD type)
{
    (void)type;
    SetEvent(stop_event);
    return TRUE;
}

bool os_on_terminal(void)
{
    return _isatty(_fileno(stdout)) != 0;
}

void os_begin(void)
{
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    InitializeCriticalSection(&input.lock);
    input.came = CreateEventA(NULL, TRUE, FALSE, NULL);
    input.over = CreateEventA(NULL, TRUE, FALSE, NULL);
    input.room = CreateEventA(NULL, FALSE, FALSE, NULL);
    stop_event = CreateEventA(NULL, TRUE, FALSE, NULL);
    SetConsoleCtrlHandler(on_console_event, TRUE);
}

int os_wait(enum os_input wanted, struct os_workers *workers, int64_t deadline_ns)
{
    HANDLE handles[3] = {stop_event};
    DWORD count = 1, timeout = INFINITE, which;
    int64_t left = deadline_ns - os_clock_ns();

    if (wanted != OS_INPUT_IGNORED && input.thread == NULL)
        input.thread = CreateThread(NULL, 0, input_thread, NULL, 0, NULL);
    if (wanted != OS_INPUT_IGNORED)
        handles[count++] = wanted == OS_INPUT_WANTED ? input.came : input.over;
    if (workers != NULL)
        handles[count++] = workers->spoke;
    if (deadline_ns != 0)
        timeout = left <= 0 ? 0 : (DWORD)(left / 1000000 + 1);
    which = WaitForMultipleObjects(count, handles, FALSE, timeout);
    if (which >= WAIT_OBJECT_0 + count)
        return 0;
    if (handles[which - WAIT_OBJECT_0] == stop_event)
        return OS_WAKE_STOP;
    return workers != NULL && handles[which - WAIT_OBJECT_0] == workers->spoke ? OS_WAKE_WORKER
                                                                               : OS_WAKE_INPUT;
}
#else
typedef int os_windows_is_empty_here;
#endif
