/* SPDX-License-Identifier: Apache-2.0 */
/* The fake device keeps CUDA's rules where host code depends on them; the emulated one runs kernels behind it. */
#include "simt_gpu.h"
#include "simt_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

void wm_toy_transpose_kernel(const void *p);
void wm_toy_sum_kernel(const void *p);
void wm_bad_early_exit_kernel(const void *p);

static const wm_gpu *gpu;
static wm_fake *fake;

static int begin(void **state) {
    (void)state;
    fake = wm_simt_gpu_new();
    gpu = wm_fake_gpu(fake);
    return fake ? 0 : 1;
}

static int end(void **state) {
    (void)state;
    wm_fake_end(fake); /* finishes what was enqueued: it may find faults, too */
    if (wm_fault_count()) print_error("%s", wm_faults());
    return wm_area_count() + wm_fault_count();
}

static wmStream new_stream(void) {
    wmStream stream;
    assert_int_equal(gpu->stream_create(gpu->self, &stream), 0);
    return stream;
}

static void *new_memory(size_t bytes) {
    void *p;
    assert_int_equal(gpu->alloc(gpu->self, &p, bytes), 0);
    return p;
}

static wm_launch sum_launch(const wm_toy_sum *p) {
    wm_launch l = {
        .kernel = (const void *)(uintptr_t)wm_toy_sum_kernel, .grid = {2,  1, 1},
               .block = {64, 1, 1}
    };
    l.shared = 128;
    l.params = p;
    l.params_bytes = sizeof *p;
    return l;
}

/* Copies in, launches, copies out; nothing happens before the wait, all after it. */
static void in_order(void **state) {
    enum { N = 500 };
    float x[N], sum = -1;
    wmStream stream = new_stream();
    wm_toy_sum p = {new_memory(sizeof x), new_memory(sizeof sum), N};
    (void)state;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    assert_int_equal(gpu->copy(gpu->self, (void *)(uintptr_t)p.x, x, sizeof x, stream), 0);
    memset(x, 0, sizeof x); /* pageable memory was taken at the call */
    assert_int_equal(gpu->set(gpu->self, p.out, 0, sizeof sum, stream), 0);
    wm_launch l = sum_launch(&p);
    assert_int_equal(gpu->launch(gpu->self, &l, stream), 0);
    assert_int_equal(gpu->copy(gpu->self, &sum, p.out, sizeof sum, stream), 0);
    p.n = 0; /* so were the parameters */
    assert_true(sum == -1);
    assert_int_equal(gpu->stream_wait(gpu->self, stream), 0);
    const int expected = N * (N - 1) / 2;
    assert_true(sum == (float)expected);
    assert_string_equal(wm_simt_faults(), "");
    assert_int_equal(gpu->free(gpu->self, p.out), 0);
    assert_int_equal(gpu->free(gpu->self, (void *)(uintptr_t)p.x), 0);
    assert_int_equal(gpu->stream_destroy(gpu->self, stream), 0);
    wm_fake_counts live = wm_fake_live(fake), none = {0, 0, 0, 0, 0, 0};
    assert_memory_equal(&live, &none, sizeof none);
}

static void copies_in_bounds(void **state) {
    char host[64] = {0};
    char *p = new_memory(32);
    (void)state;
    assert_int_equal(gpu->copy(gpu->self, p, host, 33, NULL), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->copy(gpu->self, host, p + 1, 32, NULL), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->set(gpu->self, p - 1, 0, 4, NULL), WM_FAKE_INVALID_VALUE);
    assert_int_equal(wm_fault_count(), 3);
    assert_int_equal(gpu->free(gpu->self, p), 0);
    assert_int_equal(gpu->copy(gpu->self, p, host, 1, NULL), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->free(gpu->self, p), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->peek_error(gpu->self), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->clear_error(gpu->self), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->peek_error(gpu->self), 0);
    assert_int_equal(wm_fault_count(), 5);
    wm_faults_clear();
}

