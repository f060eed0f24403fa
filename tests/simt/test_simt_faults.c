/* SPDX-License-Identifier: Apache-2.0 */
/* Each planted fault is caught: tests of the emulation's detectors. */
#include "simt_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void wm_bad_missing_barrier_kernel(const void *p);
void wm_bad_missing_second_barrier_kernel(const void *p);
void wm_bad_small_barrier_kernel(const void *p);
void wm_bad_absent_lane_kernel(const void *p);
void wm_bad_outside_mask_kernel(const void *p);
void wm_bad_mask_kernel(const void *p);
void wm_bad_divergent_shuffle_kernel(const void *p);
void wm_bad_overrun_kernel(const void *p);
void wm_bad_uninitialised_kernel(const void *p);
void wm_bad_early_exit_kernel(const void *p);
void wm_bad_two_barriers_kernel(const void *p);
void wm_bad_named_count_kernel(const void *p);
void wm_bad_device_write_kernel(const void *p);
void wm_bad_device_read_kernel(const void *p);
void wm_bad_fresh_device_kernel(const void *p);
void wm_bad_two_blocks_kernel(const void *p);
void wm_bad_misaligned_kernel(const void *p);
void wm_bad_half_atomic_kernel(const void *p);
void wm_bad_early_copy_kernel(const void *p);
void wm_bad_lost_copy_kernel(const void *p);
void wm_bad_cluster_kernel(const void *p);
void wm_bad_cluster_end_kernel(const void *p);
void wm_bad_spin_kernel(const void *p);

/*
 * How a fault is seen where accesses are not checked one by one. ALWAYS: all the same. AT_END: in the guard bands,
 * unless ASan ends the process first. BY_SEED: results differ from one order of threads to another. BY_POISON: a result
 * is the fresh memory's 0xff. BY_ASAN, BY_UBSAN: these end the process. CHECKED: not.
 */
typedef enum seen { ALWAYS, AT_END, BY_SEED, BY_POISON, BY_ASAN, BY_UBSAN, CHECKED } seen;

typedef struct planted {
    const char *name;
    void (*kernel)(const void *);
    unsigned grid;
    int error;        /* what the launch returns */
    const char *says; /* the report has these words */
    seen otherwise;
} planted;

/* clang-format off */
static const planted cases[] = {
    {"missing barrier", wm_bad_missing_barrier_kernel, 1, 0, "race: ", BY_SEED},
    {"missing second barrier", wm_bad_missing_second_barrier_kernel, 1, 0, "race: writes byte", BY_SEED},
    {"small barrier", wm_bad_small_barrier_kernel, 1, 0, "race: reads byte", BY_SEED},
    {"absent lane", wm_bad_absent_lane_kernel, 1, 0, ": __shfl_sync with mask ffffffff reads absent lane 5", ALWAYS},
    {"outside mask", wm_bad_outside_mask_kernel, 1, 0, "reads absent lane 16", ALWAYS},
    {"mask", wm_bad_mask_kernel, 1, 0, "lacks the caller's lane 31", ALWAYS},
    {"divergent shuffle", wm_bad_divergent_shuffle_kernel, 1, 719, "threads 16-31,48-63 wait at a block barrier (planted.cu:", ALWAYS},
    {"overrun", wm_bad_overrun_kernel, 1, 719, "writes bytes 256 to 260 of a shared memory of 256", AT_END},
    {"uninitialised", wm_bad_uninitialised_kernel, 1, 0, "reads byte 28 of shared memory, which no thread has written", BY_POISON},
    {"early exit", wm_bad_early_exit_kernel, 1, 719, "left", ALWAYS},
    {"two barriers", wm_bad_two_barriers_kernel, 1, 0, "divergence: waits at this block barrier", ALWAYS},
    {"named count", wm_bad_named_count_kernel, 1, 719, "threads 32-63 have left the kernel", ALWAYS},
    {"device write", wm_bad_device_write_kernel, 1, 719, "writes bytes 256 to 260 of an allocation of 256 bytes", AT_END},
    {"device read", wm_bad_device_read_kernel, 1, 719, "reads bytes 256 to 260 of an allocation of 256 bytes", BY_ASAN},
    {"fresh device memory", wm_bad_fresh_device_kernel, 1, 0, "which nothing has written", CHECKED},
    {"two blocks", wm_bad_two_blocks_kernel, 2, 0, "another block of this launch", CHECKED},
    {"misaligned", wm_bad_misaligned_kernel, 1, 719, "is not a multiple of that", BY_UBSAN},
    {"half atomic", wm_bad_half_atomic_kernel, 1, 0, "race: ", CHECKED},
    {"early copy", wm_bad_early_copy_kernel, 1, 0, "which no thread has written", BY_POISON},
    {"lost copy", wm_bad_lost_copy_kernel, 1, 0, "never waited for", ALWAYS},
    {"cluster", wm_bad_cluster_kernel, 2, 0, "race: ", BY_SEED},
    {"cluster end", wm_bad_cluster_end_kernel, 2, 0, "block 1 of the cluster, which has ended", CHECKED},
    {"spin", wm_bad_spin_kernel, 1, 719, "nothing else happens", ALWAYS},
};
/* clang-format on */

