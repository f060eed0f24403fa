/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads on one context, one plan, one cache, one wisdom: under the thread sanitizer, and with equal results. */
#include "engine_lab.h"
#include "lib/parallel.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 16, ROUNDS = 50 };

static wmPlan *shared;
static wmPlace place_now;

/* Runs the function on THREADS threads at once; each gets its number. */
static void on_threads(void *(*body)(void *)) {
    pthread_t id[THREADS];
    static int number[THREADS];
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&id[i], NULL, body, &number[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(id[i], &failed);
        if (failed) fail_msg("thread %d: %s", i, (const char *)failed);
    }
}

/* cmocka's assertions are for its own thread: a thread that fails gives a sentence. */
static void *failure(const char *what) {
    char *text = (char *)malloc(700);
    snprintf(text, 700, "%s: %s", what, wmLastError());
    return text;
}

static void open_lab(size_t workspace, int serial) {
    lab_open(place_now, NULL);
    lab_now.ours = 1;
    for (int i = 0; i < LAB_CONFIGS; i++) lab_now.config[i].seconds = 0; /* the made-up clock is for one thread */
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].workspace = workspace;
    lab_now.config[LAB_OURS].serial = serial;
}

static wmStream own_stream(void) {
    wmStream stream = NULL;
    if (lab_now.fake) {
        const wm_gpu *gpu = wm_fake_gpu(lab_now.fake);
        if (gpu->stream_create(gpu->self, &stream) != 0) return NULL;
    }
    return stream;
}

static void end_stream(wmStream stream) {
    if (!stream) return;
    const wm_gpu *gpu = wm_fake_gpu(lab_now.fake);
    (void)gpu->stream_destroy(gpu->self, stream);
}

/* ---- One plan ---- */

static void *execute_shared(void *data) {
    int number = *(int *)data;
    wmStream stream = number % 2 ? own_stream() : NULL; /* half of them share the default stream and its arena */
    void *workspace = NULL;
    if (number % 4 == 1 && wmAlloc(&workspace, lab_now.context, 3000) != WM_OK) return failure("wmAlloc");
    for (int i = 0; i < ROUNDS; i++) {
        if (lab_execute(shared, workspace, workspace ? 3000 : 0, stream) != WM_OK) return failure("execute");
        wmPlanRetain(shared);
        wmPlanDestroy(shared);
    }
    wmFree(lab_now.context, workspace);
    end_stream(stream);
    return NULL;
}

static void one_plan(void **unused) {
    (void)unused;
    for (place_now = WM_PLACE_GPU; place_now <= WM_PLACE_CPU; place_now++) {
        for (int serial = 0; serial < 2; serial++) {
            open_lab(3000, serial);
            shared = lab_plan(NULL, NULL);
            assert_int_equal(wmPlanConcurrent(shared), !serial);
            on_threads(execute_shared);
            assert_int_equal(lab_now.config[LAB_OURS].runs, THREADS * ROUNDS);
            if (serial) assert_int_equal(lab_now.config[LAB_OURS].most_inside, 1);
            wmPlanDestroy(shared);
            lab_close();
        }
    }
}

/* ---- One context ---- */

static void *mixed_calls(void *data) {
    int number = *(int *)data;
    char text[64], buffer[2000];
    for (int i = 0; i < ROUNDS; i++) {
        wmPlan *plan = NULL;
        wm_problem problem;
        snprintf(text, sizeof text, "matmul f32 %dx9x5", 1 + (number + i) % 20);
        if (wm_problem_parse(&problem, text, place_now) != WM_OK) return failure("parse");
        if (wm_context_plan(lab_now.context, &problem, NULL, &plan) != WM_OK) return failure("one-shot plan");
        if (lab_execute(plan, NULL, 0, NULL) != WM_OK) return failure("execute");
        wmPlanDestroy(plan);
        if (wmPlanCreate(&plan, lab_now.context, text, NULL) != WM_OK) return failure("wmPlanCreate");
        if (wmPlanExplain(plan, WM_JSON, buffer, sizeof buffer, NULL) != WM_OK) return failure("explain");
        wm_wisdom_learn(lab_now.context, &problem, lab_now.context->solvers[2], &plan->offer, 1e-3, WM_MEASURE);
        if (wmWisdomPrint(lab_now.context, WM_TEXT, buffer, sizeof buffer, NULL) != WM_OK) return failure("print");
        if (i % 10 == 0 && wmWisdomForget(lab_now.context, "*3*", NULL) != WM_OK) return failure("forget");
        if (i % 20 == 0 && wmContextInfo(lab_now.context, WM_TEXT, buffer, sizeof buffer, NULL) != WM_OK) {
            return failure("info");
        }
        wmContextRetain(lab_now.context);
        wmPlanDestroy(plan);
        wmContextDestroy(lab_now.context);
    }
    return NULL;
}

