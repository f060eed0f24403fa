# SPDX-License-Identifier: Apache-2.0
"""Test vectors of docs/distributions.md, from the specification alone: exact rationals, rounded once an operation.

    python3 tests/distribution_vectors.py > tests/distribution_vectors.h

Slow and independent of the C code on purpose: nothing here was made from it, and it uses no floating-point hardware.
"""
from fractions import Fraction

from random_vectors import M32, M64, RADIUS32, RADIUS64, block, hexes, horner, normal32, normal64, rounded

KEYS = [(0, 0), (20250411, 3), (0xFEDCBA9876543210, 7)]
PLACES = [0, 1, 2, 3, 7, 12, 1000003, 2**32 - 1, 2**34 + 5]
LANE64, LANE16, PLANE = 1 << 24, 2 << 24, 4 << 24


def word(key, i):
    return block(key, i >> 2)[i & 3]


def wide(key, i):
    w = block(key, i >> 1)
    return w[2 * (i & 1)] | w[2 * (i & 1) + 1] << 32


def half(key, i):
    return word(key, i >> 1) >> 16 * (i & 1) & 0xFFFF


# ---- Formats: (digits, least exponent of the last digit) ----

F16, BF16, F32, F64 = (11, -24), (8, -133), (24, -149), (53, -1074)


def unit(x, fmt):
    """The last digit's weight at x."""
    digits, least = fmt
    if x == 0:
        return Fraction(2) ** least
    e = 0
    while abs(x) >= Fraction(2) ** (e + 1):
        e += 1
    while abs(x) < Fraction(2) ** e:
        e -= 1
    return Fraction(2) ** max(e - digits + 1, least)


def nearest(x, fmt):
    u = unit(x, fmt)
    return round(x / u) * u


def below(x, fmt):
    u = unit(x, fmt)
    return (x / u).__floor__() * u


def previous(x, fmt):
    """The largest value of the format under x."""
    y = below(x, fmt)
    if y < x:
        return y
    return below(x - min(unit(x, fmt), unit(x - unit(x, fmt) / 2, fmt)), fmt)


def width_of(low, high, fmt):
    top = 1 - (Fraction(1, 2**24) if fmt == F32 else Fraction(1, 2**53))
    p = previous(high, fmt)
    if fmt == F32:
        w = nearest(nearest(nearest(p - low, F64) / top, F64), F32)
    else:
        w = 2 * nearest(nearest(nearest(p / 2, F64) - nearest(low / 2, F64), F64) / top, F64)
    while nearest(top * w + low, fmt) >= high:
        w = previous(w, fmt)
    return w


def uniform(key, i, fmt, interval, low, high):
    work = fmt if fmt in (F32, F64) else F32
    low, high = nearest(low, fmt), nearest(high, fmt)
    if interval == 1:
        low, high = -high, -low
    if fmt == F64:
        k, bits = wide(key, i) >> 11, 53
    elif fmt == F32:
        k, bits = word(key, i) >> 8, 24
    else:
        k, bits = 2 * half(key, i), 17
    if interval == 2:
        k |= 1
    least = Fraction(1, 2**bits)

    def value(start, w, u):
        x = nearest(u * w + start, work)
        return below(x, fmt) if work != fmt else x

    start, w = low, width_of(low, high, work)
    if interval == 2 and not value(start, w, least) > low:
        start = -previous(-low, fmt)
        w = width_of(start, high, work)
    x = value(start, w, Fraction(k, 2**bits))
    return -x if interval == 1 else x


# ---- Integers, coins ----

def integers(key, i, bits, base, span):
    draw, lane, n = {8: (half, LANE16, 16), 16: (word, 0, 32), 32: (word, 0, 32), 64: (wide, LANE64, 64)}[bits]
    w, attempt = draw(key, i), 0
    while w * span % 2**n < 2**n % span:
        attempt += 1
        words = block(key, i, lane + attempt)
        w = (words[0] | words[1] << 32) % 2**n
    return base + (w * span >> n)


