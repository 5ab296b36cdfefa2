/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/channel.h"

void channel_free(Channel *channel)
{
    if (channel != NULL)
        channel->ops->free(channel);
}

void channel_keep_errors(Channel *channel, const void *data, gsize length)
{
    gsize room = CHANNEL_ERRORS_MAX - MIN(CHANNEL_ERRORS_MAX, channel->errors->len);

    g_string_append_len(channel->errors, data, (gssize)MIN(length, room));
}