static void bands(void **state) {
    unsigned char *p = new_memory(100);
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* it would end the process */
#endif
    p[100] = 0;
    assert_int_equal(gpu->free(gpu->self, p), 0);
    assert_non_null(strstr(wm_faults(), "byte at +100"));
    wm_faults_clear();
}

static void reaches(void **state) {
    int yes, x;
    char *p = new_memory(8);
    (void)state;
    assert_int_equal(gpu->reachable(gpu->self, p + 7, 0, &yes), 0);
    assert_int_equal(yes, 1);
    assert_int_equal(gpu->reachable(gpu->self, p + 8, 0, &yes), 0);
    assert_int_equal(yes, 0);
    assert_int_equal(gpu->reachable(gpu->self, &x, 0, &yes), 0);
    assert_int_equal(yes, 0);
    wm_fake_set_pageable(fake, 1);
    assert_int_equal(gpu->reachable(gpu->self, &x, 0, &yes), 0);
    assert_int_equal(yes, 1);
}

/* The made-up clock, and events that nobody waited for. */
static void events(void **state) {
    wm_event a, b;
    double seconds;
    wmStream stream = new_stream();
    float sum = 0;
    wm_toy_sum p = {new_memory(4), new_memory(4), 0};
    wm_launch l = sum_launch(&p);
    (void)state;
    assert_int_equal(gpu->copy(gpu->self, p.out, &sum, sizeof sum, stream), 0);
    wm_fake_cost(fake, l.kernel, 0.25);
    assert_int_equal(gpu->event_create(gpu->self, &a), 0);
    assert_int_equal(gpu->event_create(gpu->self, &b), 0);
    assert_int_equal(gpu->event_wait(gpu->self, a), 0);
    assert_int_equal(gpu->event_record(gpu->self, a, stream), 0);
    assert_int_equal(gpu->launch(gpu->self, &l, stream), 0);
    assert_int_equal(gpu->launch(gpu->self, &l, stream), 0);
    assert_int_equal(gpu->event_record(gpu->self, b, stream), 0);
    assert_int_equal(gpu->event_seconds(gpu->self, a, b, &seconds), WM_FAKE_NOT_READY);
    assert_int_equal(gpu->event_wait(gpu->self, b), 0);
    assert_int_equal(gpu->event_seconds(gpu->self, a, b, &seconds), 0);
    assert_true(fabs(seconds - 0.5) <= 1e-12);
    int count;
    assert_ptr_equal(wm_fake_launches(fake, &count)[1].kernel, l.kernel);
    assert_int_equal(count, 2);
    assert_int_equal(gpu->event_destroy(gpu->self, a), 0);
    assert_int_equal(gpu->event_destroy(gpu->self, b), 0);
    assert_string_equal(wm_simt_faults(), "");
}

static void count_release(void *object) {
    ++*(int *)object;
}

