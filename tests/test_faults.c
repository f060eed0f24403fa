/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The n-th allocation, device call or file operation fails, n = 1, 2, ... until the call under test succeeds: each time
 * the right status, nothing leaked, and the next call works. Linked with --wrap for the functions of libc below.
 */
#include "engine_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- libc, failing on demand ---- */

typedef struct fault {
    long at;   /* the call that fails, counted down; 0: none */
    int error; /* errno of file operations */
    int done;
} fault;

static fault memory, files;
static long live; /* blocks that the library and the tests hold */

static int strikes(fault *f) {
    if (f->at == 0 || --f->at > 0) return 0;
    f->done = 1;
    errno = f->error;
    return 1;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *pointer);
int __real_openat(int folder, const char *name, int flags, ...);
ssize_t __real_read(int fd, void *to, size_t bytes);
ssize_t __real_write(int fd, const void *from, size_t bytes);
int __real_fsync(int fd);
int __real_renameat(int from, const char *old, int to, const char *name);
int __real_flock(int fd, int operation);

/* The names are the linker's. NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
static void *counted(void *pointer) {
    live += pointer != NULL;
    return pointer;
}

void *__wrap_malloc(size_t bytes) {
    return strikes(&memory) ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return strikes(&memory) ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes) {
    if (strikes(&memory)) return NULL;
    return old ? __real_realloc(old, bytes) : counted(__real_realloc(old, bytes));
}

void *__wrap_aligned_alloc(size_t align, size_t bytes) {
    return strikes(&memory) ? NULL : counted(__real_aligned_alloc(align, bytes));
}

char *__wrap_strdup(const char *text) {
    return strikes(&memory) ? NULL : (char *)counted(__real_strdup(text));
}

void __wrap_free(void *pointer) {
    live -= pointer != NULL;
    __real_free(pointer);
}

int __wrap_openat(int folder, const char *name, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return strikes(&files) ? -1 : __real_openat(folder, name, flags, mode);
}

ssize_t __wrap_read(int fd, void *to, size_t bytes) {
    return strikes(&files) ? -1 : __real_read(fd, to, bytes);
}

ssize_t __wrap_write(int fd, const void *from, size_t bytes) {
    return strikes(&files) ? -1 : __real_write(fd, from, bytes);
}

int __wrap_fsync(int fd) {
    return strikes(&files) ? -1 : __real_fsync(fd);
}

int __wrap_renameat(int from, const char *old, int to, const char *name) {
    return strikes(&files) ? -1 : __real_renameat(from, old, to, name);
}

int __wrap_flock(int fd, int operation) {
    return strikes(&files) ? -1 : __real_flock(fd, operation);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

/* ---- What is tried ---- */

static char folder[] = "/tmp/wm_faults_XXXXXX";
static char path[64];

static wmStatus make_context(void) {
    wmContext *context = NULL;
    int count = 0;
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = path;
    const wm_gpu *gpu = lab_now.fake ? wm_fake_gpu(lab_now.fake) : NULL;
    const wm_solver *const *solvers = lab_solvers(gpu ? WM_PLACE_GPU : WM_PLACE_CPU, &count);
    wmStatus status = wm_context_create_with(&context, &options, gpu, solvers, count, lab_clock());
    if (status != WM_OK && context) abort();
    wmContextDestroy(context);
    return status;
}

static wmStatus plan_and_run(void) {
    wmPlan *plan = NULL;
    wmStatus status = wmPlanCreate(&plan, lab_now.context, "matmul f32 7x6x5", NULL);
    if (status == WM_OK) status = lab_execute(plan, NULL, 0, NULL);
    if (status == WM_OK && wmPlanBitsId(plan) == 0) status = WM_ERR_INTERNAL;
    wmPlanDestroy(plan);
    return status;
}

static wmStatus measure(void) {
    wmPlan *plan = NULL;
    wmPlanOptions options = wmPlanOptionsDefault();
    options.effort = WM_MEASURE;
    wmStatus status = wmPlanCreate(&plan, lab_now.context, "matmul f32 4x4x4", &options);
    wmPlanDestroy(plan);
    return status;
}

static wmStatus bench(void) {
    wm_bench_result got;
    wm_problem problem = lab_problem("matmul f32 4x4x4");
    wmStatus status = wm_bench(lab_now.context, &problem, NULL, &got);
    free(got.rows);
    return status;
}

static wmStatus one_shots(void) {
    void *block = NULL;
    wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, 8, 8, 8), other = wmMatmulDescDefault(WM_F32, 4, 8, 8);
    WM_TRY(wmAlloc(&block, lab_now.context, 4096));
    static const float zeros[1024];
    wmMatmulArgs args = wmMatmulArgsDefault(block, (char *)block + 1024, (char *)block + 2048);
    wmStatus status = wmCopy(lab_now.context, block, zeros, sizeof zeros, NULL);
    if (status == WM_OK) status = wmSynchronize(lab_now.context, NULL);
    if (status == WM_OK) status = wmMatmul(lab_now.context, &desc, &args, NULL);
    if (status == WM_OK) status = wmMatmul(lab_now.context, &other, &args, NULL);
    if (status == WM_OK) status = wmSynchronize(lab_now.context, NULL);
    wmFree(lab_now.context, block);
    return status;
}

