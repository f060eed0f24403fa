/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels compiled at plan time: NVRTC as far as the cubin, which needs no GPU, and the fake device from there; the
 * disk cache under damage; failures of every device call. Compiling is skipped, visibly, where there is no NVRTC.
 */
#include "engine_lab.h"
#include "host/fft_cut.h"
#include "host/nvrtc.h"
#include "lib/jit_file.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/warpmath_jit_XXXXXX"; /* WARPMATH_CACHE_DIR of this test */
static char kernels[64];                           /* where it keeps cubins */

static const char source[] = "#include <warpmath/device/base.cuh>\n"
                             "typedef struct job { float *x; int n; } job;\n"
                             "WM_KERNEL triple(WM_PARAMS(job)) {\n"
                             "    for (wm_i64 i = wm_grid_first(); i < p.n; i += wm_grid_step()) p.x[i] *= FACTOR;\n"
                             "}\n";

static wm_jit_request request_of(const char *factor) {
    return (wm_jit_request){.solver = "test", .source = source, .kernel = "triple", .options = {factor}, .shared = 0};
}

static int absent(void) {
    const char *why = NULL;
    if (wm_jit_ready(NULL, &why)) return 0;
    print_message("not run: %s\n", why);
    return 1;
}

/* ---- Files ---- */

static int each_file(void (*visit)(const char *path)) {
    int count = 0;
    DIR *open_folder = opendir(kernels);
    if (!open_folder) return 0;
    for (struct dirent *e; (e = readdir(open_folder));) { // NOLINT(concurrency-mt-unsafe)
        char path[512];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", kernels, e->d_name);
        if (visit) visit(path);
        count++;
    }
    closedir(open_folder);
    return count;
}

static void delete_file(const char *path) {
    assert_int_equal(unlink(path), 0);
}

static long damage_at; /* byte to flip; negative: cut so much off the end */

static void damage_file(const char *path) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long bytes = ftell(file);
    if (damage_at < 0) {
        assert_int_equal(ftruncate(fileno(file), bytes + damage_at), 0);
    } else {
        assert_int_equal(fseek(file, damage_at % bytes, SEEK_SET), 0);
        int c = fgetc(file);
        assert_int_equal(fseek(file, damage_at % bytes, SEEK_SET), 0);
        assert_int_equal(fputc(c ^ 1, file), c ^ 1);
    }
    assert_int_equal(fclose(file), 0);
}

static void open_to_all(const char *path) {
    assert_int_equal(chmod(path, 0666), 0);
}

static void give_away(const char *path) {
    assert_int_equal(chown(path, 12345, 12345), 0);
}

static void make_link(const char *path) {
    char other[1024];
    snprintf(other, sizeof other, "%s/elsewhere", folder);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
}

static void files_keep_bytes(void **state) {
    (void)state;
    wm_jit_key key = {1, 2}, other = {1, 3};
    unsigned char data[1000];
    size_t bytes = 0;
    for (int i = 0; i < 1000; i++) data[i] = (unsigned char)(i * 7);
    each_file(delete_file);
    assert_null(wm_jit_file_read(kernels, key, &bytes));
    wm_jit_file_write(kernels, key, data, sizeof data);
    void *back = wm_jit_file_read(kernels, key, &bytes);
    assert_non_null(back);
    assert_int_equal(bytes, sizeof data);
    assert_memory_equal(back, data, bytes);
    free(back);
    assert_null(wm_jit_file_read(kernels, other, &bytes));
    /* Under another key's name it is not taken. */
    char from[256], to[256];
    snprintf(from, sizeof from, "%s/%016x%016x.cubin", kernels, 1, 2);
    snprintf(to, sizeof to, "%s/%016x%016x.cubin", kernels, 1, 3);
    assert_int_equal(rename(from, to), 0);
    assert_null(wm_jit_file_read(kernels, other, &bytes));
    wm_jit_file_write("", key, data, sizeof data); /* no folder, no file */
    assert_null(wm_jit_file_read("", key, &bytes));
    wm_jit_file_write("/proc/none", key, data, sizeof data);
}

