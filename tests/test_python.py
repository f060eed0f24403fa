#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""examples/python/warpmath.py against NumPy: the library's ABI from a language without its headers.

usage: test_python.py PATH-OF-LIBWARPMATH.SO [unittest options]
"""
import os
import sys
import unittest

os.environ["WARPMATH_LIBRARY"] = sys.argv.pop(1)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "python"))
import numpy as np
import warpmath as wm

EPS = {"f4": 2.0**-24, "f8": 2.0**-53, "c8": 2.0**-24, "c16": 2.0**-53, "f2": 2.0**-11}


class ByDlpack:
    """What another library's array looks like: nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def draw(rng, shape, dtype):
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if dtype[0] == "c" else x).astype(dtype)


class PythonTest(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(20261130)
        self.context = wm.Context("cpu")

    def tearDown(self):
        self.context.close()

    def product_is_right(self, d, a, b, more=0.0):
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        exact = np.matmul(a.astype(wide), b.astype(wide))
        size = np.matmul(np.abs(a).astype("f8"), np.abs(b).astype("f8"))
        eps = EPS[a.dtype.str[1:]]
        bound = (a.shape[-1] + 2) * 2.0**-24 * size + eps * np.abs(exact) if eps > 2.0**-24 else \
            (2 * a.shape[-1] + 4) * eps * (size + 1)
        self.assertTrue(np.all(np.abs(d.astype(wide) - exact - more) <= bound))

    def test_products(self):
        for dtype in ("f4", "f8", "c8", "c16", "f2"):
            a, b = draw(self.rng, (7, 5), dtype), draw(self.rng, (5, 9), dtype)
            self.product_is_right(self.context.matmul(a, b), a, b)
            self.product_is_right(self.context.matmul(a.T.copy().T, b), a, b)
            self.product_is_right(self.context.matmul(ByDlpack(a), ByDlpack(b), out=np.empty((7, 9), dtype)), a, b)
            wide = draw(self.rng, (7, 40), dtype)[:, 3:8]
            self.product_is_right(self.context.matmul(wide, b), wide, b)

    def test_batches_bias_and_activation(self):
        a, b, bias = draw(self.rng, (3, 7, 5), "f4"), draw(self.rng, (3, 5, 9), "f4"), draw(self.rng, 9, "f4")
        self.product_is_right(self.context.matmul(a, b, bias=bias), a, b, bias)
        got = self.context.matmul(a, b, bias=bias, activation="relu")
        self.assertTrue(np.array_equal(got, np.maximum(self.context.matmul(a, b, bias=bias), 0)))
        shared = np.broadcast_to(b[0], b.shape)
        self.product_is_right(self.context.matmul(a, shared), a, shared)
        out = draw(self.rng, (3, 7, 9), "f4")
        before = out.copy()
        self.context.matmul(a, b, out=out, alpha=0.0, beta=2.0)
        self.assertTrue(np.array_equal(out, 2 * before))

    def test_transforms(self):
        for dtype, eps in (("c8", 2.0**-24), ("c16", 2.0**-53)):
            x = draw(self.rng, (6, 10, 8), dtype)
            for axes in (None, 1, (0, 2), -1):
                exact = np.fft.fftn(x, axes=None if axes is None else np.atleast_1d(axes))
                got = self.context.fft(x, axes=axes)
                self.assertLessEqual(np.linalg.norm(got - exact), 10 * eps * np.linalg.norm(exact))
                back = self.context.fft(got, axes=axes, inverse=True, scale="by_n")
                self.assertLessEqual(np.linalg.norm(back - x), 20 * eps * np.linalg.norm(x))
        for n in (10, 11):
            x = draw(self.rng, (4, n), "f4")
            half = self.context.fft(x, axes=1, kind="r2c")
            self.assertLessEqual(np.linalg.norm(half - np.fft.rfft(x)), 1e-6 * np.linalg.norm(half))
            back = self.context.fft(half, axes=1, kind="c2r", scale="by_n", n_last=n)
            self.assertLessEqual(np.linalg.norm(back - x), 1e-6 * np.linalg.norm(x))

    def test_random(self):
        whole = self.context.random("normal", (1000,), "f4", seed=7, mean=2, std=3)
        part = self.context.random("normal", (10, 10), "f4", seed=7, offset=333, mean=2, std=3)
        self.assertTrue(np.array_equal(part.ravel(), whole[333:433]))
        words = self.context.random("bits", (4,), "u4")
        self.assertEqual([hex(w) for w in words], ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"])
        u = self.context.random("uniform", (1000,), "f8", low=-1, high=1)
        self.assertTrue(-1 <= u.min() < -0.9 and 0.9 < u.max() < 1)

    def test_more_distributions(self):
        dice = self.context.random("integers", (6000,), "u1", seed=3, base=1, span=6)
        self.assertEqual(sorted(set(dice)), [1, 2, 3, 4, 5, 6])
        counts = self.context.random("poisson", (20000,), "u4", seed=4, rate=3.0)
        self.assertLess(abs(counts.mean() - 3), 6 * (3 / 20000) ** 0.5)
        waits = self.context.random("gamma", (20000,), "f8", seed=5, gamma_shape=2.0, scale=0.5)
        self.assertLess(abs(waits.mean() - 1), 6 * (0.5 / 20000) ** 0.5)
        with self.assertRaisesRegex(wm.Error, "rate"):
            self.context.random("poisson", (10,), "u4", rate=-1.0)

    def test_explanations(self):
        self.assertIn("openblas", self.context.explain("matmul f32 64x64x64"))

    def test_errors_name_what_is_wrong(self):
        a = draw(self.rng, (7, 5), "f4")
        with self.assertRaisesRegex(ValueError, "5 columns, b 7 rows"):
            self.context.matmul(a, a)
        with self.assertRaisesRegex(ValueError, "neither of the last two is 1"):
            self.context.matmul(draw(self.rng, (7, 10), "f4")[:, ::2], draw(self.rng, (5, 3), "f4"))
        with self.assertRaisesRegex(TypeError, "list"):
            self.context.matmul([[1]], a)
        with self.assertRaisesRegex(wm.Error, "mtmul") as caught:
            self.context.explain("mtmul f32 1x1x1")
        self.assertEqual(caught.exception.status, "WM_ERR_ARGUMENT")
        frozen = np.zeros((7, 3), "f4")
        frozen.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read only"):
            self.context.matmul(a, draw(self.rng, (5, 3), "f4"), out=frozen)


if __name__ == "__main__":
    unittest.main()
