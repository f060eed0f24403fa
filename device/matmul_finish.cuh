/* SPDX-License-Identifier: Apache-2.0 */
/* Device side of matmul_finish: the pass over a product's sums, the last step of reductions, and scales by block put
 * into f32 copies. matmul_finish.cu tells what they are for. With WM_MATMUL_FUNCTOR, the name of a user's function
 * which stands before this header, and WM_MATMUL_FUNCTOR_REAL, float or double, it is the pass with that function
 * alone: what run-time compilation makes for a plan. */
#ifndef WM_DEVICE_MATMUL_FINISH_CUH
#define WM_DEVICE_MATMUL_FINISH_CUH

#include "device/matmul_element.cuh"

#include <warpmath/device/dist_basic.h>
#include <warpmath/matmul.h>

enum { THREADS = 256, RUN = 4, PIECE = 4096 }; /* of a block; columns of a run and of a row's piece */

/** A scale for each row, column or product, whichever has a stride. */
typedef struct wm_finish_scale {
    const float *at; /* NULL: 1 */
    wm_i64 row, col, batch;
} wm_finish_scale;

typedef struct wm_finish_job {
    wm_i64 m, columns, rows, pieces; /* rows of all products; pieces of a row */
    wm_matrix_ref sum, r, z;         /* base NULL: none */
    wm_epilogue e;
    wm_finish_scale a_scale, b_scale, d_scale;
    wm_i64 gate_step, gate_next; /* D's column j: the product's gate_step · j and, where gate_next, that + gate_next */
    int integer;                 /* alpha is not yet in the sums */
    int no_product;              /* k = 0 */
    int activation, dropout, reduction, team, run;
    int triangle; /* wmTriangle */
    wmRandomKey key;
    wm_u64 offset;
    const wmRandomState *state;
    wmProbability keep;
    double factor;
    void *reduced; /* a row's value each, if final is set, else partial ones of T */
    int reduced_type, final;
    const void *functor_user;
    const void *functor_host; /* the functor under the emulation, which cannot compile; else, or with none, NULL */
} wm_finish_job;

/* ---- Parts of an element ---- */

template <class T>
WM_DEVICE T scale_at(const wm_finish_scale &s, wm_i64 t, wm_i64 i, wm_i64 j) {
    return s.at ? T(s.at[t * s.batch + i * s.row + j * s.col]) : T(1);
}

template <class T>
WM_DEVICE T at(const wm_matrix_ref &x, wm_i64 t, wm_i64 i, wm_i64 j) {
    return wm_element_load<T>(x.type, wm_matrix_first(x, t), i * x.row + j * x.col);
}

/** An f32 from which narrower types round as they would from y: odd where it is not exact (reference/number.c). */
WM_DEVICE float odd(float y) {
    return y;
}
WM_DEVICE float odd(double y) {
    float near = wm_to_f32(y);
    double back = (double)near;
    if (back == y || y != y) return near;
    wm_u32 bits = wm_f32_bits(near);
    if ((back > y) == (y > 0.0)) bits--; /* it is the larger one in magnitude */
    return wm_f32_of(bits | 1);
}

/** An i8 takes the nearest value that it has, and 0 for a NaN. 1.5 · 2^23 (2^52) more and less rounds to nearest even.
 */
template <class T>
WM_DEVICE void put(const wm_matrix_ref &x, wm_i64 t, wm_i64 i, wm_i64 j, T y) {
    void *base = const_cast<void *>(wm_matrix_first(x, t));
    wm_i64 index = i * x.row + j * x.col;
    if (x.type == WM_ELEMENT_F64) {
        wm_element_store(x.type, base, index, y);
    } else if (x.type == WM_ELEMENT_F32) {
        static_cast<float *>(base)[index] = wm_to_f32(y);
    } else if (x.type != WM_ELEMENT_I8) {
        wm_element_store(x.type, base, index, odd(y));
    } else {
        T near = y != y ? T(0) : y < T(-128) ? T(-128) : y > T(127) ? T(127) : y;
        T shift = sizeof(T) == 8 ? T(6755399441055744.0) : T(12582912.0);
        static_cast<wm_i8 *>(base)[index] = (wm_i8)(int)wm_sub(wm_add(near, shift), shift);
    }
}

/** Of the draws of mask `mask` those in `want` that are kept: planes are worked out until all of them are decided. */
WM_DEVICE wm_u32 kept_of(wmRandomKey key, wm_u64 mask, wm_u32 want, wmProbability keep) {
    wm_u32 one = keep.always ? want : 0, undecided = want;
    wm_u64 rest = keep.bits;
    for (wm_u32 k = 0; rest && undecided; k++, rest <<= 1) {
        wmWords w = wm_random_words(key, mask >> 2, k ? WM_LANE_PLANE + k : WM_LANE_ELEMENTS);
        wm_u32 even = mask & 2 ? w.w[2] : w.w[0], odd = mask & 2 ? w.w[3] : w.w[1], word = mask & 1 ? odd : even;
        if (rest >> 63) {
            one |= undecided & ~word;
            undecided &= word;
        } else {
            undecided &= ~word;
        }
    }
    return one;
}

