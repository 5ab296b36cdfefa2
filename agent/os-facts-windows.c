/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of Windows, from its API and the registry, without administrator's rights. */
#if defined(_WIN32)
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif
#include "os.h"

#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlhelp32.h>
#include <winioctl.h>

/* --- the registry --- */

/* A text or a number as text; "": there is none. */
static void read_registry(const char *key, const char *name, char *ret_text, DWORD size)
{
    DWORD type = REG_NONE, used = size - 1, number;
    HKEY handle;

    ret_text[0] = '\0';
    if (RegOpenKeyExA(HKEY_LOCAL_MACHINE, key, 0, KEY_READ, &handle) != ERROR_SUCCESS)
        return;
    if (RegQueryValueExA(handle, name, NULL, &type, (BYTE *)ret_text, &used) != ERROR_SUCCESS)
        used = 0;
    RegCloseKey(handle);
    ret_text[used] = '\0'; /* what is stored need not end with one */
    if (type == REG_DWORD && used == sizeof(number)) {
        memcpy(&number, ret_text, sizeof(number));
        snprintf(ret_text, size, "%lu", number);
    } else if (type != REG_SZ) {
        ret_text[0] = '\0';
    }
}

static void registry_facts(struct facts *facts)
{
#define VERSION_KEY "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
#define BOARD_KEY "HARDWARE\\DESCRIPTION\\System\\BIOS"
#define CPU_KEY "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0"
#define MEMORY_KEY "SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Memory Management"
    static const struct {
        const char *fact, *key, *name;
    } wanted[] = {
        {"os.distribution", VERSION_KEY, "ProductName"},
        {"os.release", VERSION_KEY, "DisplayVersion"},
        {"os.kernel-build", VERSION_KEY, "BuildLabEx"},
        {"os.kernel-build", VERSION_KEY, "BuildLab"},
        {"machine.vendor", BOARD_KEY, "SystemManufacturer"},
        {"machine.product", BOARD_KEY, "SystemProductName"},
        {"machine.product-version", BOARD_KEY, "SystemVersion"},
        {"machine.firmware", BOARD_KEY, "BIOSVendor"},
        {"machine.firmware-version", BOARD_KEY, "BIOSVersion"},
        {"cpu.model", CPU_KEY, "ProcessorNameString"},
        {"cpu.mhz", CPU_KEY, "~MHz"},
        /* Which mitigations were turned off or on by hand. */
        {"cpu.mitigations-override", MEMORY_KEY, "FeatureSettingsOverride"},
        {"cpu.mitigations-override-mask", MEMORY_KEY, "FeatureSettingsOverrideMask"},
    };
    char text[256];

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        read_registry(wanted[i].key, wanted[i].name, text, sizeof(text));
        facts_add(facts, wanted[i].fact, text);
    }
}

/* --- CPUs --- */

static void add_cache(struct facts *facts, const CACHE_DESCRIPTOR *cache)
{
    char key[32];

    snprintf(key, sizeof(key), "cpu.cache.l%u%s", (unsigned)cache->Level,
             cache->Type == CacheData          ? "d"
             : cache->Type == CacheInstruction ? "i"
                                               : "");
    facts_addf(facts, key, "%luK", cache->Size / 1024);
}

static void topology_facts(struct facts *facts)
{
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION *all;
    DWORD size = 0, cores = 0, sockets = 0, online = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);

    facts_addf(facts, "cpu.online", "%lu", online);
    GetLogicalProcessorInformation(NULL, &size);
    all = malloc(size);
    if (all != NULL && GetLogicalProcessorInformation(all, &size)) {
        for (DWORD i = 0; i < size / sizeof(*all); i++) {
            cores += all[i].Relationship == RelationProcessorCore;
            sockets += all[i].Relationship == RelationProcessorPackage;
            if (all[i].Relationship == RelationCache)
                add_cache(facts, &all[i].Cache);
        }
    }
    free(all);
    if (cores == 0 || sockets == 0)
        return;
    facts_addf(facts, "cpu.sockets", "%lu", sockets);
    facts_addf(facts, "cpu.cores", "%lu", cores);
    facts_addf(facts, "cpu.threads-per-core", "%lu", online / cores);
}

