/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Panels of operands on their way to shared memory by asynchronous copies, for the kernels that keep A as rows of k and
 * B as rows of n there: 16 bytes at a time where memory's rows are those too, else element by element (4 bytes at a
 * time), which turns them and asks for no alignment.
 */
#ifndef WM_DEVICE_MATMUL_PANEL_CUH
#define WM_DEVICE_MATMUL_PANEL_CUH

#include "device/matmul_turn.h"

#include <warpmath/device/copy.cuh>

typedef struct wm_panel_side {
    const void *base;
    wm_i64 count, row, k, batch; /* rows of A or columns of B; strides along them and along k */
    int pointers, sign, vector;  /* vector: 16-byte pieces along A's k or B's columns */
} wm_panel_side;

/** Element (0, 0) of product t. */
template <class T>
WM_DEVICE const T *wm_panel_first(const wm_panel_side &x, wm_i64 t) {
    return x.pointers ? static_cast<const T *const *>(x.base)[t] : static_cast<const T *>(x.base) + t * x.batch;
}

/** What a thread copies of a panel, OUTER rows of INNER in shared memory: a piece, and more of them a fixed step apart.
 */
template <class T>
struct wm_panel {
    const T *base, *from;     /* an address of the matrix; the first piece of the next step of k */
    wm_i64 step, next;        /* elements of memory from piece to piece, and from step to step */
    int to, to_step;          /* the same in shared memory */
    int o, i, o_step, i_step; /* the pieces' places */
    int left;                 /* rows of A, or columns of B, that exist of the tile's */
    bool vector;              /* a piece is 16 bytes along i, else one element */
};

template <class T, int OUTER, int INNER, int THREADS, int STRIDE>
WM_DEVICE wm_panel<T> wm_panel_begin(const wm_panel_side &x, const T *base, wm_i64 first, wm_i64 outer, wm_i64 inner,
                                     wm_i64 next, wm_i64 left) {
    const int v = 16 / sizeof(T), tid = wm_thread();
    wm_panel<T> a;
    bool along_outer = !x.vector && inner != 1; /* neighbours in memory to neighbouring threads */
    a.vector = x.vector;
    a.o = x.vector ? tid / (INNER / v) : along_outer ? tid % OUTER : tid / INNER;
    a.i = x.vector ? tid % (INNER / v) * v : along_outer ? tid / OUTER : tid % INNER;
    a.o_step = x.vector ? THREADS / (INNER / v) : along_outer ? 0 : THREADS / INNER;
    a.i_step = along_outer ? THREADS / OUTER : 0;
    a.base = base;
    a.from = base + first + a.o * outer + a.i * inner;
    a.step = a.o_step * outer + a.i_step * inner;
    a.next = next;
    a.to = a.o * STRIDE + a.i;
    a.to_step = a.o_step * STRIDE + a.i_step;
    a.left = (int)wm_min(left, (wm_i64)1 << 20);
    return a;
}

/** Copies the pieces of the next step, of which `outer` rows of `inner` exist. */
template <class T, int OUTER, int INNER, int THREADS>
WM_DEVICE void wm_panel_load(wm_panel<T> &a, T *to, int outer, int inner) {
    const int v = 16 / sizeof(T), each = (OUTER * INNER / v + THREADS - 1) / THREADS, words = sizeof(T) / 4;
    if (a.vector) {
        int bytes = wm_max(0, wm_min(inner - a.i, v)) * (int)sizeof(T);
        WM_UNROLL
        for (int c = 0; c < each; c++) {
            int some = a.o + c * a.o_step < outer ? bytes : 0;
            if (each * THREADS * v == OUTER * INNER || wm_thread() + c * THREADS < OUTER * INNER / v)
                wm_copy_async16(to + a.to + c * a.to_step, some ? a.from + c * a.step : a.base, some);
        }
    } else {
#pragma unroll 2
        for (int c = 0; c < OUTER * INNER / THREADS; c++) {
            bool some = a.o + c * a.o_step < outer && a.i + c * a.i_step < inner;
            const T *from = some ? a.from + c * a.step : a.base;
            WM_UNROLL
            for (int w = 0; w < words; w++)
                wm_copy_async4(reinterpret_cast<wm_u32 *>(to + a.to + c * a.to_step) + w,
                               reinterpret_cast<const wm_u32 *>(from) + w, some ? 4 : 0);
        }
    }
    a.from += a.next;
}

/** `along`: k is contiguous in A, the columns in B. */
static inline wm_panel_side wm_panel_side_of(const wmMatmulDesc *d, const wm_side *x, const void *base, int along) {
    wm_panel_side side = {};
    side.base = base;
    side.count = x->count, side.row = x->row, side.k = x->k;
    side.batch = x->desc->batch_stride;
    side.pointers = d->batch_mode == WM_BATCH_POINTERS;
    side.sign = wm_view_of(x->desc).conjugate ? -1 : 1;
    side.vector = along && wm_matrix_is_vector(x->desc);
    return side;
}

#endif
