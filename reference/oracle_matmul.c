/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of matrix products. oracle_matmul.h has the theory. */
#include "reference/oracle_matmul.h"
#include "reference/matmul_more.h"
#include "reference/oracle_matmul_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static wm_oracle_sized sized_of(wm_number x) {
    wm_oracle_sized s = {
        {x.re,        x.im       },
        {fabsl(x.re), fabsl(x.im)}
    };
    return s;
}

static wm_oracle_sized times(wm_oracle_sized a, wm_oracle_sized b) {
    wm_oracle_sized r;
    r.x[0] = a.x[0] * b.x[0] - a.x[1] * b.x[1];
    r.x[1] = a.x[0] * b.x[1] + a.x[1] * b.x[0];
    r.size[0] = a.size[0] * b.size[0] + a.size[1] * b.size[1];
    r.size[1] = a.size[0] * b.size[1] + a.size[1] * b.size[0];
    return r;
}

/* Without the imaginary zeros of real problems, which an infinity would turn into NaN. */
static wm_oracle_sized times_real(wm_oracle_sized a, wm_oracle_sized b) {
    wm_oracle_sized r = {
        {a.x[0] * b.x[0],       0},
        {a.size[0] * b.size[0], 0}
    };
    return r;
}

static wm_oracle_sized plus(wm_oracle_sized a, wm_oracle_sized b) {
    wm_oracle_sized r = {
        {a.x[0] + b.x[0],       a.x[1] + b.x[1]      },
        {a.size[0] + b.size[0], a.size[1] + b.size[1]}
    };
    return r;
}

static wm_number scalar_of(const wmScalar *scalar, wmType type, double standard) {
    wm_number x = {standard, 0.0};
    if (scalar->kind == WM_SCALAR_DEVICE) return wm_number_load(type, scalar->device, 0);
    if (scalar->kind == WM_SCALAR_HOST) {
        x.re = scalar->re;
        x.im = scalar->im;
    }
    return wm_number_round(type, x);
}

static int is_zero(wm_number x) {
    return x.re == 0.0 && x.im == 0.0;
}

static long double scale_of(const wmMatrixDesc *x, const void *scale) {
    return x->scale == WM_SCALE_TENSOR ? (long double)*(const float *)scale : 1.0L;
}

static wm_number element(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *arg, int64_t t, int64_t i,
                         int64_t j) {
    wm_view view = wm_view_of(x);
    wm_number value = wm_number_load(x->type, wm_matrix_at(d, x, arg, t), i * view.row + j * view.col);
    if (view.conjugate) value.im = -value.im;
    return value;
}

static void note(wm_oracle_linear *l, wm_oracle_sized s) {
    for (int part = 0; part < 2; part++) {
        if (!(s.size[part] <= LDBL_MAX)) l->finite = 0;
        if (s.size[part] > l->largest) l->largest = s.size[part];
    }
}

/* The scales of A and B, which real products have. */
static void scale_product(const wmMatmulDesc *d, const wmMatmulArgs *in, int64_t t, int64_t i, int64_t j,
                          wm_oracle_linear *l) {
    wm_number a = {wm_scale_at(d, &d->a, in->a_scale, t, i), 0.0};
    wm_number b = {wm_scale_at(d, &d->b, in->b_scale, t, j), 0.0};
    if (!d->a.scale && !d->b.scale) return;
    l->product = times_real(times_real(l->product, sized_of(a)), sized_of(b));
    l->alpha *= fabsl((long double)a.re * (long double)b.re);
}

/* A sum of integers wraps, and is known exactly. */
static void wrap(wm_oracle_linear *l) {
    l->product.x[0] = (long double)(int32_t)(uint32_t)(int64_t)l->product.x[0];
    l->product.size[0] = fabsl(l->product.x[0]);
}

