/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: alpha and beta in their four characters, C apart and in place, scalars on the host and on the
 * device. */
#include "walk.h"

#include "lib/fields.h"
#include "lib/matmul_view.h"
#include "reference/number.h"
#include "reference/oracle_matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const walk_matmul_problems[] = {
    "matmul f32 0x5x7",
    "matmul f32 5x0x7",
    "matmul f32 5x7x0",
    "matmul f32 5x7x3 batch=0",
    "matmul f32 1x1x1",
    "matmul f32 64x64x64",
    "matmul f32 127x65x33",
    "matmul f32 128x128x100",
    "matmul f32 5x300x17 ta=t",
    "matmul f32 131x67x129 tb=t lda=131 ldb=131 ldd=71",
    "matmul f32 33x35x37 ta=t tb=t oa=col ob=col od=col",
    "matmul f32 33x35x37 oa=col lda=41 od=col ldd=39",
    "matmul f32 40x24x16 batch=5",
    "matmul f32 17x19x23 batch=3 sb=0 sa=1000",
    "matmul f32 9x8x7 batch=4 batch_mode=pointers",
    "matmul f32 61x59x70 bias=n act=relu",
    "matmul f32 61x59x70 bias=m act=gelu_tanh",
    "matmul f32 30x50x20 act=gelu_erf od=col",
    "matmul f32 33x31x29 ldc=40",
    "matmul f32 33x31x29 ldc=40 oc=col",
    "matmul f32 31x29x40 align_a=4 align_b=4 align_d=4",
    "matmul f32 65x63x100 compute=f32_strict",
    "matmul f32 64x72x100 compute=tf32",
    "matmul f32 3x5x2000",
    "matmul f32 1x257x129",
    "matmul f32 257x1x129 tb=t",
    "matmul f32 10x12x8 batch=3 sd=12 ldd=36 lda=30 sa=10",
    "matmul f64 1x1x1",
    "matmul f64 67x65x131",
    "matmul f64 64x64x64 ta=t bias=n",
    "matmul f64 33x35x37 tb=t od=col batch=2",
    "matmul f64 20x30x40 bias=m act=gelu_erf",
    "matmul f64 20x30x40 act=gelu_tanh",
    "matmul c64 31x33x35",
    "matmul c64 16x24x40 ta=c tb=t",
    "matmul c64 16x24x40 ta=t tb=c od=col batch=2",
    "matmul c64 20x20x20 bias=n",
    "matmul c128 31x33x35 tb=c",
    "matmul c128 16x24x40 batch=3 sa=0 bias=m",
    "matmul f16 64x64x64",
    "matmul f16 65x33x129 tb=t align_a=2 align_b=2 align_d=2",
    "matmul f16 64x128x72 bias=n act=gelu_tanh",
    "matmul f16 32x40x48 d=f32",
    "matmul f16 24x16x32 batch=3 ta=t",
    "matmul bf16 128x128x64",
    "matmul bf16 127x63x95 lda=96 align_a=2 align_b=2 align_d=2",
    "matmul bf16 64x64x256 tb=t bias=n act=relu",
    "matmul bf16 40x48x56 d=f32 bias=m",
    "matmul bf16 16x16x16 batch=2 batch_mode=pointers",
    "matmul bf16 64x80x96 bias=n bias_type=f32",
    "matmul f32 2x2x2 batch=301",
    "matmul f32 4x4x4 batch=67",
    "matmul f32 4x4x4 batch=9 batch_mode=pointers tb=t",
    "matmul f32 8x8x8 batch=35 od=col",
    "matmul f32 16x16x16 batch=9 ta=t",
    "matmul f32 32x32x32 batch=5 ldd=36",
    "matmul f32 3x5x7 batch=50",
    "matmul f32 3x3x3 batch=70 bias=n act=relu",
    "matmul f64 4x4x4 batch=33",
    "matmul f64 8x8x8 batch=9 sb=0",
    "matmul f64 16x16x16 batch=5 batch_mode=pointers",
    "matmul f64 5x6x7 batch=9 oa=col",
    "matmul c64 4x4x4 batch=33 ta=c",
    "matmul c64 8x8x8 batch=9 tb=c",
    "matmul c64 16x16x16 batch=5",
    "matmul c128 4x4x4 batch=17 ta=c od=col",
    "matmul bf16 4x4x4 batch=67",
    "matmul bf16 8x8x8 batch=33 tb=t",
    "matmul bf16 16x16x16 batch=9",
    "matmul bf16 7x5x9 batch=33 align_a=2 align_b=2 align_d=2",
    "matmul f16 8x8x8 batch=17 d=f32",
    "matmul f16 16x16x16 batch=9 batch_mode=pointers act=relu",
    "matmul f32 300x1x520",
    "matmul f32 1x300x200",
    "matmul f32 1x300x200 tb=t align_b=4",
    "matmul f32 1x1x5000",
    "matmul f32 50x1x64 batch=7 sb=0",
    "matmul f64 1x70x90 batch=3 bias=n",
    "matmul c64 65x1x70 ta=c tb=c",
    "matmul c128 1x33x40 tb=c",
    "matmul bf16 120x1x1032",
    "matmul bf16 1x264x128 act=relu",
    "matmul f16 33x1x257 batch=3 batch_mode=pointers align_a=2 align_b=2 align_d=2",
    "matmul f32 64x64x512",
    "matmul f32 60x130x200 ta=t tb=t",
    "matmul f32 200x16x300",
    "matmul f32 12x150x260 oa=col tb=t",
    "matmul f32 20x24x4096",
    "matmul f64 50x40x300",
    "matmul c64 70x66x130 tb=c bias=m",
    "matmul c64 9x10x900",
    "matmul c128 40x33x130 ta=c",
    "matmul bf16 64x8x512",
    "matmul bf16 200x32x192 tb=t",
    "matmul bf16 16x136x256 ta=t od=col bias=n",
    "matmul f16 72x64x320 oa=col ob=col batch=2 batch_mode=pointers",
    "matmul f32 160x16x16",
    "matmul f32 5x96x12 ta=t bias=m",
    "matmul bf16 16x64x16 od=col bias=n",
    "matmul c128 9x10x330",
    "matmul bf16 32x32x32 batch=3",
    "matmul bf16 64x64x64 batch=2",
    "matmul e4m3 64x64x64 tb=t scale_a=tensor scale_b=tensor",
    "matmul e4m3 48x32x128 tb=t b=e5m2",
    "matmul e5m2 32x48x64 tb=t b=e4m3 d=f16",
    "matmul i8 64x64x64 tb=t",
    "matmul i8 36x20x52 batch=2",
    "matmul i8 128x128x1024 tb=t",
    "matmul i8 52x40x36 oa=col",
    "matmul bf16 57x57x57 bias=n act=gelu_tanh",
    "matmul e4m3 64x48x192 tb=t",
    "matmul e4m3 33x47x100 ta=t",
    "matmul f32 40x32x24 batch=9 batch_mode=grouped",
    "matmul f32 33x70x40 batch=4 batch_mode=grouped ta=t od=col bias=n",
    "matmul f64 40x20x30 batch=5 batch_mode=grouped tb=t",
    "matmul c64 24x20x16 batch=6 batch_mode=grouped tb=c",
    "matmul c128 20x16x12 batch=3 batch_mode=grouped",
    "matmul bf16 144x72x72 batch=7 batch_mode=grouped",
    "matmul bf16 136x72x64 batch=5 batch_mode=grouped tb=t act=relu",
    "matmul f16 64x136x72 batch=8 batch_mode=grouped ta=t od=col d=f32",
    "matmul f16 37x29x31 batch=8 batch_mode=grouped align_a=2 align_b=2 align_d=2",
    "matmul e4m3 16x24x32 batch=3 batch_mode=grouped scale_a=tensor",
    "matmul i8 20x12x40 batch=4 batch_mode=grouped",
    "matmul bf16 144x136x64 batch=2 batch_mode=pointers",
    "matmul c64 130x70x64",
    "matmul c64 40x100x40 ta=c od=col bias=m",
    "matmul c64 64x64x32 tb=c batch=2 bias=n",
    /* More tiles than the emulated device has multiprocessors: blocks that make several. */
    "matmul bf16 16x64x64 batch=6",
    "matmul f16 16x224x64 batch=6 d=f32",
    "matmul e4m3 16x640x64 tb=t d=bf16",
    "matmul f32 16x96x64 batch=6",
    /* k cut into unequal parts, more blocks than steps, tiles that D ends within. */
    "matmul bf16 70x130x328 tb=t bias=n act=gelu_tanh ldd=132 align_d=2",
    "matmul f16 136x72x200 ta=t od=col d=f32 bias=n batch=2",
    "matmul f32 33x40x17 act=silu bias=n",
    "matmul bf16 40x64x32 gate=pairs act=silu bias=n",
    "matmul f16 17x90x24 gate=halves act=gelu_erf z=f32 oz=col od=col batch=2",
    "matmul bf16 24x200x16 r=f32 dropout=philox reduce=row_sum",
    "matmul f32 70x33x9 r=f32 or=col ldr=75 od=col ldd=72 dropout=philox reduce=row_absmax batch=2",
    "matmul f64 9x50x20 z=f64 reduce=row_max bias=m act=silu",
    "matmul bf16 20x48x40 d=e4m3 scale_d=row reduce=absmax act=relu tb=t",
    "matmul e4m3 31x33x64 tb=t scale_a=row scale_b=column d=bf16",
    "matmul f16 36x40x24 d=i8 scale_d=tensor batch=3 sb=0 scale_b=column",
    "matmul i8 40x36x64 tb=t d=i8 scale_a=row scale_b=column scale_d=column",
    "matmul i8 33x31x20 d=bf16 scale_a=tensor bias=n bias_type=f32",
    "matmul f32 3x9000x5 reduce=row_sum act=relu dropout=philox",
    "matmul e4m3 70x131x304 tb=t scale_a=1x128 scale_b=128x128 d=bf16",
    "matmul e4m3 140x132x144 tb=t b=e5m2 scale_a=128x128 scale_b=1x128 batch=2 sb=0 d=f32 od=col bias=m",
    "matmul e5m2 140x20x129 b=e4m3 ta=t scale_a=128x128 scale_b=1x128 batch=2 sb=0 d=f32 bias=n",
    "matmul bf16 200x200x72 tb=t triangle=lower",
    "matmul f16 136x136x64 ta=t od=col triangle=upper batch=2 bias=n",
    "matmul f32 50x50x20 tb=t triangle=upper",
    /* Blocks of a triangle, with rows left over; three products for four. */
    "matmul f32 260x260x9 tb=t triangle=lower",
    "matmul bf16 264x264x8 oa=col od=col triangle=upper act=relu d=f32",
    "matmul f32 516x516x3 od=col triangle=lower ldd=520 ldc=517 oc=row",
    "matmul c64 24x36x40 allow_3m=1 ta=c bias=n",
    "matmul c64 19x23x33 allow_3m=1 tb=c od=col ldd=21 batch=2 sa=0",
    "matmul bf16 48x40x56 batch=5 tb=t",
    "matmul bf16 24x32x32 batch=9 od=col",
    "matmul f16 33x47x61 batch=3 ta=t tb=t align_a=2 align_b=2 align_d=2",
    "matmul f16 64x64x64 batch=3 ta=t od=col",
    "matmul f32 64x64x64 batch=2 tb=t",
    "matmul f32 57x44x36 batch=3 bias=m act=relu",
    "matmul f32 20x28x32 batch=6 ta=t",
    /* Streams: rows beyond a tile, columns beyond four, tiles that come back to a stage, parts of k that are empty. */
    "matmul f32 2000x20x20 act=relu",
    "matmul f32 70x7x28 ldb=8 ldd=9 batch=3 sb=0 bias=m",
    "matmul f32 16x70x100 oa=col ob=col od=col batch=2 bias=n",
    "matmul f32 140x36x72 ldc=40",
    "matmul f32 40x44x40 batch=40 bias=m",
    "matmul f32 20x24x260 bias=n",
    NULL,
};