def coin(key, i, p):
    scaled = Fraction(p) * 2**64
    bits = scaled.numerator // scaled.denominator
    u = 0
    for k in range(64):
        u = u << 1 | block(key, i >> 7, PLANE + k if k else 0)[i >> 5 & 3] >> (i & 31) & 1
    return int(p == 1 or u < bits)


# ---- Exponential, lognormal ----

def square32(a):
    x = rounded(rounded(Fraction(a), 24) + Fraction(1, 2), 24)
    e = 0
    while x >= Fraction(2) ** (e + 1):
        e += 1
    while x < Fraction(2) ** e:
        e -= 1
    q = min((e - 32) * 2**23 + int((x / Fraction(2) ** e - 1) * 2**23), -1)
    f = Fraction((~q & 0x7FFFFF) + 1, 2**23)
    fp = rounded(horner(RADIUS32, f, 24) * f, 24)
    return rounded(rounded(Fraction(q), 24) * Fraction(float.fromhex("-0x1.62e43p-23")) + fp, 24)


def square64(a):
    u = Fraction(2 * (a & (1 << 52) - 1) + 1, 2**53)
    e = 0
    while u < Fraction(1, 2 ** (e + 1)):
        e += 1
    f = 2 - u * 2 ** (e + 1)
    fp = rounded(horner(RADIUS64, f, 53) * f, 53)
    return rounded(e * Fraction(float.fromhex("0x1.62e42fefa39efp+0")) + fp, 53)


EXP32 = hexes("0x1.6a2434p-10 0x1.1239e2p-7 0x1.5558f2p-5 0x1.555492p-3 0x1.fffffcp-2")
EXP64 = hexes("0x1.ad7f6f0e24922p-26 0x1.28ad72cd4ab37p-22 0x1.71df255235e0bp-19 0x1.a0199a0c66195p-16 "
              "0x1.a01a012a57b5ep-13 0x1.6c16c1842a126p-10 0x1.1111111127be5p-7 0x1.555555555087cp-5 "
              "0x1.55555555554fap-3 0x1.000000000000ap-1")


def exponential_of(x, fmt, series, log2e, high, low):
    """exp x, as the specification's steps have it."""
    digits = fmt[0]
    n = round(x * Fraction(float.fromhex(log2e)))  # the sum with 1.5 · 2^23 or 2^52 rounds to the nearest integer
    r = nearest(x - n * Fraction(float.fromhex(high)), fmt)
    r = nearest(r - n * Fraction(float.fromhex(low)), fmt)
    q = horner(series, r, digits)
    q = nearest(nearest(q * r, fmt) * r + r, fmt)
    return nearest(nearest(q + 1, fmt) * Fraction(2) ** n, fmt)


def exp32(x):
    return exponential_of(x, F32, EXP32, "0x1.715476p+0", "0x1.62e4p-1", "0x1.7f7d1cp-20")


def exp64(x):
    return exponential_of(x, F64, EXP64, "0x1.71547652b82fep+0", "0x1.62e42fefap-1", "0x1.cf79abc9e3b3ap-40")


def normal_element(key, i, fmt):
    if fmt == F32:
        w = block(key, i >> 2)
        return normal32(w[i & 2], w[(i & 2) + 1])[i & 1]
    w = block(key, i >> 1)
    return normal64(w[0] | w[1] << 32, w[2] | w[3] << 32)[i & 1]


# ---- Made in f64 ----

LN2 = Fraction(float.fromhex("0x1.62e42fefa39efp-1"))


def r64(x):
    return nearest(x, F64)


def log64(x):
    k = 0
    while x >= Fraction(2) ** (k + 1):
        k += 1
    while x < Fraction(2) ** k:
        k -= 1
    f = 2 - x / Fraction(2) ** k
    return r64((k + 1) * LN2 + r64(r64(horner(RADIUS64, f, 53) * f) * Fraction(-1, 2)))


