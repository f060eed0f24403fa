/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLASLt, loaded on demand. Its heuristic names up to 16 algorithms for a problem, 4 where planning only estimates;
 * each becomes an offer whose knobs are the algorithm's configuration by name, never its place in a list, and make()
 * builds it from the knobs alone, so that wisdom outlives the library's next list and is checked against it.
 *
 * What the library does not do, we do around it. It multiplies by an alpha of 0, so that NaN in A and B would show:
 * then the naive kernel runs. It is 8 times slower with a bias that is not aligned to 16 bytes, and refuses such
 * scales: they are copied to workspace. Left out are algorithms that round partial sums to D's type, that use tensor
 * cores where they were not allowed, or that trade accuracy for fewer products; and, unless the problem allows it,
 * those whose sums depend on timing. Both scalars come from the host or both from the device; where the kinds are
 * mixed, a host's 0 or 1 is taken from device memory, and other values are refused. The descriptor is copied for each
 * call, so that calls share nothing.
 */
#include "cublaslt.h"
#include "lib/few.h"
#include "lib/matmul_view.h"
#include "reference/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALGORITHMS = 16, MOST_WORKSPACE = 64 << 20, MOST_ALIGN = 256 };

/* It also is what alpha = 0 means, in every type and layout. Its state is NULL. */
extern const wm_solver wm_matmul_naive;

/* The knobs, and how the library keeps them. The first is an argument of its constructor. */
static const struct {
    int attribute;
    size_t bytes;
} knobs[] = {
    {WM_LT_CONFIG_ID,            4},
    {WM_LT_CONFIG_TILE,          4},
    {WM_LT_CONFIG_STAGES,        4},
    {WM_LT_CONFIG_SPLIT_K,       4},
    {WM_LT_CONFIG_REDUCTION,     4},
    {WM_LT_CONFIG_SWIZZLE,       4},
    {WM_LT_CONFIG_CUSTOM,        4},
    {WM_LT_CONFIG_INNER_SHAPE,   2},
    {WM_LT_CONFIG_CLUSTER_SHAPE, 2},
};
enum { KNOBS = sizeof knobs / sizeof *knobs, KNOB_ID = 0, KNOB_REDUCTION = 4 };

/* What offer and make both need. */
typedef struct product {
    const wm_lt_library *lt;
    const wm_lt_device *device;
    wm_lt_call call;
    wm_lt_descriptors x;
} product;

static int prepare(wmContext *context, const wm_problem *problem, product *p, wm_why *why) {
    if (!wm_lt_map(&problem->u.matmul, &p->call, why)) return 0;
    p->call.multiprocessors = wm_context_left_free(context) ? wm_context_device(context)->multiprocessors : 0;
    p->lt = wm_lt_library_get(why);
    if (!p->lt) return 0;
    p->device = wm_lt_device_get(context, why);
    if (!p->device) return 0;
    int status = wm_lt_describe(p->lt, &p->call, &p->x);
    if (status) return wm_refuse(why, "cuBLASLt does not take its description: %s", p->lt->status_name(status));
    return 1;
}

/* ---- Algorithms as knobs ---- */

static int read_knobs(const wm_lt_library *lt, const wm_lt_algo *algo, int *out) {
    for (int i = 0; i < KNOBS; i++) {
        uint16_t narrow = 0;
        int32_t value = 0;
        size_t written = 0;
        void *to = knobs[i].bytes == 2 ? (void *)&narrow : &value;
        int status = lt->config_get(algo, knobs[i].attribute, to, knobs[i].bytes, &written);
        if (status) return status;
        out[i] = knobs[i].bytes == 2 ? narrow : value;
    }
    return 0;
}

static int build_algorithm(const product *p, const int *knob, wm_lt_algo *out) {
    const wm_lt_call *call = &p->call;
    int status = p->lt->algo_init(p->device->handle, call->compute, call->scale, call->a.type, call->b.type,
                                  call->c.type, call->d.type, knob[KNOB_ID], out);
    for (int i = KNOB_ID + 1; i < KNOBS && !status; i++) {
        uint16_t narrow = (uint16_t)knob[i];
        const void *from = knobs[i].bytes == 2 ? (const void *)&narrow : &knob[i];
        status = p->lt->config_set(out, knobs[i].attribute, from, knobs[i].bytes);
    }
    return status;
}