enum { MATRICES = 4, VECTORS = 4, MORE = 3, STATE_AT = 32 };

/* The operands of one case, on the place and mirrored on the host. */
typedef struct operands {
    walk_buffer matrix[MATRICES]; /* a b c d */
    walk_buffer arrays[MATRICES]; /* pointers, in a pointer batch */
    walk_buffer vector[VECTORS];  /* bias, a_scale, b_scale, d_scale */
    walk_buffer more[MORE];       /* r z reduced */
    walk_buffer scalars;          /* alpha, beta for device scalars; behind them the state of the draws */
    walk_buffer groups;
    void **host_arrays[MATRICES];
    int64_t elements[MATRICES], each[MATRICES]; /* in all, and of one matrix of a pointer batch */
} operands;

static const wmMatrixDesc *matrix_desc(const wmMatmulDesc *d, int which) {
    const wmMatrixDesc *const all[MATRICES] = {&d->a, &d->b, &d->c, &d->d};
    return all[which];
}

static void make_matrix(walk *w, operands *o, int which) {
    const wmMatmulDesc *d = &w->problem->u.matmul;
    const wmMatrixDesc *x = matrix_desc(d, which);
    wm_shape shape = wm_matmul_shape(d, "abcd"[which]);
    int pointers = d->batch_mode == WM_BATCH_POINTERS, grouped = d->batch_mode == WM_BATCH_GROUPED;
    size_t element = wmTypeSize(x->type);
    o->each[which] = wm_matrix_span(x, shape, 1);
    /* Rounded up, so that each matrix of a pointer batch keeps the promised alignment. */
    if (pointers) o->each[which] = (o->each[which] + 15) / 16 * 16;
    if (grouped) o->each[which] = wm_matmul_group_span(d, x, "abcd"[which]);
    o->elements[which] = pointers || grouped ? o->each[which] * d->batch : wm_matrix_span(x, shape, d->batch);
    o->matrix[which] = walk_new(w, (size_t)o->elements[which] * element, x->align < 256 ? (size_t)x->align : 0);
    if (!o->matrix[which].device) return;
    walk_fill(w, &o->matrix[which], x->type, o->elements[which]);
    if (!pointers) return;
    o->arrays[which] = walk_new(w, (size_t)d->batch * sizeof(void *), 0);
    o->host_arrays[which] = calloc((size_t)d->batch + 1, sizeof(void *));
    for (int64_t t = 0; t < d->batch && o->arrays[which].device && o->host_arrays[which]; t++) {
        size_t at = (size_t)(t * o->each[which]) * element;
        ((void **)(void *)o->arrays[which].host)[t] = o->matrix[which].device + at;
        o->host_arrays[which][t] = o->matrix[which].host + at;
    }
    if (o->arrays[which].device) walk_send(w, &o->arrays[which]);
}

