/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What to look at first in the morning: a few sentences, by fixed rules. Internal to report/. */
#pragma once
#include "report/morning.h"

/* Fill morning->look; the rest of it must be there. */
gboolean look_first(Store *store, Morning *morning, GError **error);
