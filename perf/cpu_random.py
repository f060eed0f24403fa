# SPDX-License-Identifier: Apache-2.0
"""NumPy's default generator on one core, in GB a second of processor time: the lines beside perf/cpu_random.c's."""
import time

import numpy as np

BYTES, CALLS, ROUNDS = 1 << 20, 40, 9
rng = np.random.default_rng(7)


def rate(call):
    best = 1e9
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(CALLS):
            call()
        best = min(best, time.process_time() - began)
    return 1e-9 * BYTES * CALLS / best


f4, f8 = np.empty(BYTES // 4, "f4"), np.empty(BYTES // 8, "f8")
for name, call in (
    ("bits u32", lambda: rng.integers(0, 2**32, BYTES // 4, "u4")),
    ("bits u64", lambda: rng.bit_generator.random_raw(BYTES // 8)),
    ("uniform f32", lambda: rng.random(dtype="f4", out=f4)),
    ("uniform f64", lambda: rng.random(out=f8)),
    ("normal f32", lambda: rng.standard_normal(dtype="f4", out=f4)),
    ("normal f64", lambda: rng.standard_normal(out=f8)),
):
    print(f"NumPy {np.__version__} PCG64 {name},{rate(call):.2f},")