/* Element q of line `line` of A or B, times its block's scale, which is exact here. */
static wm_oracle_sized blocked(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *arg, const void *scale,
                               int64_t t, int64_t line, int64_t q) {
    int is_a = x == &d->a;
    wm_oracle_sized e = sized_of(element(d, x, arg, t, is_a ? line : q, is_a ? q : line));
    if (!wm_scale_is_block(x)) return e;
    return times_real(e, sized_of((wm_number){wm_block_scale_at(d, x, scale, t, line, q), 0.0}));
}

wm_oracle_linear wm_oracle_linear_of(const wmMatmulDesc *d, const wmMatmulArgs *in, int64_t t, int64_t i, int64_t j) {
    wm_number alpha = scalar_of(&in->alpha, wm_matmul_scale_type(d), 1.0);
    wm_number beta = scalar_of(&in->beta, wm_matmul_scale_type(d), 0.0), none = {0.0, 0.0};
    int complex = wm_type_is_complex(d->d.type);
    wm_oracle_linear l = {.x = sized_of(none), .product = sized_of(none), .finite = 1};
    l.alpha = fabsl(alpha.re) + fabsl(alpha.im);
    for (int64_t p = 0; p < d->k && !is_zero(alpha); p++) {
        wm_oracle_sized a = blocked(d, &d->a, in->a, in->a_scale, t, i, p),
                        b = blocked(d, &d->b, in->b, in->b_scale, t, j, p);
        l.product = plus(l.product, complex ? times(a, b) : times_real(a, b));
    }
    if (d->a.type == WM_I8) wrap(&l);
    if (d->allow_3m) l.product.size[1] += l.product.size[0]; /* the terms of (|re| + |im|) (|re| + |im|) */
    note(&l, l.product);
    if (d->k > 0 && !is_zero(alpha)) {
        l.product = complex ? times(l.product, sized_of(alpha)) : times_real(l.product, sized_of(alpha));
        scale_product(d, in, t, i, j, &l);
    }
    l.x = l.product;
    l.reads_c = !is_zero(beta);
    if (l.reads_c) {
        wm_oracle_sized c = sized_of(element(d, &d->c, in->c, t, i, j));
        l.x = plus(l.x, complex ? times(c, sized_of(beta)) : times_real(c, sized_of(beta)));
    }
    l.unbiased = l.x;
    if (d->bias) l.x = plus(l.x, sized_of(wm_number_load(d->bias_type, in->bias, d->bias == WM_BIAS_N ? j : i)));
    note(&l, l.x);
    return l;
}

/* ---- The bound ---- */

/* The unit of the arithmetic promised, and its smallest positive number. */
long double wm_oracle_unit(const wmMatmulDesc *d) {
    if (d->compute == WM_COMPUTE_F64) return 0x1p-53L;
    if (d->place == WM_PLACE_GPU && wm_type_is_fp8(d->a.type)) return 0x1p-13L;
    int truncates = d->a.type == WM_F16 || d->a.type == WM_BF16 || d->compute == WM_COMPUTE_TF32;
    return d->place == WM_PLACE_GPU && truncates && d->compute != WM_COMPUTE_F32_STRICT ? 0x1p-23L : 0x1p-24L;
}

static long double tiny(const wmMatmulDesc *d) {
    return d->compute == WM_COMPUTE_F64 ? 0x1p-1074L : 0x1p-149L;
}

long double wm_oracle_roundings(const wmMatmulDesc *d) {
    int complex = wm_type_is_complex(d->d.type);
    long double terms = d->a.type == WM_I8 ? 1 : (long double)d->k; /* a sum of integers is one number */
    return terms * (complex ? 2 : 1) + 4 + 2 * complex + (d->allow_3m ? 4 : 0) +
           (d->a.scale || d->b.scale || d->d.scale ? 3 : 0);
}

long double wm_oracle_gamma(long double n, long double u) {
    return n * u < 1 ? n * u / (1 - n * u) : INFINITY;
}

/* Of x, before the activation. */
long double wm_oracle_linear_error(const wmMatmulDesc *d, const wm_oracle_linear *l, int part, long double n) {
    long double error =
        wm_oracle_gamma(n, wm_oracle_unit(d)) * l->x.size[part] + wm_oracle_roundings(d) * (l->alpha + 4) * tiny(d);
    if (d->compute == WM_COMPUTE_TF32) error += 2.001L * 0x1p-10L * l->product.size[part];
    return error + wm_oracle_roundings(d) * LDBL_EPSILON * l->x.size[part]; /* the oracle's own */
}

