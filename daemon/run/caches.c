/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/caches.h"

#include "guest/shell.h"
#include "host/cache.h"
#include "util/error.h"

/* ---- in the guest ---- */

char *caches_guest_script(CachePolicy policy, const char *folder)
{
    g_autofree char *quoted = folder != NULL ? g_shell_quote(folder) : NULL;

    switch (policy) {
    case CACHE_COLD:
        return g_strdup("sync && echo 3 > /proc/sys/vm/drop_caches");
    case CACHE_WARM:
        return quoted != NULL
                   ? g_strdup_printf("find %s -type f -exec cat -- {} + > /dev/null", quoted)
                   : NULL;
    case CACHE_LEAVE:
        break;
    }
    return NULL;
}

static gboolean set_guest(const Attempt *attempt, CachePolicy policy, const Wait *wait,
                          GError **error)
{
    g_autofree char *script = caches_guest_script(policy, attempt->guest_folder);
    g_autofree char *command = script != NULL ? shell_command(script) : NULL;
    g_auto(SshResult) result = {0};

    if (command == NULL)
        return TRUE;
    if (!ssh_peer_run(attempt->peer, wait, command, NULL, 0, &result, error))
        return FALSE;
    if (result.status == 0)
        return TRUE;
    g_set_error(error, VM_ERROR, VM_ERROR_FAILED,
                policy == CACHE_COLD
                    ? "the guest's page cache could not be dropped (%s); log in as root there, or "
                      "leave cache.guest out of the plan"
                    : "the guest's page cache could not be warmed (%s); leave cache.guest out of "
                      "the plan",
                g_strchomp(result.errors->str));
    return FALSE;
}

/* ---- on the host ---- */

/* All files in the folder itself: the workload's. */
static gboolean warm_folder(const char *folder, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, error);
    const char *name;

    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);

        if (g_file_test(path, G_FILE_TEST_IS_REGULAR) && !host_cache_warm(path, error))
            return FALSE;
    }
    return dir != NULL;
}

/* The guest's image with the files that it stands on. */
static gboolean warm_image(const Attempt *attempt, GError **error)
{
    const OverlayBase *base = attempt->base;

    for (guint i = 0; base != NULL && i < base->chain->len; i++)
        if (!host_cache_warm(g_ptr_array_index(base->chain, i), error))
            return FALSE;
    return TRUE;
}

static gboolean set_bare(const Attempt *attempt, const Plan *plan, GError **error)
{
    if (plan->cache.host == CACHE_COLD || plan->cache.guest == CACHE_COLD)
        return host_cache_drop(error);
    return plan->cache.guest != CACHE_WARM || warm_folder(attempt->folder, error);
}

gboolean caches_set(const Attempt *attempt, const Wait *wait, GError **error)
{
    const Plan *plan = attempt->spec.plan;

    if (attempt->peer == NULL)
        return set_bare(attempt, plan, error);
    /* The guest first: what it writes back in doing so passes through the host's cache. */
    if (!set_guest(attempt, plan->cache.guest, wait, error))
        return FALSE;
    if (plan->cache.host == CACHE_COLD)
        return host_cache_drop(error);
    return plan->cache.host != CACHE_WARM || warm_image(attempt, error);
}