/* Builds it from its knobs and asks whether it does the product, and with what workspace. */
static int check_algorithm(product *p, const int *knob, wm_lt_result *out) {
    wm_lt_algo algo;
    memset(out, 0, sizeof *out);
    int status = build_algorithm(p, knob, &algo);
    if (!status)
        status = p->lt->algo_check(p->device->handle, &p->x.desc, &p->x.a, &p->x.b, &p->x.c, &p->x.d, &algo, out);
    if (!status) status = out->state;
    if (!status) out->algo = algo;
    return status;
}

/* ---- Workspace: the library's, then room for vectors that are not aligned as it wants ---- */

static size_t round_up(size_t bytes) {
    return (bytes + WM_LT_VECTOR_ALIGN - 1) / WM_LT_VECTOR_ALIGN * WM_LT_VECTOR_ALIGN;
}

static size_t bias_bytes(const wm_lt_call *call) {
    return call->bias_type < 0 ? 0 : (size_t)call->d.rows * wmTypeSize(wmTypeFromCuda(call->bias_type));
}

static size_t spare_bytes(const product *p) {
    return round_up(bias_bytes(&p->call)) + (size_t)(p->call.a_scale + p->call.b_scale) * WM_LT_VECTOR_ALIGN;
}

/* ---- Which algorithms keep the problem's promises ---- */

/*
 * Partial sums are kept in f32 or better: D's type counts as such only where the sums have it. What adds partial sums
 * rounds to a narrower D before a bias or an activation, and once more after it (seen on an H200 with f16, 13.0): there
 * k is not split. The c128 reduction of 13.1 reads C although a beta in device memory is 0.
 */
static uint32_t reductions_allowed(const wmMatmulDesc *d) {
    uint32_t allowed = WM_LT_REDUCE_COMPUTE_TYPE;
    if (d->a.type == WM_C128) return 0;
    if (d->d.type != wm_matmul_scale_type(d)) return d->bias || d->activation ? 0 : allowed;
    allowed |= WM_LT_REDUCE_OUTPUT_TYPE;
    if (d->determinism == WM_NOT_GUARANTEED) allowed |= WM_LT_REDUCE_INPLACE;
    return allowed;
}

static int numerics_allowed(const wmMatmulDesc *d, uint64_t numerics) {
    int single = d->a.type == WM_F32 || d->a.type == WM_C64;
    if (numerics & (WM_LT_GAUSSIAN | WM_LT_SUMS_16F)) return 0;
    if (d->compute == WM_COMPUTE_F32_STRICT && numerics & WM_LT_TENSOR_CORES) return 0;
    return !(single && d->compute != WM_COMPUTE_TF32 && numerics & WM_LT_INPUT_NARROW);
}

static uint64_t numerics_of(const wm_lt_library *lt, const wm_lt_algo *algo) {
    uint64_t numerics = 0;
    size_t written = 0;
    return lt->capability(algo, WM_LT_CAP_NUMERICS, &numerics, sizeof numerics, &written) ? 0 : numerics;
}

static int algorithm_allowed(const wm_lt_library *lt, const wmMatmulDesc *d, const wm_lt_algo *algo, const int *knob) {
    int32_t out_of_place = 0;
    size_t written = 0;
    if (lt->capability(algo, WM_LT_CAP_OUT_OF_PLACE, &out_of_place, sizeof out_of_place, &written) || !out_of_place)
        return 0;
    return !((uint32_t)knob[KNOB_REDUCTION] & ~reductions_allowed(d)) && numerics_allowed(d, numerics_of(lt, algo));
}

/* ---- Offering ---- */

static uint32_t least(int64_t a, int64_t b) {
    int64_t smaller = a < b ? a : b;
    return (uint32_t)(smaller < MOST_ALIGN ? smaller : MOST_ALIGN);
}

