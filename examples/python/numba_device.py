#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""warpmath's normals in a Numba kernel, linked as PTX or LTO-IR.

    warpmath device-ltoir normal_f64 --abi numba --ptx --arch 90 -o functions.ptx        (or without --ptx: .ltoir)
    python3 numba_device.py functions.ptx

The check: mean and deviation, and that equal keys give equal numbers.
"""
import sys

import numpy as np

# numba-cuda 0.30 asks for names that NumPy 2.5 no longer has.
for old, new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(np, old):
        setattr(np, old, getattr(np, new))

from numba import cuda  # noqa: E402

normal = cuda.declare_device("wm_device_normal_f64", "float64(uint64, uint32, uint64)")


def main():
    path = sys.argv[1]

    @cuda.jit(link=[path])
    def draw(out, seed):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = normal(np.uint64(seed), np.uint32(0), np.uint64(i))

    n = 1 << 20
    results = []
    for _ in range(2):
        out = cuda.device_array(n, np.float64)
        draw[(n + 255) // 256, 256](out, 7)
        results.append(out.copy_to_host())
    same = bool((results[0] == results[1]).all())
    mean, deviation = results[0].mean(), results[0].std()
    print(f"{n} normals: mean {mean:.4f}, deviation {deviation:.4f}; equal keys {'agree' if same else 'DIFFER'}")
    sys.exit(0 if same and abs(mean) < 5e-3 and abs(deviation - 1) < 5e-3 else 1)


main()