/* A captured launch happens when the graph does, as often as that; what the graph keeps lives as long as it. */
static void graphs(void **state) {
    float one = 1, sum = 0;
    wmStream stream = new_stream();
    wm_toy_sum p = {new_memory(4), new_memory(4), 1};
    wm_launch l = sum_launch(&p);
    wmGraph graph;
    void *exec;
    int released = 0, yes;
    (void)state;
    assert_int_equal(gpu->copy(gpu->self, (void *)(uintptr_t)p.x, &one, 4, stream), 0);
    assert_int_equal(gpu->copy(gpu->self, p.out, &sum, 4, stream), 0);
    assert_int_equal(gpu->prepare(gpu->self, l.kernel, l.shared), 0);
    assert_int_equal(gpu->capture_begin(gpu->self, stream), 0);
    assert_int_equal(gpu->stream_capturing(gpu->self, stream, &yes), 0);
    assert_int_equal(yes, 1);
    assert_int_equal(gpu->launch(gpu->self, &l, stream), 0);
    assert_int_equal(gpu->capture_end(gpu->self, stream, &graph), 0);
    assert_int_equal(gpu->graph_retain(gpu->self, graph, &released, count_release), 0);
    assert_int_equal(gpu->graph_instantiate(gpu->self, graph, &exec), 0);
    assert_int_equal(gpu->graph_destroy(gpu->self, graph, NULL), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(gpu->graph_launch(gpu->self, exec, stream), 0);
    assert_int_equal(gpu->copy(gpu->self, &sum, p.out, 4, stream), 0);
    assert_int_equal(gpu->stream_wait(gpu->self, stream), 0);
    assert_true(sum == 3);
    assert_int_equal(released, 0);
    assert_int_equal(gpu->graph_destroy(gpu->self, NULL, exec), 0);
    assert_int_equal(released, 1);
    assert_string_equal(wm_simt_faults(), "");
}

/* What CUDA forbids during a capture, and that it spoils it. */
static void forbidden_while_capturing(void **state) {
    void *p;
    wmGraph graph;
    wmStream stream = new_stream();
    wm_toy_sum params = {NULL, NULL, 0};
    wm_launch l = sum_launch(&params);
    (void)state;
    for (int what = 0; what < 5; what++) {
        int error = 0;
        assert_int_equal(gpu->capture_begin(gpu->self, stream), 0);
        if (what == 0) error = gpu->alloc(gpu->self, &p, 1);
        if (what == 1) error = gpu->free(gpu->self, NULL);
        if (what == 2) error = gpu->stream_wait(gpu->self, stream);
        if (what == 3) error = gpu->device_wait(gpu->self);
        if (what == 4) error = gpu->launch(gpu->self, &l, stream); /* never prepared: it would be loaded now */
        assert_int_equal(error, WM_FAKE_CAPTURE_UNSUPPORTED);
        assert_int_equal(gpu->capture_end(gpu->self, stream, &graph), WM_FAKE_CAPTURE_INVALIDATED);
        assert_null(graph);
    }
    wm_fake_set_capturing(fake, stream, 1);
    assert_int_equal(gpu->device_wait(gpu->self), WM_FAKE_CAPTURE_UNSUPPORTED);
    assert_int_equal(gpu->alloc(gpu->self, &p, 1), 0); /* another thread captures: this one may */
    wm_fake_set_capturing(fake, stream, 0);
    assert_int_equal(gpu->device_wait(gpu->self), 0);
}

/* A function with several calls, failing at each in turn. */
static int under_test(void) {
    void *p = NULL;
    wmStream stream = NULL;
    int error = gpu->alloc(gpu->self, &p, 64);
    if (!error) error = gpu->stream_create(gpu->self, &stream);
    if (!error) error = gpu->set(gpu->self, p, 0, 64, stream);
    if (!error) error = gpu->stream_wait(gpu->self, stream);
    if (stream && gpu->stream_destroy(gpu->self, stream) && !error) error = -1;
    if (p && gpu->free(gpu->self, p) && !error) error = -1;
    return error;
}

static void nth_call_fails(void **state) {
    long n = 1;
    (void)state;
    for (;; n++) {
        wm_fake_fail_at(fake, n, WM_FAKE_OUT_OF_MEMORY);
        int error = under_test();
        wm_fake_counts live = wm_fake_live(fake);
        assert_int_equal(live.allocations + live.streams, 0);
        if (!wm_fake_fail_done(fake)) break;
        assert_int_not_equal(error, 0);
        assert_int_equal(gpu->clear_error(gpu->self), WM_FAKE_OUT_OF_MEMORY);
    }
    assert_int_equal(n, 7);
    wm_fake_fail_at(fake, 0, 0);
    assert_int_equal(under_test(), 0);
}

static void sticky(void **state) {
    int x = 1;
    wm_toy_ints p = {new_memory(256), new_memory(256), 64};
    wm_launch l = {
        .kernel = (const void *)(uintptr_t)wm_bad_early_exit_kernel, .grid = {1,  1, 1},
               .block = {64, 1, 1}
    };
    void *more;
    (void)state;
    l.shared = 256;
    l.params = &p;
    l.params_bytes = sizeof p;
    assert_int_equal(gpu->set(gpu->self, (void *)(uintptr_t)p.in, 0, 256, NULL), 0);
    assert_int_equal(gpu->launch(gpu->self, &l, NULL), 0);
    assert_int_equal(gpu->stream_wait(gpu->self, NULL), WM_FAKE_LAUNCH_FAILURE);
    assert_int_equal(gpu->error_is_sticky(gpu->self, WM_FAKE_LAUNCH_FAILURE), 1);
    assert_int_equal(gpu->alloc(gpu->self, &more, 4), WM_FAKE_LAUNCH_FAILURE);
    assert_int_equal(gpu->clear_error(gpu->self), WM_FAKE_LAUNCH_FAILURE);
    assert_int_equal(gpu->copy(gpu->self, &x, p.out, 4, NULL), WM_FAKE_LAUNCH_FAILURE);
    assert_int_equal(gpu->free(gpu->self, p.out), WM_FAKE_LAUNCH_FAILURE);
    assert_int_equal(wm_fake_live(fake).allocations, 1);
    assert_non_null(strstr(wm_simt_faults(), "left"));
    wm_simt_faults_clear();
}

static void refused_launches(void **state) {
    wm_toy_sum p = {NULL, NULL, 0};
    wm_launch l = sum_launch(&p);
    int blocks;
    (void)state;
    wm_fake_set_runner(fake, NULL); /* what is taken below need not run */
    l.shared = 64 * 1024;
    assert_int_equal(gpu->launch(gpu->self, &l, NULL), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->prepare(gpu->self, l.kernel, 228 * 1024), WM_FAKE_INVALID_VALUE);
    assert_int_equal(gpu->prepare(gpu->self, l.kernel, l.shared), 0);
    assert_int_equal(gpu->launch(gpu->self, &l, NULL), 0);
    l.block.x = 2048;
    assert_int_equal(gpu->launch(gpu->self, &l, NULL), WM_FAKE_INVALID_CONFIGURATION);
    assert_int_equal(gpu->occupancy(gpu->self, l.kernel, 256, 64 * 1024, &blocks), 0);
    assert_int_equal(blocks, 3);
    l.block.x = 32;
    l.params_bytes = 0;
    assert_int_equal(gpu->launch(gpu->self, &l, NULL), WM_FAKE_INVALID_VALUE);
    assert_int_equal(wm_fault_count(), 1);
    wm_faults_clear();
}

static void devices(void **state) {
    int count, ordinal;
    wm_device facts;
    (void)state;
    assert_int_equal(gpu->device_count(gpu->self, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(gpu->device_facts(gpu->self, 0, &facts), 0);
    assert_string_equal(facts.name, "emulated sm_90");
    assert_int_equal(gpu->device_facts(gpu->self, 1, &facts), WM_FAKE_INVALID_DEVICE);
    assert_int_equal(gpu->set_device(gpu->self, 1), WM_FAKE_INVALID_DEVICE);
    assert_int_equal(gpu->get_device(gpu->self, &ordinal), 0);
    assert_int_equal(ordinal, 0);
    assert_string_equal(gpu->error_name(gpu->self, 700), "cudaErrorIllegalAddress");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices, begin, end),
        cmocka_unit_test_setup_teardown(in_order, begin, end),
        cmocka_unit_test_setup_teardown(copies_in_bounds, begin, end),
        cmocka_unit_test_setup_teardown(bands, begin, end),
        cmocka_unit_test_setup_teardown(reaches, begin, end),
        cmocka_unit_test_setup_teardown(events, begin, end),
        cmocka_unit_test_setup_teardown(graphs, begin, end),
        cmocka_unit_test_setup_teardown(forbidden_while_capturing, begin, end),
        cmocka_unit_test_setup_teardown(nth_call_fails, begin, end),
        cmocka_unit_test_setup_teardown(sticky, begin, end),
        cmocka_unit_test_setup_teardown(refused_launches, begin, end),
    };
    return cmocka_run_group_tests_name("fake gpu", tests, NULL, NULL);
}
