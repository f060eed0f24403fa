/* SPDX-License-Identifier: Apache-2.0 */
/* What async.cu and its test share: small kernels over mbarriers, the copy engine and the tensor cores, and the ways in
 * which each can be wrong on purpose. */
#ifndef WM_TESTS_SIMT_ASYNC_KERNELS_H
#define WM_TESTS_SIMT_ASYNC_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wm_async_fault {
    WM_RIGHT,
    WM_NO_BARRIER,     /* after the mbarrier is made */
    WM_NO_INIT_FENCE,  /* likewise */
    WM_SHORT_EXPECT,   /* fewer bytes announced than come */
    WM_LONG_EXPECT,    /* more */
    WM_NO_LOAD,        /* of the second operand */
    WM_NO_WAIT,        /* for the tiles */
    WM_WRONG_PARITY,   /* waits for the phase before */
    WM_STRIDE,         /* of a descriptor: half of what it is */
    WM_SPAN,           /* of a descriptor's swizzle: 64 bytes for 128 */
    WM_NO_WGMMA_FENCE, /* before the first product */
    WM_EARLY_REUSE,    /* operands overwritten before the wait */
    WM_NO_WGMMA_WAIT,  /* sums read before the wait */
    WM_OTHER_OPERAND,  /* one warp names another operand */
    WM_SWIZZLE,        /* the result's swizzle takes the wrong bit */
    WM_NO_ASYNC_FENCE, /* before the store */
    WM_NO_STORE_BARRIER,
    WM_EARLY_WRITE,   /* the result overwritten before the store has read it */
    WM_NO_STORE_WAIT, /* at the end */
    WM_EXTRA_ARRIVAL,
    WM_WRONG_LANE, /* of a fragment of mma.sync */
    WM_NO_MEETING  /* of the cluster, before one block copies into the other */
} wm_async_fault;

/* D (64 × 64 f32) = A (64 × 64 bf16) · B (64 × 64 bf16, transposed) by one warpgroup. */
typedef struct wm_async_product {
    struct {
        unsigned long long opaque[16];
    } __attribute__((aligned(64))) a, b, d;
    int fault;
} wm_async_product;

/* Bytes through shared memory: out[i] = 2 in[i], by bulk copies; in a cluster each block brings a half for both. */
typedef struct wm_async_run {
    const float *in;
    float *out;
    int n, fault;
} wm_async_run;

/* One warp's products, D += A · B of each type, integers that fit all of them; row-major. */
typedef struct wm_async_mma {
    const float *a, *b;    /* 16 × 32, 32 × 8 */
    float *d;              /* f16, bf16, tf32, s8, f64 (8 × 8): 16 × 8 each, over K of 16, 16, 8, 32, 4 */
    unsigned short *moved; /* 32 × 8, and again, transposed */
    int fault;
} wm_async_mma;

#ifdef __cplusplus
}
#endif

#endif
