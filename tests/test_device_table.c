/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lib/gpu.h promises, asked of a device table: the fake's, or with the argument `cuda` the CUDA runtime's. The two
 * agree, or the tests on the fake prove nothing. Exit code 77 where there is no device.
 */
#include "lib/gpu.h"
#include "tests/fake_gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static const wm_gpu *gpu;
static int is_fake;

#define OK(call) assert_int_equal(gpu->call, 0)

enum { BYTES = 4096 };

static void *device_block(size_t bytes) {
    void *out = NULL;
    OK(alloc(gpu->self, &out, bytes));
    assert_non_null(out);
    assert_int_equal((uintptr_t)out % 256, 0);
    return out;
}

static wmStream new_stream(void) {
    wmStream stream = NULL;
    OK(stream_create(gpu->self, &stream));
    assert_non_null(stream);
    return stream;
}

static void facts(void **unused) {
    (void)unused;
    int count = 0, device = -1;
    wm_device d;
    OK(device_count(gpu->self, &count));
    assert_true(count >= 1);
    OK(device_facts(gpu->self, 0, &d));
    assert_true(d.name[0]);
    assert_true(d.sm >= 70 && d.multiprocessors > 0 && d.clock_khz > 0);
    assert_true(d.memory_bytes > 1 << 20 && d.l2_bytes > 0 && d.shared_bytes >= 48 << 10);
    assert_true(d.bandwidth > 1e9 && d.driver_version >= d.runtime_version / 1000 * 1000);
    if (!is_fake) {
        printf("%s: sm_%d, %d multiprocessors, %d kHz, L2 %lld, shared %lld, %.3g bytes/s, driver %d, runtime %d\n",
               d.name, d.sm, d.multiprocessors, d.clock_khz, (long long)d.l2_bytes, (long long)d.shared_bytes,
               d.bandwidth, d.driver_version, d.runtime_version);
    }
    assert_int_not_equal(gpu->device_facts(gpu->self, count, &d), 0);
    OK(set_device(gpu->self, 0));
    OK(get_device(gpu->self, &device));
    assert_int_equal(device, 0);
    (void)gpu->clear_error(gpu->self);
    assert_int_equal(gpu->peek_error(gpu->self), 0);
}

static void memory(void **unused) {
    (void)unused;
    wmStream stream = new_stream();
    unsigned char *a = (unsigned char *)device_block(BYTES), *b = (unsigned char *)device_block(BYTES), host[BYTES],
                  back[BYTES];
    for (int i = 0; i < BYTES; i++) host[i] = (unsigned char)(i * 7);
    OK(copy(gpu->self, a, host, BYTES, stream));
    memset(host, 0, BYTES); /* pageable memory may be reused at once */
    OK(copy(gpu->self, b, a, BYTES, stream));
    OK(set(gpu->self, b + 100, 0x5a, 50, stream));
    OK(copy(gpu->self, back, b, BYTES, stream));
    OK(stream_wait(gpu->self, stream));
    for (int i = 0; i < BYTES; i++) {
        assert_int_equal(back[i], i >= 100 && i < 150 ? 0x5a : (unsigned char)(i * 7));
    }
    OK(free(gpu->self, a));
    OK(free(gpu->self, b));
    OK(device_wait(gpu->self));
    OK(stream_destroy(gpu->self, stream));
}

static void reach(void **unused) {
    (void)unused;
    int yes = -1;
    static int host;
    void *a = device_block(BYTES);
    OK(reachable(gpu->self, a, 0, &yes));
    assert_int_equal(yes, 1);
    OK(reachable(gpu->self, (char *)a + 100, 0, &yes));
    assert_int_equal(yes, 1);
    OK(reachable(gpu->self, &host, 0, &yes));
    if (is_fake) assert_int_equal(yes, 0);
    printf("plain host memory is %sreachable\n", yes ? "" : "not ");
    OK(free(gpu->self, a));
}

static void running_out(void **unused) {
    (void)unused;
    void *out = (void *)1;
    assert_int_equal(gpu->alloc(gpu->self, &out, (size_t)1 << 50), 2);
    assert_int_equal(gpu->peek_error(gpu->self), 2);
    assert_string_equal(gpu->error_name(gpu->self, 2), "cudaErrorMemoryAllocation");
    assert_int_equal(gpu->error_is_sticky(gpu->self, 2), 0);
    assert_int_equal(gpu->error_is_sticky(gpu->self, 700), 1);
    assert_int_equal(gpu->error_is_sticky(gpu->self, 719), 1);
    assert_int_equal(gpu->clear_error(gpu->self), 2);
    assert_int_equal(gpu->peek_error(gpu->self), 0);
    OK(free(gpu->self, device_block(BYTES)));
    assert_int_equal(gpu->peek_error(gpu->self), 0);
}

static void streams(void **unused) {
    (void)unused;
    uint64_t id[4], legacy;
    wmStream stream[2] = {new_stream(), new_stream()};
    for (int i = 0; i < 2; i++) OK(stream_id(gpu->self, stream[i], &id[i]));
    OK(stream_id(gpu->self, NULL, &legacy));
    assert_true(id[0] != id[1] && id[0] != legacy && id[1] != legacy);
    OK(stream_id(gpu->self, stream[0], &id[2]));
    assert_true(id[0] == id[2]);
    OK(stream_destroy(gpu->self, stream[0]));
    stream[0] = new_stream(); /* whatever its address */
    OK(stream_id(gpu->self, stream[0], &id[3]));
    assert_true(id[3] != id[0] && id[3] != id[1]);
    for (int i = 0; i < 2; i++) OK(stream_destroy(gpu->self, stream[i]));
}

