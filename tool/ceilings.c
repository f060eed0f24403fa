/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpmath bench --ceilings. On the GPU, copies and memset are the driver's; the rest are small kernels, compiled when
 * they are wanted: sums over memory, chains of independent multiply-adds, wgmma on shared memory that never changes.
 */
#include "ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/context_internal.h"
#include "lib/json.h"
#include "lib/parallel.h"

#include "fail.h"
#include "session.h"
#include "table.h"

enum { BYTES = 512 << 20, TRIES = 9, NODES = 200 };

/* ---- Kernels ---- */

/* The result is written only where it cannot be: so the work is not optimised away. */
static const char source[] =
    "#include <warpmath/device/base.cuh>\n"
    "#if WM_CEILING == 4\n"
    "#include <warpmath/device/tma.cuh>\n"
    "#include <warpmath/device/wgmma.cuh>\n"
    "#endif\n"
    "typedef struct job { float4 *data; wm_i64 count; int rounds; } job;\n"
    "WM_KERNEL ceiling(WM_PARAMS(job)) {\n"
    "#if WM_CEILING == 1\n"
    "    float sum = 0;\n"
    "    wm_i64 step = wm_grid_step();\n"
    "    for (wm_i64 i = wm_grid_first(); i < p.count; i += 4 * step) {\n"
    "        float4 v[4];\n"
    "        WM_UNROLL for (int j = 0; j < 4; j++) v[j] = i + j * step < p.count ? p.data[i + j * step] : float4{};\n"
    "        WM_UNROLL for (int j = 0; j < 4; j++) sum += v[j].x + v[j].y + v[j].z + v[j].w;\n"
    "    }\n"
    "    if (sum == 1.2345e-30f) p.data[0].x = sum;\n"
    "#elif WM_CEILING == 2 || WM_CEILING == 3\n"
    "    typedef WM_CEILING_TYPE number;\n"
    "    number x[8], a = (number)1.0000001, b = (number)threadIdx.x;\n"
    "    WM_UNROLL for (int j = 0; j < 8; j++) x[j] = (number)j;\n"
    "    for (int r = 0; r < p.rounds; r++)\n"
    "        WM_UNROLL for (int k = 0; k < 8; k++)\n"
    "            WM_UNROLL for (int j = 0; j < 8; j++) x[j] = x[j] * a + b;\n"
    "    number sum = 0;\n"
    "    WM_UNROLL for (int j = 0; j < 8; j++) sum += x[j];\n"
    "    if (sum == (number)1.2345e-30) p.data[0].x = (float)sum;\n"
    "#elif WM_CEILING == 4\n"
    "    __shared__ alignas(1024) wm_u32 words[10240];\n"
    "    for (int i = (int)threadIdx.x; i < 10240; i += (int)blockDim.x)\n"
    "        words[i] = 0x3f003f00u | ((wm_u32)i * 2654435761u & 0x807f807fu);\n"
    "    wm_async_fence();\n"
    "    __syncthreads();\n"
    "    float sum[128] = {};\n"
    "    wm_u64 a = wm_wgmma_operand<0>(words), b = wm_wgmma_operand<0>(words + 2048);\n"
    "    for (int r = 0; r < p.rounds; r++) {\n"
    "        wm_wgmma_fence();\n"
    "        WM_UNROLL for (int k = 0; k < 16; k++)\n"
    "            wm_wgmma_bf16<0, 0>(sum, a + k % 4 * wm_wgmma_k16<0>(), b + k % 4 * wm_wgmma_k16<0>(), 1);\n"
    "        wm_wgmma_commit();\n"
    "        wm_wgmma_wait<0>();\n"
    "        wm_wgmma_settle(sum);\n"
    "    }\n"
    "    float all = 0;\n"
    "    WM_UNROLL for (int j = 0; j < 128; j++) all += sum[j];\n"
    "    if (all == 1.2345e-30f) p.data[0].x = all;\n"
    "#endif\n"
    "}\n";

typedef enum kind { NOTHING, READ, FMA32, FMA64, TENSOR } kind;

typedef struct job {
    void *data;
    int64_t count;
    int rounds;
} job;

typedef struct bench {
    wmContext *context;
    const wm_gpu *gpu;
    wmStream stream;
    wm_event from, to;
    char *memory;
    wm_jit_kernel *kernel[TENSOR + 1];
} bench;