static void damaged_files_are_absent(void **state) {
    (void)state;
    wm_jit_key key = {5, 6};
    unsigned char data[300] = {9};
    size_t bytes = 0;
    for (damage_at = -320; damage_at < 340; damage_at += damage_at < 0 ? 40 : 1) {
        each_file(delete_file);
        wm_jit_file_write(kernels, key, data, sizeof data);
        if (damage_at == 0) damage_at = 1;
        each_file(damage_file);
        if (wm_jit_file_read(kernels, key, &bytes)) fail_msg("damage at %ld was taken", damage_at);
    }
    void (*const spoil[])(const char *) = {open_to_all, make_link};
    for (int i = 0; i < 2; i++) {
        each_file(delete_file);
        wm_jit_file_write(kernels, key, data, sizeof data);
        each_file(spoil[i]);
        assert_null(wm_jit_file_read(kernels, key, &bytes));
    }
    if (geteuid() == 0) { /* only root can make another's file */
        each_file(delete_file);
        wm_jit_file_write(kernels, key, data, sizeof data);
        each_file(give_away);
        assert_null(wm_jit_file_read(kernels, key, &bytes));
    }
    each_file(delete_file);
    wm_jit_file_write(kernels, key, data, sizeof data);
    assert_int_equal(chmod(kernels, 0777), 0);
    assert_null(wm_jit_file_read(kernels, key, &bytes));
    assert_int_equal(chmod(kernels, 0700), 0);
}

static void old_files_make_room(void **state) {
    (void)state;
    unsigned char data[8] = {1};
    size_t bytes = 0;
    each_file(delete_file);
    for (int i = 0; i < WM_JIT_FILES + 20; i++) wm_jit_file_write(kernels, (wm_jit_key){7, (uint64_t)i}, data, 8);
    assert_int_equal(each_file(NULL), WM_JIT_FILES);
    void *newest = wm_jit_file_read(kernels, (wm_jit_key){7, WM_JIT_FILES + 19}, &bytes);
    assert_non_null(newest);
    free(newest);
    each_file(delete_file);
}

/* ---- The compiler ---- */

static void compiles_once(void **state) {
    (void)state;
    if (absent()) skip();
    each_file(delete_file);
    wm_jit_kernel *a = NULL, *b = NULL, *c = NULL;
    wm_jit_request three = request_of("-DFACTOR=3"), four = request_of("-DFACTOR=4");
    lab_open(WM_PLACE_GPU, NULL);
    wm_jit *jit = &lab_now.context->jit;
    assert_int_equal(wm_jit_get(lab_now.context, &three, &a), WM_OK);
    assert_int_equal(wm_jit_get(lab_now.context, &three, &b), WM_OK);
    assert_int_equal(wm_jit_get(lab_now.context, &four, &c), WM_OK);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal(jit->compiled, 2);
    assert_int_equal(wm_fake_live(lab_now.fake).modules, 2);
    assert_int_equal(each_file(NULL), 2);
    wm_jit_put(lab_now.context, a);
    wm_jit_put(lab_now.context, b);
    wm_jit_put(lab_now.context, c);
    wm_jit_put(lab_now.context, NULL);
    lab_close();
    /* The next context finds both on disk; a damaged file is compiled again, and replaced. */
    for (int damaged = 0; damaged < 3; damaged++) {
        damage_at = 100;
        if (damaged == 1) each_file(damage_file);
        lab_open(WM_PLACE_GPU, NULL);
        assert_int_equal(wm_jit_get(lab_now.context, &three, &a), WM_OK);
        assert_int_equal(wm_jit_get(lab_now.context, &four, &c), WM_OK);
        assert_int_equal(lab_now.context->jit.compiled, damaged == 1 ? 2 : 0);
        wm_jit_put(lab_now.context, a);
        wm_jit_put(lab_now.context, c);
        lab_close();
    }
}

static void architectures(void **state) {
    (void)state;
    if (absent()) skip();
    wm_jit_request r = request_of("-DFACTOR=5");
    void *cubin = NULL;
    size_t bytes = 0;
    lab_open(WM_PLACE_GPU, NULL);
    static const int sm[] = {80, 90, 100};
    for (int i = 0; i < 3; i++) {
        if (wm_jit_cubin(lab_now.context, &r, sm[i], &cubin, &bytes) != WM_OK) fail_msg("%s", wmLastError());
        assert_memory_equal(cubin, "\177ELF", 4);
        free(cubin);
    }
    assert_int_equal(wm_jit_cubin(lab_now.context, &r, 12, &cubin, &bytes), WM_ERR_UNSUPPORTED);
    lab_said("test");
    lab_close();
}

