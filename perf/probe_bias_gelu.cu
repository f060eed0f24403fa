/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel of its own for bias and gelu costs behind a product: bf16, 4096 × 4096, in place, just written by the
 * kernel before it, so largely still in L2. Prints seconds of both kernels together and of the first one alone.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude perf/probe_bias_gelu.cu -o
 * build/dev/probe_bias_gelu
 */
#include <warpmath/device/gelu.cuh>

#include <cstdio>

enum { SIDE = 4096, REPEATS = 50 };

__global__ void write(uint4 *d, unsigned salt) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    d[i] = uint4{0x3f803f00u ^ salt, 0x3e803f80u, 0xbf803f10u, 0x3f20be80u};
}

__device__ unsigned finish(unsigned pair, float2 bias) {
    float x = wm_bf16_to_f32(wm_bf16{(wm_u16)pair}) + bias.x,
          y = wm_bf16_to_f32(wm_bf16{(wm_u16)(pair >> 16)}) + bias.y;
    wm_gelu_tanh_pair(x, y);
    unsigned out;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(y), "f"(x));
    return out;
}

__global__ void bias_gelu(uint4 *d, const float2 *bias) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), at = i % (SIDE / 8) * 4;
    uint4 v = d[i];
    v.x = finish(v.x, bias[at]), v.y = finish(v.y, bias[at + 1]);
    v.z = finish(v.z, bias[at + 2]), v.w = finish(v.w, bias[at + 3]);
    d[i] = v;
}

static float replay(cudaStream_t stream, uint4 *d, const float2 *bias, bool both) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t from, to;
    float ms = 0;
    int blocks = SIDE * SIDE / 8 / 256;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < REPEATS; i++) {
        write<<<blocks, 256, 0, stream>>>(d + (size_t)(i % 4) * SIDE * SIDE / 8, (unsigned)i);
        if (both) bias_gelu<<<blocks, 256, 0, stream>>>(d + (size_t)(i % 4) * SIDE * SIDE / 8, bias);
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaEventCreate(&from), cudaEventCreate(&to);
    for (int i = 0; i < 20; i++) cudaGraphLaunch(exec, stream);
    cudaEventRecord(from, stream);
    for (int i = 0; i < 5; i++) cudaGraphLaunch(exec, stream);
    cudaEventRecord(to, stream);
    cudaEventSynchronize(to);
    cudaEventElapsedTime(&ms, from, to);
    return ms * 1e-3f / (5 * REPEATS);
}

int main() {
    cudaStream_t stream;
    uint4 *d = nullptr;
    float2 *bias = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&d, (size_t)4 * SIDE * SIDE * 2);
    cudaMalloc(&bias, SIDE * sizeof(float));
    cudaMemset(bias, 0, SIDE * sizeof(float));
    float both = replay(stream, d, bias, true), first = replay(stream, d, bias, false);
    std::printf("both %.3e s, the first alone %.3e s, bias and gelu %.3e s: %s\n", both, first, both - first,
                cudaGetErrorString(cudaGetLastError()));
    return 0;
}