static void events(void **unused) {
    (void)unused;
    wmStream stream = new_stream();
    wm_event from = NULL, to = NULL;
    double seconds = -1;
    void *a = device_block(1 << 20);
    OK(event_create(gpu->self, &from));
    OK(event_create(gpu->self, &to));
    OK(event_record(gpu->self, from, stream));
    for (int i = 0; i < 20; i++) OK(set(gpu->self, a, i, 1 << 20, stream));
    OK(event_record(gpu->self, to, stream));
    OK(event_wait(gpu->self, to));
    OK(event_seconds(gpu->self, from, to, &seconds));
    assert_true(seconds > 0 && seconds < 1);
    OK(event_destroy(gpu->self, from));
    OK(event_destroy(gpu->self, to));
    OK(free(gpu->self, a));
    OK(stream_destroy(gpu->self, stream));
}

static int released;

static void release(void *object) {
    __atomic_fetch_add((int *)object, 1, __ATOMIC_SEQ_CST);
}

/* A graph's end may be noticed on another thread. */
static int was_released(void) {
    const struct timespec step = {0, 1000000};
    for (int i = 0; i < 2000 && !__atomic_load_n(&released, __ATOMIC_SEQ_CST); i++) nanosleep(&step, NULL);
    return __atomic_load_n(&released, __ATOMIC_SEQ_CST);
}

static void graphs(void **unused) {
    (void)unused;
    wmStream stream = new_stream(), other = new_stream();
    int yes = -1;
    unsigned char *a = (unsigned char *)device_block(BYTES), back[BYTES];
    wmGraph graph = NULL;
    void *exec = NULL;
    OK(set(gpu->self, a, 1, BYTES, stream));
    OK(stream_wait(gpu->self, stream));
    OK(stream_capturing(gpu->self, stream, &yes));
    assert_int_equal(yes, 0);
    OK(capture_begin(gpu->self, stream));
    OK(stream_capturing(gpu->self, stream, &yes));
    assert_int_equal(yes, 1);
    OK(stream_capturing(gpu->self, other, &yes));
    assert_int_equal(yes, 0);
    OK(stream_capturing(gpu->self, NULL, &yes)); /* the capture is of a non-blocking stream */
    assert_int_equal(yes, 0);
    OK(set(gpu->self, a, 2, BYTES, stream));
    OK(capture_end(gpu->self, stream, &graph));
    OK(copy(gpu->self, back, a, BYTES, stream));
    OK(stream_wait(gpu->self, stream));
    assert_int_equal(back[17], 1); /* captured, not done */
    released = 0;
    OK(graph_retain(gpu->self, graph, &released, release));
    OK(graph_instantiate(gpu->self, graph, &exec));
    OK(graph_destroy(gpu->self, graph, NULL));
    OK(graph_launch(gpu->self, exec, stream));
    OK(copy(gpu->self, back, a, BYTES, stream));
    OK(stream_wait(gpu->self, stream));
    assert_int_equal(back[17], 2);
    assert_int_equal(__atomic_load_n(&released, __ATOMIC_SEQ_CST), 0); /* what was instantiated holds it */
    OK(graph_destroy(gpu->self, NULL, exec));
    assert_int_equal(was_released(), 1);
    OK(free(gpu->self, a));
    OK(stream_destroy(gpu->self, stream));
    OK(stream_destroy(gpu->self, other));
}

/*
 * Allocating, freeing and waiting while a stream of this thread captures: CUDA's own calls would spoil the capture, and
 * host/cuda.c steps around that. The fake keeps to CUDA's rule, to show which code leans on it.
 */
static void work_beside_a_capture(void **unused) {
    (void)unused;
    if (is_fake) return;
    wmStream stream = new_stream(), other = new_stream();
    wmGraph graph = NULL;
    void *a = device_block(BYTES);
    OK(capture_begin(gpu->self, stream));
    OK(set(gpu->self, a, 2, BYTES, stream));
    void *b = device_block(BYTES);
    OK(set(gpu->self, b, 3, BYTES, other));
    OK(stream_wait(gpu->self, other));
    OK(free(gpu->self, b));
    OK(stream_destroy(gpu->self, other));
    OK(capture_end(gpu->self, stream, &graph));
    assert_non_null(graph);
    OK(graph_destroy(gpu->self, graph, NULL));
    OK(free(gpu->self, a));
    OK(stream_destroy(gpu->self, stream));
    assert_int_equal(gpu->peek_error(gpu->self), 0);
}

static void bad_launches(void **unused) {
    (void)unused;
    int dummy = 0;
    const wm_launch none = {
        .kernel = NULL, .grid = {1,  1, 1},
             .block = {32, 1, 1},
             .params = &dummy, .params_bytes = 4
    };
    assert_int_not_equal(gpu->launch(gpu->self, &none, NULL), 0);
    assert_int_not_equal(gpu->clear_error(gpu->self), 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts),        cmocka_unit_test(memory),
        cmocka_unit_test(reach),        cmocka_unit_test(streams),
        cmocka_unit_test(events),       cmocka_unit_test(graphs),
        cmocka_unit_test(running_out),  cmocka_unit_test(work_beside_a_capture),
        cmocka_unit_test(bad_launches),
    };
    const char *why = "";
    wm_fake *fake = NULL;
    if (argc > 1 && strcmp(argv[1], "cuda") == 0) {
        gpu = wm_gpu_cuda(&why);
        if (!gpu) printf("%s\n", why);
        if (!gpu) return 77;
    } else {
        fake = wm_fake_new(1);
        is_fake = 1;
        gpu = wm_fake_gpu(fake);
    }
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    if (fake) wm_fake_end(fake);
    return failures;
}