long double wm_oracle_activate(wmActivation activation, long double x) {
    switch (activation) {
    case WM_ACT_RELU:
        return x <= 0 ? 0 : x;
    case WM_ACT_GELU_TANH: /* x/2 · (1 + tanh z) = x / (1 + exp(-2z)) */
        return x / (1 + expl(-2 * 0.797884560802865355879892L * (x + 0.044715L * x * x * x)));
    case WM_ACT_SILU:
        return x / (1 + expl(-x));
    case WM_ACT_GELU_ERF:
        return x / 2 * erfcl(x * -0.707106781186547524400844L);
    default:
        return x;
    }
}

long double wm_oracle_activation_error(const wmMatmulDesc *d, long double x, long double error) {
    if (d->activation < WM_ACT_GELU_TANH) return error;
    return 1.13L * error + 8 * wm_oracle_unit(d) * (fabsl(x) + error);
}

/* Half a unit in the last place of the type at x. */
long double wm_oracle_half_ulp(wm_float_shape shape, long double x) {
    int exponent = 0;
    frexpl(x, &exponent);
    int least = shape.exponent + 1;
    return ldexpl(1, (exponent > least ? exponent : least) - shape.digits - 1);
}

/* What a vendor's fused epilogue loses by keeping its intermediates in D's type. */
static long double vendor_error(const wmMatmulDesc *d, const wm_oracle_linear *l, int part, long double error) {
    wm_float_shape shape = wm_number_shape(d->d.type);
    long double extra = 0;
    if (!(d->bias || d->activation) || !(l->reads_c || d->activation >= WM_ACT_GELU_TANH)) return 0;
    extra += wm_oracle_half_ulp(shape, fabsl(l->unbiased.x[part]) + error);
    if (d->bias && d->activation) extra += wm_oracle_half_ulp(shape, fabsl(l->x.x[part]) + error + extra);
    return extra;
}

long double wm_oracle_clamped(wm_float_shape shape, long double y) {
    if (!shape.saturates || isnan(y)) return y;
    return fminl(fmaxl(y, -(long double)shape.largest), (long double)shape.largest);
}

static wm_oracle_element judge(const wmMatmulDesc *d, const wmMatmulArgs *in, const wm_oracle_linear *l, int part,
                               int vendor) {
    wm_float_shape shape = wm_number_shape(d->d.type);
    long double n = wm_oracle_roundings(d), scale = scale_of(&d->d, in->d_scale), x = l->x.x[part],
                y = wm_oracle_activate(d->activation, x);
    long double hard = wm_oracle_linear_error(d, l, part, n),
                soft = wm_oracle_linear_error(d, l, part, fminl(n, 3 * sqrtl(n)));
    long double more = vendor ? vendor_error(d, l, part, hard) : 0;
    hard = wm_oracle_activation_error(d, x, hard + more) / fabsl(scale);
    soft = wm_oracle_activation_error(d, x, soft + more) / fabsl(scale);
    wm_oracle_element e = {wm_oracle_clamped(shape, y / scale), 0, 0, 1};
    e.bound = hard + wm_oracle_half_ulp(shape, fabsl(e.value) + hard);
    e.probable = soft + wm_oracle_half_ulp(shape, fabsl(e.value) + soft);
    long double top = d->compute == WM_COMPUTE_F64 ? DBL_MAX : FLT_MAX;
    if (l->finite && l->largest >= top) e.judged = 0;
    if (!l->finite && wm_type_is_complex(d->d.type)) e.judged = 0;
    if (isnan(x) && d->activation == WM_ACT_RELU) e.judged = 0;
    if (!l->finite && isinf(x) && x < 0 && d->activation >= WM_ACT_GELU_TANH) e.judged = 0; /* -inf · 0 */
    return e;
}

