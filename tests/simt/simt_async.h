/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second bodies of what is PTX in mbarrier.cuh, tma.cuh, bulk.cuh, wgmma.cuh, wgmma_narrow.cuh, wgmma_held.cuh,
 * mma.cuh and mma_narrow.cuh. Included by simt_cuda.h. The emulated device is an sm_90a.
 */
#ifndef WM_TESTS_SIMT_ASYNC_H
#define WM_TESTS_SIMT_ASYNC_H

#define __CUDA_ARCH_FEAT_SM90_ALL 1
#define __CUDA_ARCH_LIST__ 900

WM_SIMT_INLINE unsigned wm_shared_address(const void *pointer) {
    return wm_simt_window(pointer);
}

/* ---- of mbarrier.cuh: a barrier is a wm_u64 ---- */

WM_SIMT_INLINE void wm_mbarrier_init(unsigned long long *barrier, int count) {
    wm_simt_mbarrier_init((uint64_t *)barrier, count);
}
WM_SIMT_INLINE void wm_mbarrier_init_fence(void) {
    wm_simt_mbarrier_init_fence();
}
WM_SIMT_INLINE void wm_mbarrier_expect(unsigned long long *barrier, int bytes) {
    wm_simt_mbarrier_arrive((uint64_t *)barrier, -1, bytes);
}
WM_SIMT_INLINE void wm_mbarrier_arrive(unsigned long long *barrier, int rank) {
    wm_simt_mbarrier_arrive((uint64_t *)barrier, rank, 0);
}
WM_SIMT_INLINE bool wm_mbarrier_try(unsigned long long *barrier, int parity) {
    return wm_simt_mbarrier_try((uint64_t *)barrier, parity) != 0;
}
WM_SIMT_INLINE void wm_mbarrier_wait(unsigned long long *barrier, int parity) {
    wm_simt_mbarrier_wait((uint64_t *)barrier, parity);
}
WM_SIMT_INLINE void wm_cluster_meet(void) {
    wm_simt_barrier_cluster(1);
}

/* ---- of tma.cuh ---- */

WM_SIMT_INLINE void wm_tma_prefetch(const void *) {}
WM_SIMT_INLINE void wm_tma_load(void *to, const void *map, int x, int y, int z, unsigned long long *barrier) {
    const int at[5] = {x, y, z, 0, 0};
    wm_simt_tensor_load(to, map, at, (uint64_t *)barrier, 0);
}
WM_SIMT_INLINE void wm_tma_load_all(void *to, const void *map, int x, int y, int z, unsigned long long *barrier,
                                    unsigned blocks) {
    const int at[5] = {x, y, z, 0, 0};
    wm_simt_tensor_load(to, map, at, (uint64_t *)barrier, blocks);
}
WM_SIMT_INLINE void wm_tma_store(const void *map, const void *from, int x, int y, int z) {
    const int at[5] = {x, y, z, 0, 0};
    wm_simt_tensor_store(map, from, at);
}
WM_SIMT_INLINE void wm_tma_commit(void) {
    wm_simt_store_commit();
}
template <int Groups>
WM_SIMT_INLINE void wm_tma_wait_read(void) {
    wm_simt_store_wait(Groups);
}
WM_SIMT_INLINE void wm_async_fence(void) {
    wm_simt_async_fence();
}

/* ---- of bulk.cuh ---- */

WM_SIMT_INLINE void wm_bulk_load(void *to, const void *from, int bytes, unsigned long long *barrier) {
    wm_simt_bulk_load(to, from, bytes, (uint64_t *)barrier, 0);
}
WM_SIMT_INLINE void wm_bulk_load_all(void *to, const void *from, int bytes, unsigned long long *barrier,
                                     unsigned blocks) {
    wm_simt_bulk_load(to, from, bytes, (uint64_t *)barrier, blocks);
}
WM_SIMT_INLINE void wm_bulk_store(void *to, const void *from, int bytes) {
    wm_simt_bulk_store(to, from, bytes);
}

/* ---- of wgmma.cuh ---- */

WM_SIMT_INLINE void wm_wgmma_fence(void) {
    wm_simt_wgmma_fence();
}
WM_SIMT_INLINE void wm_wgmma_commit(void) {
    wm_simt_wgmma_commit();
}
template <int Groups>
WM_SIMT_INLINE void wm_wgmma_wait(void) {
    wm_simt_wgmma_wait(Groups);
}
template <int N>
WM_SIMT_INLINE void wm_wgmma_settle(float (&)[N]) {}
template <int Count>
WM_SIMT_INLINE void wm_registers_give(void) {
    static_assert(Count >= 24 && Count <= 256 && Count % 8 == 0, "setmaxnreg takes multiples of 8, 24 to 256");
}
template <int Count>
WM_SIMT_INLINE void wm_registers_take(void) {
    static_assert(Count >= 24 && Count <= 256 && Count % 8 == 0, "setmaxnreg takes multiples of 8, 24 to 256");
}
template <int A_MN, int B_MN, int N>
WM_SIMT_INLINE void wm_wgmma_bf16(float (&sum)[N], unsigned long long a, unsigned long long b, int keep) {
    wm_simt_wgmma(WM_SIMT_BF16, WM_SIMT_BF16, 2 * N, A_MN, B_MN, sum, a, b, keep);
}
template <int A_MN, int B_MN, int N>
WM_SIMT_INLINE void wm_wgmma_f16(float (&sum)[N], unsigned long long a, unsigned long long b, int keep) {
    wm_simt_wgmma(WM_SIMT_F16, WM_SIMT_F16, 2 * N, A_MN, B_MN, sum, a, b, keep);
}