def root64(x):
    from random_vectors import rooted
    return rooted(x, 53)


def halves(w):
    return w[0] | w[1] << 32, w[2] | w[3] << 32


def minus_log_u(z):
    return square64(z) / 2


def tangent(z):
    first, second = normal64(0, z)
    return r64(second / first)


def weibull(z, shape):
    return exp64(r64(log64(minus_log_u(z)) / shape))


def gamma_body(key, i, a):
    d = r64((r64(a + 1) if a < 1 else a) - Fraction(float.fromhex("0x1.5555555555555p-2")))
    c = r64(1 / root64(r64(9 * d)))
    attempt = 0
    while True:
        attempt += 1
        x = normal64(*halves(block(key, i, LANE64 + 2 * attempt - 1)))[0]
        v = r64(c * x + 1)
        if not v > Fraction(1, 10**50):
            continue
        v = r64(r64(v * v) * v)
        e = minus_log_u(halves(block(key, i, LANE64 + 2 * attempt))[0])
        room = r64(d * r64(r64(v - 1) - log64(v)))
        if r64(r64(x * x) * Fraction(-1, 2) + room) <= e:
            return r64(d * v)


def gamma(key, i, a):
    if a >= 1:
        return gamma_body(key, i, a)
    return exp64(r64(log64(gamma_body(key, i, a)) - r64(minus_log_u(wide(key, i)) / a)))


def geometric(z, p):
    scale = r64(-1 / log64(r64(1 - p)))
    return int(r64(minus_log_u(z) * scale))


# ---- Choices ----

def mix(x, k):
    x = (x ^ k) * 0x85EBCA6B & M32
    x = (x ^ x >> 13) * 0xC2B2AE35 & M32
    return x ^ x >> 16