/* i8: exact, modulo 2^32. */
static wm_oracle_element judge_integer(const wmMatmulDesc *d, const wmMatmulArgs *in, int64_t t, int64_t i, int64_t j) {
    wm_number alpha = scalar_of(&in->alpha, WM_I32, 1.0), beta = scalar_of(&in->beta, WM_I32, 0.0);
    int64_t sum = 0;
    for (int64_t p = 0; p < d->k && alpha.re != 0.0; p++)
        sum += (int64_t)element(d, &d->a, in->a, t, i, p).re * (int64_t)element(d, &d->b, in->b, t, p, j).re;
    uint32_t r = (uint32_t)(int64_t)alpha.re * (uint32_t)sum;
    if (beta.re != 0.0) r += (uint32_t)(int64_t)beta.re * (uint32_t)(int64_t)element(d, &d->c, in->c, t, i, j).re;
    if (d->bias) r += (uint32_t)(int64_t)wm_number_load(d->bias_type, in->bias, d->bias == WM_BIAS_N ? j : i).re;
    wm_oracle_element e = {(long double)wm_oracle_activate(d->activation, (int32_t)r), 0, 0, 1};
    return e;
}

wm_oracle_element wm_oracle_matmul_element(const wm_problem *problem, const wmMatmulArgs *inputs, int64_t t, int64_t i,
                                           int64_t j, int part) {
    const wmMatmulDesc *d = &problem->u.matmul;
    if (d->a.type == WM_I8) return judge_integer(d, inputs, t, i, j);
    wm_oracle_linear l = wm_oracle_linear_of(d, inputs, t, i, j);
    return judge(d, inputs, &l, part, 0);
}

/* ---- The verdict ---- */

/* Error as a fraction of the bound; infinite for a NaN or infinity in the wrong place. */
static long double fraction(wmType type, const wm_oracle_element *e, double got, long double bound) {
    wm_float_shape shape = wm_number_shape(type);
    long double limit = shape.digits ? shape.largest + wm_oracle_half_ulp(shape, shape.largest) : INFINITY;
    if (isnan(e->value) || isnan(got)) return isnan(e->value) && isnan(got) ? 0 : INFINITY;
    if (isinf(got)) { /* right if the value, give or take the bound, rounds to this infinity */
        long double most = got > 0 ? e->value + bound : bound - e->value;
        return most >= limit ? 0 : INFINITY;
    }
    if (isinf(e->value)) return INFINITY;
    long double error = fabsl((long double)got - e->value);
    if (error == 0) return 0;
    return bound > 0 ? error / bound : INFINITY;
}

void wm_oracle_count(wm_oracle_verdict *v, wmType type, const wm_oracle_element *e, double got, int64_t t, int64_t i,
                     int64_t j) {
    if (!e->judged) {
        v->unjudged++;
        return;
    }
    double hard = (double)fraction(type, e, got, e->bound), soft = (double)fraction(type, e, got, e->probable);
    int wrong = !(hard <= 1), first = v->judged == 0;
    v->judged++;
    if (soft > v->alarm) v->alarm = soft;
    if (first || (wrong && v->wrong == 0) || (v->wrong == 0 && hard > v->worst)) {
        v->t = t, v->i = i, v->j = j;
        v->got = got, v->want = (double)e->value, v->bound = (double)e->bound;
    }
    if (hard > v->worst) v->worst = hard;
    v->wrong += wrong;
}

static void judge_element(wm_oracle_verdict *v, const wmMatmulDesc *d, const wmMatmulArgs *in, const void *got,
                          int vendor, int64_t t, int64_t i, int64_t j) {
    if (!wm_matmul_has(d, i, j)) return;
    wm_number value = element(d, &d->d, got, t, i, j);
    if (wm_oracle_is_finished(d)) {
        wm_oracle_finished(v, d, in, value.re, t, i, j);
        return;
    }
    if (d->a.type == WM_I8) {
        wm_oracle_element e = judge_integer(d, in, t, i, j);
        wm_oracle_count(v, d->d.type, &e, value.re, t, i, j);
        return;
    }
    wm_oracle_linear l = wm_oracle_linear_of(d, in, t, i, j);
    for (int part = 0; part <= wm_type_is_complex(d->d.type); part++) {
        wm_oracle_element e = judge(d, in, &l, part, vendor);
        wm_oracle_count(v, d->d.type, &e, part ? value.im : value.re, t, i, j);
    }
}