static wmStatus compile(bench *b, kind which) {
    static const char *const numbers[] = {"-DWM_CEILING=0", "-DWM_CEILING=1", "-DWM_CEILING=2", "-DWM_CEILING=3",
                                          "-DWM_CEILING=4"};
    wm_jit_request request = {.solver = "ceilings", .source = source, .kernel = "ceiling", .options = {numbers[which]}};
    if (which == FMA32) request.options[1] = "-DWM_CEILING_TYPE=float";
    if (which == FMA64) request.options[1] = "-DWM_CEILING_TYPE=double";
    return wm_jit_get(b->context, &request, &b->kernel[which]);
}

static wmStatus launch(const bench *b, kind which, unsigned grid, unsigned block, const job *work) {
    const wm_launch launch = {
        .kernel = wm_jit_handle(b->kernel[which]),
        .grid = {grid,  1, 1},
        .block = {block, 1, 1},
        .params = work,
        .params_bytes = sizeof *work
    };
    return wm_launch_kernel(b->context, "ceilings", &launch, b->stream);
}

/* ---- Timing on the GPU ---- */

typedef wmStatus (*enqueue)(const bench *b);

static wmStatus check(const bench *b, int error, const char *call) {
    return wm_gpu_check(b->gpu, error, call);
}

/* The median of a few runs, after one that warms up. */
static wmStatus time_of(const bench *b, enqueue work, double *seconds) {
    double sample[TRIES];
    const wm_gpu *gpu = b->gpu;
    for (int i = -2; i < TRIES; i++) {
        double taken = 0;
        WM_TRY(check(b, gpu->event_record(gpu->self, b->from, b->stream), "cudaEventRecord"));
        WM_TRY(work(b));
        WM_TRY(check(b, gpu->event_record(gpu->self, b->to, b->stream), "cudaEventRecord"));
        WM_TRY(check(b, gpu->event_wait(gpu->self, b->to), "a ceiling's kernel"));
        WM_TRY(check(b, gpu->event_seconds(gpu->self, b->from, b->to, &taken), "cudaEventElapsedTime"));
        if (i >= 0) sample[i] = taken;
    }
    for (int i = 1; i < TRIES; i++) {
        double value = sample[i];
        int at = i;
        for (; at > 0 && sample[at - 1] > value; at--) sample[at] = sample[at - 1];
        sample[at] = value;
    }
    *seconds = sample[TRIES / 2];
    return WM_OK;
}

static wmStatus do_copy(const bench *b) {
    return check(b, b->gpu->copy(b->gpu->self, b->memory, b->memory + BYTES / 2, BYTES / 2, b->stream),
                 "cudaMemcpyAsync");
}

static wmStatus do_write(const bench *b) {
    return check(b, b->gpu->set(b->gpu->self, b->memory, 7, BYTES, b->stream), "cudaMemsetAsync");
}

static wmStatus do_read(const bench *b) {
    const job work = {b->memory, BYTES / 16, 0};
    return launch(b, READ, 8 * (unsigned)b->context->device.multiprocessors, 512, &work);
}

enum { ROUNDS = 2000, TENSOR_ROUNDS = 400, FMA_BLOCKS = 4, FMA_THREADS = 512, TENSOR_THREADS = 256 };

static wmStatus do_f32(const bench *b) {
    const job work = {b->memory, 0, ROUNDS};
    return launch(b, FMA32, FMA_BLOCKS * (unsigned)b->context->device.multiprocessors, FMA_THREADS, &work);
}

static wmStatus do_f64(const bench *b) {
    const job work = {b->memory, 0, ROUNDS / 4};
    return launch(b, FMA64, FMA_BLOCKS * (unsigned)b->context->device.multiprocessors, FMA_THREADS, &work);
}

static wmStatus do_tensor(const bench *b) {
    const job work = {b->memory, 0, TENSOR_ROUNDS};
    return launch(b, TENSOR, (unsigned)b->context->device.multiprocessors, TENSOR_THREADS, &work);
}

static wmStatus do_launches(const bench *b) {
    const job work = {b->memory, 0, 0};
    for (int i = 0; i < NODES; i++) WM_TRY(launch(b, NOTHING, 1, 32, &work));
    return WM_OK;
}

