/* SPDX-License-Identifier: Apache-2.0 */
/* The laboratory's solvers, their clock and their device: see engine_lab.h. */
#include "engine_lab.h"

#include <math.h>
#include <stdio.h>

lab lab_now;

double lab_unit(void) {
    lab_now.random = lab_now.random * 6364136223846793005u + 1442695040888963407u;
    return (double)(lab_now.random >> 11) * 0x1p-53;
}

static double clock_now(void *self) {
    (void)self;
    return lab_now.now;
}

wm_clock lab_clock(void) {
    return (wm_clock){clock_now, NULL};
}

/* ---- The product, with defects ---- */

typedef struct product {
    int config;
    int64_t m, n, k;
    const float *a, *b;
    float *d;
    unsigned char *workspace;
} product;

static void multiply(const product *p, lab_defect defect) {
    int64_t last = p->m * p->n - 1;
    for (int64_t at = 0; at <= last; at++) {
        float sum = defect == LAB_STALE ? p->d[at] : 0.0f;
        for (int64_t l = 0; l < p->k; l++) sum += p->a[at / p->n * p->k + l] * p->b[l * p->n + at % p->n];
        if (defect == LAB_READS_PAST && at == last) sum += p->b[p->k * p->n];
        if (defect == LAB_WRONG_TAIL && at == last) sum += 1e-3f;
        if (defect == LAB_WRONG_VALUE && at == last / 2) sum += 1e-3f;
        if (defect != LAB_MISSING_TAIL || at != last) p->d[at] = sum;
    }
    if (defect == LAB_PAST_END) p->d[last + 1] = 1.0f;
    if (defect == LAB_BEFORE_START) p->d[-1] = 1.0f;
    if (defect == LAB_WRITES_INPUT) ((float *)p->a)[p->m * p->k - 1] += 1.0f;
    size_t workspace = lab_now.config[p->config].workspace;
    if (workspace) memset(p->workspace, 0, workspace);
    if (defect == LAB_WORKSPACE) p->workspace[workspace] = 0;
    if (defect == LAB_WORKSPACE_TOO) p->workspace[-1] = 0;
}

/* ---- Solvers ---- */

static int offer_configs(int from, int count, wm_offer *out) {
    for (int i = 0; i < count; i++) {
        const lab_config *c = &lab_now.config[from + i];
        out[i] = (wm_offer){.seconds = c->estimate,
                            .workspace = c->workspace,
                            .knob = {i},
                            .capturable = !c->not_capturable,
                            .concurrent = !c->serial};
    }
    return count;
}

static int judge_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)context, (void)problem, (void)capacity;
    return lab_now.no_judge ? wm_refuse(why, "the judge is out") : offer_configs(LAB_JUDGE, 1, out);
}

static int vendor_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)context, (void)problem, (void)capacity;
    return lab_now.no_vendor ? wm_refuse(why, "labvendor absent, tried: nowhere") : offer_configs(LAB_VENDOR, 1, out);
}

static int ours_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)context, (void)capacity;
    if (problem->u.matmul.n == 1000) return wm_refuse(why, "n = 1000 is not to its taste");
    if (!lab_now.ours) return wm_refuse(why, "told not to");
    int count = offer_configs(LAB_OURS, lab_now.ours, out);
    for (int i = 0; i < count && wm_problem_features(problem) & WM_MM_UNALIGNED; i++) out[i].seconds *= 3;
    return count;
}

/* A state of device and host memory, so that what is not dropped shows. */
typedef struct lab_state {
    lab_config *config;
    void *table;
    int warm;
} lab_state;

static wmStatus lab_make(wmContext *context, lab_config *config, void **out) {
    static const float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    if (config->defect == LAB_MAKE_FAILS) return wm_fail(WM_ERR_CUDA, "told to fail in make");
    if (config->defect == LAB_MAKE_UNSUPPORTED) return wm_fail(WM_ERR_UNSUPPORTED, "told to give up in make");
    lab_state *state = (lab_state *)calloc(1, sizeof *state);
    if (!state) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    atomic_fetch_add(&config->makes, 1);
    if (config->make > 0) lab_now.now += config->make; /* one thread's tests alone: the clock has no lock */
    state->config = config;
    *out = state;
    if (wm_context_gpu(context)) WM_TRY(wm_prepare_kernel(context, "lab", config, 0));
    return wm_context_upload(context, &state->table, table, sizeof table);
}

