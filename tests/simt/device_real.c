/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_simt_device.c on a real GPU: the same kernels, nvcc's, and the same checks. Here the emulation's calls that the
 * test uses are answered by the CUDA runtime: an area has a twin on the device, which a launch fills before and brings
 * back after the kernel; parameters that point to an area then point to its twin.
 */
#include "simt_test.h"

#include <cuda_runtime_api.h>

#include <stdio.h>

enum { AREAS = 16 };

static struct {
    unsigned char *host, *twin;
    size_t bytes;
} areas[AREAS];

static char fault[256];

static int check(cudaError_t error, const char *what) {
    if (error && !*fault) (void)snprintf(fault, sizeof fault, "%s: %s", what, cudaGetErrorString(error));
    return (int)error;
}

void *wm_area_new(size_t bytes) {
    int i = 0;
    void *twin = NULL;
    while (i < AREAS && areas[i].host) i++;
    if (i == AREAS || check(cudaMalloc(&twin, bytes), "cudaMalloc")) return NULL;
    areas[i].host = malloc(bytes);
    if (!areas[i].host) abort();
    memset(areas[i].host, 0xff, bytes); /* NaN */
    areas[i].twin = twin;
    areas[i].bytes = bytes;
    return areas[i].host;
}

int wm_area_end(void *pointer) {
    for (int i = 0; i < AREAS; i++) {
        if (areas[i].host != pointer) continue;
        (void)check(cudaFree(areas[i].twin), "cudaFree");
        free(areas[i].host);
        memset(&areas[i], 0, sizeof areas[i]);
        return 0;
    }
    return 1;
}

void wm_area_mark(void *to, const void *from, size_t bytes) {
    (void)to, (void)from, (void)bytes;
}

void wm_simt_seed(uint64_t seed) {
    (void)seed;
}

const char *wm_simt_faults(void) {
    return fault;
}

/* Copies all areas to their twins, or back. */
static void copy_areas(int back) {
    for (int i = 0; i < AREAS; i++)
        if (areas[i].host)
            (void)check(back ? cudaMemcpy(areas[i].host, areas[i].twin, areas[i].bytes, cudaMemcpyDeviceToHost)
                             : cudaMemcpy(areas[i].twin, areas[i].host, areas[i].bytes, cudaMemcpyHostToDevice),
                        "copy");
}

int wm_simt_launch(const wm_launch *l) {
    unsigned char params[256];
    void *arguments[1] = {params}, *word;
    cudaLaunchAttribute cluster = {.id = cudaLaunchAttributeClusterDimension};
    cudaLaunchConfig_t config = {
        .gridDim = {l->grid.x,  1, 1},
        .blockDim = {l->block.x, 1, 1},
        .dynamicSmemBytes = l->shared,
        .attrs = &cluster,
        .numAttrs = 1
    };
    if (l->params_bytes > sizeof params) return 1;
    memcpy(params, l->params, l->params_bytes);
    for (size_t at = 0; at + sizeof word <= l->params_bytes; at += sizeof word) {
        memcpy(&word, params + at, sizeof word);
        for (int i = 0; i < AREAS; i++)
            if (word && areas[i].host == word) memcpy(params + at, &areas[i].twin, sizeof word);
    }
    cluster.val.clusterDim.x = l->cluster.x ? l->cluster.x : 1;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    copy_areas(0);
    (void)check(cudaFuncSetAttribute(l->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)l->shared), "shared");
    (void)check(cudaLaunchKernelExC(&config, l->kernel, arguments), "launch");
    (void)check(cudaDeviceSynchronize(), "kernel");
    copy_areas(1);
    return *fault != '\0';
}

int main(void) {
    return test_device();
}
