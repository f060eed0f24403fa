# SPDX-License-Identifier: Apache-2.0
"""Test vectors of distributions by the other ciphers and of Sobol' points, from docs/random.md and docs/distributions.md alone.

    python3 tests/cipher_vectors.py > tests/cipher_vectors.h

The distributions are distribution_vectors.py's, over blocks of other ciphers: integers and exact rationals only.
"""
from fractions import Fraction

import distribution_vectors as law
from random_vectors import M32, M64, philox


def philox7(key, number, lane):
    seed, substream = key
    return philox([number & M32, number >> 32, lane, substream], [seed & M32, seed >> 32], 7)


def cut(words):
    return [part for w in words for part in (w & M32, w >> 32)]


def philox64(key, number, lane):
    c, k = [number // 2, lane, 0, 0], list(key)
    for _ in range(10):
        p, q = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(q >> 64) ^ c[1] ^ k[0], q & M64, (p >> 64) ^ c[3] ^ k[1], p & M64]
        k = [(k[0] + 0x9E3779B97F4A7C15) & M64, (k[1] + 0xBB67AE8584CAA73B) & M64]
    return cut(c[2:] if number & 1 else c[:2])


def threefry(x, k, bits, turns, parity):
    """Rounds of add, rotate, exclusive or, over pairs; turns: of each pair."""
    mask, n, x = (1 << bits) - 1, len(x), list(x)
    for w in k:
        parity ^= w
    k = list(k) + [parity]
    x = [(a + b) & mask for a, b in zip(x, k)]
    for r in range(20):
        pairs = [(0, 1)] if n == 2 else [(0, 3), (2, 1)] if r & 1 else [(0, 1), (2, 3)]
        for (a, b), turn in zip(pairs, turns):
            x[a] = (x[a] + x[b]) & mask
            x[b] = ((x[b] << turn[r % 8] | x[b] >> (bits - turn[r % 8])) & mask) ^ x[a]
        if r % 4 == 3:
            s = r // 4 + 1
            x = [(w + k[(s + i) % (n + 1)]) & mask for i, w in enumerate(x)]
            x[-1] = (x[-1] + s) & mask
    return x


def threefry64(key, number, lane):
    turns = [(14, 52, 23, 5, 25, 46, 58, 32), (16, 57, 40, 37, 33, 12, 22, 32)]
    w = threefry([number // 2, lane, 0, 0], [key[0], key[1], 0, 0], 64, turns, 0x1BD11BDAA9FC1A22)
    return cut(w[2:] if number & 1 else w[:2])


def threefry32(key, number, lane):
    def cipher(x, k):
        return threefry(x, k, 32, [(13, 15, 26, 6, 17, 29, 16, 24)], 0x1BD11BDA)
    seed, substream = key
    k = [seed & M32, seed >> 32]
    if lane or substream:
        k = cipher([lane, substream], [k[0] ^ M32, k[1] ^ M32])
    return [w for m in (2 * number & M64, (2 * number + 1) & M64) for w in cipher([m & M32, m >> 32], k)]


CIPHERS = [("WM_PHILOX4X32_7", philox7), ("WM_PHILOX4X64_10", philox64), ("WM_THREEFRY2X32_20", threefry32),
           ("WM_THREEFRY4X64_20", threefry64)]
FIELDS = ("int generator; double uniform16, lognormal32, laplace, cauchy, weibull, gamma, small_gamma; "
          "unsigned long long integer, small_integer, geometric, order, place; unsigned coins; float rounded;")


def values(key, i):
    z = law.wide(key, i)
    u = law.uniform(key, i, law.BF16, 2, Fraction(-5, 2), Fraction(29, 4))
    lognormal = law.exp32(law.nearest(law.normal_element(key, i, law.F32) * Fraction(1, 4) + Fraction(3, 2), law.F32))
    flip = -1 if z >> 63 else 1
    floats = [u, lognormal, flip * law.minus_log_u(z), law.tangent(z), law.weibull(z, Fraction(7, 4)),
              law.gamma(key, i, Fraction(5, 2)), law.gamma(key, i, Fraction(1, 4))]
    integers = [law.integers(key, i, 64, 0, 2**63 + 1), law.integers(key, i, 8, 0, 200), law.geometric(z, Fraction(0.3)),
                law.permuted(key, 20, i % 20), law.permuted(key, 2**33, i % 2**33)]
    coins = sum(law.coin(key, 16 * i + j, 0.3) << j for j in range(16))
    rounded = law.rounded_at_random(key, i, law.nearest(Fraction(1.2345), law.F32), law.BF16, 2**127)
    return ([law.hexed(x, law.F64) for x in floats] + ["0x%xull" % x for x in integers] +
            ["%du" % coins, law.hexed(rounded, law.F32)])


def coordinate(n, bits):
    """Of dimension 0, whose direction numbers are the powers of 1/2: the Gray code's digits behind the point."""
    gray = n ^ n >> 1
    return sum(1 << bits - 1 - j for j in range(bits) if gray >> j & 1)


def quantiles(n, bits):
    x = coordinate(n, bits)
    whole = x if bits == 64 else x << 32 | 1 << 31
    k, top = whole >> 12, (1 << 52) - 1
    mirrored, log = top - k, law.minus_log_u
    third = law.nearest(Fraction(1, 6), law.F64)
    floats = [law.r64(law.square64(mirrored) * third), -log(2 * k) if k < mirrored else log(2 * mirrored),
              law.r64(log(mirrored) - log(k)), law.tangent(k), -law.log64(log(k)), law.weibull(mirrored, Fraction(7, 4))]
    return [law.hexed(v, law.F64) for v in floats] + ["%dull" % law.geometric(mirrored, Fraction(0.3)),
                                                      "%dull" % (whole * 10**9 >> 64)]


def sobol_rows():
    for bits, name in ((32, "WM_SOBOL32"), (64, "WM_SOBOL64")):
        for n in [0, 1, 2, 3, 5, 11, 100, 65535, 1000003, 2**31 + 7, 2**32 - 1] + ([2**40 + 1, 2**63 + 3] if bits == 64 else []):
            yield ["0ull", "0x%xull" % n, "0u", name] + quantiles(n, bits)


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Made by tests/cipher_vectors.py from the specification; not by the code under test. */")
    print("/* clang-format off */")
    rows = []
    for name, block in CIPHERS:
        law.block = lambda key, number, lane=0, block=block: block(key, number, lane)
        for key, i, start in law.places():
            rows.append(start + [name] + values(key, i))
    law.table("cipher_vectors", FIELDS, rows)
    law.table("sobol_vectors", "int generator; double exponential, laplace, logistic, cauchy, gumbel, weibull; "
              "unsigned long long geometric, integer;", sobol_rows())
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