static void one_context(void **unused) {
    (void)unused;
    for (place_now = WM_PLACE_GPU; place_now <= WM_PLACE_CPU; place_now++) {
        open_lab(100, 0);
        on_threads(mixed_calls);
        lab_close();
    }
}

/* ---- One flight ---- */

static pthread_barrier_t barrier;

static void *same_problem(void *data) {
    (void)data;
    wmPlan *plan = NULL;
    wm_problem problem = lab_problem("matmul f32 3x3x3");
    pthread_barrier_wait(&barrier);
    if (wm_context_plan(lab_now.context, &problem, NULL, &plan) != WM_OK) return failure("one-shot plan");
    wmPlanDestroy(plan);
    return NULL;
}

static void one_flight(void **unused) {
    (void)unused;
    place_now = WM_PLACE_CPU;
    for (int i = 0; i < 20; i++) {
        open_lab(0, 0);
        pthread_barrier_init(&barrier, NULL, THREADS);
        on_threads(same_problem);
        pthread_barrier_destroy(&barrier);
        assert_int_equal(lab_now.config[LAB_OURS].makes, 1);
        lab_close();
    }
}

/* Threads that fill the cache far beyond its size, each with its own problems: evictions under way everywhere. */
static void *flood(void *data) {
    int number = *(int *)data;
    char text[64];
    for (int i = 0; i < 100; i++) {
        wmPlan *plan = NULL;
        snprintf(text, sizeof text, "matmul f32 1x%dx%d", number + 1, i + 1);
        wm_problem problem = lab_problem(text);
        if (wm_context_plan(lab_now.context, &problem, NULL, &plan) != WM_OK) return failure("one-shot plan");
        wmPlanDestroy(plan);
    }
    return NULL;
}

static void cache_under_pressure(void **unused) {
    (void)unused;
    place_now = WM_PLACE_CPU;
    open_lab(0, 0);
    on_threads(flood);
    lab_close();
}

/* ---- Measuring ---- */

static void *measure(void *data) {
    (void)data;
    wmPlan *plan = NULL;
    wmPlanOptions options = wmPlanOptionsDefault();
    options.effort = WM_MEASURE;
    wm_problem problem = lab_problem("matmul f32 4x4x4");
    if (wm_plan_create(&plan, lab_now.context, &problem, &options) != WM_OK) return failure("measure");
    wmPlanDestroy(plan);
    return NULL;
}

/* The first to come measures, the others find its wisdom. */
static void one_measurement(void **unused) {
    (void)unused;
    place_now = WM_PLACE_CPU;
    open_lab(0, 0);
    for (int i = 0; i < LAB_CONFIGS; i++) lab_now.config[i].seconds = 1e-3; /* whoever measures is alone */
    on_threads(measure);
    assert_int_equal(lab_now.config[LAB_JUDGE].makes, 1);
    lab_close();
}

/* ---- The parallel loop ---- */

static int64_t covered[10000];

static void cover(void *user, int64_t from, int64_t to, int thread) {
    int grain = *(int *)user;
    if (from % grain || thread < 0) abort();
    for (int64_t i = from; i < to; i++) covered[i] += 1;
}

static void parallel_ranges(void **unused) {
    (void)unused;
    static const int64_t items[] = {0, 1, 7, 64, 1000, 9999};
    for (int grain = 1; grain < 300; grain += 37) {
        for (int threads = 1; threads < 20; threads += 6) {
            for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
                memset(covered, 0, sizeof covered);
                wm_parallel_for(threads, items[i], grain, cover, &grain);
                for (int64_t j = 0; j < 10000; j++) assert_int_equal(covered[j], j < items[i]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_plan),        cmocka_unit_test(one_context),          cmocka_unit_test(one_flight),
        cmocka_unit_test(one_measurement), cmocka_unit_test(cache_under_pressure), cmocka_unit_test(parallel_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
