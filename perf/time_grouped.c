/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouped bf16 products (tokens by experts, row-major, as examples/grouped_graph.c has them) beside what a vendor's
 * user has: one cuBLASLt call a group, the fastest algorithm of each, in one captured graph; and
 * cublasGemmGroupedBatchedEx. Ours is replayed from a graph too.
 *
 *     time_grouped        prints comma-separated values: groups, tokens, n, k, skew, variant, seconds, both ratios
 */
#include "lib/context_internal.h"
#include "lib/measure.h"
#include "perf/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GROUPS = 128, REPEATS = 20 };

typedef struct setting {
    int groups, tokens, n, k, skew;
} setting;

static const setting settings[] = {
    {16,  32768, 768,  2048, 0},
    {16,  4096,  2048, 2048, 1},
    {64,  8192,  2048, 2048, 1},
    {128, 16384, 1536, 2048, 0},
    {128, 16384, 1536, 2048, 1},
    {128, 1024,  1536, 2048, 1},
};

typedef struct bench {
    wmContext *context;
    const wm_gpu *gpu;
    wmStream stream;
    const setting *s;
    wmMatmulGroup group[MOST_GROUPS];
    void *a, *b, *d, *groups, *workspace;
    size_t workspace_bytes;
} bench;

/* Even, or falling off as 1 / (1 + rank), some groups empty. */
static void split_tokens(bench *x) {
    const setting *s = x->s;
    double weight[MOST_GROUPS], all = 0;
    int64_t left = s->tokens, first = 0;
    for (int g = 0; g < s->groups; g++) all += weight[g] = !s->skew ? 1.0 : g % 8 == 7 ? 0.0 : 1.0 / (1.0 + g % 31);
    for (int g = 0; g < s->groups; g++) {
        int64_t m = g == s->groups - 1 && !s->skew ? left : (int64_t)(weight[g] / all * s->tokens);
        if (m > left) m = left;
        x->group[g] = (wmMatmulGroup){m, s->n, s->k, first * s->k, (int64_t)g * s->n * s->k, 0, first * s->n};
        first += m, left -= m;
    }
}

/* One prepared way to do one problem on these pointers. */
typedef struct job {
    wm_problem problem;
    const wm_solver *solver;
    wm_offer offer;
    void *state;
    wm_args args;
} job;

static wmStatus start(bench *x, job *j) {
    wm_run run = {x->context, &j->problem, &j->offer, j->state, &j->args, x->workspace, x->stream};
    return j->solver->run(&run);
}

/* Seconds of all the jobs, one behind the other in a graph. */
static wmStatus time_jobs(bench *x, job *jobs, int count, double *seconds) {
    const wm_gpu *gpu = x->gpu;
    wmGraph graph = NULL;
    void *exec = NULL;
    wm_event from = NULL, to = NULL;
    WM_TRY(wm_gpu_check(gpu, gpu->capture_begin(gpu->self, x->stream), "capture"));
    wmStatus status = WM_OK;
    for (int i = 0; i < count && status == WM_OK; i++) status = start(x, &jobs[i]);
    WM_TRY(wm_gpu_check(gpu, gpu->capture_end(gpu->self, x->stream, &graph), "capture"));
    WM_TRY(status);
    WM_TRY(wm_gpu_check(gpu, gpu->graph_instantiate(gpu->self, graph, &exec), "graph"));
    (void)gpu->event_create(gpu->self, &from);
    (void)gpu->event_create(gpu->self, &to);
    for (int i = 0; i < 3; i++) (void)gpu->graph_launch(gpu->self, exec, x->stream);
    (void)gpu->event_record(gpu->self, from, x->stream);
    for (int i = 0; i < REPEATS; i++) (void)gpu->graph_launch(gpu->self, exec, x->stream);
    (void)gpu->event_record(gpu->self, to, x->stream);
    WM_TRY(wm_gpu_check(gpu, gpu->event_wait(gpu->self, to), "wait"));
    (void)gpu->event_seconds(gpu->self, from, to, seconds);
    *seconds /= REPEATS;
    (void)gpu->event_destroy(gpu->self, from);
    (void)gpu->event_destroy(gpu->self, to);
    return wm_gpu_check(gpu, gpu->graph_destroy(gpu->self, graph, exec), "graph");
}

static wmStatus make(bench *x, job *j) {
    if (j->offer.workspace > x->workspace_bytes) return wm_fail(WM_ERR_MEMORY, "the workspace is too small");
    return j->solver->make ? j->solver->make(x->context, &j->problem, &j->offer, &j->state) : WM_OK;
}

static void drop(bench *x, job *j) {
    if (j->solver->drop) j->solver->drop(x->context, j->state);
    j->state = NULL;
}

