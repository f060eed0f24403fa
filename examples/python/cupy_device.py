#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""warpmath's device functions in a CuPy kernel: normals and a block transform, linked as PTX.

    warpmath device-ltoir normal_f32 fft:256:forward:f32 --ptx --arch 90 -o functions.ptx
    python3 cupy_device.py functions.ptx

The check: the numbers' transform by CuPy, and that equal keys give equal numbers.
"""
import sys

import cupy as cp
from cupy.cuda import compiler, function

N, THREADS, ELEMENTS, SIGNALS = 256, 16, 16, 64  # wmFftThreads(256), wmFftElements(256)
SMEM = (N + N // 16) * 8  # wmFftSmem(256)

SOURCE = r"""
extern "C" __device__ float wm_device_normal_f32(unsigned long long seed, unsigned int substream, unsigned long long i);
extern "C" __device__ void wm_device_fft_256_forward_f32(void *x, void *smem);

extern "C" __global__ void noise_spectrum(float2 *noise, float2 *spectrum, unsigned long long seed) {
    extern __shared__ __align__(16) unsigned char smem[];
    float2 x[16];
    for (int e = 0; e < 16; e++) {
        unsigned long long i = blockIdx.x * 256ull + threadIdx.x + 16 * e; /* wmFftIndex<256>(e) */
        x[e] = make_float2(wm_device_normal_f32(seed, 0, 2 * i), wm_device_normal_f32(seed, 0, 2 * i + 1));
        noise[i] = x[e];
    }
    wm_device_fft_256_forward_f32(x, smem);
    for (int e = 0; e < 16; e++) spectrum[blockIdx.x * 256 + threadIdx.x + 16 * e] = x[e];
}
"""


def linked(functions):
    """The kernel and the functions as one module."""
    made = compiler.compile_using_nvrtc(SOURCE, options=("-rdc=true",), arch="90")
    kernel = made[0] if isinstance(made, tuple) else made
    link = function.LinkState()
    for name, text in (("kernel.ptx", kernel), ("functions.ptx", functions)):
        link.add_ptr_data(text if isinstance(text, bytes) else text.encode(), name)
    module = function.Module()
    module.load(link.complete())
    return module.get_function("noise_spectrum")


def main():
    with open(sys.argv[1], "rb") as file:
        kernel = linked(file.read())
    noise = [cp.empty((SIGNALS, N), cp.complex64) for _ in range(2)]
    spectrum = cp.empty((SIGNALS, N), cp.complex64)
    for out in noise:
        kernel((SIGNALS,), (THREADS,), (out, spectrum, cp.uint64(7)), shared_mem=SMEM)
    error = float(cp.abs(cp.fft.fft(noise[0], axis=1) - spectrum).max())
    same = bool((noise[0] == noise[1]).all())
    spread = float(cp.std(cp.real(noise[0])))
    print(f"difference from CuPy's transform {error:.2g}; equal keys {'agree' if same else 'DIFFER'}; deviation {spread:.3f}")
    sys.exit(0 if error < 1e-4 and same and abs(spread - 1) < 0.05 else 1)


main()
