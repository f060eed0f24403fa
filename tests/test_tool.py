#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The warpmath command on real files: what NumPy writes goes in, what comes out is compared with NumPy.

usage: test_tool.py PATH-OF-WARPMATH [unittest options]

NumPy (Debian's python3-numpy) is needed; where it is missing this test fails rather than skips.
"""
import csv
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import numpy as np

TOOL = ""  # set by main
SEED = 20261130

EPS = {"f2": 2.0**-11, "bf16": 2.0**-8, "f4": 2.0**-24, "f8": 2.0**-53, "c8": 2.0**-24, "c16": 2.0**-53}


def random_array(rng, shape, dtype):
    """Values in [-1, 1), exact in the type."""
    values = rng.uniform(-1, 1, shape)
    if dtype[0] == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def to_bf16(values):
    """Bits of bf16, rounded to nearest even, of finite numbers."""
    bits = np.asarray(values, "f4").view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")


def from_bf16(bits):
    return (bits.astype("u4") << 16).view("f4")


def crc32c(text):
    value = 0xffffffff
    for byte in text.encode():
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def fnv(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.rng = np.random.default_rng(SEED)

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def save(self, name, array, version=None):
        with open(self.path(name), "wb") as file:
            np.lib.format.write_array(file, array, version=version)
        return self.path(name)

    def run_tool(self, *words, **options):
        environment = dict(os.environ, WARPMATH_WISDOM=self.path("wisdom"))
        return subprocess.run([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                              env=environment, check=False, **options)

    def succeed(self, *words):
        done = self.run_tool(*words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        self.assertEqual(done.stderr, "", words)
        return done.stdout

    def fail_with(self, code, part, *words, **options):
        """The command fails with the code, one line that contains `part`, and no new file."""
        before = sorted(os.listdir(self.folder.name))
        done = self.run_tool(*words, **options)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "", words)
        self.assertTrue(done.stderr.startswith("warpmath: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), before, words)


class Matmul(ToolTest):
    def check(self, a, b, name, *flags, turn=lambda x: x, turn_b=lambda x: x):
        """Multiplies and compares with NumPy in higher precision: |error| <= (k + 2) eps |A||B| + eps |C|."""
        pa, pb = self.save("a.npy", a), self.save("b.npy", b)
        self.succeed("matmul", pa, pb, "-o", self.path("c.npy"), *flags)
        c = np.load(self.path("c.npy"))
        if name == "bf16":
            self.assertEqual(c.dtype, np.dtype("u2"))
            a, b, c = from_bf16(a), from_bf16(b), from_bf16(c)
        else:
            self.assertEqual(c.dtype, np.dtype(name))
        wide = np.clongdouble if name[0] == "c" else np.longdouble
        a, b = turn(a.astype(wide)), turn_b(b.astype(wide))
        expected = a @ b
        compute = EPS["f4"] if name in ("f2", "bf16") else EPS[name]
        bound = (a.shape[-1] + 2) * 2 * compute * (abs(a) @ abs(b)) + 2 * EPS[name] * abs(expected)
        error = abs(c.astype(wide) - expected)
        self.assertEqual(c.shape, expected.shape)
        self.assertTrue((error <= bound).all(), f"{name} {flags} {a.shape}: {np.max(error / (bound + 1e-300))}")

    def test_types_and_odd_sizes(self):
        for name in ("f2", "f4", "f8", "c8", "c16"):
            for m, n, k in ((1, 1, 1), (7, 5, 3), (129, 65, 67), (33, 1, 257)):
                with self.subTest(name=name, m=m, n=n, k=k):
                    self.check(random_array(self.rng, (m, k), name), random_array(self.rng, (k, n), name), name)

    def test_bf16(self):
        a, b = to_bf16(self.rng.uniform(-1, 1, (37, 19))), to_bf16(self.rng.uniform(-1, 1, (19, 41)))
        self.check(a, b, "bf16", "--type", "bf16")
        self.assertIn("saved as u2", self.succeed("matmul", self.path("a.npy"), self.path("b.npy"), "--type=bf16", "-o",
                                                  self.path("c.npy")))

    def test_transposes(self):
        for name in ("f4", "f8", "c8", "c16"):
            for ta in ("n", "t", "c"):
                for tb in ("n", "t", "c"):
                    turns = {"n": lambda x: x, "t": lambda x: x.T, "c": lambda x: x.conj().T}
                    a = random_array(self.rng, (23, 31) if ta == "n" else (31, 23), name)
                    b = random_array(self.rng, (31, 17) if tb == "n" else (17, 31), name)
                    with self.subTest(name=name, ta=ta, tb=tb):
                        self.check(a, b, name, f"--ta={ta}", f"--tb={tb}", turn=turns[ta], turn_b=turns[tb])
        a, b = random_array(self.rng, (31, 23), "f4"), random_array(self.rng, (17, 31), "f4")
        self.check(a, b, "f4", "--ta", "--tb", turn=lambda x: x.T, turn_b=lambda x: x.T)

    def test_fortran_order_and_format_versions(self):
        for version in ((1, 0), (2, 0), (3, 0)):
            a = np.asfortranarray(random_array(self.rng, (11, 6), "f8"))
            b = np.asfortranarray(random_array(self.rng, (6, 13), "f8"))
            self.save("a.npy", a, version)
            self.check(a, b, "f8")
            self.check(a, np.ascontiguousarray(b), "f8")
            self.check(np.ascontiguousarray(a).T.copy("F"), b, "f8", "--ta", turn=lambda x: x.T)

    def test_batches(self):
        a, b = random_array(self.rng, (3, 2, 5, 7), "f4"), random_array(self.rng, (3, 2, 7, 4), "f4")
        self.check(a, b, "f4")
        self.check(a, b[0, 0], "f4")
        self.check(a[0, 0], b, "f4")
        self.check(np.asfortranarray(a), np.asfortranarray(b), "f4")

    def test_conversions(self):
        a, b = random_array(self.rng, (5, 6), "f4"), random_array(self.rng, (6, 7), "f8")
        for kind, name in (("f32", "f4"), ("f64", "f8"), ("c64", "c8")):
            self.save("a.npy", a), self.save("b.npy", b)
            self.succeed("matmul", self.path("a.npy"), self.path("b.npy"), "--type", kind, "-o", self.path("c.npy"))
            c = np.load(self.path("c.npy"))
            self.assertEqual(c.dtype, np.dtype(name))
            np.testing.assert_allclose(c, a.astype("f8") @ b, rtol=0, atol=1e-5)
        integers = self.rng.integers(-100, 100, (6, 6))
        for name in ("i1", "i2", "i4", "i8"):
            self.save("a.npy", integers.astype(name))
            self.succeed("matmul", self.path("a.npy"), self.path("a.npy"), "--type", "f64", "-o", self.path("c.npy"))
            np.testing.assert_array_equal(np.load(self.path("c.npy")), integers @ integers)

    def test_rounding_to_16_bits(self):
        """--type f16 and bf16 round files to nearest even, as multiplying by the identity shows."""
        values = np.concatenate([self.rng.uniform(-1, 1, 500) * 2.0 ** self.rng.integers(-30, 17, 500),
                                 [0.0, -0.0, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 2.0**-24, 2.0**-25, 65504, 65519]])
        side = np.eye(1, dtype="f8")
        self.save("a.npy", values.reshape(-1, 1)), self.save("b.npy", side)
        self.succeed("matmul", self.path("a.npy"), self.path("b.npy"), "--type", "f16", "-o", self.path("c.npy"))
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(np.load(self.path("c.npy")).ravel(), values.astype("f2"))
        exact = values.astype("f4").astype("f8")  # so that to_bf16's way through f4 rounds once only
        self.save("a.npy", exact.reshape(-1, 1))
        self.succeed("matmul", self.path("a.npy"), self.path("b.npy"), "--type", "bf16", "-o", self.path("c.npy"))
        np.testing.assert_array_equal(from_bf16(np.load(self.path("c.npy")).ravel()), from_bf16(to_bf16(exact)))

    def test_empty(self):
        for m, n, k in ((0, 3, 4), (3, 0, 4), (3, 4, 0)):
            self.save("a.npy", np.zeros((m, k), "f4")), self.save("b.npy", np.zeros((k, n), "f4"))
            self.succeed("matmul", self.path("a.npy"), self.path("b.npy"), "-o", self.path("c.npy"))
            np.testing.assert_array_equal(np.load(self.path("c.npy")), np.zeros((m, n), "f4"))

    def test_json(self):
        a = self.save("a.npy", random_array(self.rng, (4, 4), "f4"))
        said = json.loads(self.succeed("matmul", a, a, "-o", self.path("c.npy"), "--json"))
        self.assertEqual(said["type"], "f32")
        self.assertTrue(said["problem"].startswith("matmul f32 4x4x4"), said)

    def test_failures(self):
        a = self.save("a.npy", random_array(self.rng, (4, 5), "f4"))
        wide = self.save("w.npy", random_array(self.rng, (5, 4), "f8"))
        line = self.save("l.npy", random_array(self.rng, (5,), "f4"))
        ints = self.save("i.npy", np.ones((5, 5), "i4"))
        bits = self.save("u.npy", np.ones((5, 5), "u2"))
        batch = self.save("d.npy", random_array(self.rng, (2, 4, 4), "f4"))
        other = self.save("e.npy", random_array(self.rng, (3, 4, 4), "f4"))
        cplx = self.save("z.npy", random_array(self.rng, (5, 5), "c8"))
        out = ("-o", self.path("c.npy"))
        self.fail_with(1, "sizes do not match: op(A) of", "matmul", a, a, *out)
        self.fail_with(1, "--type converts both", "matmul", a, wide, *out)
        self.fail_with(1, "has 1 dimensions", "matmul", a, line, *out)
        self.fail_with(1, "is i4; --type", "matmul", ints, ints, *out)
        self.fail_with(1, "--type bf16 takes it", "matmul", bits, bits, *out)
        self.fail_with(1, "before the last two", "matmul", batch, other, *out)
        self.fail_with(1, "is complex", "matmul", cplx, cplx, "--type", "f32", *out)
        self.fail_with(1, "No such file", "matmul", a, self.path("none.npy"), *out)


class Fft(ToolTest):
    def compare(self, got, expected, single, transformed):
        """Against the largest expected value: sqrt(N) eps log2 N covers the maximum norm of random data amply."""
        eps = EPS["f4"] if single else EPS["f8"]
        size = max(2, transformed)
        scale = np.sqrt(np.mean(abs(expected) ** 2)) if expected.size else 0
        self.assertEqual(got.shape, expected.shape)
        error = np.max(abs(got - expected)) if expected.size else 0
        self.assertTrue(error <= 8 * eps * np.log2(size) * max(scale, np.finfo("f8").tiny), f"{error} of {scale}")

    def transform(self, array, *flags):
        self.save("x.npy", array)
        self.succeed("fft", self.path("x.npy"), "-o", self.path("y.npy"), *flags)
        return np.load(self.path("y.npy"))

    def test_complex_lengths(self):
        for dtype in ("c8", "c16"):
            for n in (1, 2, 3, 7, 16, 97, 100, 360, 1009, 4096, 5120):
                x = random_array(self.rng, (3, n), dtype)
                with self.subTest(dtype=dtype, n=n):
                    y = self.transform(x)
                    self.assertEqual(y.dtype, np.dtype(dtype))
                    self.compare(y, np.fft.fft(x.astype("c16")), dtype == "c8", n)
                    self.compare(self.transform(x, "--inverse"), np.fft.ifft(x.astype("c16")), dtype == "c8", n)

    def test_real(self):
        for dtype, wide in (("f4", "c8"), ("f8", "c16")):
            for n in (1, 2, 9, 30, 128, 1001):
                x = random_array(self.rng, (2, n), dtype)
                with self.subTest(dtype=dtype, n=n):
                    y = self.transform(x, "--real")
                    self.assertEqual(y.dtype, np.dtype(wide))
                    self.compare(y, np.fft.rfft(x.astype("f8")), dtype == "f4", n)
                    back = self.transform(y, "--real", "--inverse", "--length", str(n))
                    self.assertEqual(back.dtype, np.dtype(dtype))
                    self.compare(back, x, dtype == "f4", n)
        half = random_array(self.rng, (4, 17), "c16")
        self.compare(self.transform(half, "--real", "--inverse"), np.fft.irfft(half), False, 32)

    def test_axes(self):
        x = random_array(self.rng, (4, 6, 5, 3), "c16")
        for axes in ((0,), (1,), (-1,), (0, 1), (1, 3), (3, 0), (0, 1, 2), (3, 1, 0), (-2, -1)):
            text = ",".join(str(a) for a in axes)
            for order in "CF":
                with self.subTest(axes=axes, order=order):
                    y = self.transform(np.array(x, order=order), f"--axes={text}")
                    self.compare(y, np.fft.fftn(x, axes=axes), False, x.size)
                    y = self.transform(np.array(x.real, order=order), f"--axes={text}", "--real")
                    self.compare(y, np.fft.rfftn(x.real, axes=axes), False, x.size)

    def test_scale(self):
        x = random_array(self.rng, (5, 24), "c16")
        for flag, norm in (("none", "backward"), ("sqrt_n", "ortho"), ("n", "forward")):
            self.compare(self.transform(x, "--scale", flag), np.fft.fft(x, norm=norm), False, 24)
        for flag, norm in (("none", "forward"), ("sqrt_n", "ortho"), ("n", "backward")):
            self.compare(self.transform(x, "--scale", flag, "--inverse"), np.fft.ifft(x, norm=norm), False, 24)

    def test_other_inputs(self):
        for dtype in ("f2", "f4", "f8", "i1", "i4", "i8", "u2", "b1"):
            x = self.rng.integers(0, 2, (3, 12)).astype(dtype)
            with self.subTest(dtype=dtype):
                y = self.transform(x)
                self.assertEqual(y.dtype, np.dtype("c8" if dtype in ("f2", "f4") else "c16"))
                self.compare(y, np.fft.fft(x.astype("f8")), y.dtype == np.dtype("c8"), 12)

    def test_empty_batch(self):
        self.assertEqual(self.transform(np.zeros((0, 8), "c8")).shape, (0, 8))

    def test_json(self):
        x = self.save("x.npy", random_array(self.rng, (8,), "c8"))
        said = json.loads(self.succeed("fft", x, "-o", self.path("y.npy"), "--json"))
        self.assertTrue(said["problem"].startswith("fft "), said)

    def test_failures(self):
        x = self.save("x.npy", random_array(self.rng, (4, 5), "c8"))
        scalar = self.save("s.npy", np.array(1.0))
        hollow = self.save("h.npy", np.zeros((3, 0)))
        out = ("-o", self.path("y.npy"))
        self.fail_with(1, "no axis 2", "fft", x, "--axes", "2", *out)
        self.fail_with(1, "no axis -3", "fft", x, "--axes=-3", *out)
        self.fail_with(1, "given twice", "fft", x, "--axes", "1,-1", *out)
        self.fail_with(1, "is complex", "fft", x, "--real", *out)
        self.fail_with(1, "no axis -1", "fft", scalar, *out)
        self.fail_with(1, "length 0", "fft", hollow, *out)
        self.fail_with(1, "do not give 10 real", "fft", x, "--real", "--inverse", "--length", "10", *out)
        self.fail_with(2, "more than 3", "fft", x, "--axes", "0,1,2,3", *out)
        self.fail_with(2, "--length goes with", "fft", x, "--length", "10", *out)


def philox(seed, substream, blocks):
    """Philox4x32-10 by the paper (Salmon and others, 2011): four 32-bit words of each counter."""
    mask = np.uint64(0xFFFFFFFF)
    counter = [blocks & mask, blocks >> np.uint64(32), np.zeros_like(blocks), np.full_like(blocks, substream)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        low, high = np.uint64(0xD2511F53) * counter[0], np.uint64(0xCD9E8D57) * counter[2]
        counter = [(high >> np.uint64(32)) ^ counter[1] ^ np.uint64(key[0]), high & mask,
                   (low >> np.uint64(32)) ^ counter[3] ^ np.uint64(key[1]), low & mask]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(counter, axis=1)


def words32(seed, substream, offset, count):
    first = offset // 4
    blocks = np.arange(first, (offset + count + 3) // 4 + 1, dtype="u8")
    return philox(seed, substream, blocks).ravel()[offset - 4 * first:][:count]


def words64(seed, substream, offset, count):
    words = words32(seed, substream, 2 * offset, 2 * count).reshape(-1, 2)
    return words[:, 0] | words[:, 1] << np.uint64(32)


class Random(ToolTest):
    def draw(self, kind, shape, *flags):
        self.succeed("random", kind, "--shape", shape, "-o", self.path("r.npy"), *flags)
        return np.load(self.path("r.npy"))

    def test_the_paper_s_vectors(self):
        """The reference above itself, on the known answers of Random123's kat_vectors."""
        zeros = philox(0, 0, np.array([0], "u8"))[0]
        self.assertEqual([int(w) for w in zeros], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])

    def test_bits(self):
        for seed, substream, offset, count in ((0, 0, 0, 1000), (7, 0, 3, 1001), (0x123456789ABCDEF0, 9, 2**34 + 1, 77)):
            flags = ("--seed", str(seed), "--substream", str(substream), "--offset", str(offset))
            got = self.draw("bits", str(count), *flags)
            self.assertEqual(got.dtype, np.dtype("u4"))
            np.testing.assert_array_equal(got, words32(seed, substream, offset, count))
            got = self.draw("bits", str(count), "--dtype", "u8", *flags)
            self.assertEqual(got.dtype, np.dtype("u8"))
            np.testing.assert_array_equal(got, words64(seed, substream, offset, count))

    def test_generators(self):
        """NumPy's own Philox, which starts one counter later, and the best-known Sobol' points."""
        got = self.draw("bits", "1004", "--dtype", "u8", "--seed", "77", "--substream", "5", "--generator", "philox4x64-10")
        key = np.array([77, 5], "u8")
        np.testing.assert_array_equal(got[4:], np.random.Philox(key=key).random_raw(1000))
        got = self.draw("uniform", "4,2", "--generator", "sobol32", "--dims", "2")
        np.testing.assert_array_equal(got, [[0, 0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]])
        got = self.draw("bits", "4", "--seed", "1234", "--sequence", "curand", "--place", "cpu")
        np.testing.assert_array_equal(got, [0x2090B348, 0xDA7CF0AB, 0x4401906F, 0xCBCA470E])

    def test_uniform(self):
        got = self.draw("uniform", "30,41", "--seed", "7")
        self.assertEqual((got.dtype, got.shape), (np.dtype("f4"), (30, 41)))
        np.testing.assert_array_equal(got.ravel(), (words32(7, 0, 0, 1230) >> np.uint64(8)).astype("f4") * 2.0**-24)
        got = self.draw("uniform", "999", "--seed", "7", "--dtype", "f8")
        np.testing.assert_array_equal(got, (words64(7, 0, 0, 999) >> np.uint64(11)).astype("f8") * 2.0**-53)

    def test_uniform_range(self):
        for dtype, eps in (("f4", EPS["f4"]), ("f8", EPS["f8"])):
            unit = self.draw("uniform", "20000", "--dtype", dtype).astype("f8")
            got = self.draw("uniform", "20000", "--dtype", dtype, "--low", "-3", "--high=5.5")
            self.assertEqual(got.dtype, np.dtype(dtype))
            self.assertTrue((abs(got - (-3 + 8.5 * unit)) <= 16 * eps).all())
            self.assertTrue((got >= -3).all() and (got < 5.5).all())

    def test_normal(self):
        for dtype, eps in (("f4", EPS["f4"]), ("f8", EPS["f8"])):
            z = self.draw("normal", "200000", "--dtype", dtype, "--seed", "11")
            self.assertEqual(z.dtype, np.dtype(dtype))
            # Five standard errors of mean, variance, and the share within one standard deviation.
            self.assertLess(abs(z.mean(dtype="f8")), 5 / np.sqrt(z.size))
            self.assertLess(abs(z.var(dtype="f8") - 1), 5 * np.sqrt(2 / z.size))
            self.assertLess(abs(np.mean(abs(z) < 1) - 0.682689492), 5 * np.sqrt(0.2166 / z.size))
            got = self.draw("normal", "200000", "--dtype", dtype, "--seed", "11", "--mean", "2", "--std", "0.25")
            self.assertTrue((abs(got - (2 + 0.25 * z.astype("f8"))) <= 8 * eps).all())

    def test_slices_equal_the_whole(self):
        for kind, dtype in (("bits", "u4"), ("bits", "u8"), ("uniform", "f4"), ("uniform", "f8"), ("normal", "f4"),
                            ("normal", "f8")):
            whole = self.draw(kind, "1000", "--dtype", dtype, "--seed", "5", "--offset", "123")
            for offset, count in ((0, 1), (1, 2), (3, 333), (334, 666)):
                part = self.draw(kind, str(count), "--dtype", dtype, "--seed", "5", "--offset", str(123 + offset))
                np.testing.assert_array_equal(part.view("u1"), whole[offset:offset + count].view("u1"), f"{kind} {dtype}")

    def test_many_slices_inside(self):
        """More elements than the tool draws at once (2^24): the seam must not show."""
        whole = self.draw("bits", str(2**24 + 9), "--seed", "3")
        np.testing.assert_array_equal(whole[-20:], words32(3, 0, 2**24 - 11, 20))

    def test_distributions(self):
        dice = self.draw("integers", "10000", "--base", "1", "--span", "6", "--dtype", "i1")
        self.assertEqual((dice.dtype, set(dice.tolist())), (np.int8, {1, 2, 3, 4, 5, 6}))
        coins = self.draw("bernoulli", "10000", "--p", "0.25")
        self.assertTrue(coins.dtype == np.uint8 and 2200 < coins.sum() < 2800)
        order = self.draw("permutation", "1000", "--span", "1000")
        self.assertEqual(sorted(order.tolist()), list(range(1000)))
        counts = self.draw("poisson", "10000", "--rate", "30")
        self.assertTrue(abs(counts.mean() - 30) < 0.4 and abs(counts.var() - 30) < 3)
        x = self.draw("truncated_normal", "1000", "--low", "1", "--high", "2", "--dtype", "f2")
        self.assertTrue(x.dtype == np.float16 and (x >= 1).all() and (x <= 2).all())
        self.assertTrue((self.draw("uniform", "1000", "--interval", "open") > 0).all())
        self.assertTrue(abs(self.draw("gamma", "10000", "--shape1", "4", "--scale", "2").mean() - 8) < 0.3)

    def test_shapes(self):
        self.assertEqual(self.draw("normal", "2,3,4").shape, (2, 3, 4))
        self.assertEqual(self.draw("normal", "2x3").shape, (2, 3))
        self.assertEqual(self.draw("normal", "0,5").shape, (0, 5))

    def test_json(self):
        said = json.loads(self.succeed("random", "normal", "--shape", "5", "-o", self.path("r.npy"), "--json"))
        self.assertEqual(said["count"], 5)

    def test_failures(self):
        out = ("--shape", "5", "-o", self.path("r.npy"))
        self.fail_with(2, "is none of bits uniform normal", "random", "zipf", *out)
        self.fail_with(2, "--dtype", "random", "bits", "--dtype", "f4", *out)
        self.fail_with(2, "--dtype", "random", "normal", "--dtype", "u4", *out)
        self.fail_with(2, "no meaning for normal", "random", "normal", "--low", "1", *out)
        self.fail_with(2, "no meaning for gamma", "random", "gamma", "--p", "0.5", *out)
        self.fail_with(2, "closed_open", "random", "uniform", "--interval", "half", *out)
        self.fail_with(1, "args.p is 2", "random", "bernoulli", "--p", "2", *out)
        self.fail_with(2, "is to be below", "random", "uniform", "--low", "1", "--high", "1", *out)
        self.fail_with(2, "is to be above 0", "random", "normal", "--std", "0", *out)
        self.fail_with(2, "no finite number", "random", "normal", "--std", "nan", *out)
        self.fail_with(2, "2^64 - 1", "random", "bits", "--seed=-1", *out)
        self.fail_with(2, "2^64 - 1", "random", "bits", "--seed", "18446744073709551616", *out)
        self.fail_with(2, "--generator", "random", "bits", "--generator", "pcg64", *out)
        self.fail_with(2, "1111", "random", "bits", "--generator", "sobol32", "--dims", "1112", *out)
        self.fail_with(2, "2^32 - 1", "random", "bits", "--substream", "4294967296", *out)
        self.fail_with(2, "no list", "random", "bits", "--shape", "5,-1", "-o", self.path("r.npy"))
        self.fail_with(2, "wants --shape", "random", "bits", "-o", self.path("r.npy"))
        self.fail_with(1, "passes 2^63", "random", "bits", "--shape", "9223372036854775807", "-o", self.path("r.npy"))