static void make_vector(walk *w, walk_buffer *out, wmType type, int64_t count) {
    *out = walk_new(w, (size_t)count * wmTypeSize(type), wmTypeSize(type));
    if (out->device) walk_fill(w, out, type, count);
}

/* The residual, and poison for what comes beside D. */
static void make_more(walk *w, operands *o) {
    const wmMatmulDesc *d = &w->problem->u.matmul;
    if (d->r.type) make_vector(w, &o->more[0], d->r.type, wm_matrix_span(&d->r, wm_matmul_shape(d, 'r'), d->batch));
    int64_t kept = d->z.type ? wm_matrix_span(&d->z, wm_matmul_shape(d, 'z'), d->batch) : 0;
    if (kept) o->more[1] = walk_new(w, (size_t)kept * wmTypeSize(d->z.type), wmTypeSize(d->z.type));
    size_t value = d->a.type == WM_F64 ? 8 : 4;
    if (d->reduction) o->more[2] = walk_new(w, (size_t)wm_reduced_values(d) * value, value);
}

static void make_operands(walk *w, operands *o) {
    const wmMatmulDesc *d = &w->problem->u.matmul;
    memset(o, 0, sizeof *o);
    for (int i = 0; i < MATRICES; i++) make_matrix(w, o, i);
    if (d->bias) make_vector(w, &o->vector[0], d->bias_type, d->bias == WM_BIAS_N ? d->n : d->m);
    if (d->a.scale) make_vector(w, &o->vector[1], WM_F32, wm_scale_values(d, &d->a));
    if (d->b.scale) make_vector(w, &o->vector[2], WM_F32, wm_scale_values(d, &d->b));
    if (d->d.scale) make_vector(w, &o->vector[3], WM_F32, wm_scale_values(d, &d->d));
    make_more(w, o);
    o->scalars = walk_new(w, 64, 0);
    if (d->batch_mode != WM_BATCH_GROUPED) return;
    o->groups = walk_new(w, (size_t)d->batch * sizeof(wmMatmulGroup), 0);
    for (int64_t t = 0; t < d->batch && o->groups.device; t++)
        wm_matmul_group_example(d, t, (wmMatmulGroup *)(void *)o->groups.host + t);
    if (o->groups.device) walk_send(w, &o->groups);
}