/* --- disks and network interfaces --- */

static HANDLE open_disk(int number)
{
    char path[40];

    snprintf(path, sizeof(path), "\\\\.\\PhysicalDrive%d", number);
    /* No right to read is asked for: its properties are everybody's. */
    return CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
}

static bool ask_property(HANDLE disk, STORAGE_PROPERTY_ID property, void *ret_answer, DWORD size)
{
    STORAGE_PROPERTY_QUERY query = {.PropertyId = property, .QueryType = PropertyStandardQuery};
    DWORD got = 0;

    memset(ret_answer, 0, size);
    return DeviceIoControl(disk, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof(query), ret_answer,
                           size, &got, NULL) != 0;
}

/* A text of the descriptor that begins at offset, without the spaces that pad it. */
static void add_disk_text(struct facts *facts, const char *name, const char *what,
                          const char *descriptor, size_t size, DWORD offset)
{
    char text[128];

    if (offset == 0 || offset >= size - 1)
        return;
    snprintf(text, sizeof(text), "%s", descriptor + offset);
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' '; end--)
        text[end - 1] = '\0';
    facts_add_of(facts, "disk", name, what, text + strspn(text, " "));
}

static void disk_facts(struct facts *facts, HANDLE disk, const char *name)
{
    union {
        STORAGE_DEVICE_DESCRIPTOR descriptor;
        char bytes[1024];
    } device;
    DEVICE_SEEK_PENALTY_DESCRIPTOR seek;
    GET_LENGTH_INFORMATION length;
    DISK_GEOMETRY_EX geometry;
    char text[32];
    DWORD got = 0;

    if (ask_property(disk, StorageDeviceProperty, &device, sizeof(device) - 1)) {
        device.bytes[sizeof(device) - 1] = '\0';
        add_disk_text(facts, name, "vendor", device.bytes, sizeof(device),
                      device.descriptor.VendorIdOffset);
        add_disk_text(facts, name, "model", device.bytes, sizeof(device),
                      device.descriptor.ProductIdOffset);
        snprintf(text, sizeof(text), "%d", (int)device.descriptor.BusType);
        facts_add_of(facts, "disk", name, "bus", text);
    }
    if (ask_property(disk, StorageDeviceSeekPenaltyProperty, &seek, sizeof(seek)))
        facts_add_of(facts, "disk", name, "rotational", seek.IncursSeekPenalty ? "1" : "0");
    if (DeviceIoControl(disk, IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, NULL, 0, &geometry,
                        sizeof(geometry), &got, NULL))
        length.Length = geometry.DiskSize;
    else if (!DeviceIoControl(disk, IOCTL_DISK_GET_LENGTH_INFO, NULL, 0, &length, sizeof(length),
                              &got, NULL))
        return;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)length.Length.QuadPart);
    facts_add_of(facts, "disk", name, "size", text);
}

static void disks_facts(struct facts *facts)
{
    enum { DISKS_MAX = 16 };

    for (int i = 0; i < DISKS_MAX; i++) {
        HANDLE disk = open_disk(i);
        char name[16];

        if (disk == INVALID_HANDLE_VALUE)
            continue;
        snprintf(name, sizeof(name), "%d", i);
        disk_facts(facts, disk, name);
        CloseHandle(disk);
    }
}