/* The fastest of cuBLASLt's algorithms for a group. */
static wmStatus best_of_vendor(bench *x, const wmMatmulGroup *g, job *out) {
    char text[96];
    wm_offer offers[WM_MAX_OFFERS];
    wm_why why = {""};
    double best = 1e9, seconds = 0;
    job j = {.solver = probe_solver("cublaslt")};
    snprintf(text, sizeof text, "matmul bf16 %lldx%dx%d", (long long)g->m, x->s->n, x->s->k);
    WM_TRY(wm_problem_parse(&j.problem, text, WM_PLACE_GPU));
    j.args.matmul = wmMatmulArgsDefault((char *)x->a + 2 * g->a, (char *)x->b + 2 * g->b, (char *)x->d + 2 * g->d);
    j.args.matmul.c = j.args.matmul.d, j.args.matmul.alpha = wmReal(1), j.args.matmul.beta = wmReal(0);
    int count = j.solver->offer(x->context, &j.problem, offers, WM_MAX_OFFERS, &why), chosen = 0;
    for (int i = 0; i < count; i++) {
        j.offer = offers[i];
        if (j.offer.workspace > x->workspace_bytes) continue;
        WM_TRY(make(x, &j));
        WM_TRY(time_jobs(x, &j, 1, &seconds));
        drop(x, &j);
        if (seconds < best) best = seconds, chosen = i;
    }
    j.offer = offers[chosen];
    *out = j;
    return count ? make(x, out) : wm_fail(WM_ERR_UNSUPPORTED, "%s", why.text);
}

static wmStatus time_vendor(bench *x, double *seconds) {
    static job jobs[MOST_GROUPS];
    int count = 0;
    for (int g = 0; g < x->s->groups; g++) {
        int same = count - 1;
        if (x->group[g].m == 0) continue;
        while (same >= 0 && jobs[same].problem.u.matmul.m != x->group[g].m) same--;
        if (same < 0) {
            WM_TRY(best_of_vendor(x, &x->group[g], &jobs[count]));
        } else {
            jobs[count] = jobs[same];
            WM_TRY(make(x, &jobs[count]));
            jobs[count].args.matmul.a = (char *)x->a + 2 * x->group[g].a;
            jobs[count].args.matmul.b = (char *)x->b + 2 * x->group[g].b;
            jobs[count].args.matmul.c = jobs[count].args.matmul.d = (char *)x->d + 2 * x->group[g].d;
        }
        count++;
    }
    WM_TRY(time_jobs(x, jobs, count, seconds));
    for (int i = 0; i < count; i++) drop(x, &jobs[i]);
    return WM_OK;
}

/* cublasGemmGroupedBatchedEx, column-major: Dᵀ = Bᵀ · Aᵀ, each group of one product. 0: not to be had. */
typedef int (*grouped_call)(void *, const int *, const int *, const int *, const int *, const int *, const void *,
                            const void *const *, int, const int *, const void *const *, int, const int *, const void *,
                            void *const *, int, const int *, int, const int *, int);

static wmStatus time_cublas(bench *x, double *seconds) {
    const wm_gpu *gpu = x->gpu;
    void *library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL), *handle = NULL, *arrays = NULL;
    *seconds = 0;
    if (!library) return WM_OK;
    int (*create)(void **) = (int (*)(void **))dlsym(library, "cublasCreate_v2");
    int (*set_stream)(void *, wmStream) = (int (*)(void *, wmStream))dlsym(library, "cublasSetStream_v2");
    grouped_call call = (grouped_call)dlsym(library, "cublasGemmGroupedBatchedEx");
    if (!create || !set_stream || !call || create(&handle) || set_stream(handle, x->stream)) return WM_OK;
    static int none[MOST_GROUPS], m[MOST_GROUPS], n[MOST_GROUPS], k[MOST_GROUPS], one[MOST_GROUPS];
    static float alpha[MOST_GROUPS], beta[MOST_GROUPS];
    void *host[3 * MOST_GROUPS];
    int count = 0;
    for (int g = 0; g < x->s->groups; g++) {
        const wmMatmulGroup *it = &x->group[g];
        if (it->m == 0) continue;
        m[count] = x->s->n, n[count] = (int)it->m, k[count] = x->s->k, one[count] = 1, alpha[count] = 1;
        host[count] = (char *)x->b + 2 * it->b, host[MOST_GROUPS + count] = (char *)x->a + 2 * it->a;
        host[2 * MOST_GROUPS + count] = (char *)x->d + 2 * it->d;
        count++;
    }
    WM_TRY(wm_context_alloc(x->context, &arrays, sizeof host));
    (void)gpu->copy(gpu->self, arrays, host, sizeof host, x->stream);
    void **at = (void **)arrays;
    wm_event from = NULL, to = NULL;
    (void)gpu->event_create(gpu->self, &from);
    (void)gpu->event_create(gpu->self, &to);
    int error = 0;
    for (int i = 0; i < REPEATS + 3; i++) {
        if (i == 3) (void)gpu->event_record(gpu->self, from, x->stream);
        error |=
            call(handle, none, none, m, n, k, alpha, (const void *const *)at, 14, m,
                 (const void *const *)(at + MOST_GROUPS), 14, k, beta, at + 2 * MOST_GROUPS, 14, m, count, one, 68);
    }
    (void)gpu->event_record(gpu->self, to, x->stream);
    WM_TRY(wm_gpu_check(gpu, gpu->event_wait(gpu->self, to), "cublasGemmGroupedBatchedEx"));
    (void)gpu->event_seconds(gpu->self, from, to, seconds);
    *seconds = error ? 0 : *seconds / REPEATS;
    wm_context_free(x->context, arrays, sizeof host);
    return WM_OK;
}

