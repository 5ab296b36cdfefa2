/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay FILE|FOLDER…: what libFuzzer's main() does with its arguments, without libFuzzer: each
 * file is one input. Fails when there is none, since then nothing was tested. */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gboolean replay_file(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize length;

    if (!g_file_get_contents(path, &text, &length, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return FALSE;
    }
    /* An exact copy: reading beyond its end is then seen by the sanitizers. */
    g_autofree uint8_t *data = g_memdup2(text, length);

    LLVMFuzzerTestOneInput(data, length);
    return TRUE;
}

static guint replay_folder(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;
    guint count = 0;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *file = g_build_filename(path, name, NULL);

        if (g_file_test(file, G_FILE_TEST_IS_REGULAR) && replay_file(file))
            count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    guint count = 0;

    for (int i = 1; i < argc; i++) {
        guint replayed = g_file_test(argv[i], G_FILE_TEST_IS_DIR) ? replay_folder(argv[i])
                                                                  : (guint)replay_file(argv[i]);

        if (replayed == 0) {
            fprintf(stderr, "%s: no input there\n", argv[i]);
            return 1;
        }
        count += replayed;
    }
    printf("%u inputs replayed\n", count);
    return count == 0;
}
