/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Systems whose evidence is not read yet: an honest answer. */
#if !defined(__linux__)
#include "evidence-snapshot.h"

const char *evidence_unsupported(void)
{
    return "host evidence is read on Linux only, so far";
}

struct evidence_reader *evidence_reader_new(const char *root)
{
    (void)root;
    return NULL;
}

void evidence_reader_free(struct evidence_reader *reader)
{
    (void)reader;
}

int64_t evidence_reader_self(const struct evidence_reader *reader)
{
    (void)reader;
    return 0;
}

bool evidence_read(struct evidence_reader *reader, const struct evidence_request *request,
                   const struct evidence_snapshot *before, struct evidence_snapshot *ret_snapshot,
                   char *reason)
{
    (void)reader;
    (void)request;
    (void)before;
    (void)ret_snapshot;
    (void)reason;
    return false;
}
#else
typedef int evidence_none_is_empty_here;
#endif
