/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples share: giving up with a reason, device memory, a context, a stopwatch. */
#ifndef WM_EXAMPLES_DEVICE_CHECK_H
#define WM_EXAMPLES_DEVICE_CHECK_H

#include <cuda_runtime.h>
#include <warpmath/warpmath.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static inline void need(bool ok, const char *what) {
    if (ok) return;
    std::fprintf(stderr, "%s: %s / %s\n", what, cudaGetErrorString(cudaGetLastError()), wmLastError());
    std::exit(1);
}

/** Device memory for n values of T, that is never freed: the examples end soon. */
template <class T>
static T *device(size_t n) {
    void *p = nullptr;
    need(cudaMalloc(&p, n * sizeof(T)) == cudaSuccess, "cudaMalloc");
    return static_cast<T *>(p);
}

template <class T>
static T *device(const std::vector<T> &x) {
    T *p = device<T>(x.size());
    need(cudaMemcpy(p, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy");
    return p;
}

template <class T>
static std::vector<T> host(const T *p, size_t n) {
    std::vector<T> x(n);
    need(cudaMemcpy(x.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess, "kernel");
    return x;
}

static inline wmContext *context_on(wmPlace place) {
    wmContext *context = nullptr;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = place;
    need(wmContextCreate(&context, &options) == WM_OK, "context");
    return context;
}

/** Seconds of one call, the median of several, after a tenth of a second of warming up. */
template <class F>
static double seconds(F call) {
    cudaEvent_t from, to;
    float ms = 0, sum = 0;
    std::vector<float> all;
    need(cudaEventCreate(&from) == cudaSuccess && cudaEventCreate(&to) == cudaSuccess, "events");
    while (sum < 150 || all.size() < 7) {
        cudaEventRecord(from);
        call();
        cudaEventRecord(to);
        need(cudaEventSynchronize(to) == cudaSuccess && cudaEventElapsedTime(&ms, from, to) == cudaSuccess, "timing");
        sum += ms;
        if (sum > 100) all.push_back(ms);
    }
    for (size_t i = 0; i < all.size(); i++)
        for (size_t j = i + 1; j < all.size(); j++)
            if (all[j] < all[i]) std::swap(all[i], all[j]);
    return all[all.size() / 2] * 1e-3;
}

#endif