static int ask_heuristic(product *p, const wmMatmulDesc *d, int wanted, wm_lt_result *out, int *count) {
    const wmMatrixDesc *a = p->call.swapped ? &d->b : &d->a, *b = p->call.swapped ? &d->a : &d->b;
    uint32_t reductions = reductions_allowed(d);
    uint64_t workspace = MOST_WORKSPACE;
    wm_lt_preference preference;
    const struct {
        int attribute;
        uint32_t bytes;
    } aligned[] = {
        {WM_LT_PREF_ALIGN_A, least(a->align,   MOST_ALIGN)},
        {WM_LT_PREF_ALIGN_B, least(b->align,   MOST_ALIGN)},
        {WM_LT_PREF_ALIGN_C, least(d->c.align, d->d.align)}, /* in place C is D */
        {WM_LT_PREF_ALIGN_D, least(d->d.align, MOST_ALIGN)},
    };
    *count = 0;
    int status = p->lt->preference_init(&preference, sizeof preference);
    if (!status) status = p->lt->preference_set(&preference, WM_LT_PREF_WORKSPACE, &workspace, sizeof workspace);
    if (!status) status = p->lt->preference_set(&preference, WM_LT_PREF_REDUCTIONS, &reductions, sizeof reductions);
    for (int i = 0; i < 4 && !status; i++)
        status = p->lt->preference_set(&preference, aligned[i].attribute, &aligned[i].bytes, sizeof aligned[i].bytes);
    if (status) return status;
    return p->lt->heuristic(p->device->handle, &p->x.desc, &p->x.a, &p->x.b, &p->x.c, &p->x.d, &preference, wanted, out,
                            count);
}

/* Whether rows and columns start on 16 bytes, as the fast kernels want. */
static int is_aligned(const wmMatmulDesc *d) {
    const wmMatrixDesc *const all[] = {&d->a, &d->b, &d->d};
    for (int i = 0; i < 3; i++) {
        int64_t size = (int64_t)wmTypeSize(all[i]->type);
        if (all[i]->align < 16 || all[i]->ld * size % 16 || all[i]->batch_stride * size % 16) return 0;
    }
    return 1;
}

/* Of the memory's rate. Its tiles are mostly empty where a batch's matrices are small, or one f32 operand is thin: 1.5
 * to 2.7 TB/s of 4.8 on an H200 (f64 has tiles for both, and vectors have kernels of their own). */
static double memory_share(const wmMatmulDesc *d) {
    int64_t least = d->m < d->n ? d->m : d->n;
    int wide = d->a.type == WM_F64 || d->a.type == WM_C128;
    int small = d->batch > 1 && d->m <= 32 && d->n <= 32, thin = wmTypeSize(d->a.type) >= 4 && least > 1 && least <= 32;
    return !wide && (small || thin) ? 0.45 : 0.85;
}

/*
 * A roofline, since the heuristic gives an order and no times: three quarters of the peak, as far as the grid fills the
 * device; a quarter of that where 16-bit rows are not aligned; and no wave of blocks under 0.9 us. On an H200 this is
 * within 2x of bf16 and f32 products from 512^3 to 8192^3, and of a million f32 products of 4^3.
 */
static double estimate(wmContext *context, const wm_problem *problem, const wm_lt_result *first, uint64_t numerics) {
    const wmMatmulDesc *d = &problem->u.matmul;
    wm_cost cost = wm_problem_cost(problem);
    int narrow = wmTypeSize(d->a.type) <= 2, plain = narrow && !(numerics & WM_LT_TENSOR_CORES);
    double peak = wm_context_peak_flops(context, plain ? WM_F32 : d->a.type, d->compute);
    double waves = first->waves > 0.02 ? (double)first->waves : 0.02;
    /* Blocks that are alone on an SM run faster; a last wave that is not full costs about half of what is missing
     * (f32 4096^3 on an H200: 51 of 67 TFLOP/s at 3.1 waves). */
    double filled = waves < 1 ? sqrt(waves) : 0.5 + 0.5 * waves / ceil(waves);
    double share = 0.75 * filled * (narrow && !is_aligned(d) ? 0.25 : 1.0);
    double work = cost.flops / (share * peak), traffic = cost.bytes / (memory_share(d) * wm_context_bandwidth(context));
    return 2.5e-6 + fmax(fmax(work, traffic), 0.9e-6 * floor(waves));
}

static int is_new(const wm_offer *offers, int count) {
    for (int i = 0; i < count; i++)
        if (memcmp(offers[i].knob, offers[count].knob, sizeof offers[i].knob) == 0) return 0;
    return 1;
}

