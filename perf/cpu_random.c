/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers on one core: ours beside libcurand's Philox for the CPU, in GB a second of processor time, the best of
 * some rounds over a buffer of 1 MiB. CSV.
 *
 *     cc -O2 -D_GNU_SOURCE -Iinclude perf/cpu_random.c build/dev/libwarpmath.a -ldl -lm -lpthread -o cpu_random
 *     python3 perf/cpu_random.py >> the CSV            NumPy's default generator, likewise
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <warpmath/warpmath.h>

enum { BYTES = 1 << 20, CALLS = 40, ROUNDS = 9, PHILOX4_32_10 = 161 };

typedef struct generator *generator;

static double spent(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *buffer;
static void *library;
static generator theirs;

static void *symbol(const char *name) {
    return library ? dlsym(library, name) : NULL;
}

static void draw_theirs(int call) {
    static int (*bits)(generator, unsigned *, size_t), (*uniform)(generator, float *, size_t);
    static int (*normal)(generator, float *, size_t, float, float), (*uniform64)(generator, double *, size_t);
    static int (*normal64)(generator, double *, size_t, double, double);
    if (!bits) {
        *(void **)&bits = symbol("curandGenerate");
        *(void **)&uniform = symbol("curandGenerateUniform");
        *(void **)&normal = symbol("curandGenerateNormal");
        *(void **)&uniform64 = symbol("curandGenerateUniformDouble");
        *(void **)&normal64 = symbol("curandGenerateNormalDouble");
    }
    if (call == 0) bits(theirs, buffer, BYTES / 4);
    if (call == 1) uniform(theirs, buffer, BYTES / 4);
    if (call == 2) normal(theirs, buffer, BYTES / 4, 0, 1);
    if (call == 3) uniform64(theirs, buffer, BYTES / 8);
    if (call == 4) normal64(theirs, buffer, BYTES / 8, 0, 1);
}

static void open_theirs(void) {
    int (*create)(generator *, int) = NULL;
    library = dlopen("libcurand.so.10", RTLD_NOW);
    if (!library) library = dlopen("/usr/local/cuda/lib64/libcurand.so.10", RTLD_NOW);
    *(void **)&create = symbol("curandCreateGeneratorHost");
    if (create) create(&theirs, PHILOX4_32_10);
}

/* GB a second; plan NULL: cuRAND's call. */
static double rate(const wmPlan *plan, int64_t element, int call) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double began = spent();
        for (int i = 0; i < CALLS; i++) {
            wmRandomArgs args = wmRandomArgsDefault(buffer, BYTES / element, wmRandomKeyMake(7));
            args.offset = (uint64_t)i * BYTES;
            if (!plan)
                draw_theirs(call);
            else if (wmRandomExecute(plan, &args, NULL) != WM_OK)
                exit(1);
        }
        double seconds = spent() - began;
        if (seconds < best) best = seconds;
    }
    return 1e-9 * BYTES * CALLS / best;
}

int main(void) {
    static const struct {
        const char *problem;
        int call;
    } classes[] = {
        {"random bits u32",                                     0 },
        {"random bits u64",                                     -1},
        {"random uniform f32",                                  1 },
        {"random uniform f64",                                  3 },
        {"random normal f32",                                   2 },
        {"random normal f64",                                   4 },
        {"random bits u32 gen=philox4x32-7",                    -1},
        {"random bits u64 gen=philox4x64-10",                   -1},
        {"random bits u32 gen=threefry2x32-20",                 -1},
        {"random bits u64 gen=threefry4x64-20",                 -1},
        {"random bits u32 seq=curand",                          0 },
        {"random uniform f32 seq=curand",                       1 },
        {"random uniform f64 seq=curand",                       3 },
        {"random bits u32 gen=sobol32 dims=8",                  -1},
        {"random uniform f64 gen=sobol64 dims=8 scramble=owen", -1},
    };
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    options.cpu_threads = 1;
    buffer = aligned_alloc(64, BYTES);
    if (!buffer || wmContextCreate(&context, &options) != WM_OK) return 1;
    open_theirs();
    printf("class,GB_s,curand_cpu_GB_s\n");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        wmPlan *plan = NULL;
        if (wmPlanCreate(&plan, context, classes[i].problem, NULL) != WM_OK) return 1;
        int64_t element = strstr(classes[i].problem, " u64") || strstr(classes[i].problem, " f64") ? 8 : 4;
        printf("%s,%.2f", classes[i].problem, rate(plan, element, 0));
        if (theirs && classes[i].call >= 0)
            printf(",%.2f\n", rate(NULL, element, classes[i].call));
        else
            printf(",\n");
        fflush(stdout);
        wmPlanDestroy(plan);
    }
    free(buffer);
    wmContextDestroy(context);
    return 0;
}