static wmStatus time_graph(const bench *b, double *seconds) {
    const wm_gpu *gpu = b->gpu;
    wmGraph graph = NULL;
    void *replay = NULL;
    double best = INFINITY;
    WM_TRY(check(b, gpu->capture_begin(gpu->self, b->stream), "cudaStreamBeginCapture"));
    wmStatus status = do_launches(b);
    int error = gpu->capture_end(gpu->self, b->stream, &graph);
    if (status == WM_OK) status = check(b, error, "cudaStreamEndCapture");
    if (status == WM_OK) status = check(b, gpu->graph_instantiate(gpu->self, graph, &replay), "cudaGraphInstantiate");
    for (int i = 0; status == WM_OK && i < TRIES; i++) {
        double taken = 0;
        status = check(b, gpu->event_record(gpu->self, b->from, b->stream), "cudaEventRecord");
        if (status == WM_OK) status = check(b, gpu->graph_launch(gpu->self, replay, b->stream), "cudaGraphLaunch");
        if (status == WM_OK) status = check(b, gpu->event_record(gpu->self, b->to, b->stream), "cudaEventRecord");
        if (status == WM_OK) status = check(b, gpu->event_wait(gpu->self, b->to), "a graph of empty kernels");
        if (status == WM_OK)
            status = check(b, gpu->event_seconds(gpu->self, b->from, b->to, &taken), "cudaEventElapsedTime");
        if (taken < best) best = taken;
    }
    *seconds = best;
    (void)gpu->graph_destroy(gpu->self, graph, replay);
    return status;
}

static wmStatus measure_kernels(bench *b, wm_ceilings *out) {
    double seconds = 0, threads = (double)FMA_BLOCKS * b->context->device.multiprocessors * FMA_THREADS;
    const char *why = NULL;
    if (!wm_jit_ready(NULL, &why)) return WM_OK; /* the memory's figures are there all the same */
    for (kind k = NOTHING; k <= FMA64; k++) WM_TRY(compile(b, k));
    WM_TRY(time_of(b, do_read, &seconds));
    out->read = BYTES / seconds;
    WM_TRY(time_of(b, do_f32, &seconds));
    out->f32 = threads * ROUNDS * 64 * 2 / seconds;
    WM_TRY(time_of(b, do_f64, &seconds));
    out->f64 = threads * 0.25 * ROUNDS * 64 * 2 / seconds;
    WM_TRY(time_of(b, do_launches, &seconds));
    out->launch = seconds / NODES;
    WM_TRY(time_graph(b, &seconds));
    out->graph_launch = seconds / NODES;
    if (b->context->device.sm != 90) return WM_OK;
    WM_TRY(compile(b, TENSOR));
    WM_TRY(time_of(b, do_tensor, &seconds));
    double groups = b->context->device.multiprocessors * TENSOR_THREADS / 128.0;
    out->tensor = groups * TENSOR_ROUNDS * 16 * (2.0 * 64 * 256 * 16) / seconds;
    return WM_OK;
}

static wmStatus measure_memory(const bench *b, wm_ceilings *out) {
    double seconds = 0;
    WM_TRY(time_of(b, do_write, &seconds));
    out->write = BYTES / seconds;
    WM_TRY(time_of(b, do_copy, &seconds));
    out->copy = BYTES / seconds;
    return WM_OK;
}

static wmStatus measure_gpu(wmContext *context, wm_ceilings *out) {
    bench b = {.context = context, .gpu = context->gpu};
    void *memory = NULL;
    WM_TRY(wmAlloc(&memory, context, BYTES));
    b.memory = (char *)memory;
    wmStatus status = check(&b, b.gpu->stream_create(b.gpu->self, &b.stream), "cudaStreamCreate");
    if (status == WM_OK) status = check(&b, b.gpu->event_create(b.gpu->self, &b.from), "cudaEventCreate");
    if (status == WM_OK) status = check(&b, b.gpu->event_create(b.gpu->self, &b.to), "cudaEventCreate");
    if (status == WM_OK) status = measure_memory(&b, out);
    if (status == WM_OK) status = measure_kernels(&b, out);
    for (int i = 0; i <= TENSOR; i++) wm_jit_put(context, b.kernel[i]);
    if (b.from) (void)b.gpu->event_destroy(b.gpu->self, b.from);
    if (b.to) (void)b.gpu->event_destroy(b.gpu->self, b.to);
    if (b.stream) (void)b.gpu->stream_destroy(b.gpu->self, b.stream);
    wmFree(context, memory);
    return status;
}

/* ---- The CPU ---- */

enum { HOST_BYTES = 256 << 20 };

static void host_copy(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    memcpy((char *)user + from, (char *)user + HOST_BYTES / 2 + from, (size_t)(to - from));
}

static void host_write(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    memset((char *)user + from, 7, (size_t)(to - from));
}

static void host_read(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    const uint64_t *at = (const uint64_t *)((const char *)user + from);
    uint64_t sum[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i + 4 <= (to - from) / 8; i += 4)
        for (int j = 0; j < 4; j++) sum[j] += at[i + j];
    volatile uint64_t kept = sum[0] + sum[1] + sum[2] + sum[3];
    (void)kept;
}

