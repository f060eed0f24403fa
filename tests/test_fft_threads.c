/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms and threads: one plan executed by many at once, many planning at once. */
#include "fft_case.h"

#include <pthread.h>

extern const wm_solver wm_fft_cpu;

typedef struct racer {
    const fft_plan *plan;
    const fft_buffer *in;
    const unsigned char *want;
    size_t bytes;
    int wrong;
} racer;

static void *race(void *data) {
    racer *r = data;
    unsigned char *out = malloc(r->bytes);
    void *workspace = aligned_alloc(256, (r->plan->offer.workspace + 255) / 256 * 256 + 256);
    for (int i = 0; i < 20; i++) {
        memset(out, 0xff, r->bytes);
        wm_args args = {.fft = wmFftArgsDefault(r->in->at, out)};
        wm_run run = {r->plan->context, &r->plan->problem, &r->plan->offer, r->plan->state, &args, workspace, NULL};
        if (r->plan->solver->run(&run) != WM_OK || memcmp(out, r->want, r->bytes) != 0) r->wrong++;
    }
    free(out);
    free(workspace);
    return NULL;
}

static void one_plan_many_threads(void **state) {
    enum { RACERS = 8 };
    const int64_t n[] = {60, 1000, 1009, 8192};
    wmContext *context = fft_context(2);
    (void)state;
    for (int i = 0; i < 4; i++) {
        wmFftDesc d = wmFftDescPacked((wmFftKind)(i % 3), WM_F32, 1, &n[i], 5);
        fft_plan p = fft_make(context, &wm_fft_cpu, &d);
        fft_buffer in = fft_buffer_new(fft_bytes(&d, 0)), out = fft_buffer_new(fft_bytes(&d, 1));
        racer racers[RACERS];
        pthread_t threads[RACERS];
        fft_fill(&in, WM_F32);
        fft_run(&p, in.at, out.at);
        for (int t = 0; t < RACERS; t++) {
            racers[t] = (racer){&p, &in, out.at, out.bytes, 0};
            assert_int_equal(pthread_create(&threads[t], NULL, race, &racers[t]), 0);
        }
        for (int t = 0; t < RACERS; t++) {
            pthread_join(threads[t], NULL);
            assert_int_equal(racers[t].wrong, 0);
        }
        fft_buffer_end(&in);
        fft_buffer_end(&out);
        fft_drop(&p);
    }
    wmContextDestroy(context);
}

typedef struct planner {
    wmContext *context;
    uint64_t seed;
    int wrong;
} planner;

/** Plans, transforms there and back, compares; lengths that others plan at the same time, too. */
static void *plan_and_run(void *data) {
    planner *p = data;
    for (int i = 0; i < 12; i++) {
        int64_t n = 20 + (int64_t)(p->seed * 7 + (uint64_t)i * 31) % 300;
        float x[2 * 320], y[2 * 320], z[2 * 320];
        for (int64_t k = 0; k < 2 * n; k++) x[k] = (float)(k % 17) - 8;
        wmFftDesc there = wmFftDescPacked(WM_FFT_C2C, WM_F32, 1, &n, 1), back;
        wmFftDescInverse(&back, &there);
        wmFftArgs forth = wmFftArgsDefault(x, y), home = wmFftArgsDefault(y, z);
        wmPlan *plan = NULL;
        if (wmFftPlanCreate(&plan, p->context, &there, NULL) != WM_OK || wmFftExecute(plan, &forth, NULL) != WM_OK)
            p->wrong++;
        wmPlanDestroy(plan);
        if (wmFft(p->context, &back, &home, NULL) != WM_OK) p->wrong++;
        for (int64_t k = 0; k < 2 * n; k++)
            if (!(fabsf(z[k] - x[k]) < 1e-4f)) p->wrong++;
    }
    return NULL;
}

static void many_planners(void **state) {
    enum { PLANNERS = 16 };
    planner planners[PLANNERS];
    pthread_t threads[PLANNERS];
    wmContext *context = fft_context(2);
    (void)state;
    for (int t = 0; t < PLANNERS; t++) {
        planners[t] = (planner){context, (uint64_t)(t / 2), 0};
        assert_int_equal(pthread_create(&threads[t], NULL, plan_and_run, &planners[t]), 0);
    }
    for (int t = 0; t < PLANNERS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(planners[t].wrong, 0);
    }
    wmContextDestroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_plan_many_threads), cmocka_unit_test(many_planners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
