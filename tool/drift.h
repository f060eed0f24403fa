/* SPDX-License-Identifier: Apache-2.0 */
/* `warpmath wisdom drift`: what a new driver or library changed about winners that were found under an old one. */
#ifndef WM_TOOL_DRIFT_H
#define WM_TOOL_DRIFT_H

#include <stdbool.h>

#include "session.h"

/* Times the old winners again, lists those that moved, and with `tune` measures their problems anew. */
int wm_drift(wmContext *context, double budget_ms, bool json, bool tune);

#endif
