/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath/dlpack.h: descs from tensors as other libraries hand them over, executed and compared; and what is refused.
 */
#include <dlpack/dlpack.h>

#include <warpmath/dlpack.h>
#include <warpmath/warpmath.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* A tensor over `data`; strides NULL: packed. Shape and strides are kept by the caller. */
static DLTensor tensor_of(void *data, int code, int bits, int rank, int64_t *shape, int64_t *strides) {
    DLTensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = kDLCPU;
    t.ndim = rank;
    t.dtype = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
    t.shape = shape;
    t.strides = strides;
    return t;
}

static wmContext *context;

static int open_context(void **state) {
    (void)state;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    options.wisdom_path = "";
    return wmContextCreate(&context, &options);
}

static int close_context(void **state) {
    (void)state;
    wmContextDestroy(context);
    return 0;
}

/* a is a transposed view behind a byte offset, b a batch that is the same matrix twice, d has gaps between rows. */
static void products(void **unused) {
    (void)unused;
    float a[1 + 12] = {-1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, b[6] = {1, 2, 3, 4, 5, 6}, d[2 * 2 * 5];
    int64_t a_shape[] = {2, 2, 3}, a_strides[] = {6, 1, 2}, b_shape[] = {2, 3, 2}, b_strides[] = {0, 2, 1};
    int64_t d_shape[] = {2, 2, 2}, d_strides[] = {10, 5, 1};
    DLTensor ta = tensor_of(a, kDLFloat, 32, 3, a_shape, a_strides);
    DLTensor tb = tensor_of(b, kDLFloat, 32, 3, b_shape, b_strides), td = tensor_of(d, 2, 32, 3, d_shape, d_strides);
    ta.byte_offset = sizeof(float);
    memset(d, 0x7f, sizeof d);
    wmMatmulDesc desc;
    assert_int_equal(wmDlpackMatmul(&desc, &ta, &tb, &td), WM_OK);
    wmMatmulArgs args = wmMatmulArgsDefault(wmDlpackData(&ta), wmDlpackData(&tb), wmDlpackData(&td));
    assert_int_equal(wmMatmul(context, &desc, &args, NULL), WM_OK);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 5; j++) {
                float sum = 0;
                for (int l = 0; l < 3; l++) sum += a[1 + 6 * t + i + 2 * l] * b[2 * l + j % 2];
                if (j < 2) assert_true(d[10 * t + 5 * i + j] == sum);
                if (j >= 2) assert_int_equal(((unsigned char *)&d[10 * t + 5 * i + j])[0], 0x7f);
            }
}

/* Columns of a 4 × 3 array of complex numbers, as a transform of 4 points over a loop of 3; and a real one of 5. */
static void transforms(void **unused) {
    (void)unused;
    double x[24], out[24], real[10], half[12];
    for (int i = 0; i < 24; i++) x[i] = i % 7;
    for (int i = 0; i < 10; i++) real[i] = i * i % 5;
    int64_t shape[] = {4, 3}, real_shape[] = {2, 5}, half_shape[] = {2, 3};
    DLTensor in = tensor_of(x, kDLComplex, 128, 2, shape, NULL), to = tensor_of(out, kDLComplex, 128, 2, shape, NULL);
    const int first[] = {0}, second[] = {1};
    wmFftDesc desc;
    assert_int_equal(wmDlpackFft(&desc, WM_FFT_C2C, &in, &to, 1, first), WM_OK);
    wmFftArgs args = wmFftArgsDefault(wmDlpackData(&in), wmDlpackData(&to));
    assert_int_equal(wmFft(context, &desc, &args, NULL), WM_OK);
    for (int column = 0; column < 3; column++) { /* term 1 is x0 - x2 - i (x1 - x3) */
        const double *c = x + 2 * column;
        double re = c[0] - c[12] + c[7] - c[19], im = c[1] - c[13] - c[6] + c[18];
        assert_true(fabs(out[6 + 2 * column] - re) < 1e-12 && fabs(out[7 + 2 * column] - im) < 1e-12);
    }
    DLTensor r = tensor_of(real, kDLFloat, 64, 2, real_shape, NULL), h = tensor_of(half, 5, 128, 2, half_shape, NULL);
    assert_int_equal(wmDlpackFft(&desc, WM_FFT_R2C, &r, &h, 1, second), WM_OK);
    args = wmFftArgsDefault(real, half);
    assert_int_equal(wmFft(context, &desc, &args, NULL), WM_OK);
    for (int row = 0; row < 2; row++) {
        double sum = 0;
        for (int i = 0; i < 5; i++) sum += real[5 * row + i];
        assert_true(fabs(half[6 * row] - sum) < 1e-12);
    }
    assert_int_equal(wmDlpackFft(&desc, WM_FFT_C2R, &h, &r, 1, second), WM_OK);
    assert_int_equal(desc.dim[0].n, 5);
}

static void refused(void **unused) {
    (void)unused;
    float data[64];
    int64_t two[] = {4, 4}, other[] = {4, 3}, gaps[] = {16, 2}, one[] = {16};
    DLTensor good = tensor_of(data, kDLFloat, 32, 2, two, NULL), thin = tensor_of(data, kDLFloat, 32, 2, other, NULL);
    DLTensor spread = tensor_of(data, kDLFloat, 32, 2, two, gaps), line = tensor_of(data, kDLFloat, 32, 1, one, NULL);
    DLTensor far = good, odd = good, complex = tensor_of(data, kDLComplex, 64, 2, two, NULL);
    far.device.device_type = 2;
    odd.dtype.lanes = 4;
    wmMatmulDesc product;
    wmFftDesc transform;
    const int axes[] = {0, 1}, twice[] = {1, 1}, outside[] = {2};
    assert_int_equal(wmDlpackMatmul(&product, &good, &thin, &good), WM_ERR_ARGUMENT);
    assert_int_equal(wmDlpackMatmul(&product, &good, &spread, &good), WM_ERR_UNSUPPORTED);
    assert_int_equal(wmDlpackMatmul(&product, &line, &good, &good), WM_ERR_UNSUPPORTED);
    assert_int_equal(wmDlpackMatmul(&product, &odd, &good, &good), WM_ERR_UNSUPPORTED);
    assert_int_equal(wmDlpackMatmul(&product, &good, &far, &good), WM_ERR_ARGUMENT);
    assert_int_equal(wmDlpackPlace(&far), WM_PLACE_GPU);
    assert_int_equal(wmDlpackFft(&transform, WM_FFT_C2C, &complex, &complex, 2, axes), WM_OK);
    assert_int_equal(transform.placement, WM_IN_PLACE);
    assert_int_equal(wmDlpackFft(&transform, WM_FFT_C2C, &complex, &complex, 2, twice), WM_ERR_ARGUMENT);
    assert_int_equal(wmDlpackFft(&transform, WM_FFT_C2C, &complex, &complex, 1, outside), WM_ERR_ARGUMENT);
    assert_int_equal(wmDlpackFft(&transform, WM_FFT_C2C, &complex, &complex, 0, axes), WM_ERR_UNSUPPORTED);
    assert_int_equal(wmDlpackFft(&transform, WM_FFT_C2C, &good, &good, 1, axes), WM_ERR_UNSUPPORTED);
    assert_int_equal(wmDlpackFft(&transform, WM_FFT_R2C, &good, &complex, 1, axes), WM_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(transforms),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