/* ---- of wgmma_narrow.cuh ---- */

template <int Kind, int N>
WM_SIMT_INLINE void wm_wgmma_narrow(float (&sum)[N], unsigned long long a, unsigned long long b, int keep) {
    int of_a = Kind == 4 ? WM_SIMT_TF32 : Kind / 2 ? WM_SIMT_E5M2 : WM_SIMT_E4M3;
    int of_b = Kind == 4 ? WM_SIMT_TF32 : Kind % 2 ? WM_SIMT_E5M2 : WM_SIMT_E4M3;
    wm_simt_wgmma(of_a, of_b, 2 * N, 0, 0, sum, a, b, keep);
}
template <int Kind, int N>
WM_SIMT_INLINE void wm_wgmma_narrow(int (&sum)[N], unsigned long long a, unsigned long long b, int keep) {
    wm_simt_wgmma(WM_SIMT_S8, WM_SIMT_S8, 2 * N, 0, 0, sum, a, b, keep);
}
template <int N>
WM_SIMT_INLINE void wm_wgmma_settle(int (&)[N]) {}
WM_SIMT_INLINE void wm_store_matrices(void *row, unsigned a, unsigned b, unsigned c, unsigned d) {
    const uint32_t in[4] = {a, b, c, d};
    wm_simt_store_matrices(4, 0, row, in);
}
WM_SIMT_INLINE unsigned wm_pair_bf16(float low, float high) {
    return wm_simt_round16(1, low) | wm_simt_round16(1, high) << 16;
}
WM_SIMT_INLINE unsigned wm_pair_f16(float low, float high) {
    return wm_simt_round16(0, low) | wm_simt_round16(0, high) << 16;
}

/* ---- of wgmma_held.cuh ---- */

template <int N>
WM_SIMT_INLINE void wm_wgmma_held_bf16(float (&sum)[N], const unsigned (&a)[4], unsigned long long b, int keep) {
    wm_simt_wgmma_held(WM_SIMT_BF16, 2 * N, sum, a, b, keep);
}
template <int N>
WM_SIMT_INLINE void wm_wgmma_held_f16(float (&sum)[N], const unsigned (&a)[4], unsigned long long b, int keep) {
    wm_simt_wgmma_held(WM_SIMT_F16, 2 * N, sum, a, b, keep);
}

/* ---- of mma.cuh and mma_narrow.cuh ---- */

WM_SIMT_INLINE void wm_load_matrices(unsigned (&out)[4], const void *row) {
    wm_simt_load_matrices(4, 0, row, out);
}
WM_SIMT_INLINE void wm_load_matrices(unsigned (&out)[2], const void *row) {
    wm_simt_load_matrices(2, 0, row, out);
}
WM_SIMT_INLINE void wm_load_matrices_t(unsigned (&out)[4], const void *row) {
    wm_simt_load_matrices(4, 1, row, out);
}
WM_SIMT_INLINE void wm_load_matrices_t(unsigned (&out)[2], const void *row) {
    wm_simt_load_matrices(2, 1, row, out);
}
WM_SIMT_INLINE void wm_mma_f16(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    wm_simt_mma(WM_SIMT_F16, 4, 2, a, b, sum);
}
WM_SIMT_INLINE void wm_mma_bf16(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    wm_simt_mma(WM_SIMT_BF16, 4, 2, a, b, sum);
}
WM_SIMT_INLINE void wm_mma_tf32(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    wm_simt_mma(WM_SIMT_TF32, 4, 2, a, b, sum);
}
WM_SIMT_INLINE void wm_mma_s8(int (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    wm_simt_mma(WM_SIMT_S8, 4, 2, a, b, sum);
}
WM_SIMT_INLINE void wm_mma_e4m3(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    wm_simt_mma(WM_SIMT_E4M3, 4, 2, a, b, sum);
}
WM_SIMT_INLINE void wm_mma_e5m2(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    wm_simt_mma(WM_SIMT_E5M2, 4, 2, a, b, sum);
}
WM_SIMT_INLINE void wm_mma_f64(double (&sum)[2], double a, double b) {
    wm_simt_mma(WM_SIMT_DOUBLE, 1, 1, &a, &b, sum);
}
WM_SIMT_INLINE unsigned wm_round_tf32(float x) {
    return wm_simt_round_tf32(x);
}

#endif