static void free_operands(walk *w, operands *o) {
    for (int i = 0; i < MATRICES; i++) {
        walk_free(w, &o->matrix[i]);
        walk_free(w, &o->arrays[i]);
        free(o->host_arrays[i]);
        walk_free(w, &o->vector[i]);
    }
    for (int i = 0; i < MORE; i++) walk_free(w, &o->more[i]);
    walk_free(w, &o->scalars);
    walk_free(w, &o->groups);
}

/* The same arguments twice: pointers of the place for the solver, of the host for the oracle. */
static void bind(const walk *w, const operands *o, wmMatmulArgs *place, wmMatmulArgs *host) {
    int pointers = w->problem->u.matmul.batch_mode == WM_BATCH_POINTERS;
    const void *at[MATRICES], *on_host[MATRICES];
    for (int i = 0; i < MATRICES; i++) {
        at[i] = pointers ? (const void *)o->arrays[i].device : o->matrix[i].device;
        on_host[i] = pointers ? (const void *)o->host_arrays[i] : o->matrix[i].host;
    }
    *place = wmMatmulArgsDefault(at[0], at[1], (void *)(uintptr_t)at[3]);
    *host = wmMatmulArgsDefault(on_host[0], on_host[1], (void *)(uintptr_t)on_host[3]);
    place->c = at[2];
    host->c = on_host[2];
    place->bias = o->vector[0].device;
    host->bias = o->vector[0].host;
    place->a_scale = o->vector[1].device;
    host->a_scale = o->vector[1].host;
    place->b_scale = o->vector[2].device;
    host->b_scale = o->vector[2].host;
    place->d_scale = o->vector[3].device;
    host->d_scale = o->vector[3].host;
    place->r = o->more[0].device;
    host->r = o->more[0].host;
    place->z = o->more[1].device;
    host->z = o->more[1].host;
    place->reduced = o->more[2].device;
    host->reduced = o->more[2].host;
    place->drop = host->drop = 0.3;
    place->drop_key = host->drop_key = wmRandomKeyMake(w->random);
    place->drop_offset = host->drop_offset = w->random % 1000;
    place->groups = (const wmMatmulGroup *)(const void *)o->groups.device;
    host->groups = (const wmMatmulGroup *)(const void *)o->groups.host;
}