static wmStatus judge_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)problem, (void)offer;
    return lab_make(context, &lab_now.config[LAB_JUDGE], state);
}

static wmStatus vendor_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)problem, (void)offer;
    return lab_make(context, &lab_now.config[LAB_VENDOR], state);
}

static wmStatus ours_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)problem;
    return lab_make(context, &lab_now.config[LAB_OURS + offer->knob[0]], state);
}

static void lab_drop(wmContext *context, void *data) {
    lab_state *state = (lab_state *)data;
    if (!state) return;
    atomic_fetch_add(&state->config->drops, 1);
    wm_context_free(context, state->table, 8 * sizeof(float));
    free(state);
}

static product product_of(const wm_run *run, int config) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    return (product){.config = config,
                     .m = d->m,
                     .n = d->n,
                     .k = d->k,
                     .a = (const float *)args->a,
                     .b = (const float *)args->b,
                     .d = (float *)args->d,
                     .workspace = (unsigned char *)run->workspace};
}

static void enter(lab_config *c) {
    int inside = atomic_fetch_add(&c->inside, 1) + 1, most = atomic_load(&c->most_inside);
    while (inside > most && !atomic_compare_exchange_weak(&c->most_inside, &most, inside)) {
    }
    atomic_fetch_add(&c->runs, 1);
}

static wmStatus run_config(const wm_run *run, int number) {
    lab_config *c = &lab_now.config[number];
    product p = product_of(run, number);
    if (c->defect == LAB_RUN_FAILS) return wm_fail(WM_ERR_VENDOR, "told to fail in run");
    enter(c);
    wmStatus status = WM_OK;
    if (wm_context_gpu(run->context)) {
        const wm_launch launch = {
            .kernel = c, .grid = {1,  1, 1},
                 .block = {32, 1, 1},
                 .params = &p, .params_bytes = sizeof p
        };
        status = wm_launch_kernel(run->context, "lab", &launch, run->stream);
    } else {
        multiply(&p, c->defect);
        if (c->seconds > 0) {
            double slow = 1.0 + c->noise * (lab_unit() + lab_unit());
            if (c->noise > 0 && lab_unit() < 0.03) slow *= 3.0;
            if (lab_now.weather) slow *= lab_now.weather(lab_now.now);
            lab_now.now += c->seconds * slow;
            lab_state *state = (lab_state *)run->state;
            if (!state->warm) lab_now.now += c->cold;
            state->warm = 1;
        }
    }
    atomic_fetch_sub(&c->inside, 1);
    return status;
}

static wmStatus judge_run(const wm_run *run) {
    return run_config(run, LAB_JUDGE);
}

static wmStatus vendor_run(const wm_run *run) {
    return run_config(run, LAB_VENDOR);
}

static wmStatus ours_run(const wm_run *run) {
    return run_config(run, LAB_OURS + run->offer->knob[0]);
}

/* What the fake device does when a launch's turn comes. */
static int run_launch(const wm_launch *launch) {
    const product *p = (const product *)launch->params;
    multiply(p, lab_now.config[p->config].defect);
    return 0;
}

static const wm_solver cpu_rows[] = {
    {.name = "lab_judge",
     .op = WM_MATMUL,
     .place = WM_PLACE_CPU,
     .origin = WM_REFERENCE,
     .version = 1,
     .judge = 1,
     .features = WM_MM_F32,
     .offer = judge_offer,
     .make = judge_make,
     .run = judge_run,
     .drop = lab_drop  },
    {.name = "labvendor",
     .op = WM_MATMUL,
     .place = WM_PLACE_CPU,
     .origin = WM_VENDOR,
     .version = 1,
     .features = WM_MM_F32,
     .offer = vendor_offer,
     .make = vendor_make,
     .run = vendor_run,
     .drop = lab_drop},
    {.name = "lab_ours",
     .op = WM_MATMUL,
     .place = WM_PLACE_CPU,
     .origin = WM_OURS,
     .version = 1,
     .features = WM_MM_F32 | WM_MM_BIAS | WM_MM_UNALIGNED,
     .knobs = {"variant"},
     .offer = ours_offer,
     .make = ours_make,
     .run = ours_run,
     .drop = lab_drop},
};