/* The public headers of random numbers from those that the library carries: a gamma, a Poisson count. */
static void random_headers(void **state) {
    static const char *const options[2][8] = {
        {"-DWM_CIPHER=2", "-DWM_CIPHER_DISTRIBUTION=12", "-DWM_CIPHER_FAMILY=1", "-DWM_CIPHER_TYPE=256",
         "-DWM_CIPHER_BYTES=4", "-DWM_CIPHER_COUNTS=0", "-default-device", NULL},
        {"-DWM_CIPHER=4", "-DWM_CIPHER_DISTRIBUTION=9",  "-DWM_CIPHER_FAMILY=2", "-DWM_CIPHER_TYPE=264",
         "-DWM_CIPHER_BYTES=4", "-DWM_CIPHER_COUNTS=1", "-default-device", NULL}
    };
    (void)state;
    if (absent()) skip();
    lab_open(WM_PLACE_GPU, NULL);
    for (int k = 0; k < 2; k++) {
        wm_jit_request r = {.solver = "random_cipher",
                            .source = "#include <device/random_cipher.cuh>\n",
                            .kernel = k ? "wm_random_cipher_counts" : "wm_random_cipher_draw"};
        void *cubin = NULL;
        size_t bytes = 0;
        memcpy(r.options, options[k], sizeof options[k]);
        if (wm_jit_cubin(lab_now.context, &r, 90, &cubin, &bytes) != WM_OK) fail_msg("%s", wmLastError());
        assert_true(bytes > 0);
        free(cubin);
    }
    lab_close();
}

/* What is compiled at plan time of the library's own also compiles for the oldest GPU that it serves. */
static void transforms_for_sm80(void **state) {
    (void)state;
    if (absent()) skip();
    static const char *const texts[] = {"fft c2c f32 1000", "fft r2c f64 96", "fft c2r f32 97"};
    lab_open(WM_PLACE_GPU, NULL);
    for (int i = 0; i < 3; i++) {
        wm_problem problem;
        wm_fft_knobs knobs[WM_FFT_MOST_CUTS];
        wm_fft_cut cut;
        wm_why why = {{0}};
        char text[1024];
        void *cubin = NULL;
        size_t bytes = 0;
        assert_int_equal(wm_problem_parse(&problem, texts[i], WM_PLACE_GPU), WM_OK);
        assert_true(wm_fft_cut_variants(&problem.u.fft, 163 << 10, knobs, &why) > 0);
        wm_fft_cut_make(&problem.u.fft, &knobs[0], &cut);
        wm_fft_cut_source(&cut, text, sizeof text);
        wm_jit_request r = {.solver = "fft_block", .source = text, .kernel = "wm_fft_block_kernel"};
        if (wm_jit_cubin(lab_now.context, &r, 80, &cubin, &bytes) != WM_OK) fail_msg("%s: %s", texts[i], wmLastError());
        free(cubin);
    }
    lab_close();
}

static void bad_sources_are_refused(void **state) {
    (void)state;
    if (absent()) skip();
    wm_jit_kernel *kernel = NULL;
    wm_jit_request r = request_of("-DFACTOR=nonsense");
    lab_open(WM_PLACE_GPU, NULL);
    assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_ERR_UNSUPPORTED);
    assert_null(kernel);
    lab_said("nonsense");
    r.options[0] = "--no-such-option";
    assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_ERR_UNSUPPORTED);
    r = request_of("-DFACTOR=1");
    r.source = "#include <stdio.h>\n";
    assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_ERR_UNSUPPORTED);
    r = request_of("-DFACTOR=1");
    r.shared = 1 << 20; /* more than a block can have */
    assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_ERR_CUDA);
    assert_null(kernel);
    lab_close();
}

static void turned_off(void **state) {
    (void)state;
    const char *why = NULL;
    wm_jit_kernel *kernel = NULL;
    wm_jit_request r = request_of("-DFACTOR=6");
    lab_open(WM_PLACE_GPU, NULL);
    assert_int_equal(setenv("WARPMATH_JIT", "0", 1), 0); // NOLINT(concurrency-mt-unsafe)
    assert_int_equal(wm_jit_ready(NULL, &why), 0);
    assert_non_null(strstr(why, "WARPMATH_JIT"));
    assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_ERR_UNSUPPORTED);
    assert_int_equal(wm_jit_ready(&why, &why), 1); /* the emulation's own kernels are not compiled */
    assert_int_equal(unsetenv("WARPMATH_JIT"), 0); // NOLINT(concurrency-mt-unsafe)
    lab_close();
    lab_open(WM_PLACE_CPU, NULL);
    assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_ERR_UNSUPPORTED);
    lab_close();
}

/* ---- Devices that fail, many kernels, many threads ---- */

