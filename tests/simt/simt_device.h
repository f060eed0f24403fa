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
    WM_SIMT_MATRIX,
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

/* The whole cluster; relaxed: nobody's accesses become known. */
void wm_simt_barrier_cluster(int relaxed);

/* Block `rank`'s copy of what `pointer` is in this block's shared memory. */
void *wm_simt_cluster_shared(void *pointer, int rank);

/* Starts a copy of `bytes` bytes and zeros up to `size`; makes a group; waits for all but the newest `groups`. */
void wm_simt_copy_start(void *to, const void *from, int size, int bytes);
void wm_simt_copy_commit(void);
void wm_simt_copy_wait(int groups);

/* Addresses in the block's shared window, as PTX instructions take them, and back. */
uint32_t wm_simt_window(const void *pointer);
unsigned char *wm_simt_unwindow(uint32_t address, size_t bytes, const void *pc);

/* mbarriers: `bytes` are announced with the arrival. try lets others run if the phase has not ended. */
void wm_simt_mbarrier_init(uint64_t *word, int count);
void wm_simt_mbarrier_init_fence(void);
void wm_simt_mbarrier_arrive(uint64_t *word, int rank, int bytes);
int wm_simt_mbarrier_try(uint64_t *word, int parity);
void wm_simt_mbarrier_wait(uint64_t *word, int parity);

/* What the emulation keeps in the 128 bytes of a tensor map. */
typedef struct wm_simt_map {
    uint32_t magic;
    uint8_t rank, element, swizzle, fill; /* bytes of an element; of the swizzle's span, 0: none; of the padding */
    uint64_t base, stride[4];             /* bytes */
    uint32_t dim[5];
    uint16_t box[5];
} wm_simt_map;
enum { WM_SIMT_MAP = 0x7e2507a9 };

/* As cuTensorMapEncodeTiled: 0, or 1 if it would refuse. */
int wm_simt_map_encode(void *out, int rank, int element, const void *base, const int64_t *dim, const int64_t *stride,
                       const int *box, int swizzle);

/* Copies: tensors (a box at `at`, into each block whose bit is set; 0: this one alone), runs of bytes, stores back. */
void wm_simt_tensor_load(void *to, const void *map, const int *at, uint64_t *word, uint32_t blocks);
void wm_simt_tensor_store(const void *map, const void *from, const int *at);
void wm_simt_bulk_load(void *to, const void *from, int bytes, uint64_t *word, uint32_t blocks);
void wm_simt_bulk_store(void *to, const void *from, int bytes);
void wm_simt_store_commit(void);
void wm_simt_store_wait(int groups);
void wm_simt_async_fence(void);

/* Matrix elements of the tensor cores. */
typedef enum wm_simt_element {
    WM_SIMT_F16 = 1,
    WM_SIMT_BF16,
    WM_SIMT_TF32,
    WM_SIMT_E4M3,
    WM_SIMT_E5M2,
    WM_SIMT_S8,
    WM_SIMT_U8,
    WM_SIMT_DOUBLE
} wm_simt_element;

/* wgmma of a 64 × n × 32 bytes product: a thread's n / 2 sums, in flight until the wait. */
void wm_simt_wgmma(int a_type, int b_type, int n, int a_mn, int b_mn, void *sum, uint64_t a, uint64_t b, int keep);
/* The same with A, 16-bit, in four words of each thread. */
void wm_simt_wgmma_held(int type, int n, void *sum, const uint32_t *words, uint64_t b, int keep);
void wm_simt_wgmma_fence(void);
void wm_simt_wgmma_commit(void);
void wm_simt_wgmma_wait(int groups);

/* mma.sync of 16 × 8 × 32 bytes (tf32: × 8 elements), f64: 8 × 8 × 4; words of a lane's fragments. */
void wm_simt_mma(int type, int words_a, int words_b, const void *a, const void *b, void *sum);
void wm_simt_load_matrices(int count, int transposed, const void *row, uint32_t *out);
void wm_simt_store_matrices(int count, int transposed, void *row, const uint32_t *in);

/* Rounded to nearest even: bits of an f16 or bf16; of an f32 to 10 bits of mantissa, ties away, as cvt.rna.tf32. */
uint32_t wm_simt_round16(int bf16, float x);
uint32_t wm_simt_round_tf32(float x);

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