enum { ROWS = sizeof cpu_rows / sizeof cpu_rows[0] };

const wm_solver *const *lab_solvers(wmPlace place, int *count) {
    static wm_solver gpu_rows[ROWS];
    static const wm_solver *cpu[ROWS], *gpu[ROWS];
    for (int i = 0; i < ROWS; i++) {
        gpu_rows[i] = cpu_rows[i];
        gpu_rows[i].place = WM_PLACE_GPU;
        cpu[i] = &cpu_rows[i];
        gpu[i] = &gpu_rows[i];
    }
    *count = ROWS;
    return place == WM_PLACE_GPU ? gpu : cpu;
}

/* ---- Opening and closing ---- */

void lab_open(wmPlace place, const wmContextOptions *options) {
    memset(&lab_now, 0, sizeof lab_now);
    lab_now.random = 42;
    lab_now.ours = 1;
    for (int i = 0; i < LAB_CONFIGS; i++) lab_now.config[i].estimate = lab_now.config[i].seconds = 1e-3;
    lab_now.config[LAB_JUDGE].estimate = lab_now.config[LAB_JUDGE].seconds = 5e-3;
    const wm_gpu *gpu = NULL;
    int count = 0;
    const wm_solver *const *solvers = lab_solvers(place, &count);
    if (place == WM_PLACE_GPU) {
        wm_faults_clear();
        lab_now.fake = wm_fake_new(2);
        wm_fake_set_runner(lab_now.fake, run_launch);
        gpu = wm_fake_gpu(lab_now.fake);
    }
    wmStatus status = wm_context_create_with(&lab_now.context, options, gpu, solvers, count, lab_clock());
    if (status != WM_OK) fail_msg("%s", wmLastError());
}

void lab_close(void) {
    wmContextDestroy(lab_now.context);
    for (int i = 0; i < LAB_CONFIGS; i++) {
        const lab_config *c = &lab_now.config[i];
        assert_int_equal(atomic_load(&c->makes), atomic_load(&c->drops));
    }
    if (!lab_now.fake) return;
    wm_fake_counts live = wm_fake_live(lab_now.fake);
    assert_int_equal(live.allocations, 0);
    assert_int_equal(live.streams, 0);
    assert_int_equal(live.modules, 0);
    assert_int_equal(live.events, 0);
    assert_int_equal(live.graphs, 0);
    assert_string_equal(wm_faults(), "");
    wm_fake_end(lab_now.fake);
    lab_now.fake = NULL;
}

/* ---- Using ---- */

wm_problem lab_problem(const char *text) {
    wm_problem problem;
    wmPlace place = lab_now.fake ? WM_PLACE_GPU : WM_PLACE_CPU;
    if (wm_problem_parse(&problem, text ? text : "matmul f32 17x9x5", place) != WM_OK) fail_msg("%s", wmLastError());
    return problem;
}

wmPlan *lab_plan(const char *text, const wmPlanOptions *options) {
    wm_problem problem = lab_problem(text);
    wmPlan *plan = NULL;
    if (wm_plan_create(&plan, lab_now.context, &problem, options) != WM_OK) fail_msg("%s", wmLastError());
    return plan;
}

/* One operand at the place, from random numbers; NULL where memory is short. */
static float *operand(int64_t count, float *host) {
    void *out = NULL;
    uint64_t random = 7;
    for (int64_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        host[i] = (float)(random >> 40) * 0x1p-24f;
    }
    size_t bytes = (size_t)count * sizeof(float);
    if (wmAlloc(&out, lab_now.context, bytes) != WM_OK) return NULL;
    if (wmCopy(lab_now.context, out, host, bytes, NULL) == WM_OK && wmSynchronize(lab_now.context, NULL) == WM_OK) {
        return (float *)out;
    }
    wmFree(lab_now.context, out);
    return NULL;
}