/** Bit e: whether draw `first` + e is kept, for a run. */
WM_DEVICE wm_u32 kept(const wm_finish_job &p, wmRandomKey key, wm_u64 first) {
    wm_u32 shift = (wm_u32)first & 31, all = (1u << RUN) - 1;
    wm_u32 bits = kept_of(key, first >> 5, all << shift, p.keep) >> shift;
    if (shift > 32 - RUN) bits |= kept_of(key, (first + (RUN - 1)) >> 5, all >> (32 - shift), p.keep) << (32 - shift);
    return bits;
}

template <class T>
WM_DEVICE T activated(int activation, T x) {
    return activation == (int)WM_ACT_SILU ? x / (T(1) + wm_exponential(-x)) : wm_activate(activation, x);
}

/* ---- A row ---- */

/** What a row's elements have in common. */
template <class T>
struct finish_row {
    wm_i64 t, i;
    T alpha, beta, a_scale;
};

template <class T>
WM_DEVICE T linear(const wm_finish_job &p, const finish_row<T> &w, wm_i64 j) {
    T z = T(0);
    if (w.alpha != T(0)) {
        T sum = at<T>(p.sum, w.t, w.i, j);
        if (p.integer) sum = wm_mul(w.alpha, sum);
        z = wm_mul(sum, wm_mul(w.a_scale, scale_at<T>(p.b_scale, w.t, w.i, j)));
    }
    if (w.beta != T(0)) z = wm_add(z, wm_mul(w.beta, at<T>(p.e.c, w.t, w.i, j)));
    if (p.e.bias_along)
        z = wm_add(z, wm_element_load<T>(p.e.bias_type, p.e.bias, p.e.bias_along == WM_EPILOGUE_BIAS_N ? j : w.i));
    if (p.z.base) put(p.z, w.t, w.i, j, z);
    return z;
}

/** What the user's function makes of y. */
template <class T>
WM_DEVICE T functor(const wm_finish_job &p, const finish_row<T> &w, wm_i64 j, T y) {
    (void)p, (void)w, (void)j;
#if defined(WM_SIMT)
    if (!p.functor_host) return y;
    typedef double (*host)(double, int64_t, int64_t, int64_t, const void *);
    host call = reinterpret_cast<host>(const_cast<void *>(p.functor_host));
    return (T)call((double)y, w.i, j, w.t, p.functor_user);
#elif defined(WM_MATMUL_FUNCTOR)
    return WM_MATMUL_FUNCTOR(y, w.i, j, w.t, p.functor_user);
#else
    return y;
#endif
}

template <class T>
WM_DEVICE T result(const wm_finish_job &p, const finish_row<T> &w, wm_i64 j, bool keep) {
    wm_i64 gate = j * p.gate_step;
    T y = activated(p.activation, linear(p, w, gate));
    if (p.gate_next) y = wm_mul(y, linear(p, w, gate + p.gate_next));
    if (p.dropout) y = keep ? wm_mul(y, T(p.factor)) : T(0);
    if (p.r.base) y = wm_add(y, at<T>(p.r, w.t, w.i, j));
    return functor(p, w, j, y);
}

template <class T>
WM_DEVICE T reduced(int reduction, T sum, T y) {
    if (reduction == (int)WM_REDUCE_ROW_SUM) return wm_add(sum, y);
    if (reduction != (int)WM_REDUCE_ROW_MAX) y = y < T(0) ? -y : y;
    return y > sum || y != y ? y : sum; /* a NaN stays: nothing is larger */
}

template <class T>
WM_DEVICE T reduction_begin(int reduction) {
    return reduction == (int)WM_REDUCE_ROW_MAX ? T(-wm_f32_of(0x7f800000u)) : T(0);
}

/** This thread's share of a piece of row `row`; gives what it reduces to. */
template <class T>
WM_DEVICE T finish_piece(const wm_finish_job &p, wm_i64 row, wm_i64 piece, int lane) {
    wm_i64 end = wm_min((piece + 1) * PIECE, p.columns), t = row / p.m;
    finish_row<T> w = {t, row - t * p.m, p.no_product ? T(0) : wm_scalar_load<T>(p.e.alpha),
                       wm_scalar_load<T>(p.e.beta), T(0)};
    if (w.alpha != T(0)) w.a_scale = scale_at<T>(p.a_scale, w.t, w.i, 0);
    wmRandomKey key = p.state ? p.state->key : p.key;
    wm_u64 offset = p.offset + (p.state ? p.state->offset : 0) + (wm_u64)(row * p.columns);
    T sum = reduction_begin<T>(p.reduction);
    for (wm_i64 first = piece * PIECE + lane * p.run; first < end; first += p.team * p.run) {
        wm_u32 bits = p.dropout ? kept(p, key, offset + (wm_u64)first) : 0;
        wm_i64 last = wm_min(first + p.run, end);
        for (wm_i64 j = first; j < last; j++, bits >>= 1) {
            if (p.triangle && (p.triangle == (int)WM_TRIANGLE_LOWER ? j > w.i : j < w.i)) continue;
            T y = result(p, w, j, bits & 1);
            if (p.reduction) sum = reduced(p.reduction, sum, y);
            if (p.d_scale.at) y = wm_div(y, scale_at<T>(p.d_scale, w.t, w.i, j));
            put(p.e.d, w.t, w.i, j, y);
        }
    }
    return sum;
}