static void mark(const wmMatmulDesc *d, const operands *o, unsigned char *marks) {
    wm_view view = wm_view_of(&d->d);
    int64_t stride = d->batch_mode == WM_BATCH_STRIDED ? view.batch : o->each[3];
    for (int64_t t = 0; t < d->batch; t++) {
        wmMatmulGroup g = {.m = d->m, .n = d->n};
        if (d->batch_mode == WM_BATCH_GROUPED) wm_matmul_group_example(d, t, &g);
        if (d->gate) g.n = wm_matmul_columns(d);
        for (int64_t i = 0; i < g.m; i++)
            for (int64_t j = 0; j < g.n; j++)
                if (wm_matmul_has(d, i, j)) marks[t * stride + i * view.row + j * view.col] = 1;
    }
}

/* Before and after a run: poison in what comes beside D, and what is in it. */
static void more_before(walk *w, const operands *o) {
    for (int i = 1; i < MORE; i++) {
        if (!o->more[i].device) continue;
        memset(o->more[i].host, 0xff, o->more[i].bytes);
        walk_send(w, &o->more[i]);
    }
}

static void more_after(walk *w, const operands *o) {
    for (int i = 1; i < MORE; i++)
        if (o->more[i].device) walk_receive(w, &o->more[i]);
}