static wmStatus texts(void) {
    char buffer[256];
    size_t needed = 0;
    WM_TRY(wmContextInfo(lab_now.context, WM_TEXT, buffer, sizeof buffer, &needed));
    WM_TRY(wmContextInfo(lab_now.context, WM_JSON, buffer, sizeof buffer, &needed));
    wmPlan *plan = NULL;
    WM_TRY(wmPlanCreate(&plan, lab_now.context, "matmul f32 7x6x5 lda=6", NULL));
    wmStatus status = wmPlanExplain(plan, WM_TEXT, buffer, sizeof buffer, &needed);
    if (status == WM_OK) status = wmPlanExplain(plan, WM_JSON, NULL, 0, &needed);
    wmPlanDestroy(plan);
    return status;
}

static wmStatus timing(void) {
    wmPlan *plan = NULL;
    void *block = NULL;
    double seconds = 0;
    WM_TRY(wmAlloc(&block, lab_now.context, 4096));
    static const float zeros[1024];
    wmMatmulArgs args = wmMatmulArgsDefault(block, (char *)block + 1024, (char *)block + 2048);
    wmStatus status = wmCopy(lab_now.context, block, zeros, sizeof zeros, NULL);
    if (status == WM_OK) status = wmSynchronize(lab_now.context, NULL);
    if (status == WM_OK) status = wmPlanCreate(&plan, lab_now.context, "matmul f32 8x8x8", NULL);
    if (status == WM_OK) status = wmPlanTime(plan, &args, NULL, 5, &seconds);
    wmPlanDestroy(plan);
    wmFree(lab_now.context, block);
    return status;
}

static wmStatus wisdom(void) {
    char buffer[64];
    wmWisdomCount count;
    WM_TRY(wmWisdomLoad(lab_now.context, path, &count));
    WM_TRY(wmWisdomPrint(lab_now.context, WM_JSON, buffer, sizeof buffer, NULL));
    WM_TRY(wmWisdomPrint(lab_now.context, WM_TEXT, buffer, sizeof buffer, NULL));
    WM_TRY(wmWisdomForget(lab_now.context, "nothing like this", &count));
    return wmWisdomSave(lab_now.context, path, &count);
}

static const struct scenario {
    const char *name;
    wmStatus (*run)(void);
} scenarios[] = {
    {"make_context", make_context},
    {"plan_and_run", plan_and_run},
    {"measure",      measure     },
    {"bench",        bench       },
    {"one_shots",    one_shots   },
    {"texts",        texts       },
    {"timing",       timing      },
    {"wisdom",       wisdom      },
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static void open_lab(wmPlace place) {
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = "";
    lab_open(place, &options);
    lab_now.ours = 2;
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].workspace = 500;
    lab_now.config[LAB_JUDGE].estimate = 1e-3;
    lab_now.context->device.l2_bytes = 4096; /* few copies and few repeats: each of them is a call that can fail */
    for (int i = 0; lab_now.fake && i < LAB_OURS + 2; i++) wm_fake_cost(lab_now.fake, &lab_now.config[i], 10e-6);
}

/* ---- Memory ---- */

static void memory_runs_out(void **unused) {
    (void)unused;
    for (wmPlace place = WM_PLACE_GPU; place <= WM_PLACE_CPU; place++) {
        for (int i = 0; i < SCENARIOS; i++) {
            long n = 1;
            for (;; n++) {
                open_lab(place);
                /* What the fake device holds for itself goes when it ends; the library's blocks go when the context
                 * does. */
                memory = (fault){n, ENOMEM, 0};
                wmStatus status = scenarios[i].run();
                int struck = memory.done;
                memory.at = 0;
                /* Measuring and learning fall back where they can: then the call succeeds. */
                if (status != WM_OK && !(struck && status == WM_ERR_MEMORY)) {
                    fail_msg("%s, allocation %ld: %s, %s", scenarios[i].name, n, wmStatusName(status), wmLastError());
                }
                if (scenarios[i].run() != WM_OK) fail_msg("%s after %ld: %s", scenarios[i].name, n, wmLastError());
                lab_close();
                if (place == WM_PLACE_GPU)
                    live = 0; /* the fake device's books; there leaks are the sanitizer's to find */
                if (live) fail_msg("%s, allocation %ld: %ld blocks leaked", scenarios[i].name, n, live);
                if (!struck) break;
            }
            assert_true(n > 1);
        }
    }
}

/* ---- The device ---- */

