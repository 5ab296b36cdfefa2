/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"
#include "util/text.h"

static gboolean fail(const char *path, const char *verb, int code, GError **error)
{
    g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT, "%s: cannot %s: %s",
                path != NULL ? path : "standard output", verb, g_strerror(code));
    return FALSE;
}

gboolean output_open(const Settings *settings, Output *ret_output, GError **error)
{
    Output output = {.stream = stdout, .path = settings->output};
    struct stat status;

    if (output.path != NULL) {
        /* A device or a pipe (/dev/null, /dev/stdout) is written to, never replaced. */
        gboolean special = stat(output.path, &status) == 0 && !S_ISREG(status.st_mode);

        if (!special)
            output.temporary = g_strdup_printf("%s.new", output.path);
        output.stream = fopen(special ? output.path : output.temporary, "we");
        if (output.stream == NULL) {
            g_clear_pointer(&output.temporary, g_free);
            return fail(output.path, "create", errno, error);
        }
    }
    *ret_output = output;
    return TRUE;
}

gboolean output_close(Output *output, GError **error)
{
    FILE *stream = g_steal_pointer(&output->stream);
    gboolean failed = fflush(stream) != 0 || ferror(stream);
    int code = errno;

    if (stream != stdout && fclose(stream) != 0 && !failed) {
        failed = TRUE;
        code = errno;
    }
    if (failed)
        return fail(output->path, "write", code, error);
    if (output->temporary != NULL && rename(output->temporary, output->path) != 0)
        return fail(output->path, "replace", errno, error);
    g_clear_pointer(&output->temporary, g_free);
    return TRUE;
}

void output_clear(Output *output)
{
    if (output->stream != NULL && output->stream != stdout)
        fclose(output->stream);
    output->stream = NULL;
    if (output->temporary != NULL)
        unlink(output->temporary);
    g_clear_pointer(&output->temporary, g_free);
}

guint output_width(int fd)
{
    const char *columns = g_getenv("COLUMNS");
    struct winsize size = {0};
    guint64 value;

    if (!isatty(fd))
        return 0;
    if (columns != NULL && text_parse_uint(columns, &value) && value > 0 && value < 10000)
        return (guint)value;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

gboolean output_colour(const Settings *settings, int fd)
{
    const char *off = g_getenv("NO_COLOR");
    const char *terminal = g_getenv("TERM");

    return !settings->no_color && (off == NULL || *off == '\0') && isatty(fd) && terminal != NULL &&
           !g_str_equal(terminal, "dumb");
}

gboolean output_report(const Settings *settings, const Table *table, const char *notes,
                       GError **error)
{
    g_auto(Output) output = {0};
    gboolean terminal = settings->output == NULL;
    TableFormat format = settings_format(settings, FORMAT_TABLE);
    g_autofree char *text = table_format(table, format, terminal ? output_width(STDOUT_FILENO) : 0,
                                         terminal && output_colour(settings, STDOUT_FILENO));

    if (!output_open(settings, &output, error))
        return FALSE;
    fputs(text, output.stream);
    if (notes != NULL && *notes != '\0' && (format == FORMAT_TABLE || format == FORMAT_MARKDOWN))
        fprintf(output.stream, "\n%s", notes);
    return output_close(&output, error);
}

gboolean output_table(const Settings *settings, const Table *table, GError **error)
{
    return output_report(settings, table, NULL, error);
}