/* Runs, judges every element of D, and looks at the gaps between them. `before`: D's bytes as they were. */
static void judge(walk *w, operands *o, wmMatmulArgs *place, wmMatmulArgs *host, const char *what) {
    const wmMatmulDesc *d = &w->problem->u.matmul;
    walk_buffer *out = &o->matrix[3];
    wm_args args = {.matmul = *place};
    unsigned char *before = malloc(out->bytes + 1), *marks = calloc((size_t)o->elements[3] + 1, 1);
    if (before) memcpy(before, out->host, out->bytes);
    void *const *old_arrays = host->c == host->d ? (void *const *)o->host_arrays[3] : NULL;
    void **kept = NULL;
    if (host->c == host->d && before) { /* in place: the oracle reads the old D from the copy */
        host->c = before;
        if (old_arrays) {
            kept = calloc((size_t)d->batch + 1, sizeof(void *));
            for (int64_t t = 0; kept && t < d->batch; t++)
                kept[t] = before + (size_t)(t * o->each[3]) * wmTypeSize(d->d.type);
            host->c = kept;
        }
    }
    more_before(w, o);
    if (before && marks && walk_run(w, &args)) {
        walk_receive(w, out);
        more_after(w, o);
        const wm_oracle_pick every = {.vendor = w->solver->origin == WM_VENDOR};
        wm_oracle_verdict v = wm_oracle_matmul(w->problem, host, host->d, &every);
        if (v.worst > w->worst) w->worst = v.worst;
        char sentence[256];
        wm_oracle_describe(&v, sentence, sizeof sentence);
        if (v.wrong) walk_fail(w, "%s: %s", what, sentence);
        mark(d, o, marks);
        walk_untouched(w, before, out->host, marks, o->elements[3], wmTypeSize(d->d.type), "d");
    }
    free(before);
    free(marks);
    free(kept);
}

static void poison(walk *w, const walk_buffer *b) {
    memset(b->host, 0xff, b->bytes);
    walk_send(w, b);
}

static void device_scalars(walk *w, operands *o, wmMatmulArgs *place, wmMatmulArgs *host, double alpha, double beta) {
    wmRandomState state = {
        {w->random, 5},
        77
    };
    wmType type = wm_matmul_scale_type(&w->problem->u.matmul);
    wm_number_store(type, o->scalars.host, 0, (wm_number){alpha, 0});
    wm_number_store(type, o->scalars.host, 1, (wm_number){beta, 0});
    memcpy(o->scalars.host + STATE_AT, &state, sizeof state);
    walk_send(w, &o->scalars);
    place->drop_state = (const wmRandomState *)(const void *)(o->scalars.device + STATE_AT);
    host->drop_state = (const wmRandomState *)(const void *)(o->scalars.host + STATE_AT);
    place->alpha = wmDeviceScalar(o->scalars.device);
    place->beta = wmDeviceScalar(o->scalars.device + wmTypeSize(type));
}

static int empty(const wmMatmulDesc *d) {
    return d->m == 0 || d->n == 0 || d->batch == 0;
}

void walk_matmul(walk *w) {
    const wmMatmulDesc *d = &w->problem->u.matmul;
    operands o;
    wmMatmulArgs place, host;
    if (empty(d)) return; /* never reaches a solver */
    int failures = w->failures;
    make_operands(w, &o);
    if (w->failures == failures) {
        bind(w, &o, &place, &host);
        int integer = d->d.type == WM_I32;
        double alpha = integer ? 3 : 0.5, beta = d->gate ? 0 : integer ? -2 : -1.5; /* a gate has no C */
        /* beta = 0 never reads C: it is full of NaN */
        place.alpha = host.alpha = wmReal(1);
        place.beta = host.beta = wmReal(0);
        poison(w, &o.matrix[2]);
        poison(w, &o.matrix[3]);
        judge(w, &o, &place, &host, "alpha 1, beta 0, C of NaN");
        walk_fill(w, &o.matrix[2], d->c.type, o.elements[2]);
        place.alpha = host.alpha = wmReal(alpha);
        place.beta = host.beta = wmReal(beta);
        poison(w, &o.matrix[3]);
        judge(w, &o, &place, &host, "alpha and beta on the host");
        device_scalars(w, &o, &place, &host, alpha, beta);
        poison(w, &o.matrix[3]);
        judge(w, &o, &place, &host, "alpha and beta on the device");
        if (d->c.type == d->d.type && d->c.ld == d->d.ld && d->c.order == d->d.order) {
            walk_fill(w, &o.matrix[3], d->d.type, o.elements[3]);
            place.c = place.d;
            host.c = host.d;
            place.alpha = wmReal(alpha);
            place.beta = wmReal(beta);
            judge(w, &o, &place, &host, "C in place");
            bind(w, &o, &place, &host);
        }
        /* alpha = 0 ignores A and B, NaN included */
        poison(w, &o.matrix[0]);
        poison(w, &o.matrix[1]);
        poison(w, &o.matrix[3]);
        place.alpha = host.alpha = wmReal(0);
        place.beta = host.beta = wmReal(d->gate ? 0 : 1);
        judge(w, &o, &place, &host, "alpha 0, A and B of NaN");
    }
    free_operands(w, &o);
}