static void device_calls_fail(void **unused) {
    (void)unused;
    static const int errors[] = {WM_FAKE_INVALID_VALUE, WM_FAKE_OUT_OF_MEMORY};
    for (int i = 0; i < SCENARIOS; i++) {
        for (int e = 0; e < 2; e++) {
            for (long n = 1;; n++) {
                open_lab(WM_PLACE_GPU);
                wm_fake_fail_at(lab_now.fake, n, errors[e]);
                wmStatus status = scenarios[i].run();
                int struck = wm_fake_fail_done(lab_now.fake);
                wm_fake_fail_at(lab_now.fake, 0, 0);
                int right = struck && (status == WM_ERR_CUDA || status == WM_ERR_MEMORY ||
                                       (scenarios[i].run == make_context && status == WM_ERR_UNSUPPORTED));
                if (status != WM_OK && !right) {
                    fail_msg("%s, call %ld: %s, %s", scenarios[i].name, n, wmStatusName(status), wmLastError());
                }
                const wm_gpu *gpu = wm_fake_gpu(lab_now.fake);
                if (gpu->peek_error(gpu->self)) fail_msg("%s, call %ld: its error is pending", scenarios[i].name, n);
                if (scenarios[i].run() != WM_OK) fail_msg("%s after %ld: %s", scenarios[i].name, n, wmLastError());
                lab_close();
                if (live) fail_msg("%s, call %ld: %ld blocks leaked", scenarios[i].name, n, live);
                if (!struck) break;
            }
        }
    }
}

/* A fault that ends the device: every later call says so, and everything is freed all the same. */
static void device_is_lost(void **unused) {
    (void)unused;
    for (int i = 0; i < SCENARIOS; i++) {
        for (long n = 1;; n++) {
            open_lab(WM_PLACE_GPU);
            wm_fake_fail_at(lab_now.fake, n, WM_FAKE_ILLEGAL_ADDRESS);
            wmStatus status = scenarios[i].run();
            int struck = wm_fake_fail_done(lab_now.fake);
            wm_fake_fail_at(lab_now.fake, 0, 0);
            if (struck && status == WM_ERR_CUDA && scenarios[i].run != make_context) {
                assert_int_equal(wmLastCudaError(), WM_FAKE_ILLEGAL_ADDRESS);
                assert_int_equal(scenarios[i].run(), WM_ERR_STATE);
            }
            lab_close();
            if (live) fail_msg("%s, call %ld: %ld blocks leaked", scenarios[i].name, n, live);
            if (!struck) break;
        }
    }
}

/* ---- Files ---- */

static void files_fail(void **unused) {
    (void)unused;
    static const int errors[] = {EIO, ENOSPC, EACCES};
    for (int e = 0; e < 3; e++) {
        for (long n = 1;; n++) {
            open_lab(WM_PLACE_CPU);
            files = (fault){n, errors[e], 0};
            wmStatus status = wisdom();
            int struck = files.done;
            files.at = 0;
            if (status != WM_OK && !(struck && status == WM_ERR_IO)) {
                fail_msg("operation %ld: %s, %s", n, wmStatusName(status), wmLastError());
            }
            wmWisdomCount count;
            if (wmWisdomLoad(lab_now.context, path, &count) != WM_OK) fail_msg("after %ld: %s", n, wmLastError());
            assert_int_equal(count.skipped, 0); /* the old file or the new one, whole */
            assert_int_equal(count.used + count.other, 2);
            if (wisdom() != WM_OK) fail_msg("after %ld: %s", n, wmLastError());
            lab_close();
            if (live) fail_msg("operation %ld: %ld blocks leaked", n, live);
            if (!struck) break;
        }
    }
    for (long n = 1;; n++) { /* a context needs no wisdom file that can be read */
        open_lab(WM_PLACE_CPU);
        files = (fault){n, EIO, 0};
        assert_int_equal(make_context(), WM_OK);
        int struck = files.done;
        files.at = 0;
        lab_close();
        if (!struck) break;
    }
}

static int make_file(void **unused) {
    (void)unused;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/wisdom", folder);
    open_lab(WM_PLACE_CPU);
    for (int m = 1; m <= 2; m++) {
        char text[64];
        snprintf(text, sizeof text, "matmul f32 %dx2x2", m);
        wm_problem problem = lab_problem(text);
        wm_wisdom_learn(lab_now.context, &problem, lab_now.context->solvers[0], &(wm_offer){.seconds = 1}, 1e-3,
                        WM_MEASURE);
    }
    wmStatus status = wmWisdomSave(lab_now.context, path, NULL);
    lab_close();
    return status == WM_OK ? 0 : 1;
}

static int remove_file(void **unused) {
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    /* Where there is a GPU the CUDA runtime, which is linked in, keeps blocks from its first call to the process's end.
     */
    const char *why = NULL;
    (void)wm_gpu_cuda(&why);
    live = 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(device_calls_fail),
        cmocka_unit_test(device_is_lost),
        cmocka_unit_test(files_fail),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