static double host_seconds(wmContext *context, char *memory, wm_range_function body, int64_t bytes) {
    double best = INFINITY;
    for (int i = 0; i < 4; i++) {
        double before = wm_session_seconds();
        wm_parallel_for(context->threads, bytes, 4096, body, memory);
        double taken = wm_session_seconds() - before;
        if (taken < best) best = taken;
    }
    return best;
}

static int measure_host(wmContext *context, wm_ceilings *out) {
    char *memory = malloc(HOST_BYTES);
    if (!memory) return wm_tool_fail("out of memory: %d bytes are needed", HOST_BYTES);
    out->write = HOST_BYTES / host_seconds(context, memory, host_write, HOST_BYTES);
    out->read = HOST_BYTES / host_seconds(context, memory, host_read, HOST_BYTES);
    out->copy = HOST_BYTES / host_seconds(context, memory, host_copy, HOST_BYTES / 2);
    free(memory);
    return WM_EXIT_OK;
}

/* ---- Results ---- */

int wm_ceilings_measure(wmContext *context, wm_ceilings *out) {
    memset(out, 0, sizeof *out);
    return context->gpu ? wm_session_check(measure_gpu(context, out)) : measure_host(context, out);
}

/* Operations a second of a problem's arithmetic. */
static double peak_of(const wm_ceilings *c, wmContext *context, const wm_problem *problem) {
    wmType type = problem->op == WM_MATMUL ? problem->u.matmul.a.type : WM_F32;
    wmCompute compute = problem->op == WM_MATMUL ? problem->u.matmul.compute : WM_COMPUTE_DEFAULT;
    if (problem->op == WM_FFT) type = problem->u.fft.type;
    double datasheet = wm_context_peak_flops(context, type, compute);
    double tensor = wm_context_peak_flops(context, WM_BF16, WM_COMPUTE_DEFAULT);
    double plain = wm_context_peak_flops(context, WM_F32, WM_COMPUTE_DEFAULT);
    if (c->copy == 0) return datasheet;
    if (type == WM_F64 || type == WM_C128) return c->f64 > 0 ? c->f64 * (problem->op == WM_MATMUL ? 2 : 1) : datasheet;
    if (datasheet > plain) return c->tensor > 0 ? c->tensor * datasheet / tensor : datasheet;
    return c->f32 > 0 ? c->f32 : datasheet;
}

double wm_ceilings_least(const wm_ceilings *ceilings, wmContext *context, const wm_problem *problem) {
    wm_cost cost = wm_problem_cost(problem);
    double bandwidth = ceilings->copy > 0 ? ceilings->copy : wm_context_bandwidth(context);
    if (problem->op == WM_RANDOM && ceilings->write > 0) bandwidth = ceilings->write;
    double moving = bandwidth > 0 ? cost.bytes / bandwidth : 0, computing = 0;
    if (problem->op != WM_RANDOM) computing = cost.flops / peak_of(ceilings, context, problem);
    return fmax(fmax(moving, computing), ceilings->graph_launch);
}

int wm_ceilings_print(const wm_ceilings *c, bool json, bool csv) {
    const struct {
        const char *name;
        double value;
        const char *unit;
    } rows[] = {
        {"read",                    1e-9 * c->read,        "GB/s"   },
        {"write",                   1e-9 * c->write,       "GB/s"   },
        {"copy",                    1e-9 * c->copy,        "GB/s"   },
        {"launch in a stream",      1e6 * c->launch,       "us"     },
        {"launch in a graph",       1e6 * c->graph_launch, "us"     },
        {"f32 multiply-adds",       1e-9 * c->f32,         "GFLOP/s"},
        {"f64 multiply-adds",       1e-9 * c->f64,         "GFLOP/s"},
        {"tensor, 16-bit into f32", 1e-9 * c->tensor,      "GFLOP/s"},
    };
    wm_text text = {.data = NULL};
    wm_json out = {.text = &text};
    wm_table table;
    int status = wm_table_begin(&table, "lrl", "ceiling\tmeasured\tunit");
    if (json) wm_json_open(&out, NULL, '{');
    if (csv) wm_text_add(&text, "ceiling,measured,unit\n");
    for (size_t i = 0; !status && i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].value == 0) continue;
        if (json) wm_json_number(&out, rows[i].name, rows[i].value);
        if (csv) wm_text_add(&text, "\"%s\",%.5g,%s\n", rows[i].name, rows[i].value, rows[i].unit);
        status = wm_table_add(&table, "%s\t%.5g\t%s", rows[i].name, rows[i].value, rows[i].unit);
    }
    if (json) wm_json_close(&out, '}');
    if (!status && !json && !csv) wm_table_print(&table, stdout);
    if (!status && (json || csv)) status = wm_session_put(&text);
    wm_text_free(&text);
    wm_table_free(&table);
    return status;
}