static wmStatus run_and_compare(const wmPlan *plan, const wmMatmulArgs *args, const float *a, const float *b,
                                wmStream stream) {
    const wmMatmulDesc *d = &plan->problem.u.matmul;
    float *got = (float *)malloc((size_t)(d->m * d->n) * sizeof *got);
    wmStatus status = got ? wmMatmulExecute(plan, args, stream) : WM_ERR_MEMORY;
    if (status == WM_OK) status = wmSynchronize(plan->context, stream);
    if (status == WM_OK) status = wmCopy(plan->context, got, args->d, (size_t)(d->m * d->n) * sizeof *got, stream);
    if (status == WM_OK) status = wmSynchronize(plan->context, stream);
    for (int64_t i = 0; status == WM_OK && i < d->m * d->n; i++) {
        float sum = 0.0f;
        for (int64_t l = 0; l < d->k; l++) sum += a[i / d->n * d->k + l] * b[l * d->n + i % d->n];
        if (!(fabsf(got[i] - sum) <= 1e-6f)) fail_msg("element %d is %g, not %g", (int)i, (double)got[i], (double)sum);
    }
    if (status != WM_OK) { /* copies to `got` must end first */
        wm_error error;
        wm_error_save(&error);
        wmStatus again = wmSynchronize(plan->context, stream);
        (void)again;
        wm_error_restore(&error);
    }
    free(got);
    return status;
}

wmStatus lab_execute(const wmPlan *plan, void *workspace, size_t bytes, wmStream stream) {
    const wmMatmulDesc *d = &plan->problem.u.matmul;
    static _Thread_local float a[1 << 16], b[1 << 16], c[1 << 16];
    float *pa = operand(d->m * d->k, a), *pb = operand(d->k * d->n, b), *pd = operand(d->m * d->n, c);
    wmStatus status = WM_ERR_MEMORY;
    if (pa && pb && pd) {
        wmMatmulArgs args = wmMatmulArgsDefault(pa, pb, pd);
        args.workspace = workspace;
        args.workspace_bytes = bytes;
        status = run_and_compare(plan, &args, a, b, stream);
    }
    wmFree(lab_now.context, pa);
    wmFree(lab_now.context, pb);
    wmFree(lab_now.context, pd);
    return status;
}

char *lab_explain(const wmPlan *plan, wmTextFormat format) {
    size_t needed = 0;
    if (wmPlanExplain(plan, format, NULL, 0, &needed) != WM_OK) fail_msg("%s", wmLastError());
    char *text = (char *)malloc(needed);
    if (wmPlanExplain(plan, format, text, needed, NULL) != WM_OK) fail_msg("%s", wmLastError());
    assert_int_equal(strlen(text) + 1, needed);
    return text;
}

void lab_said(const char *words) {
    if (!strstr(wmLastError(), words)) fail_msg("\"%s\" does not say \"%s\"", wmLastError(), words);
}

/* ---- JSON ---- */

static const char *skip_blank(const char *at) {
    return at + strspn(at, " \t\r\n");
}

static const char *skip_string(const char *at) {
    if (*at++ != '"') return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) return NULL;
        if (*at != '\\') continue;
        at++;
        if (!*at || !strchr("\"\\/bfnrtu", *at)) return NULL;
    }
    return at + 1;
}

static const char *skip_value(const char *at, int depth);

/* Members up to the closing bracket; of an object each with its key. */
static const char *skip_members(const char *at, char end, int depth) {
    at = skip_blank(at + 1);
    if (*at == end) return at + 1;
    for (;;) {
        if (end == '}') {
            at = skip_string(at);
            if (!at || *(at = skip_blank(at)) != ':') return NULL;
            at++;
        }
        at = skip_value(at, depth + 1);
        if (!at) return NULL;
        at = skip_blank(at);
        if (*at == end) return at + 1;
        if (*at != ',') return NULL;
        at = skip_blank(at + 1);
    }
}

static const char *skip_value(const char *at, int depth) {
    static const char *const words[] = {"true", "false", "null"};
    at = skip_blank(at);
    if (depth > 20) return NULL;
    if (*at == '{') return skip_members(at, '}', depth);
    if (*at == '[') return skip_members(at, ']', depth);
    if (*at == '"') return skip_string(at);
    for (int i = 0; i < 3; i++) {
        if (strncmp(at, words[i], strlen(words[i])) == 0) return at + strlen(words[i]);
    }
    char *end = NULL;
    (void)strtod(at, &end);
    return end != at && (*at == '-' || (*at >= '0' && *at <= '9')) ? end : NULL;
}

void lab_check_json(const char *text) {
    const char *end = skip_value(text, 0);
    if (!end || *skip_blank(end)) fail_msg("not JSON: %s", text);
}