static int add_offers(wmContext *context, const wm_problem *problem, product *p, const wm_lt_result *found, int have,
                      wm_offer *out, int capacity) {
    int count = 0;
    double seconds = 0;
    size_t spare = spare_bytes(p);
    for (int i = 0; i < have && count < capacity; i++) {
        wm_offer *offer = &out[count];
        wm_lt_result rebuilt;
        memset(offer, 0, sizeof *offer);
        if (found[i].state || read_knobs(p->lt, &found[i].algo, offer->knob)) continue;
        if (!algorithm_allowed(p->lt, &problem->u.matmul, &found[i].algo, offer->knob)) continue;
        if (!is_new(out, count)) continue;
        rebuilt = found[i];
        if (capacity >= WM_MAX_OFFERS && check_algorithm(p, offer->knob, &rebuilt)) continue;
        if (rebuilt.workspace > MOST_WORKSPACE) continue;
        if (count == 0) seconds = estimate(context, problem, &found[i], numerics_of(p->lt, &found[i].algo));
        offer->seconds = seconds * (1 + 0.03 * count); /* the heuristic's order */
        offer->workspace = spare ? round_up(rebuilt.workspace) + spare : rebuilt.workspace;
        offer->capturable = offer->concurrent = 1;
        offer->waves = (double)found[i].waves;
        count++;
    }
    return count;
}

static int cublaslt_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    wm_lt_result found[MOST_ALGORITHMS];
    product p;
    int count = 0;
    if (!prepare(context, problem, &p, why)) return 0;
    int offers = 0, wanted = capacity < MOST_ALGORITHMS ? capacity : MOST_ALGORITHMS;
    for (;; wanted = MOST_ALGORITHMS) { /* those may be none that may be taken */
        int status = ask_heuristic(&p, &problem->u.matmul, wanted, found, &count);
        if (status) return wm_refuse(why, "cuBLASLt's heuristic: %s", p.lt->status_name(status));
        offers = add_offers(context, problem, &p, found, count, out, capacity);
        if (offers || wanted == MOST_ALGORITHMS) break;
    }
    if (offers) return offers;
    return wm_refuse(why, "of %d algorithms of cuBLASLt none keeps the promises of the problem", count);
}

/* ---- Plans ---- */

typedef struct cublaslt_state {
    product p;
    wm_lt_algo algo;
    wmType scale;
    size_t workspace; /* the library's; what must be aligned is copied behind it */
} cublaslt_state;

static void cublaslt_drop(wmContext *context, void *data) {
    (void)context;
    free(data);
}

static wmStatus cublaslt_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    wm_why why = {""};
    wm_lt_result checked;
    cublaslt_state *s = calloc(1, sizeof *s);
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan of cuBLASLt");
    *state = s;
    if (!prepare(context, problem, &s->p, &why)) return wm_fail(WM_ERR_VENDOR, "%s", why.text);
    int status = check_algorithm(&s->p, offer->knob, &checked);
    if (status)
        return wm_fail(WM_ERR_VENDOR, "cuBLASLt refuses algorithm %d: %s", offer->knob[KNOB_ID],
                       s->p.lt->status_name(status));
    s->workspace = offer->workspace - spare_bytes(&s->p);
    if (checked.workspace > s->workspace)
        return wm_fail(WM_ERR_VENDOR, "cuBLASLt wants a workspace of %zu bytes, %zu were foreseen", checked.workspace,
                       s->workspace);
    s->algo = checked.algo;
    s->scale = wm_matmul_scale_type(&problem->u.matmul);
    void *none = NULL;
    return wm_matmul_naive.make(context, problem, offer, &none);
}

/* ---- Running ---- */

typedef struct scalar {
    double value[2]; /* a host's, in the scale type */
    const void *at;
} scalar;

static wmStatus take_scalar(const cublaslt_state *s, const wmScalar *from, int on_device, const char *name,
                            scalar *out) {
    if (from->kind == WM_SCALAR_DEVICE) {
        out->at = from->device;
        return WM_OK;
    }
    if (!on_device) {
        wm_number_store(s->scale, out->value, 0, (wm_number){from->re, from->im});
        out->at = out->value;
        return WM_OK;
    }
    if (!wm_scalar_is(from, 0) && !wm_scalar_is(from, 1))
        return wm_fail(WM_ERR_UNSUPPORTED,
                       "args.%s is %g on the host, and the other scalar is on the device; cuBLASLt wants both in one "
                       "place (0 and 1 apart)",
                       name, from->re);
    out->at = wm_lt_constant(s->p.device, s->scale, from->re == 1);
    return WM_OK;
}

