/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout without a stored mask: the backward pass asks for the same random numbers as the forward pass, since element
 * i's number is a function of the layer's key and i, whatever the grids. The host checks it with its own numbers.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a dropout.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/random.h>
#include <warpmath/warpmath.h>

#include <cstdio>
#include <cstdlib>

constexpr unsigned LAYER = 3;

/** 1 / keep where element i stays, 0 where it drops out: of each word the first 24 bits. */
__host__ __device__ inline float mask(wmRandomKey key, unsigned long long i, float keep) {
    return wmUniformF32(key, i) < keep ? 1.0f / keep : 0.0f;
}

/** The key of a layer's step: folding is as cheap as drawing, so that kernels do it themselves. */
__host__ __device__ inline wmRandomKey key_of(wmRandomKey key, unsigned layer, unsigned step) {
    return wmRandomKeyFold(wmRandomKeyFold(key, layer), step);
}

/** Four elements a thread for one block of words: y = mask · x. */
__global__ void forward(float *y, const float *x, int n, wmRandomKey root, unsigned step, float keep) {
    const wmRandomKey key = key_of(root, LAYER, step);
    int block = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (4 * block >= n) return;
    wmF32x4 u = wmUniformF32x4(key, (unsigned long long)block);
    for (int k = 0; k < 4 && 4 * block + k < n; k++) y[4 * block + k] = u.v[k] < keep ? x[4 * block + k] / keep : 0.0f;
}

/** Another kernel, an element a thread: dx = mask · dy. */
__global__ void backward(float *dx, const float *dy, int n, wmRandomKey root, unsigned step, float keep) {
    const wmRandomKey key = key_of(root, LAYER, step);
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (int)(gridDim.x * blockDim.x))
        dx[i] = mask(key, (unsigned long long)i, keep) * dy[i];
}

static void need(bool ok, const char *what) {
    if (ok) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
}

int main() {
    const int n = 1000003;
    const unsigned step = 1700;
    const float keep = 0.75f;
    const wmRandomKey root = wmRandomKeyMake(2026), key = key_of(root, LAYER, step);
    float *host = (float *)std::malloc(sizeof(float) * n), *x = nullptr, *y = nullptr;
    need(host && cudaMalloc((void **)&x, sizeof(float) * n) == cudaSuccess, "memory");
    need(cudaMalloc((void **)&y, sizeof(float) * n) == cudaSuccess, "memory");
    for (int i = 0; i < n; i++) host[i] = 3.0f;
    need(cudaMemcpy(x, host, sizeof(float) * n, cudaMemcpyHostToDevice) == cudaSuccess, "copy");
    int wrong = 0, kept = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 0)
            forward<<<(n / 4 + 256) / 256, 256>>>(y, x, n, root, step, keep);
        else
            backward<<<97, 128>>>(y, x, n, root, step, keep);
        need(cudaMemcpy(host, y, sizeof(float) * n, cudaMemcpyDeviceToHost) == cudaSuccess, "kernel");
        for (int i = 0; i < n; i++) {
            int stays = mask(key, (unsigned long long)i, keep) != 0.0f;
            kept += pass == 0 && stays;
            wrong += stays ? !(host[i] > 3.99f && host[i] < 4.01f) : host[i] != 0.0f;
        }
    }
    std::printf("%d of %d elements kept (%.4f), %d differ between forward, backward and host\n", kept, n,
                (double)kept / n, wrong);
    cudaFree(x);
    cudaFree(y);
    std::free(host);
    return wrong == 0 && kept > 0.745 * n && kept < 0.755 * n ? 0 : 1;
}
