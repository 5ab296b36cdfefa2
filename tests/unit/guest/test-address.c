/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/address.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "guest/forward.h"
#include "util/io.h"

/* "lease=192.0.2.1/52:54:00:00:00:01,…; agent!why" */
static GPtrArray *answers_from(const char *text)
{
    static const char *const names[] = {"lease", "agent", "arp"};
    GPtrArray *answers = g_ptr_array_new_with_free_func((GDestroyNotify)address_answer_free);
    g_auto(GStrv) parts = g_strsplit(text, "; ", -1);

    for (guint i = 0; parts[i] != NULL; i++) {
        gsize name = strcspn(parts[i], "=!");
        g_auto(GStrv) entries = g_strsplit(parts[i] + name + 1, ",", -1);
        AddressAnswer *answer = NULL;

        for (gsize j = 0; j < G_N_ELEMENTS(names); j++)
            if (strncmp(names[j], parts[i], name) == 0)
                answer = address_answer_new(names[j]);
        g_assert_nonnull(answer);
        g_ptr_array_add(answers, answer);
        if (parts[i][name] == '!')
            answer->failure = g_strdup(parts[i] + name + 1);
        for (guint j = 0; parts[i][name] == '=' && entries[j] != NULL && *entries[j]; j++) {
            g_auto(GStrv) pair = g_strsplit(entries[j], "/", 2);

            address_answer_add(answer, pair[0], pair[1]);
        }
    }
    return answers;
}

static const char mac[] = "52:54:00:aa:bb:01";

static GPtrArray *own_macs(void)
{
    GPtrArray *macs = g_ptr_array_new();

    g_ptr_array_add(macs, (gpointer)mac);
    return macs;
}

static void test_order(void)
{
    static const struct {
        const char *answers, *host, *source;
    } cases[] = {
        {"lease=192.0.2.7/52:54:00:aa:bb:01; arp=192.0.2.9/52:54:00:aa:bb:01", "192.0.2.7",
         "lease"},
        {"lease=; agent=192.0.2.8/52:54:00:AA:BB:01; arp=192.0.2.9/52:54:00:aa:bb:01", "192.0.2.8",
         "agent"},
        {"lease!network default not found; agent!not connected; arp=192.0.2.9/52:54:00:aa:bb:01",
         "192.0.2.9", "arp"},
        /* Loopback, link-local, another interface (a container bridge in the guest). */
        {"agent=127.0.0.1/00:00:00:00:00:00,172.17.0.1/02:42:00:00:00:01,169.254.3.4/"
         "52:54:00:aa:bb:01,192.0.2.5/52:54:00:aa:bb:01",
         "192.0.2.5", "agent"},
        /* IPv4 before IPv6; IPv6 where there is nothing else, but never link-local. */
        {"lease=2001:db8::5/52:54:00:aa:bb:01,192.0.2.6/52:54:00:aa:bb:01", "192.0.2.6", "lease"},
        {"agent=fe80::1/52:54:00:aa:bb:01,2001:db8::5/52:54:00:aa:bb:01", "2001:db8::5", "agent"},
        {"arp=192.0.2.4", "192.0.2.4", "arp"},
        {"lease=192.0.2.1/52:54:00:aa:bb:02; agent=; arp=", NULL, NULL},
        {"lease=; agent=; arp=", NULL, NULL},
        {"lease=0.0.0.0/52:54:00:aa:bb:01", NULL, NULL},
        {"lease=not-an-address/52:54:00:aa:bb:01", NULL, NULL},
    };
    g_autoptr(GPtrArray) macs = own_macs();

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GPtrArray) answers = answers_from(cases[i].answers);
        const char *source = NULL;
        g_autofree char *host = address_choose(answers, macs, &source);

        g_assert_cmpstr(host, ==, cases[i].host);
        g_assert_cmpstr(source, ==, cases[i].source);
    }
}

static void test_clones(void)
{
    g_autoptr(GPtrArray) macs = own_macs();
    g_autoptr(GPtrArray) twice =
        answers_from("lease=192.0.2.7/52:54:00:aa:bb:01,192.0.2.7/52:54:00:aa:bb:02");
    g_autoptr(GPtrArray) once =
        answers_from("lease=192.0.2.7/52:54:00:aa:bb:01,192.0.2.8/52:54:00:aa:bb:02");

    g_assert_cmpstr(address_other_holder(twice, "192.0.2.7", macs), ==, "52:54:00:aa:bb:02");
    g_assert_null(address_other_holder(once, "192.0.2.7", macs));
}

static void test_report(void)
{
    g_autoptr(GPtrArray) answers =
        answers_from("lease=; agent!agent is not connected; arp=127.0.0.1/52:54:00:aa:bb:02");
    g_autofree char *report = address_report(answers);

    g_assert_cmpstr(report, ==,
                    "lease: no address yet; agent: agent is not connected; arp: 127.0.0.1 "
                    "(52:54:00:aa:bb:02) is not usable");
}

static void test_forward(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    guint port = 0;

    g_assert_true(forward_port_find(&port, NULL));
    g_assert_cmpuint(port, >, 1023);
    g_assert_cmpuint(port, <, 65536);
    g_assert_false(forward_port_taken(port));
    {
        autofd fd = socket(AF_INET, SOCK_STREAM, 0);

        address.sin_port = htons((in_port_t)port);
        g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
        g_assert_true(forward_port_taken(port));
    }
    g_assert_false(forward_port_taken(port));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/address/order", test_order);
    g_test_add_func("/address/clones", test_clones);
    g_test_add_func("/address/report", test_report);
    g_test_add_func("/address/forward", test_forward);
    return g_test_run();
}