class CommandLine(ToolTest):
    COMMANDS = ("matmul", "fft", "random", "demo", "info", "plan", "bench", "wisdom", "tune", "replay")

    def test_help(self):
        listed = self.succeed("-h")
        for command in self.COMMANDS:
            self.assertIn(command, listed)
            self.assertTrue(self.succeed(command, "-h").startswith(f"usage: warpmath {command}"))
            self.assertEqual(self.succeed(command, "--help"), self.succeed(command, "-h"))
        self.assertRegex(self.succeed("--version"), r"^warpmath \d+\.\d+\.\d+\n$")

    def test_usage_errors(self):
        self.fail_with(2, "no command")
        self.fail_with(2, "unknown command 'mul'", "mul")
        self.fail_with(2, "too few arguments", "matmul", "a.npy", "-o", "c.npy")
        self.fail_with(2, "too many arguments", "matmul", "a.npy", "b.npy", "d.npy", "-o", "c.npy")
        self.fail_with(2, "wants -o", "matmul", "a.npy", "b.npy")
        self.fail_with(2, "wants -o", "fft", "a.npy")
        self.fail_with(2, "wants -o", "random", "bits", "--shape", "5")
        self.fail_with(2, "-o wants a value", "matmul", "a.npy", "b.npy", "-o")
        self.fail_with(2, "--type: 'f31' is none of f16", "matmul", "a.npy", "b.npy", "-o", "c.npy", "--type", "f31")
        self.fail_with(2, "--compute: 'x'", "matmul", "a.npy", "b.npy", "-o", "c.npy", "--compute=x")
        self.fail_with(2, "--ta: 'x'", "matmul", "a.npy", "b.npy", "-o", "c.npy", "--ta=x")
        self.fail_with(2, "--scale: 'x'", "fft", "a.npy", "-o", "c.npy", "--scale", "x")
        self.fail_with(2, "--json takes no value", "info", "--json=yes")
        self.fail_with(2, "wisdom: 'x' is none of", "wisdom", "x")
        self.fail_with(2, "wants a file", "wisdom", "merge")
        self.fail_with(2, "wants one pattern", "wisdom", "forget")
        for command in self.COMMANDS:
            self.fail_with(2, f"unknown flag '--nonsense'; see warpmath {command} -h", command, "--nonsense")

    def test_info(self):
        self.assertIn("warpmath", self.succeed("info", "--place", "cpu"))
        json.loads(self.succeed("info", "--place", "cpu", "--json"))
        self.fail_with(2, "--place: 'tpu'", "info", "--place", "tpu")

    def test_device_ltoir(self):
        words = ["device-ltoir", "normal_f32", "uniform_f64", "fft:64:inverse:f32", "sum:128:f64", "tile:mma:f16:32x32x64:64",
                 "fft:16384:forward:f32", "tile:mma:e4m3:32x32x128:64"]
        text = self.succeed(*words)
        self.assertEqual(len(text.splitlines()), 7)
        self.assertEqual([line + ";" for line in json.loads(self.succeed(*words, "--json"))], text.splitlines())
        self.assertIn('extern "C" __device__ float wm_device_normal_f32(unsigned long long seed', text)
        self.assertIn("int wm_device_normal_f32(float *result,", self.succeed(*words, "--abi", "numba"))
        self.fail_with(2, "there is no function 'nonsense'", "device-ltoir", "nonsense")
        self.fail_with(2, "a power of two", "device-ltoir", "fft:60:forward:f32")
        self.fail_with(2, "multiple of 32", "device-ltoir", "sum:100:f32")
        self.fail_with(2, "is not tile:", "device-ltoir", "tile:mma:f16:32x32:64")
        self.fail_with(2, "--abi is c or numba", "device-ltoir", "normal_f32", "--abi", "d")
        done = self.run_tool(*words, "--ptx", "-o", self.path("f.ptx"))
        if "libnvrtc" in done.stderr or "NVRTC" in done.stderr:
            self.assertEqual(done.returncode, 1)
            self.assertFalse(os.path.exists(self.path("f.ptx")))
            self.skipTest("there is no NVRTC here: " + done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("f.ptx"), encoding="ascii") as file:
            ptx = file.read()
        for line in text.splitlines():
            self.assertRegex(ptx, r"\.visible \.func .*" + line.split("(")[0].split()[-1] + r"\(")
        self.succeed(*words, "-o", self.path("f.ltoir"))
        self.assertGreater(os.path.getsize(self.path("f.ltoir")), 1000)
        self.fail_with(1, "NVRTC did not compile", "device-ltoir", "normal_f32", "--arch", "7", "-o", self.path("g"))

    def test_plan(self):
        text = self.succeed("plan", "matmul f32 64x64x64", "--place", "cpu")
        self.assertIn("matmul f32 64x64x64", text)
        json.loads(self.succeed("plan", "fft c2c f32 360", "--place", "cpu", "--json"))
        self.fail_with(1, "matmul", "plan", "matmul f32 64x64")
        self.fail_with(1, "nonsense", "plan", "nonsense")
        self.fail_with(2, "goes with", "plan", "matmul f32 64x64x64", "--save")

    def test_wisdom(self):
        problem = "matmul f32 48x48x48"
        cpu = ("--place", "cpu")
        self.fail_with(1, problem, "plan", problem, "--effort", "wisdom_only", *cpu)
        self.succeed("plan", problem, "--effort", "measure", "--budget", "200", "--save", *cpu)
        self.assertIn(problem, self.succeed("wisdom", "show", *cpu))
        json.loads(self.succeed("wisdom", "show", "--json", *cpu))
        self.succeed("plan", problem, "--effort", "wisdom_only", *cpu)
        os.rename(self.path("wisdom"), self.path("other"))
        self.assertNotIn(problem, self.succeed("wisdom", "show", *cpu))
        self.succeed("wisdom", "merge", self.path("other"), *cpu)
        self.assertIn(problem, self.succeed("wisdom", "show", *cpu))
        self.succeed("wisdom", "forget", "matmul *", *cpu)
        self.assertNotIn(problem, self.succeed("wisdom", "show", *cpu))
        self.fail_with(1, "none", "wisdom", "merge", self.path("none"), *cpu)

    def test_trace_and_tune(self):
        trace = self.path("trace")
        os.environ["WARPMATH_TRACE"] = trace
        self.addCleanup(os.environ.pop, "WARPMATH_TRACE", None)
        for seed in ("1", "2"):
            self.succeed("random", "uniform", "--shape", "30,30", "--dtype", "f4", "--seed", seed, "-o", self.path("x.npy"))
        self.succeed("matmul", self.path("x.npy"), self.path("x.npy"), "-o", self.path("y.npy"))
        del os.environ["WARPMATH_TRACE"]
        with open(trace, encoding="utf-8") as file:
            lines = [line.split(" # ") for line in file]
        self.assertEqual([line[0] for line in lines],
                         2 * ["1 random uniform f32 n=900"] + ["1 matmul f32 30x30x30"])
        self.assertRegex(lines[2][1], r"^\w+, estimated [0-9.e-]+ s$")
        with open(trace, "a", encoding="utf-8") as file:
            file.write("# a comment\n\n  7 matmul  f32 30x30x30 oa=row # the same problem in other words\nfft c2c f32 12\n")
        # On a GPU the first kernels of a length are compiled at run time, and nothing is remembered that was not timed.
        rows = json.loads(self.succeed("tune", "--from", trace, "--budget", "5000", "--json"))
        self.assertEqual([(row["problem"], row["runs"]) for row in rows],
                         [("matmul f32 30x30x30", 8), ("random uniform f32 n=900", 2), ("fft c2c f32 12", 1)])
        self.assertTrue(all(row["seconds"] > 0 and row["before"] and row["solver"] for row in rows))
        shown = self.succeed("wisdom", "show")
        for row in rows:
            self.assertIn(row["problem"], shown)
        self.assertIn("fft c2c f32 15", self.succeed("tune", "fft c2c f32 15", "--dry", "--budget", "100"))
        self.assertNotIn("fft c2c f32 15", self.succeed("wisdom", "show"))
        with open(trace, "a", encoding="utf-8") as file:
            file.write("3 matmul f32 30x\n")
        self.fail_with(1, "trace, line 8: problem", "tune", "--from", trace)
        self.fail_with(1, "No such file", "tune", "--from", self.path("missing"))
        self.fail_with(2, "no problem", "tune")

    def test_report(self):
        head = "problem,solver,knobs,seconds,best_other_seconds,vs_best,error,bound_absolute,bound_relative,verdict\n"
        rows = ('"matmul bf16 64x64x64",matmul_tiled,"a=1,b=2",2e-6,1e-6,0.5,0.1,0,0,good\n'
                '"matmul bf16 64x64x64",cublaslt,"",1e-6,1e-6,1,0.1,0,0,good\n'
                '"fft c2c f32 256 batch=100",fft_stockham,"",1e-6,3e-6,3,0.1,0,0,good\n'
                '"fft c2c f32 512 batch=100",fft_stockham,"",1e-6,3e-6,3,0.1,0,0,wrong\n'
                '"random bits u32 n=1000000",random_philox,"",1e-6,0,0,0,0,0,good\n')
        old, new, page = self.path("old"), self.path("new.csv"), self.path("page.html")
        os.mkdir(old)
        for path, text in ((new, "# GPU <one> & more\n" + head + rows), (old + "/new.csv", head + rows.replace("1e-6,3e", "2e-6,3e"))):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.assertEqual(self.succeed("report", new, "-o", page), f"{page}: 4 problems\n")
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertIn("GPU &lt;one&gt; &amp; more", html)
        # class, problems, with both, geometric mean of 0.5 and 3, held, worst, where
        self.assertIn("<tr><td>new<td>4<td>2<td>1.225<td>1<td>0.500<td class=\"text\">matmul bf16 64x64x64</tr>", html)
        self.assertEqual(html.count("<svg"), html.count("</svg>"))
        for part in html.split("<svg")[1:]:
            xml.dom.minidom.parseString("<svg" + part.split("</svg>")[0] + "</svg>")
        self.assertNotIn("nan", html)
        self.assertNotIn("inf", html)
        self.succeed("report", new, "-o", page, "--against", old)
        with open(page, encoding="utf-8") as file:
            self.assertIn("<tr><td>fft c2c f32 256 batch=100<td>2 us<td>1 us<td>0.500</tr>", file.read())
        bad = self.path("bad.csv")
        for text, part in (("a,b\n", "line 1: no column \"problem\""), ("", "no results"),
                           (head + '"matmul f32 3x",x,"",1\n', "bad.csv, line 2: problem"), (head + "x\n", "line 2: no solver")):
            with open(bad, "w", encoding="utf-8") as file:
                file.write(text)
            self.fail_with(1, part, "report", bad, "-o", self.path("none.html"))
        self.fail_with(1, "No such file", "report", self.path("missing.csv"), "-o", self.path("none.html"))

    def test_bench(self):
        said = json.loads(self.succeed("bench", "matmul f32 40x40x40", "fft c2c f32 60", "--json", "--budget", "300",
                                       "--place", "cpu"))
        self.assertEqual(len(said), 2)
        for problem in said:
            self.assertTrue(any(row["verdict"] == "good" for row in problem["solvers"]), problem)
        self.assertIn("GFLOP/s", self.succeed("bench", "matmul f32 40x40x40", "--budget", "300", "--place", "cpu"))
        self.fail_with(1, "nonsense", "bench", "nonsense")

    def test_bench_beside_cpu(self):
        """The rows of the CPU come behind those of the place; here both are the CPU, so each solver comes twice."""
        said = json.loads(self.succeed("bench", "fft c2c f32 60", "--json", "--budget", "200", "--place", "cpu",
                                       "--beside-cpu"))
        rows = said[0]["solvers"]
        names = [row["solver"] for row in rows]
        half = len(names) // 2
        self.assertEqual(names[:half], names[half:])
        self.assertTrue(all(row["place"] == "cpu" and row["seconds"] > 0 for row in rows))
        self.assertTrue(all(row["fraction"] == 0 for row in rows[half:]))
        self.assertTrue(all(row["choice"] == "" for row in rows[half:]))

    def test_bench_goes_on(self):
        """A list that was stopped is run from where it ended; a torn last line is cut off."""
        with open(self.path("list"), "w", encoding="utf-8") as file:
            file.write("matmul f32 8x8x8 # first\n2 fft c2c f32 12\nmatmul f32 8x8x8\n")
        words = ("bench", "--from", self.path("list"), "--into", self.path("out.csv"), "--early-stop", "--budget", "50",
                 "--place", "cpu")
        self.succeed(*words)
        with open(self.path("out.csv"), encoding="utf-8") as file:
            whole = file.read()
        rows = list(csv.DictReader(whole.splitlines()))
        self.assertEqual([row["problem"] for row in rows if row["choice"] in ("measure", "both")],
                         ["matmul f32 8x8x8", "fft c2c f32 12"])
        self.assertTrue(all(float(row["estimate"]) > 0 for row in rows))
        self.succeed(*words)  # nothing is left to do
        with open(self.path("out.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), whole)
        first = whole[:whole.index('"fft')]
        with open(self.path("out.csv"), "w", encoding="utf-8") as file:
            file.write(first + '"fft c2c f3')
        self.succeed(*words)
        with open(self.path("out.csv"), encoding="utf-8") as file:
            again = file.read()
        self.assertTrue(again.startswith(first))
        self.assertEqual([row["problem"] for row in csv.DictReader(again.splitlines())], [row["problem"] for row in rows])
        self.save("other.csv", np.zeros(1))
        self.fail_with(1, "columns", "bench", "matmul f32 8x8x8", "--into", self.path("list"))

    def test_ceilings(self):
        said = json.loads(self.succeed("bench", "--ceilings", "--json", "--place", "cpu"))
        self.assertGreater(said["copy"], 0)
        self.assertIn("copy", self.succeed("bench", "--ceilings", "--place", "cpu"))
        text = self.succeed("bench", "matmul f32 64x64x64", "--ceilings", "--csv", "--place", "cpu", "--budget", "50")
        self.assertTrue(any(0 < float(row["fraction"]) for row in csv.DictReader(text.splitlines())))

    def test_buckets(self):
        self.succeed("tune", "matmul f32 24x9x9", "--bucket", "m", "--budget", "3000", "--place", "cpu")
        self.assertIn("2 entries", self.succeed("wisdom", "merge", self.path("wisdom"), "--place", "cpu"))
        self.fail_with(1, "no bucket", "tune", "matmul f32 16x9x9", "--bucket", "m", "--place", "cpu")
        self.fail_with(2, "--bucket: 'q'", "tune", "matmul f32 24x9x9", "--bucket", "q", "--place", "cpu")

    def test_replay(self):
        with open(self.path("trace"), "w", encoding="utf-8") as file:
            file.write("7 matmul f32 8x8x8 # openblas, measured 1.5e-06 s\n2 fft c2c f32 12 # fft_cpu, estimated 2.0e-06 s\n")
        said = json.loads(self.succeed("replay", self.path("trace"), "--budget", "5", "--json", "--place", "cpu"))
        self.assertEqual([row["runs"] for row in said], [7, 2])
        self.assertEqual([row["recorded_seconds"] for row in said], [1.5e-6, 2e-6])
        self.assertTrue(all(row["seconds"] > 0 for row in said))
        self.assertIn("all runs", self.succeed("replay", self.path("trace"), "--budget", "5", "--place", "cpu"))
        self.fail_with(1, "No such file", "replay", self.path("none"))

    def test_drift(self):
        """Entries of the same device under another version of a library are timed again."""
        self.succeed("tune", "matmul f32 40x40x40", "fft c2c f32 12", "--budget", "3000", "--place", "cpu")
        with open(self.path("wisdom"), encoding="ascii") as file:
            lines = file.read().splitlines()
        machines = {line.split()[3]: line.split(" ", 4)[4] for line in lines if line.split()[2] == "machine"}
        out = []
        for line in lines:
            words = line.split(" ")
            if len(words) > 3 and words[2] in ("machine", "entry"):
                text = machines[words[3]] + "0"  # warpmath=100 -> 1000: another version
                words[3] = f"{fnv(text):016x}"
                body = f"machine {words[3]} {text}" if words[2] == "machine" else " ".join(words[2:])
                if words[2] == "entry":  # one of them took a hundredth of the time
                    words[5] = str(int(words[5]) // 100 + 1) if "matmul" in line else words[5]
                    body = " ".join(words[2:])
                line = f"w1 {crc32c(body):08x} {body}"
            out.append(line)
        with open(self.path("wisdom"), "w", encoding="ascii") as file:
            file.write("\n".join(out) + "\n")
        os.chmod(self.path("wisdom"), 0o600)
        said = json.loads(self.succeed("wisdom", "drift", "--json", "--place", "cpu", "--budget", "3000"))
        verdicts = {row["problem"]: row["verdict"] for row in said}
        self.assertEqual(verdicts["matmul f32 40x40x40"], "slower")
        self.assertIn("matmul f32 40x40x40", self.succeed("wisdom", "drift", "--place", "cpu", "--budget", "3000", "--tune"))
        said = json.loads(self.succeed("wisdom", "drift", "--json", "--place", "cpu", "--budget", "50"))
        self.assertNotIn("matmul f32 40x40x40", {row["problem"] for row in said})  # tuned since


def no_room():
    """In the child: files may grow to 4096 bytes only, and passing that is an error rather than a signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


class BadFiles(ToolTest):
    def commands(self, source, target):
        yield ("matmul", source, source, "-o", target)
        yield ("fft", source, "-o", target)
        yield ("random", "uniform", "--shape", "64,64", "-o", target)

    def test_truncated_inputs(self):
        source = self.save("a.npy", random_array(self.rng, (64, 64), "f4"))
        size = os.path.getsize(source)
        for cut in (0, 5, 9, 60, 127, 128, 1000, size - 1):
            self.save("a.npy", random_array(self.rng, (64, 64), "f4"))
            os.truncate(source, cut)
            for words in list(self.commands(source, self.path("c.npy")))[:2]:
                self.fail_with(1, "truncated", *words)

    def test_refused_types(self):
        out = ("-o", self.path("c.npy"))
        for array, part in ((np.zeros((2, 2), ">f4"), "big-endian"), (np.array([["a"]]), "holds strings"),
                            (np.zeros((2, 2), "f4,i4"), "structured"), (np.zeros((2, 2), "g"), "is none of"),
                            (np.zeros((2, 2), "M8[s]"), "holds dates"), (np.zeros((2, 2), "V2"), "bf16")):
            source = self.save("a.npy", array)
            self.fail_with(1, part, "matmul", source, source, *out)
            self.fail_with(1, part, "fft", source, *out)
        np.save(self.path("a.npy"), np.array([[object()]]), allow_pickle=True)
        self.fail_with(1, "holds Python objects", "fft", self.path("a.npy"), *out)

    def test_unwritable_paths(self):
        source = self.save("a.npy", random_array(self.rng, (64, 64), "f4"))
        os.mkdir(self.path("folder"))
        for words in self.commands(source, self.path("no/such.npy")):
            self.fail_with(1, "cannot write there", *words)
        for words in self.commands(source, self.path("folder")):
            self.fail_with(1, "is a folder", *words)

    def test_a_full_disk(self):
        source = self.save("a.npy", random_array(self.rng, (64, 64), "f4"))
        for words in self.commands(source, "/dev/full"):
            self.fail_with(1, "No space left", *words)
        for words in self.commands(source, self.path("c.npy")):
            self.fail_with(1, "File too large", *words, preexec_fn=no_room)
        kept = self.save("kept.npy", np.arange(3))
        for words in self.commands(source, kept):
            self.fail_with(1, "File too large", *words, preexec_fn=no_room)
            np.testing.assert_array_equal(np.load(kept), np.arange(3))

    def test_a_full_file_system(self):
        """The same on a small file system of its own, where root may mount one."""
        source = self.save("a.npy", random_array(self.rng, (64, 64), "f4"))
        disk = self.path("disk")
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], stderr=subprocess.DEVNULL,
                                 check=False).returncode == 0
        if not mounted:
            self.skipTest("mounting a small file system is not allowed here")
        try:
            for words in self.commands(source, os.path.join(disk, "c.npy")):
                self.fail_with(1, "No space left", *words)
                self.assertEqual(os.listdir(disk), [])
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_a_full_standard_output(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([TOOL, "-h"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout: writing failed", done.stderr)

    def test_replacing_the_input(self):
        source = self.save("a.npy", random_array(self.rng, (16,), "c8"))
        before = np.load(source)
        self.succeed("fft", source, "-o", source)
        np.testing.assert_allclose(np.load(source), np.fft.fft(before), rtol=0, atol=1e-5)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(__doc__)
    TOOL = os.path.abspath(sys.argv.pop(1))
    print(f"warpmath: {TOOL}; NumPy {np.__version__}; seed {SEED}", flush=True)
    unittest.main()
