/* SPDX-License-Identifier: Apache-2.0 */
/* Keys from keys, and ranges of one key's sequence: no context, no plan. */
#include "lib/fields.h"
#include "random_parameters.h"

#include <warpmath/device/philox.h>

void wmRandomKeySplit(wmRandomKey key, wmRandomKey *keys, int64_t count) {
    if (!keys) return;
    for (int64_t i = 0; i < count; i++) keys[i] = wmRandomKeyFold(key, ((uint64_t)1 << 63) + (uint64_t)i);
}

wmStatus wmRandomCursorTake(wmRandomCursor *cursor, const wmRandomDesc *desc, int64_t count, uint64_t *offset) {
    wm_problem problem;
    if (!cursor) return wm_fail(WM_ERR_ARGUMENT, "cursor is NULL");
    if (!offset) return wm_fail(WM_ERR_ARGUMENT, "offset is NULL");
    *offset = 0;
    WM_TRY(wm_problem_from_random(&problem, desc, WM_PLACE_CPU));
    /* Elements a word, or words an element. */
    uint64_t bits = (uint64_t)wm_random_element_bits(&problem.u.random);
    uint64_t per = bits < 32 ? 32 / bits : 1, words = bits < 32 ? 1 : bits / 32;
    uint64_t needed = count < 0 ? 0 : ((uint64_t)count + per - 1) / per;
    if (count < 0 || needed > (UINT64_MAX - 3 - cursor->next) / words || cursor->next > UINT64_MAX / per)
        return wm_fail(WM_ERR_ARGUMENT, "count is %lld; the cursor at word %llu has no such range left",
                       (long long)count, (unsigned long long)cursor->next);
    *offset = cursor->next / words * per; /* next is a multiple of 4: exact */
    cursor->next = (cursor->next + needed * words + 3) & ~(uint64_t)3;
    return WM_OK;
}
