/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that says why it is slow and what to try: an odd leading dimension, beside the aligned one. */
#include <warpmath/warpmath.h>

#include <stdio.h>
#include <stdlib.h>

static int fails(wmStatus status) {
    if (status != WM_OK) fprintf(stderr, "%s: %s\n", wmStatusName(status), wmLastError());
    return status != WM_OK;
}

static int explain(wmContext *context, const char *problem) {
    wmPlan *plan = NULL;
    size_t needed = 0;
    if (fails(wmPlanCreate(&plan, context, problem, NULL))) return 1;
    int failed = fails(wmPlanExplain(plan, WM_TEXT, NULL, 0, &needed));
    char *text = (char *)malloc(needed + 1);
    if (!failed && text && !fails(wmPlanExplain(plan, WM_TEXT, text, needed, NULL))) printf("%s\n", text);
    free(text);
    wmPlanDestroy(plan);
    return failed;
}

int main(void) {
    wmContext *context = NULL;
    if (fails(wmContextCreate(&context, NULL))) return 1;
    int failed =
        explain(context, "matmul f32 1000x1000x1023 lda=1023") | explain(context, "fft c2c f32 1009 batch=100");
    wmContextDestroy(context);
    return failed;
}