def permuted(key, span, i):
    if span <= 20:
        orders = 1
        for k in range(2, span + 1):
            orders *= k
        number, left = integers(key, 0, 64, 0, orders), list(range(span))
        for place in range(i + 1):
            number, at = divmod(number, span - place)
            value = left.pop(at)
        return value
    bits = (span - 1).bit_length()
    low = bits - bits // 2
    keys = [w for n in range(4) for w in block(key, 4 * bits + n, 5 << 24)]
    while True:
        left, right = i >> low, i & (1 << low) - 1
        for r in range(0, 16, 2):
            left ^= mix(right, keys[r]) & (1 << bits // 2) - 1
            right ^= mix(left, keys[r + 1]) & (1 << low) - 1
        i = left << low | right
        if i < span:
            return i


def rounded_at_random(key, i, x, fmt, largest):
    word = half(key, i) << 16 if fmt == BF16 else word_of(key, i)
    u = unit(x, fmt)
    steps, part = divmod(abs(x) / u, 1)
    steps += ((part * 2**32).__floor__() + word) >> 32
    return (min(steps * u, largest)) * (1 if x >= 0 else -1)


word_of = word


# ---- Output ----

def hexed(x, fmt):
    return float(x).hex() + ("f" if fmt != F64 else "")


def table(name, fields, rows):
    print("static const struct { unsigned long long seed, i; unsigned substream; %s } %s[] = {" % (fields, name))
    for row in rows:
        print("    {%s}," % ", ".join(row))
    print("};")


def places():
    for key in KEYS:
        for i in PLACES:
            yield key, i, ["0x%xull" % key[0], "0x%xull" % i, "%du" % key[1]]


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Made by tests/distribution_vectors.py from docs/distributions.md; not by the code under test. */")
    print("/* clang-format off */")
    ranges = [(0, 1), (Fraction(-5, 2), Fraction(29, 4)), (1, Fraction(65, 64))]
    rows = []
    for key, i, start in places():
        for interval in range(3):
            for low, high in ranges:
                values = [uniform(key, i, fmt, interval, Fraction(low), Fraction(high)) for fmt in (F16, BF16, F32, F64)]
                rows.append(start + ["%d" % interval, float(low).hex(), float(high).hex(),
                                     *[float(x).hex() for x in values]])
    table("uniform_vectors", "int interval; double low, high, f16, bf16, f32, f64;", rows)
    rows = []
    for key, i, start in places():
        for bits, base, span in [(8, 1, 6), (8, 0, 200), (16, 0, 50000), (32, -3, 100), (32, 0, 2**31 + 1),
                                 (32, 0, 3 * 2**30), (64, 5, 10**18), (64, 0, 2**63 + 1), (64, 0, M64)]:
            x = integers(key, i, bits, base, span)
            rows.append(start + ["%d" % bits, "%dLL" % base, "0x%xull" % span, "0x%xull" % (x % 2**bits)])
    table("integer_vectors", "int bits; long long base; unsigned long long span, value;", rows)
    rows = []
    for key, i, start in places():
        for p in (0, 0.5, 0.3, 1e-3, 0.999, 0.75, 1):
            rows.append(start + ["%du" % sum(coin(key, 16 * i + j, p) << j for j in range(16)), float(p).hex()])
    table("coin_vectors", "unsigned next16; double p;", rows)
    rows = []
    for key, i, start in places():
        for rate in (1.0, 0.25, 3.0):
            half32 = nearest(nearest(Fraction(1, 2) / Fraction(rate), F64), F32)
            half64 = nearest(Fraction(1, 2) / Fraction(rate), F64)
            rows.append(start + [hexed(nearest(square32(word(key, i)) * half32, F32), F32), rate.hex(),
                                 hexed(nearest(square64(wide(key, i)) * half64, F64), F64)])
    table("exponential_vectors", "float f32; double rate, f64;", rows)
    rows = []
    for key, i, start in places():
        for mean, std in ((0.0, 1.0), (1.5, 0.25), (-80.0, 3.0), (20.0, 10.0)):
            values = []
            for fmt, exp in ((F32, exp32), (F64, exp64)):
                x = nearest(normal_element(key, i, fmt) * Fraction(std) + Fraction(mean), fmt)
                values.append(hexed(exp(x), fmt))
            rows.append(start + [values[0], mean.hex(), std.hex(), values[1]])
    table("lognormal_vectors", "float f32; double mean, std, f64;", rows)
    rows = []
    for key, i, start in places():
        z = wide(key, i)
        flip = -1 if z >> 63 else 1
        values = [flip * minus_log_u(z), r64(minus_log_u(z ^ M64) - minus_log_u(z)), -log64(minus_log_u(z)),
                  weibull(z, Fraction(7, 4)), tangent(z), gamma(key, i, Fraction(5, 2)), gamma(key, i, Fraction(1, 4))]
        rows.append(start + [hexed(x, F64) for x in values] + ["%dull" % geometric(z, Fraction(0.3))])
    table("f64_vectors", "double laplace, logistic, gumbel, weibull, cauchy, gamma, small_gamma; unsigned long long geometric;",
          rows)
    rows = []
    for key, i, start in places():
        for span in (6, 20, 21, 1000, 2**33):
            rows.append(start + ["0x%xull" % span, "0x%xull" % permuted(key, span, i % span)])
    table("permutation_vectors", "unsigned long long span, value;", rows)
    rows = []
    e4m3, e5m2 = (4, -9), (3, -16)
    for key, i, start in places():
        for x in (1.2345, -0.0301, 3e-6, 300.7):
            exact = nearest(Fraction(x), F32)
            values = [rounded_at_random(key, i, exact, fmt, most) for fmt, most in
                      ((F16, 65504), (BF16, 2**127), (e4m3, 448), (e5m2, 57344))]
            rows.append(start + [hexed(exact, F32)] + [hexed(v, F32) for v in values])
    table("rounding_vectors", "float x, f16, bf16, e4m3, e5m2;", rows)
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
