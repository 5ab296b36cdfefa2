/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of vmatrix-engine: all there are. */
#include "cli/command.h"

const Command *const commands[] = {
    &command_check,      &command_plan,       &command_run,           &command_submit,
    &command_status,     &command_watch,      &command_log,           &command_pause,
    &command_resume,     &command_cancel,     &command_retry,         &command_summary,
    &command_results,    &command_sql,        &command_doctor,        &command_guest_enroll,
    &command_guest_list, &command_agent_list, &command_workload_list, &command_host_show,
    &command_host_gate,  &command_host_tune,  &command_host_restore,  NULL,
};
