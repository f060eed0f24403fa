/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every device header compiles alone and without a warning under NVRTC, which has no system headers, and so do the toy
 * kernels, which use all of base.cuh. nvcc with -Wall -Wextra compiles the same as one file. None takes long. Skipped,
 * visibly, where the compiler at hand is missing.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { MAX_HEADERS = 96 };

/* The part of NVRTC's interface that is used here; the handle is an opaque pointer. */
typedef struct nvrtc {
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *texts,
                  const char *const *names);
    int (*compile)(void *program, int options, const char *const *option);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*destroy)(void **program);
} nvrtc;

static nvrtc rtc;
static char *names[MAX_HEADERS], *texts[MAX_HEADERS];
static int count, device_count; /* the device headers come first; then what they and toy.cu may include */

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    rewind(file);
    char *text = calloc((size_t)bytes + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
    fclose(file);
    return text;
}

static void add_header(const char *name, const char *path) {
    assert_true(count < MAX_HEADERS);
    names[count] = strdup(name);
    texts[count++] = read_text(path);
}

/* The files of include/`folder`. */
static void add_folder(const char *folder) {
    char name[512], path[1024];
    snprintf(path, sizeof path, WM_SOURCE_DIR "/include/%s", folder);
    DIR *open_folder = opendir(path);
    assert_non_null(open_folder);
    for (struct dirent *e; (e = readdir(open_folder));) { // NOLINT(concurrency-mt-unsafe)
        if (!strchr(e->d_name, '.') || e->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        snprintf(path, sizeof path, WM_SOURCE_DIR "/include/%s", name);
        add_header(name, path);
    }
    closedir(open_folder);
}

static void *load_nvrtc(void) {
    static const char *const paths[] = {"libnvrtc.so.13", WM_CUDA_LIBRARIES "/libnvrtc.so.13",
                                        "/usr/local/cuda/lib64/libnvrtc.so.13"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof paths / sizeof *paths && !library; i++) library = dlopen(paths[i], RTLD_NOW);
    return library;
}

static void must_find(void *library, const char *name, void *pointer) {
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(pointer, &symbol, sizeof symbol);
}

static int setup(void **state) {
    void *library = load_nvrtc();
    (void)state;
    add_folder("warpmath/device");
    device_count = count;
    add_folder("warpmath");
    add_header("toy.h", WM_SOURCE_DIR "/tests/simt/toy.h");
    add_header("device.h", WM_SOURCE_DIR "/tests/simt/device.h");
    if (!library) return 0;
    must_find(library, "nvrtcCreateProgram", (void *)&rtc.create);
    must_find(library, "nvrtcCompileProgram", (void *)&rtc.compile);
    must_find(library, "nvrtcGetProgramLogSize", (void *)&rtc.log_size);
    must_find(library, "nvrtcGetProgramLog", (void *)&rtc.log);
    must_find(library, "nvrtcDestroyProgram", (void *)&rtc.destroy);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < count; i++) free(names[i]), free(texts[i]);
    return 0;
}

static void compile(const char *source, const char *what, const char *architecture) {
    const char *options[] = {architecture, "-std=c++17"};
    void *program;
    size_t bytes;
    assert_int_equal(
        rtc.create(&program, source, "user.cu", count, (const char *const *)texts, (const char *const *)names), 0);
    int error = rtc.compile(program, 2, options);
    assert_int_equal(rtc.log_size(program, &bytes), 0);
    char *log = calloc(bytes + 1, 1);
    assert_int_equal(rtc.log(program, log), 0);
    if (*log) print_error("%s %s: %s\n", what, architecture, log); /* warnings are there, too */
    assert_int_equal(error, 0);
    assert_string_equal(log, "");
    free(log);
    rtc.destroy(&program);
}

static void each_header_by_nvrtc(void **state) {
    char source[512];
    (void)state;
    if (!rtc.create) {
        skip();
        return;
    }
    for (int i = 0; i < device_count; i++) {
        snprintf(source, sizeof source, "#include <%s>\n", names[i]);
        compile(source, names[i], "-arch=sm_90a");
        compile(source, names[i], "-arch=sm_80");
    }
}

static void kernels_by_nvrtc(void **state) {
    (void)state;
    if (!rtc.create) {
        skip();
        return;
    }
    static const char *const kernels[] = {"toy.cu", "device.cu", "device_long.cu"};
    for (int i = 0; i < 3; i++) {
        char path[1024];
        snprintf(path, sizeof path, WM_SOURCE_DIR "/tests/simt/%s", kernels[i]);
        char *source = read_text(path);
        compile(source, kernels[i], "-arch=sm_90a");
        compile(source, kernels[i], "-arch=sm_80");
        free(source);
    }
}

/* Seconds of processor time: this machine may be busy with other things. */
static double processor(int who) {
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double seconds_by_nvrtc(const char *header) {
    char source[512];
    double best = 1e9;
    snprintf(source, sizeof source, "%s%s%s\nextern \"C\" __global__ void f(int *p) { *p = 1; }\n",
             header ? "#include <" : "", header ? header : "", header ? ">" : "");
    for (int round = 0; round < 2; round++) {
        double before = processor(RUSAGE_SELF);
        compile(source, header ? header : "nothing", "-arch=sm_90a");
        double now = processor(RUSAGE_SELF) - before;
        if (now < best) best = now;
    }
    return best;
}

/* No header adds more than half a second to what a kernel takes to compile. */
static void quick_by_nvrtc(void **state) {
    (void)state;
    if (!rtc.create) {
        skip();
        return;
    }
    double nothing = seconds_by_nvrtc(NULL);
    for (int i = 0; i < device_count; i++) {
        double more = seconds_by_nvrtc(names[i]) - nothing;
        print_message("%-36s %.3f s\n", names[i], more);
        assert_false(!(more < 0.5));
    }
}

/* Compiles a file that includes the headers and, if `toy`, the toy kernels; returns the seconds. */
static double by_nvcc(int headers, int toy) {
    char file[] = "/tmp/warpmath_headers_XXXXXX.cu", command[2048];
    FILE *f = fdopen(mkstemps(file, 3), "w");
    assert_non_null(f);
    for (int i = 0; i < headers; i++) fprintf(f, "#include <%s>\n", names[i]);
    if (toy) fprintf(f, "#include \"%s/tests/simt/toy.cu\"\n", WM_SOURCE_DIR);
    fprintf(f, "extern \"C\" __global__ void f(int *p) { *p = 1; }\n");
    fclose(f);
    double before = processor(RUSAGE_CHILDREN);
    snprintf(command, sizeof command,
             "'%s' -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xcompiler -Wall,-Wextra -Werror all-warnings "
             "-I '%s/include' -c -o /dev/null %s",
             WM_NVCC, WM_SOURCE_DIR, file);
    int status = system(command); // NOLINT(concurrency-mt-unsafe)
    remove(file);
    assert_int_equal(status, 0);
    return processor(RUSAGE_CHILDREN) - before;
}

/* All of them together add less than a second. */
static void all_by_nvcc(void **state) {
    (void)state;
    if (!*WM_NVCC) skip();
    by_nvcc(device_count, 1);
    double more = by_nvcc(device_count, 0) - by_nvcc(0, 0);
    print_message("all headers by nvcc: %.2f s more than none\n", more);
    assert_false(!(more < 1.0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_header_by_nvrtc),
        cmocka_unit_test(kernels_by_nvrtc),
        cmocka_unit_test(quick_by_nvrtc),
        cmocka_unit_test(all_by_nvcc),
    };
    return cmocka_run_group_tests_name("device headers", tests, setup, teardown);
}
