/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/address.h"

#include <gio/gio.h>

static void entry_clear(gpointer data)
{
    AddressEntry *entry = data;

    g_free(entry->host);
    g_free(entry->mac);
}

AddressAnswer *address_answer_new(const char *source)
{
    AddressAnswer *answer = g_new0(AddressAnswer, 1);

    answer->source = source;
    answer->entries = g_array_new(FALSE, FALSE, sizeof(AddressEntry));
    g_array_set_clear_func(answer->entries, entry_clear);
    return answer;
}

void address_answer_free(AddressAnswer *answer)
{
    if (answer == NULL)
        return;
    g_clear_pointer(&answer->entries, g_array_unref);
    g_free(answer->failure);
    g_free(answer);
}

void address_answer_add(AddressAnswer *answer, const char *host, const char *mac)
{
    AddressEntry entry = {.host = g_strdup(host),
                          .mac = mac != NULL ? g_ascii_strdown(mac, -1) : NULL};

    g_array_append_val(answer->entries, entry);
}

static gboolean is_ours(const AddressEntry *entry, const GPtrArray *macs)
{
    if (entry->mac == NULL || macs->len == 0)
        return TRUE;
    for (guint i = 0; i < macs->len; i++)
        if (g_ascii_strcasecmp(entry->mac, g_ptr_array_index(macs, i)) == 0)
            return TRUE;
    return FALSE;
}

/* Whether SSH can be expected there from this host, by this family. */
static gboolean is_usable(const char *host, GSocketFamily family)
{
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(host);

    return address != NULL && g_inet_address_get_family(address) == family &&
           !g_inet_address_get_is_loopback(address) && !g_inet_address_get_is_any(address) &&
           !g_inet_address_get_is_link_local(address) && !g_inet_address_get_is_multicast(address);
}

static char *choose_family(const AddressAnswer *answer, const GPtrArray *macs, GSocketFamily family)
{
    for (guint i = 0; i < answer->entries->len; i++) {
        const AddressEntry *entry = &g_array_index(answer->entries, AddressEntry, i);

        if (is_ours(entry, macs) && is_usable(entry->host, family))
            return g_strdup(entry->host);
    }
    return NULL;
}

char *address_choose(const GPtrArray *answers, const GPtrArray *macs, const char **ret_source)
{
    for (guint i = 0; i < answers->len; i++) {
        const AddressAnswer *answer = g_ptr_array_index(answers, i);
        char *host = choose_family(answer, macs, G_SOCKET_FAMILY_IPV4);

        if (host == NULL)
            host = choose_family(answer, macs, G_SOCKET_FAMILY_IPV6);
        if (host != NULL) {
            *ret_source = answer->source;
            return host;
        }
    }
    return NULL;
}

const char *address_other_holder(const GPtrArray *answers, const char *host, const GPtrArray *macs)
{
    for (guint i = 0; i < answers->len; i++) {
        const AddressAnswer *answer = g_ptr_array_index(answers, i);

        for (guint j = 0; j < answer->entries->len; j++) {
            const AddressEntry *entry = &g_array_index(answer->entries, AddressEntry, j);

            if (g_str_equal(entry->host, host) && !is_ours(entry, macs))
                return entry->mac;
        }
    }
    return NULL;
}

static void report_answer(GString *report, const AddressAnswer *answer)
{
    g_string_append_printf(report, "%s%s: ", report->len > 0 ? "; " : "", answer->source);
    if (answer->failure != NULL)
        g_string_append(report, answer->failure);
    else if (answer->entries->len == 0)
        g_string_append(report, "no address yet");
    for (guint i = 0; answer->failure == NULL && i < answer->entries->len; i++) {
        const AddressEntry *entry = &g_array_index(answer->entries, AddressEntry, i);

        g_string_append_printf(report, "%s%s (%s) is not usable", i > 0 ? ", " : "", entry->host,
                               entry->mac != NULL ? entry->mac : "no MAC");
    }
}

char *address_report(const GPtrArray *answers)
{
    GString *report = g_string_new(NULL);

    for (guint i = 0; i < answers->len; i++)
        report_answer(report, g_ptr_array_index(answers, i));
    return g_string_free(report, FALSE);
}
