/* SPDX-License-Identifier: Apache-2.0 */
/* What emulated device code calls of the emulation. Plain C; simt_cuda.h dresses it as CUDA. */
#ifndef WM_TESTS_SIMT_DEVICE_H
#define WM_TESTS_SIMT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_simt_dim {
    unsigned x, y, z;
} wm_simt_dim;

/* A thread's view of itself: threadIdx and so on. */
typedef struct wm_simt_here {
    wm_simt_dim thread, block, block_size, grid_size;
    int cluster_rank, cluster_blocks;
    void *shared;
} wm_simt_here;

/* The running thread; `const` since it never changes within one. */
const wm_simt_here *wm_simt_here_now(void) __attribute__((const));

typedef enum wm_simt_op {
    WM_SIMT_SYNC = 1,
    WM_SIMT_SHUFFLE,
    WM_SIMT_SHUFFLE_UP,
    WM_SIMT_SHUFFLE_DOWN,
    WM_SIMT_SHUFFLE_XOR,
    WM_SIMT_BALLOT,
    WM_SIMT_ANY,
    WM_SIMT_ALL,
    WM_SIMT_MATCH_ANY,
    WM_SIMT_SUM,
    WM_SIMT_MIN_SIGNED,
    WM_SIMT_MAX_SIGNED,
    WM_SIMT_MIN_UNSIGNED,
    WM_SIMT_MAX_UNSIGNED,
    WM_SIMT_BIT_AND,
    WM_SIMT_BIT_OR,
    WM_SIMT_BIT_XOR
} wm_simt_op;

/* Lanes of `mask` meet; gives each its result. `argument` is a shuffle's lane, distance or bits. */
uint64_t wm_simt_warp_op(int op, uint32_t mask, uint64_t value, int argument, int width);

/* What the barrier's caller wants to know of everybody's `value`. */
typedef enum wm_simt_barrier_op { WM_SIMT_PLAIN = 1, WM_SIMT_AND, WM_SIMT_OR, WM_SIMT_COUNT } wm_simt_barrier_op;

/* Barrier 0 of the whole block. */
int wm_simt_barrier_block(int op, int value);

/* Barrier `id` of `threads` threads; with wait = 0 only arrives. */
void wm_simt_barrier_some(int id, int threads, int wait);

/* The whole cluster. */
void wm_simt_barrier_cluster(void);

/* Block `rank`'s copy of what `pointer` is in this block's shared memory. */
void *wm_simt_cluster_shared(void *pointer, int rank);

/* Starts a copy of `bytes` bytes and zeros up to `size`; makes a group; waits for all but the newest `groups`. */
void wm_simt_copy_start(void *to, const void *from, int size, int bytes);
void wm_simt_copy_commit(void);
void wm_simt_copy_wait(int groups);

/* Lets others run: what a loop that waits for memory to change calls each time round. */
void wm_simt_yield(void);

/* Device code gives up: a trap or a failed assumption. */
void wm_simt_trap(const char *why) __attribute__((noreturn));

typedef enum wm_simt_atomic {
    WM_SIMT_ADD = 1,
    WM_SIMT_SUB,
    WM_SIMT_EXCHANGE,
    WM_SIMT_MIN,
    WM_SIMT_MAX,
    WM_SIMT_AND_BITS,
    WM_SIMT_OR_BITS,
    WM_SIMT_XOR_BITS,
    WM_SIMT_SWAP_IF, /* compare and swap */
    WM_SIMT_LOAD,
    WM_SIMT_STORE
} wm_simt_atomic;

typedef enum wm_simt_kind { WM_SIMT_I32, WM_SIMT_U32, WM_SIMT_I64, WM_SIMT_U64, WM_SIMT_F32, WM_SIMT_F64 } wm_simt_kind;

/* One atomic operation on a value of `kind`; operands and result travel as bits. */
uint64_t wm_simt_atomic_op(int op, int kind, void *address, uint64_t value, uint64_t expected);

#ifdef __cplusplus
}
#endif

#endif
