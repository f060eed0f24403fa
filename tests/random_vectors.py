# SPDX-License-Identifier: Apache-2.0
"""Test vectors of docs/random.md, from the specification alone: exact rationals, rounded once an operation.

    python3 tests/random_vectors.py > tests/random_vectors.h

Slow and independent of the C code on purpose: nothing here was made from it, and it uses no floating-point hardware.
"""
from fractions import Fraction
from math import isqrt

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def philox(counter, key, rounds=10):
    c, k = list(counter), list(key)
    for _ in range(rounds):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & M32, (p >> 32) ^ c[3] ^ k[1], p & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


def block(key, number, lane=0):
    seed, substream = key
    return philox([number & M32, number >> 32, lane, substream], [seed & M32, seed >> 32])


def fold(key, number):
    w = block(key, number, M32)
    return w[0] | w[1] << 32, w[2]


def rounded(x, digits):
    """The nearest number of `digits` binary digits, ties to even; no exponent here comes near the formats' ends."""
    if x == 0:
        return Fraction(0)
    e = abs(x).numerator.bit_length() - abs(x).denominator.bit_length() - digits
    scaled = x / Fraction(2) ** e
    while abs(scaled) >= 1 << digits:
        e, scaled = e + 1, scaled / 2
    while abs(scaled) < 1 << (digits - 1):
        e, scaled = e - 1, scaled * 2
    return round(scaled) * Fraction(2) ** e  # Fraction's round is half to even


def rooted(x, digits):
    """The square root, rounded: from enough digits and a sticky one."""
    shift = 4 * digits
    scaled = x * (1 << 2 * shift)
    root = isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(root * root) == scaled
    return rounded(Fraction(2 * root + (0 if exact else 1), 2 << shift), digits)


def hexes(text):
    return [Fraction(float.fromhex(t)) for t in text.split()]


# Highest power first.
RADIUS32 = hexes("0x1.70ecb8p-8 -0x1.b22162p-7 0x1.41f72cp-6 -0x1.a0da06p-8 0x1.141566p-6 0x1.f143ep-6 "
                 "0x1.55b58ep-4 0x1.fffe2p-3 -0x1.8b90bep-2")
COS32 = hexes("0x1.80fd0ep-6 0x1.a3583ep-3 0x1.1d918ep+0 0x1.921f96p+1 0x1.921fb6p+1")
SIN32 = hexes("0x1.3d665p-4 0x1.0a9c62p-1 0x1.10b306p+1 0x1.fffff4p+1 0x1p+1")
RADIUS64 = hexes("0x1.4a37d605c393dp-15 -0x1.48266161b3fe5p-12 0x1.35839f3da5e4bp-10 -0x1.697210f4a6f33p-9 "
                 "0x1.239d9fbbbce42p-8 -0x1.562251f86f899p-8 0x1.2eaf7e62227b4p-8 -0x1.94e990ce9966bp-9 "
                 "0x1.b1d76def42d86p-10 -0x1.248decbde26c2p-11 0x1.9d6d9b925de35p-12 0x1.965d88e08c6d9p-12 "
                 "0x1.021fe5803304bp-10 0x1.246fd6a51360ep-9 0x1.5556db8c68b54p-8 0x1.99998e396e8a2p-7 "
                 "0x1.0000001971194p-5 0x1.555555551c922p-4 0x1.0000000000117p-2 0x1p+0")
COS64 = hexes("0x1.15484353ba006p-18 0x1.93d8b4a5651b6p-14 0x1.cbc0dc7ac50ddp-10 0x1.7996a2e2cbbb8p-6 "
              "0x1.a37b40753550dp-3 0x1.1d8f9b8798f38p+0 0x1.921fb54442d5ap+1 0x1.921fb54442d18p+1")
SIN64 = hexes("0x1.9e248567d8ce3p-21 0x1.559ffeb1a1907p-16 0x1.c22bbc39c1f7ap-12 0x1.b707801af3652p-8 "
              "0x1.2c79afad64aa6p-4 0x1.0b0cd906e3546p-1 0x1.10b0cd906e904p+1 0x1.fffffffffffffp+1 0x1p+1")


def horner(coefficients, x, digits):
    y = coefficients[0]
    for c in coefficients[1:]:
        y = rounded(y * x + c, digits)
    return y