static uint64_t mix(uint64_t x) { /* splitmix64's finaliser */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The r-th index to look at, and how many there are. */
static int64_t pick_count(int64_t wanted, int64_t count) {
    return wanted <= 0 || wanted > count ? count : wanted;
}

static int64_t pick_index(int64_t wanted, int64_t count, int64_t r, uint64_t seed) {
    if (wanted <= 0 || wanted >= count || r == 0) return r;
    return r == 1 ? count - 1 : (int64_t)(mix(seed + (uint64_t)r) % (uint64_t)count);
}

/* The verdict on one product more. */
static void add_verdict(wm_oracle_verdict *all, const wm_oracle_verdict *one, int64_t t) {
    int worse = all->judged == 0 || (one->wrong && all->wrong == 0) || (all->wrong == 0 && one->worst > all->worst);
    wm_oracle_verdict sum = one->judged && worse ? *one : *all;
    if (one->judged && worse) sum.t = t;
    sum.judged = all->judged + one->judged;
    sum.wrong = all->wrong + one->wrong;
    sum.unjudged = all->unjudged + one->unjudged;
    sum.worst = one->worst > all->worst ? one->worst : all->worst;
    sum.alarm = one->alarm > all->alarm ? one->alarm : all->alarm;
    *all = sum;
}

static wm_oracle_verdict judge_groups(const wm_problem *problem, const wmMatmulArgs *inputs, const void *got,
                                      const wm_oracle_pick *pick) {
    const wmMatmulDesc *d = &problem->u.matmul;
    wm_oracle_verdict all = {0};
    for (int64_t t = 0; t < d->batch; t++) {
        wm_problem one = *problem;
        wmMatmulArgs args;
        wm_matmul_group_of(d, inputs, &inputs->groups[t], &one.u.matmul, &args);
        const char *out = (const char *)got + inputs->groups[t].d * (int64_t)wmTypeSize(d->d.type);
        wm_oracle_verdict v = wm_oracle_matmul(&one, &args, out, pick);
        add_verdict(&all, &v, t);
    }
    return all;
}

wm_oracle_verdict wm_oracle_matmul(const wm_problem *problem, const wmMatmulArgs *inputs, const void *got,
                                   const wm_oracle_pick *pick) {
    static const wm_oracle_pick everything = {0};
    const wmMatmulDesc *d = &problem->u.matmul;
    wm_oracle_verdict v = {0};
    if (!pick) pick = &everything;
    if (d->batch_mode == WM_BATCH_GROUPED) return judge_groups(problem, inputs, got, pick);
    int64_t columns = wm_matmul_columns(d), rows = pick_count(pick->rows, d->m), cols = pick_count(pick->cols, columns);
    for (int64_t t = 0; t < pick_count(pick->products, d->batch); t++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                judge_element(&v, d, inputs, got, pick->vendor,
                              pick_index(pick->products, d->batch, t, mix(pick->seed + 1)),
                              pick_index(pick->rows, d->m, i, mix(pick->seed + 2)),
                              pick_index(pick->cols, columns, j, mix(pick->seed + 3)));
    if (wm_oracle_is_finished(d)) wm_oracle_beside(&v, d, inputs, pick);
    return v;
}

void wm_oracle_describe(const wm_oracle_verdict *v, char *out, size_t room) {
    snprintf(out, room, "%lld of %lld elements wrong: (%lld, %lld) of product %lld is %.17g, should be %.17g +- %.3g",
             (long long)v->wrong, (long long)v->judged, (long long)v->i, (long long)v->j, (long long)v->t, v->got,
             v->want, v->bound);
}