static void each_call_fails(void **state) {
    (void)state;
    if (absent()) skip();
    static const int errors[] = {2, 1, 999};
    for (int e = 0; e < 3; e++) {
        for (long n = 1;; n++) {
            wm_jit_kernel *kernel = NULL;
            wm_jit_request r = request_of("-DFACTOR=3");
            lab_open(WM_PLACE_GPU, NULL);
            wm_fake_fail_at(lab_now.fake, n, errors[e]);
            wmStatus status = wm_jit_get(lab_now.context, &r, &kernel);
            int failed = wm_fake_fail_done(lab_now.fake);
            wm_fake_fail_at(lab_now.fake, 0, 0);
            assert_int_equal(status, !failed ? WM_OK : errors[e] == 2 ? WM_ERR_MEMORY : WM_ERR_CUDA);
            assert_int_equal(kernel != NULL, !failed);
            if (failed) assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_OK); /* and then it works */
            wm_jit_put(lab_now.context, kernel);
            wm_fake *fake = lab_now.fake;
            assert_int_equal(wm_fake_live(fake).modules, 1);
            lab_close();
            if (!failed) break;
        }
    }
}

/** Idle kernels are unloaded, but not those in use, and none while a stream captures. */
static void idle_kernels_are_bounded(void **state) {
    (void)state;
    if (absent()) skip();
    enum { MANY = 40, IDLE = 16 };
    wm_jit_kernel *used = NULL, *kernel = NULL;
    lab_open(WM_PLACE_GPU, NULL);
    wm_jit_request r = request_of("-DFACTOR=3");
    assert_int_equal(wm_jit_get(lab_now.context, &r, &used), WM_OK);
    const void *handle = wm_jit_handle(used);
    lab_now.context->jit.most_idle = IDLE;
    for (int i = 0; i < MANY; i++) {
        char text[128];
        snprintf(text, sizeof text, "extern \"C\" __global__ void triple(int) {}\n// %d\n", i);
        r.source = text;
        assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_OK);
        wm_jit_put(lab_now.context, kernel);
    }
    int modules = wm_fake_live(lab_now.fake).modules;
    assert_true(modules >= IDLE / 2 && modules <= IDLE + 2);
    r = request_of("-DFACTOR=3");
    assert_int_equal(wm_jit_get(lab_now.context, &r, &kernel), WM_OK);
    assert_ptr_equal(wm_jit_handle(kernel), handle);
    wm_jit_put(lab_now.context, kernel);
    wm_jit_put(lab_now.context, used);
    lab_close();
}

static void *ask_often(void *user) {
    static const char *const factors[] = {"-DFACTOR=3", "-DFACTOR=4", "-DFACTOR=5"};
    int bad = 0;
    (void)user;
    for (int i = 0; i < 300; i++) {
        wm_jit_kernel *kernel = NULL;
        wm_jit_request r = request_of(factors[i % 3]);
        if (wm_jit_get(lab_now.context, &r, &kernel) != WM_OK || !wm_jit_handle(kernel)) bad++;
        wm_jit_put(lab_now.context, kernel);
    }
    return bad ? (void *)1 : NULL;
}

static void many_threads(void **state) {
    (void)state;
    if (absent()) skip();
    each_file(delete_file);
    pthread_t threads[16];
    lab_open(WM_PLACE_GPU, NULL);
    for (int i = 0; i < 16; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask_often, NULL), 0);
    for (int i = 0; i < 16; i++) {
        void *bad = NULL;
        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
    }
    assert_int_equal(lab_now.context->jit.compiled, 3);
    assert_int_equal(wm_fake_live(lab_now.fake).modules, 3);
    lab_close();
}

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(kernels, sizeof kernels, "%s/kernels", folder);
    return setenv("WARPMATH_CACHE_DIR", folder, 1); // NOLINT(concurrency-mt-unsafe)
}

static int teardown(void **state) {
    char other[64];
    (void)state;
    each_file(delete_file);
    snprintf(other, sizeof other, "%s/elsewhere", folder);
    (void)unlink(other);
    (void)rmdir(kernels);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_keep_bytes),
        cmocka_unit_test(damaged_files_are_absent),
        cmocka_unit_test(old_files_make_room),
        cmocka_unit_test(compiles_once),
        cmocka_unit_test(architectures),
        cmocka_unit_test(random_headers),
        cmocka_unit_test(transforms_for_sm80),
        cmocka_unit_test(bad_sources_are_refused),
        cmocka_unit_test(turned_off),
        cmocka_unit_test(each_call_fails),
        cmocka_unit_test(idle_kernels_are_bounded),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests_name("run-time compilation", tests, setup, teardown);
}