static wmStatus time_ours(bench *x, double vendor, double cublas) {
    char text[128], knobs[160];
    wm_offer offers[WM_MAX_OFFERS];
    wm_why why = {""};
    const setting *s = x->s;
    job j = {.solver = probe_solver("matmul_grouped_wgmma")};
    snprintf(text, sizeof text, "matmul bf16 %dx%dx%d batch=%d batch_mode=grouped", s->tokens, s->n, s->k, s->groups);
    WM_TRY(wm_problem_parse(&j.problem, text, WM_PLACE_GPU));
    j.args.matmul = wmMatmulArgsDefault(x->a, x->b, x->d);
    j.args.matmul.c = x->d, j.args.matmul.alpha = wmReal(1), j.args.matmul.beta = wmReal(0);
    j.args.matmul.groups = (const wmMatmulGroup *)x->groups;
    int count = j.solver->offer(x->context, &j.problem, offers, WM_MAX_OFFERS, &why);
    if (count == 0) return wm_fail(WM_ERR_UNSUPPORTED, "%s", why.text);
    for (int i = 0; i < count; i++) {
        double seconds = 0;
        j.offer = offers[i];
        WM_TRY(make(x, &j));
        WM_TRY(time_jobs(x, &j, 1, &seconds));
        drop(x, &j);
        wm_knobs_print(j.solver, &j.offer, knobs, sizeof knobs);
        for (char *c = knobs; *c; c++) *c = *c == ',' ? ' ' : *c;
        printf("%d,%d,%d,%d,%d,%s,%.4e,%.3f,%.3f\n", s->groups, s->tokens, s->n, s->k, s->skew, knobs, seconds,
               vendor / seconds, cublas / seconds);
    }
    return WM_OK;
}

static wmStatus measure(bench *x) {
    const setting *s = x->s;
    size_t a = (size_t)s->tokens * s->k * 2, b = (size_t)s->groups * s->n * s->k * 2, d = (size_t)s->tokens * s->n * 2;
    double vendor = 0, cublas = 0;
    split_tokens(x);
    WM_TRY(wm_context_alloc(x->context, &x->a, a));
    WM_TRY(wm_context_alloc(x->context, &x->b, b));
    WM_TRY(wm_context_alloc(x->context, &x->d, d));
    unsigned char *host = (unsigned char *)malloc(a > b ? a : b); /* bf16 of random bits, of moderate size */
    if (!host) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    for (size_t i = 0; i < (a > b ? a : b); i++) {
        host[i] = (unsigned char)(((uint64_t)i * 6364136223846793005u + 1442695040888963407u) >> 45);
        if (i % 2) host[i] = (unsigned char)((host[i] & 0x80) | 0x3e);
    }
    (void)x->gpu->copy(x->gpu->self, x->a, host, a, x->stream);
    (void)x->gpu->copy(x->gpu->self, x->b, host, b, x->stream);
    (void)x->gpu->copy(x->gpu->self, x->groups, x->group, sizeof x->group, x->stream);
    (void)x->gpu->stream_wait(x->gpu->self, x->stream);
    free(host);
    WM_TRY(time_vendor(x, &vendor));
    WM_TRY(time_cublas(x, &cublas));
    WM_TRY(time_ours(x, vendor, cublas));
    wm_context_free(x->context, x->a, a);
    wm_context_free(x->context, x->b, b);
    wm_context_free(x->context, x->d, d);
    return WM_OK;
}

int main(void) {
    static bench x;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_GPU;
    options.wisdom_path = "";
    if (wmContextCreate(&x.context, &options) != WM_OK) return puts(wmLastError()), 1;
    x.gpu = x.context->gpu;
    x.workspace_bytes = (size_t)64 << 20;
    wmStatus status = wm_gpu_check(x.gpu, x.gpu->stream_create(x.gpu->self, &x.stream), "cudaStreamCreate");
    if (status == WM_OK) status = wm_context_alloc(x.context, &x.workspace, x.workspace_bytes);
    if (status == WM_OK) status = wm_context_alloc(x.context, &x.groups, sizeof x.group);
    puts("groups,tokens,n,k,skew,variant,seconds,over_cublaslt_loop,over_grouped_gemm");
    for (size_t i = 0; i < sizeof settings / sizeof *settings && status == WM_OK; i++) {
        x.s = &settings[i];
        status = measure(&x);
    }
    if (status != WM_OK) puts(wmLastError());
    return status != WM_OK;
}
