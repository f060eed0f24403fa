/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roots of unity of the finer circle of 65536, at compile time: those of fft.cuh turned by one of sixteen constants,
 * which were computed with 60 digits and rounded once. In f32 they are correctly rounded but for a few ties, in f64 off
 * by at most 2 units in the last place. For tables of transforms longer than fft.cuh's.
 */
#ifndef WARPMATH_DEVICE_FFT_FINE_CUH
#define WARPMATH_DEVICE_FFT_FINE_CUH

#include <warpmath/device/fft.cuh>

/** Roots of the fine circle. */
#define WM_FFT_FINE_CIRCLE 65536

/* clang-format off */
/** cos and sin of 2 pi k / 65536, k = 0 … 15. */
static constexpr double wm_fft_fine[32] = {
    1.0, 0.0, 0.9999999954041073, 9.587379909597734e-05,
    0.9999999816164293, 0.00019174759731070332, 0.9999999586369661, 0.0002876213937629265,
    0.9999999264657179, 0.00038349518757139556, 0.9999998851026849, 0.0004793689778548592,
    0.9999998345478677, 0.0005752427637320661, 0.9999997748012666, 0.0006711165443217649,
    0.9999997058628822, 0.0007669903187427045, 0.9999996277327151, 0.0008628640861136338,
    0.9999995404107661, 0.0009587378455533015, 0.999999443897036, 0.0010546115961804568,
    0.9999993381915255, 0.0011504853371138485, 0.9999992232942359, 0.001246359067472226,
    0.9999990992051678, 0.0013422327863743383, 0.9999989659243228, 0.001438106492938935,
};
/* clang-format on */

/** exp(-2 pi i k / WM_FFT_FINE_CIRCLE), k >= 0. */
template <class C>
WM_CONSTEXPR C wm_fft_fine_root(int k) {
    using real = decltype(C().re);
    constexpr int FINE = WM_FFT_FINE_CIRCLE / WM_FFT_CIRCLE;
    wmC128 root = wm_fft_root<wmC128>(k / FINE);
    double re = wm_fft_fine[2 * (k % FINE)], im = -wm_fft_fine[2 * (k % FINE) + 1];
    return C{(real)(root.re * re - root.im * im), (real)(root.re * im + root.im * re)};
}

#endif