typedef struct outcome {
    int error;
    int differs;  /* results depend on the seed */
    int poisoned; /* a result is 0xffffffff */
} outcome;

/* Runs the kernel under each seed on fresh memory; faults gather. */
static outcome run(const planted *c) {
    int x[64], first[64];
    outcome o = {0, 0, 0};
    for (int i = 0; i < 64; i++) x[i] = i * i + 1;
    x[0] = -1; /* what the spinning kernel waits to change */
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        wm_toy_ints p = {wm_area_new(sizeof x), to_device(x, sizeof x), 64};
        wm_simt_seed(seed);
        o.error = launch(c->kernel, c->grid, strstr(c->name, "cluster") ? 2 : 0, 64, 256, &p, sizeof p);
        if (!seed) memcpy(first, p.out, sizeof first);
        if (memcmp(first, p.out, sizeof first) != 0) o.differs = 1;
        for (int i = 1; i < 64; i++) o.poisoned |= p.out[i] == -1;
        wm_area_end(p.out);
        wm_area_end((void *)(uintptr_t)p.in);
    }
    return o;
}

#if defined(__SANITIZE_ADDRESS__)
static const int asan = 1;
#else
static const int asan = 0;
#endif

/* Runs it in a child process, which a sanitizer must end. */
static void killed(const planted *c) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        run(c);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(status != 0);
}

static void caught(void **state) {
    const planted *c = *state;
    bool fatal = c->otherwise == AT_END || c->otherwise == BY_ASAN || c->otherwise == BY_UBSAN;
    if (asan && fatal) return killed(c);
    outcome o = run(c);
    const char *faults = wm_simt_faults();
    if (c->otherwise == ALWAYS || wm_simt_instrumented()) {
        if (!strstr(faults, c->says)) fail_msg("%s: reported '%s'", c->name, faults);
        assert_int_equal(o.error, c->error);
    } else if (c->otherwise == AT_END) {
        assert_non_null(strstr(faults, "overwr"));
    } else {
        assert_true(o.differs || c->otherwise != BY_SEED);
        assert_true(o.poisoned || c->otherwise != BY_POISON);
    }
    if (getenv("WM_SIMT_SHOW")) print_message("%s", faults); // NOLINT(concurrency-mt-unsafe)
    wm_simt_faults_clear();
}

/* Launches that no GPU takes. */
static void refused(void **state) {
    static const struct {
        unsigned grid, block, cluster;
        size_t shared;
    } bad[] = {
        {0,  32,   0,  0             },
        {1,  0,    0,  0             },
        {1,  1025, 0,  0             },
        {1,  32,   0,  227 * 1024 + 1},
        {3,  32,   2,  0             },
        {32, 32,   32, 0             }
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int one = 1;
        wm_launch l = {
            .kernel = (const void *)(uintptr_t)wm_bad_spin_kernel, .params = &one, .params_bytes = sizeof one};
        l.grid = (wm_dim3){bad[i].grid, 1, 1};
        l.block = (wm_dim3){bad[i].block, 1, 1};
        if (bad[i].cluster) l.cluster = (wm_dim3){bad[i].cluster, 1, 1};
        l.shared = bad[i].shared;
        assert_int_equal(wm_simt_launch(&l), 1);
    }
    assert_string_equal(wm_simt_faults(), "");
}

int test_faults(void) {
    enum { N = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[N + 1];
    for (size_t i = 0; i < N; i++) {
        struct CMUnitTest t = {cases[i].name, caught, NULL, NULL, (void *)(uintptr_t)&cases[i]};
        tests[i] = t;
    }
    tests[N] = (struct CMUnitTest)cmocka_unit_test(refused);
    return cmocka_run_group_tests_name("planted faults", tests, NULL, NULL);
}