/* The class of network adapters; what has no bus to sit on is software. */
static void interface_facts(struct facts *facts)
{
    enum { ADAPTERS_MAX = 32 };

    for (int i = 0; i < ADAPTERS_MAX; i++) {
        char key[160], bus[128], text[128], name[16];

        snprintf(key, sizeof(key),
                 "SYSTEM\\CurrentControlSet\\Control\\Class\\"
                 "{4d36e972-e325-11ce-bfc1-08002be10318}\\%04d",
                 i);
        read_registry(key, "MatchingDeviceId", bus, sizeof(bus));
        if (bus[0] == '\0' || _strnicmp(bus, "ms_", 3) == 0 || _strnicmp(bus, "root\\", 5) == 0)
            continue;
        snprintf(name, sizeof(name), "%d", i);
        facts_add_of(facts, "net", name, "bus", bus);
        read_registry(key, "DriverDesc", text, sizeof(text));
        facts_add_of(facts, "net", name, "model", text);
        read_registry(key, "DriverVersion", text, sizeof(text));
        facts_add_of(facts, "net", name, "driver-version", text);
    }
}

/* --- clocks --- */

static void clock_facts(struct facts *facts)
{
    LARGE_INTEGER frequency;
    DWORD adjustment, increment; /* in units of 100 ns */
    BOOL disabled;

    facts_add(facts, "clock.source", os_clock_name());
    if (QueryPerformanceFrequency(&frequency))
        facts_addf(facts, "clock.frequency-hz", "%llu", (unsigned long long)frequency.QuadPart);
    if (GetSystemTimeAdjustment(&adjustment, &increment, &disabled) && increment > 0)
        facts_addf(facts, "clock.timer-hz", "%lu", (10000000 + increment / 2) / increment);
}

/* --- other processes --- */

static unsigned long long cpu_100ns(DWORD pid)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    FILETIME created, ended, kernel, user;
    unsigned long long time = 0;

    if (process == NULL)
        return 0;
    if (GetProcessTimes(process, &created, &ended, &kernel, &user))
        time = ((unsigned long long)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) +
               ((unsigned long long)user.dwHighDateTime << 32 | user.dwLowDateTime);
    CloseHandle(process);
    return time;
}

/* How many there are, and the greediest. */
static void process_facts(struct facts *facts)
{
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    PROCESSENTRY32 entry = {.dwSize = sizeof(entry)};
    unsigned long long most = 0, time;
    char name[MAX_PATH] = "";
    int count = 0;

    for (BOOL more = all != INVALID_HANDLE_VALUE && Process32First(all, &entry); more;
         more = Process32Next(all, &entry)) {
        if (entry.th32ProcessID == 0 || entry.th32ProcessID == GetCurrentProcessId())
            continue;
        count++;
        time = cpu_100ns(entry.th32ProcessID);
        if (time > most) {
            most = time;
            snprintf(name, sizeof(name), "%s", entry.szExeFile);
        }
    }
    if (all != INVALID_HANDLE_VALUE)
        CloseHandle(all);
    if (count > 0)
        facts_addf(facts, "processes.others", "%d", count);
    if (most > 0)
        facts_addf(facts, "processes.cpu-seconds", "%.100s=%llu.%02llu", name, most / 10000000,
                   most / 100000 % 100);
}

void os_facts(struct facts *facts)
{
    OSVERSIONINFOA version = {.dwOSVersionInfoSize = sizeof(version)};
    MEMORYSTATUSEX status = {.dwLength = sizeof(status)};

    if (GetVersionExA(&version))
        facts_addf(facts, "os.kernel", "%lu.%lu.%lu", version.dwMajorVersion,
                   version.dwMinorVersion, version.dwBuildNumber);
    facts_addf(facts, "os.uptime", "%llu", (unsigned long long)GetTickCount64() / 1000);
    if (GlobalMemoryStatusEx(&status)) {
        facts_addf(facts, "memory.total", "%llu", (unsigned long long)status.ullTotalPhys);
        facts_addf(facts, "memory.available", "%llu", (unsigned long long)status.ullAvailPhys);
    }
    registry_facts(facts);
    topology_facts(facts);
    clock_facts(facts);
    disks_facts(facts);
    interface_facts(facts);
    process_facts(facts);
}
#else
typedef int os_facts_windows_is_empty_here;
#endif