/** The value of a team's threads in its first; `shared` has a T for each thread of the block. */
template <class T>
WM_DEVICE T team_reduced(int reduction, int team, int lane, T *shared, T mine) {
    T *own = shared + wm_thread();
    wm_barrier();
    *own = mine;
    for (int half = team / 2; half > 0; half /= 2) {
        wm_barrier();
        if (lane < half) *own = reduced(reduction, *own, own[half]);
    }
    return *own;
}

template <class T>
WM_DEVICE void finish(const wm_finish_job &p) {
    int teams = THREADS / p.team, lane = wm_thread() % p.team;
    wm_i64 groups = wm_divide_up(p.rows, (wm_i64)teams) * p.pieces;
    for (wm_i64 group = blockIdx.x; group < groups; group += gridDim.x) {
        wm_i64 piece = group % p.pieces, row = group / p.pieces * teams + wm_thread() / p.team;
        T sum = row < p.rows ? finish_piece<T>(p, row, piece, lane) : T(0);
        if (!p.reduction) continue;
        sum = team_reduced(p.reduction, p.team, lane, wm_shared<T>(), sum);
        if (lane || row >= p.rows) continue;
        if (p.final) {
            wm_element_store(p.reduced_type, p.reduced, row, sum);
        } else {
            static_cast<T *>(p.reduced)[row * p.pieces + piece] = sum;
        }
    }
}

#ifdef WM_MATMUL_FUNCTOR

WM_KERNEL __launch_bounds__(THREADS, 2) wm_matmul_finish_functor(WM_PARAMS(wm_finish_job)) {
    finish<WM_MATMUL_FUNCTOR_REAL>(p);
}

#else

WM_KERNEL __launch_bounds__(THREADS, 2) wm_matmul_finish_f32(WM_PARAMS(wm_finish_job)) {
    finish<float>(p);
}

WM_KERNEL __launch_bounds__(THREADS, 2) wm_matmul_finish_f64(WM_PARAMS(wm_finish_job)) {
    finish<double>(p);
}

/* ---- The partial values of a row, or of all rows ---- */

typedef struct wm_finish_fold {
    const void *from;
    void *to;
    wm_i64 groups, each;
    int reduction, team, to_type;
} wm_finish_fold;

template <class T>
WM_DEVICE void fold(const wm_finish_fold &p) {
    int lane = wm_thread() % p.team, teams = THREADS / p.team;
    wm_i64 steps = wm_divide_up(p.groups, (wm_i64)teams);
    for (wm_i64 step = blockIdx.x; step < steps; step += gridDim.x) {
        wm_i64 group = step * teams + wm_thread() / p.team;
        const T *from = static_cast<const T *>(p.from) + group * p.each;
        T sum = reduction_begin<T>(p.reduction);
        for (wm_i64 i = lane; group < p.groups && i < p.each; i += p.team) sum = reduced(p.reduction, sum, from[i]);
        sum = team_reduced(p.reduction, p.team, lane, wm_shared<T>(), sum);
        if (lane == 0 && group < p.groups) wm_element_store(p.to_type, p.to, group, sum);
    }
}

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_fold_f32(WM_PARAMS(wm_finish_fold)) {
    fold<float>(p);
}

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_fold_f64(WM_PARAMS(wm_finish_fold)) {
    fold<double>(p);
}

/* ---- A or B times its blocks' scales, in f32 ---- */

typedef struct wm_finish_widen {
    wm_matrix_ref from, to; /* element (line, q) */
    const float *scale;     /* NULL: 1 */
    wm_i64 lines, k, count; /* elements of all products */
    wm_i64 scale_batch, scale_blocks;
    int high; /* lines of a block */
    int by_k; /* neighbours in memory are along k */
} wm_finish_widen;

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_widen(WM_PARAMS(wm_finish_widen)) {
    for (wm_i64 u = wm_grid_first(); u < p.count; u += wm_grid_step()) {
        wm_i64 inner = p.by_k ? p.k : p.lines, outer = u / inner, at = u - outer * inner, high = p.by_k ? p.lines : p.k;
        wm_i64 t = outer / high, across = outer - t * high, line = p.by_k ? across : at, q = p.by_k ? at : across;
        float x = wm_element_load<float>(p.from.type, wm_matrix_first(p.from, t), line * p.from.row + q * p.from.col);
        if (p.scale) x = wm_mul(x, p.scale[t * p.scale_batch + line / p.high * p.scale_blocks + q / 128]);
        float *to = static_cast<float *>(const_cast<void *>(wm_matrix_first(p.to, t)));
        to[line * p.to.row + q * p.to.col] = x;
    }
}

#endif

#endif