/* Sets a descriptor's pointer to a vector, or to its copy in *spare, which moves on. */
static wmStatus set_vector(const wm_run *run, wm_lt_desc *desc, int attribute, const void *vector, size_t bytes,
                           char **spare) {
    const cublaslt_state *s = run->state;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    if (bytes == 0) return WM_OK;
    if ((uintptr_t)vector % WM_LT_VECTOR_ALIGN) {
        WM_TRY(wm_gpu_check(gpu, gpu->copy(gpu->self, *spare, vector, bytes, run->stream), "cudaMemcpyAsync"));
        vector = *spare;
    }
    *spare += round_up(bytes);
    int status = s->p.lt->desc_set(desc, attribute, &vector, sizeof vector);
    if (status) return wm_fail(WM_ERR_VENDOR, "cublasLtMatmulDescSetAttribute: %s", s->p.lt->status_name(status));
    return WM_OK;
}

static wmStatus set_vectors(const wm_run *run, const wmMatmulArgs *args, wm_lt_desc *desc) {
    const cublaslt_state *s = run->state;
    const wm_lt_call *call = &s->p.call;
    const void *a_scale = call->swapped ? args->b_scale : args->a_scale;
    const void *b_scale = call->swapped ? args->a_scale : args->b_scale;
    char *spare = spare_bytes(&s->p) ? (char *)run->workspace + s->workspace : NULL;
    WM_TRY(set_vector(run, desc, WM_LT_DESC_BIAS_POINTER, args->bias, bias_bytes(call), &spare));
    WM_TRY(set_vector(run, desc, WM_LT_DESC_A_SCALE, a_scale, call->a_scale ? sizeof(float) : 0, &spare));
    return set_vector(run, desc, WM_LT_DESC_B_SCALE, b_scale, call->b_scale ? sizeof(float) : 0, &spare);
}

static wmStatus cublaslt_run(const wm_run *run) {
    cublaslt_state *s = run->state;
    const wmMatmulArgs *args = &run->args->matmul;
    wm_lt_descriptors x = s->p.x;
    scalar alpha =
               {
                   {0, 0},
                   NULL
    },
           beta = alpha;
    int on_device = args->alpha.kind == WM_SCALAR_DEVICE || args->beta.kind == WM_SCALAR_DEVICE;
    if (wm_scalar_is(&args->alpha, 0)) return wm_matmul_naive.run(run);
    WM_TRY(take_scalar(s, &args->alpha, on_device, "alpha", &alpha));
    WM_TRY(take_scalar(s, &args->beta, on_device, "beta", &beta));
    WM_TRY(set_vectors(run, args, &x.desc));
    /* Where C is not read, args.c may be anything: D serves as C. */
    int no_c = wm_scalar_is(&args->beta, 0) && s->p.call.c.type == s->p.call.d.type;
    int32_t mode = on_device;
    int status = s->p.lt->desc_set(&x.desc, WM_LT_DESC_POINTER_MODE, &mode, sizeof mode);
    if (!status)
        status =
            s->p.lt->matmul(s->p.device->handle, &x.desc, alpha.at, s->p.call.swapped ? args->b : args->a, &x.a,
                            s->p.call.swapped ? args->a : args->b, &x.b, beta.at, no_c ? args->d : args->c,
                            no_c ? &x.d : &x.c, args->d, &x.d, &s->algo, run->workspace, s->workspace, run->stream);
    if (status) return wm_fail(WM_ERR_VENDOR, "cublasLtMatmul: %s", s->p.lt->status_name(status));
    return WM_OK;
}

const wm_solver wm_cublaslt = {
    .name = "cublaslt",
    .op = WM_MATMUL,
    .place = WM_PLACE_GPU,
    .origin = WM_VENDOR,
    .version = 1,
    .features = WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_FP8 | WM_MM_I8 |
                WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS |
                WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT |
                WM_MM_UNALIGNED,
    .knobs = {"algo", "tile", "stages", "split_k", "reduction", "swizzle", "custom", "inner_shape", "cluster_shape",
              NULL},
    .offer = cublaslt_offer,
    .make = cublaslt_make,
    .run = cublaslt_run,
    .drop = cublaslt_drop,
};
