/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms by the public calls at one of three places (place.h). Buffers are host memory that is sent and fetched
 * around each run. */
#ifndef WM_TESTS_FFT_PLACE_H
#define WM_TESTS_FFT_PLACE_H

#include "fft_case.h"
#include "place.h"

static inline int place_open(int argc, char **argv) {
    return place_open_at(argc, argv, &fft_seed);
}

static inline wmPlan *place_plan(const wmFftDesc *d) {
    wmPlan *plan = NULL;
    if (wmFftPlanCreate(&plan, place_context, d, NULL) != WM_OK) fail_msg("%s", wmLastError());
    return plan;
}

/** One execution on copies: `in` is not changed, `out` (in place: the input once more) is. */
static inline void place_run(const wmPlan *plan, const void *in, size_t in_bytes, void *out, size_t out_bytes,
                             int in_place, const void *load_user, const void *store_user) {
    void *to = place_send(in_place ? in : out, in_place ? in_bytes : out_bytes);
    void *from = in_place ? to : place_send(in, in_bytes);
    wmFftArgs args = wmFftArgsDefault(from, to);
    args.load_user = load_user;
    args.store_user = store_user;
    if (wmFftExecute(plan, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
    assert_int_equal(wmCopy(place_context, out, to, out_bytes, NULL), WM_OK);
    assert_int_equal(wmSynchronize(place_context, NULL), WM_OK);
    wmFree(place_context, to);
    if (!in_place) wmFree(place_context, from);
}

#endif