def normal32(a, b):
    x = rounded(rounded(Fraction(a), 24) + Fraction(1, 2), 24)
    e = 0
    while x >= Fraction(2) ** (e + 1):
        e += 1
    while x < Fraction(2) ** e:
        e -= 1
    mantissa = int((x / Fraction(2) ** e - 1) * 2**23)
    q = min((e - 32) * 2**23 + mantissa, -1)
    f = Fraction((~q & 0x7FFFFF) + 1, 2**23)
    fp = rounded(horner(RADIUS32, f, 24) * f, 24)
    t = rounded(rounded(Fraction(q), 24) * Fraction(float.fromhex("-0x1.62e43p-23")) + fp, 24)
    r = rooted(t, 24) * (-1 if b >> 31 else 1)
    x = Fraction(2 * (b & 0xFFFFFF) + 1, 2**25) - Fraction(1, 2)
    t = rounded(Fraction(1, 4) - x * x, 24)
    first = rounded(rounded(r * t, 24) * horner(COS32, t, 24), 24)
    return first, rounded(rounded(r * x, 24) * horner(SIN32, t, 24), 24)


def normal64(a, b):
    u = Fraction(2 * (a & (1 << 52) - 1) + 1, 2**53)
    e = 0
    while u < Fraction(1, 2 ** (e + 1)):
        e += 1
    f = 2 - u * 2 ** (e + 1)
    fp = rounded(horner(RADIUS64, f, 53) * f, 53)
    t = rounded(e * Fraction(float.fromhex("0x1.62e42fefa39efp+0")) + fp, 53)
    r = rooted(t, 53) * (-1 if b >> 63 else 1)
    x = Fraction(2 * (b & (1 << 52) - 1) + 1, 2**53) - Fraction(1, 2)
    t = rounded(Fraction(1, 4) - x * x, 53)
    first = rounded(rounded(r * t, 53) * horner(COS64, t, 53), 53)
    return first, rounded(rounded(r * x, 53) * horner(SIN64, t, 53), 53)


def pair64(w):
    return w[0] | w[1] << 32, w[2] | w[3] << 32


def main():
    keys = [(0, 0), (20250411, 0), (0xFEDCBA9876543210, 7), (M64, M32)]
    blocks = [0, 1, 2**30 - 1, 2**32 - 1, 2**32, 2**61 + 1, 2**62 - 1]
    corners = [0, 1, 2, 0x7FFFFF, 0x800000, 0xFFFFFF, 0x1000000, 0x3FFFFFFF, 0x40000000, 0x7FFFFFFF, 0x80000000,
               0xC0000000, 0xFFFFFF7F, 0xFFFFFF80, 0xFFFFFFFE, M32]
    out = print
    out("/* SPDX-License-Identifier: Apache-2.0 */")
    out("/* Made by tests/random_vectors.py from docs/random.md, with exact rationals; not by the code under test. */")
    out("/* clang-format off */")
    out("static const struct { unsigned long long seed; unsigned substream; unsigned long long block; unsigned w[4];")
    out("                      float uniform[4], normal[4]; double uniform64[2], normal64[2]; } vectors[] = {")
    for key in keys:
        for b in blocks:
            w = block(key, b)
            z = [*normal32(w[0], w[1]), *normal32(w[2], w[3])]
            u = [Fraction(x >> 8, 1 << 24) for x in w]
            a, c = pair64(w)
            ud = [Fraction(a >> 11, 1 << 53), Fraction(c >> 11, 1 << 53)]
            out("    {0x%xull, 0x%xu, 0x%xull, {%s}," % (*key, b, ", ".join("0x%xu" % x for x in w)))
            out("     {%s}," % ", ".join(float(x).hex() + "f" for x in u))
            out("     {%s}," % ", ".join(float(x).hex() + "f" for x in z))
            out("     {%s}," % ", ".join(float(x).hex() for x in ud))
            out("     {%s}}," % ", ".join(float(x).hex() for x in normal64(a, c)))
    out("};")
    out("static const struct { unsigned a, b; float z[2]; } corners32[] = {")
    for a in corners:
        for b in corners:
            out("    {0x%xu, 0x%xu, {%s}}," % (a, b, ", ".join(float(x).hex() + "f" for x in normal32(a, b))))
    out("};")
    wide = [0, 1, (1 << 51) - 1, 1 << 51, (1 << 52) - 1, 1 << 52, 1 << 62, 1 << 63, M64 - 1, M64, 0xAAAAAAAAAAAAAAAA]
    out("static const struct { unsigned long long a, b; double z[2]; } corners64[] = {")
    for a in wide:
        for b in wide:
            out("    {0x%xull, 0x%xull, {%s}}," % (a, b, ", ".join(float(x).hex() for x in normal64(a, b))))
    out("};")
    out("static const struct { unsigned long long seed, number, seed_out; unsigned substream, substream_out; } folds[] = {")
    for key in keys:
        for n in (0, 1, 2**32, 2**63, M64):
            new = fold(key, n)
            out("    {0x%xull, 0x%xull, 0x%xull, 0x%xu, 0x%xu}," % (key[0], n, new[0], key[1], new[1]))
    out("};")
    out("/* clang-format on */")


if __name__ == "__main__":
    main()
