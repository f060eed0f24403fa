#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the long lists of problems beside it: train.txt, by which estimates are corrected, and held_out.txt, by which
they are judged. Drawn at random from a fixed seed, half of them of odd sizes; each fits 100 MB and about a millisecond.
more.txt has products that are quick to time, to learn from too: none of them is in the other two.
"""
import math
import os
import random

rng = random.Random(20261130)

WIDTH = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8, "c64": 8, "e4m3": 1, "i8": 1}
MOST_FLOPS = {"bf16": 1.2e11, "f16": 1.2e11, "f32": 3e10, "f64": 2e10, "c64": 8e9, "e4m3": 2e11, "i8": 2e11}


def size(low, high, odd, step=8):
    """Log-uniform; odd, or a multiple of the largest power of two up to `step` that fits."""
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    if odd:
        return max(1, int(value) | 1)
    return max(step, int(value / step + 0.5) * step) if value >= step else max(1, int(value))


def shape(kind, odd):
    if kind == "square":
        base = size(48, 4096, odd, 16)
        return tuple(base if rng.random() < 0.5 else size(base / 3 + 1, base * 3, odd, 16) for _ in range(3)), 1
    if kind == "thin":
        m, n, k = size(256, 16384, odd, 16), size(2, 64, odd, 2), size(256, 8192, odd, 16)
        return (m, n, k) if rng.random() < 0.5 else (n, m, k), 1
    if kind == "vector":
        m, k = size(64, 8192, odd, 16), size(64, 8192, odd, 16)
        return (m, 1, k) if rng.random() < 0.5 else (1, m, k), 1
    if kind == "long":
        return (size(16, 256, odd, 16), size(16, 256, odd, 16), size(4096, 131072, odd, 64)), 1
    base = size(2, 96, odd, 2)  # a batch of small ones
    same = rng.random() < 0.6
    dims = tuple(base if same else size(2, 96, odd, 2) for _ in range(3))
    work = dims[0] * dims[1] + dims[0] * dims[2] + dims[1] * dims[2]
    return dims, max(2, min(200000, int(2 ** rng.uniform(18, 24) / work)))


def matmul(odd):
    kind = rng.choices(["square", "thin", "vector", "long", "batch"], [40, 18, 10, 8, 24])[0]
    names = ["bf16", "f16", "f32", "f64", "c64", "e4m3", "i8"]
    weights = {"square": [36, 8, 26, 10, 6, 7, 7], "batch": [30, 8, 30, 16, 16, 0, 0]}.get(kind, [40, 8, 40, 8, 4, 0, 0])
    name = rng.choices(names, weights)[0]
    if WIDTH[name] == 1:
        odd = False  # the vendor's fp8 and i8 want multiples of 16
    (m, n, k), batch = shape(kind, odd)
    if WIDTH[name] == 1:
        m, n, k = (max(16, x // 16 * 16) for x in (m, n, k))
    flops = 2.0 * m * n * k * batch * (4 if name == "c64" else 1)
    data = (m * k + k * n + m * n) * batch * WIDTH[name]
    if flops > MOST_FLOPS[name] or data > 1e8:
        return None
    text = f"matmul {name} {m}x{n}x{k}"
    if WIDTH[name] == 1:
        text += " tb=t"
    else:
        turned = rng.choices(["", " tb=t", " ta=t", " ta=t tb=t"], [40, 35, 15, 10])[0]
        text += turned
    if batch > 1:
        text += f" batch={batch}"
    if name == "f32" and kind == "square" and rng.random() < 0.3:
        text += rng.choice([" compute=tf32", " compute=f32_strict"])
    if name in ("bf16", "f16") and kind in ("square", "thin") and rng.random() < 0.25:
        text += rng.choice([" bias=n", " bias=n act=relu", " bias=n act=gelu_tanh", " act=gelu_tanh"])
    return text


def is_smooth(n):
    for p in (2, 3, 5, 7):
        while n % p == 0:
            n //= p
    return n == 1


SMOOTH = [n for n in range(6, 20001, 2) if n & (n - 1) and is_smooth(n)]
ODD_SMOOTH = sorted({3 ** a * 5 ** b * 7 ** c * 11 ** d for a in range(9) for b in range(6) for c in range(5)
                     for d in range(2) if 3 <= 3 ** a * 5 ** b * 7 ** c * 11 ** d <= 20000})
PRIMES = [p for p in range(11, 10007) if all(p % q for q in range(2, int(p ** 0.5) + 1))]
# Few lengths, many batches: a kernel of ours is compiled for each length.
EVEN_LENGTHS = sorted(rng.sample(SMOOTH, 14))
ODD_LENGTHS = sorted(rng.sample(ODD_SMOOTH, 18)) + sorted(rng.sample(PRIMES, 8))


def fft(odd):
    kind = rng.choices(["c2c", "r2c", "c2r"], [70, 16, 14])[0]
    real = rng.choices(["f32", "f64"], [75, 25])[0]
    rank = rng.choices([1, 2, 3], [80, 12, 8])[0] if kind == "c2c" else 1
    if rank == 1:
        lengths = ODD_LENGTHS if odd else EVEN_LENGTHS if rng.random() < 0.35 else [2 ** e for e in range(1, 18)]
        dims = [rng.choice(lengths)]
        if kind != "c2c":
            dims = [rng.choice([128, 256, 1024, 4096] if not odd else ODD_LENGTHS[::4])]
    else:
        low, high = (16, 1024) if rank == 2 else (16, 128)
        dims = [size(low, high, True) if odd else 2 ** rng.randint(int(math.log2(low)), int(math.log2(high)))
                for _ in range(rank)]
    points = math.prod(dims)
    batch = max(1, int(2 ** rng.uniform(12, 22) / points))
    batch = batch | 1 if odd else batch
    text = f"fft {kind} {real} " + "x".join(map(str, dims))
    if batch > 1:
        text += f" batch={batch}"
    if kind == "c2c" and rng.random() < 0.15:
        text += " inplace=1"
    if kind == "c2c" and rng.random() < 0.15:
        text += " dir=inverse"
    return text if points * batch < 6e6 else None


def draw(odd):
    which, types = rng.choices([
        ("bits", ["u32", "u64", "u8"]), ("uniform", ["f32", "f64", "bf16", "f16"]), ("normal", ["f32", "f64", "bf16", "f16"]),
        ("lognormal", ["f32", "f64"]), ("exponential", ["f32", "f64"]), ("integers", ["i32", "u32", "i64"]),
        ("bernoulli", ["u8"]), ("poisson", ["u32"])], [16, 24, 26, 8, 8, 10, 4, 4])[0]
    count = size(1000, 2 ** 25, odd, 1024)
    text = f"random {which} {rng.choice(types)} n={count}"
    name = text.split()[2]
    if which in ("bits", "uniform", "normal") and name in ("u32", "f32", "f64") and rng.random() < 0.2:
        text += " seq=curand"
        if which == "normal":
            text = text.replace(f"n={count}", f"n={count + count % 2}")
    elif which in ("normal", "lognormal", "exponential") and name == "f32" and rng.random() < 0.3:
        text += " accuracy=fast"
    return text


def fill(make, count, but=()):
    out = []
    while len(out) < count:
        text = make(len(out) % 2 == 1)
        if text and text not in out and text not in but:
            out.append(text)
    return out


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    every = fill(matmul, 330) + fill(fft, 180) + fill(draw, 120)
    lists = {"train": [], "held_out": []}
    for i in range(0, len(every), 2):  # pairs of one even and one odd problem go to either list in turn
        lists["train" if i // 2 % 2 == 0 else "held_out"] += every[i:i + 2]
    MOST_FLOPS.update({name: flops / 4 for name, flops in MOST_FLOPS.items()})
    lists["more"] = fill(matmul, 1200, set(every))
    for name, problems in lists.items():
        with open(os.path.join(here, name + ".txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(problems) + "\n")


if __name__ == "__main__":
    main()
