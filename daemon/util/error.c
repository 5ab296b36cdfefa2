/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "util/error.h"

G_DEFINE_QUARK(vmatrix - error - quark, vm_error)

gboolean vm_error_is(const GError *error, VmErrorCode code)
{
    return error != NULL && g_error_matches(error, VM_ERROR, (gint)code);
}

int vm_error_exit_code(const GError *error)
{
    if (error == NULL)
        return VM_EXIT_DONE;
    if (error->domain != VM_ERROR)
        return VM_EXIT_ENVIRONMENT;
    switch ((VmErrorCode)error->code) {
    case VM_ERROR_INVALID:
        return VM_EXIT_INVALID;
    case VM_ERROR_ENVIRONMENT:
    case VM_ERROR_BUSY:
    case VM_ERROR_HALT:
        return VM_EXIT_ENVIRONMENT;
    case VM_ERROR_CANCELLED:
        return VM_EXIT_INTERRUPTED;
    case VM_ERROR_FAILED:
    case VM_ERROR_TIMEOUT:
    case VM_ERROR_GUEST_DIED:
    case VM_ERROR_PROTOCOL:
    case VM_ERROR_HOST_KEY:
    case VM_ERROR_AUTH:
    case VM_ERROR_UNSUPPORTED:
    case VM_ERROR_LOST:
        break;
    }
    return VM_EXIT_CELL_FAILED;
}
