/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and orders of arrays. Plain loops: files are read once. */
#include "convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

/* A 16-bit float is sign, exponent and `mantissa` bits; bias 15 with 10 bits is f16, bias 127 with 7 is bf16. */
static uint16_t narrow(double x, int mantissa, int bias) {
    int sign = signbit(x) ? 0x8000 : 0;
    int infinity = 0x7fff >> mantissa << mantissa;
    if (isnan(x)) return (uint16_t)(sign | infinity | 1 << (mantissa - 1));
    if (isinf(x)) return (uint16_t)(sign | infinity);
    if (x == 0) return (uint16_t)sign;
    int least = 1 - bias; /* exponent of the smallest normal number; subnormal ones have the same spacing */
    int exponent = ilogb(x) > least ? ilogb(x) : least;
    if (exponent > bias) return (uint16_t)(sign | infinity);
    /* In units of the last place a rounded number is its own code, counted from its binade's: a carry moves on. */
    double units = nearbyint(ldexp(fabs(x), mantissa - exponent));
    int code = ((exponent - least) << mantissa) + (int)units;
    return (uint16_t)(sign | (code < infinity ? code : infinity));
}

static double widen(uint16_t bits, int mantissa, int bias) {
    int field = (bits & 0x7fff) >> mantissa;
    int fraction = bits & ((1 << mantissa) - 1);
    double value =
        field ? ldexp((1 << mantissa) + fraction, field - bias - mantissa) : ldexp(fraction, 1 - bias - mantissa);
    if (field == 0x7fff >> mantissa) value = fraction ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

void wm_convert_read(wmType type, const void *from, int64_t i, double value[2]) {
    value[1] = 0;
    switch (type) {
    case WM_F16:
        value[0] = widen(((const uint16_t *)from)[i], 10, 15);
        break;
    case WM_BF16:
        value[0] = widen(((const uint16_t *)from)[i], 7, 127);
        break;
    case WM_F32:
        value[0] = ((const float *)from)[i];
        break;
    case WM_F64:
        value[0] = ((const double *)from)[i];
        break;
    case WM_C64:
        value[0] = ((const float *)from)[2 * i];
        value[1] = ((const float *)from)[2 * i + 1];
        break;
    case WM_C128:
        value[0] = ((const double *)from)[2 * i];
        value[1] = ((const double *)from)[2 * i + 1];
        break;
    case WM_I8:
        value[0] = ((const int8_t *)from)[i];
        break;
    case WM_I16:
        value[0] = ((const int16_t *)from)[i];
        break;
    case WM_I32:
        value[0] = ((const int32_t *)from)[i];
        break;
    case WM_I64:
        value[0] = (double)((const int64_t *)from)[i];
        break;
    case WM_U8:
        value[0] = ((const uint8_t *)from)[i];
        break;
    case WM_U16:
        value[0] = ((const uint16_t *)from)[i];
        break;
    case WM_U32:
        value[0] = ((const uint32_t *)from)[i];
        break;
    case WM_U64:
        value[0] = (double)((const uint64_t *)from)[i];
        break;
    default:
        value[0] = NAN;
        break;
    }
}

void wm_convert_write(wmType type, void *to, int64_t i, const double value[2]) {
    switch (type) {
    case WM_F16:
        ((uint16_t *)to)[i] = narrow(value[0], 10, 15);
        break;
    case WM_BF16:
        ((uint16_t *)to)[i] = narrow(value[0], 7, 127);
        break;
    case WM_F32:
        ((float *)to)[i] = (float)value[0];
        break;
    case WM_F64:
        ((double *)to)[i] = value[0];
        break;
    case WM_C64:
        ((float *)to)[2 * i] = (float)value[0];
        ((float *)to)[2 * i + 1] = (float)value[1];
        break;
    case WM_C128:
        ((double *)to)[2 * i] = value[0];
        ((double *)to)[2 * i + 1] = value[1];
        break;
    default:
        break;
    }
}

/* An array like the given one in all but element type, with memory. */
static int alike(const wm_npy *array, const char *path, const char *dtype, wm_npy *out) {
    int status = wm_npy_describe(out, path, dtype, array->rank, array->shape);
    if (status) return status;
    out->fortran = array->fortran;
    return wm_npy_allocate(out, path);
}

int wm_convert_array(wm_npy *array, const char *path, wmType to) {
    wmType from = wm_npy_type(array);
    wm_npy out;
    if (from == to || (from == WM_U16 && to == WM_BF16)) return WM_EXIT_OK;
    bool complex = to == WM_C64 || to == WM_C128;
    if (to != WM_F16 && to != WM_BF16 && to != WM_F32 && to != WM_F64 && !complex) {
        return wm_tool_fail("%s: is %s; nothing is converted to %s", path, wm_npy_dtype(from), wmTypeName(to));
    }
    if (array->kind == 'c' && !complex) {
        return wm_tool_fail("%s: is complex (%s); it cannot become %s", path, wm_npy_dtype(from), wmTypeName(to));
    }
    int status = alike(array, path, wm_npy_dtype(to), &out);
    if (status) return status;
    for (int64_t i = 0; i < array->count; i++) {
        double value[2];
        wm_convert_read(from, array->data, i, value);
        wm_convert_write(to, out.data, i, value);
    }
    wm_npy_free(array);
    *array = out;
    return WM_EXIT_OK;
}

int wm_convert_to_c_order(wm_npy *array, const char *path) {
    wm_npy out;
    int64_t index[WM_NPY_RANK] = {0};
    char dtype[8];
    if (!array->fortran) return WM_EXIT_OK;
    dtype[0] = array->kind;
    (void)snprintf(dtype + 1, sizeof dtype - 1, "%d", array->item);
    int status = alike(array, path, dtype, &out);
    if (status) return status;
    out.fortran = false;
    for (int64_t to = 0; to < array->count; to++) {
        int64_t from = 0;
        for (int d = array->rank - 1; d >= 0; d--) from = from * array->shape[d] + index[d];
        memcpy((char *)out.data + to * array->item, (const char *)array->data + from * array->item,
               (size_t)array->item);
        for (int d = array->rank - 1; d >= 0 && ++index[d] == array->shape[d]; d--) index[d] = 0;
    }
    wm_npy_free(array);
    *array = out;
    return WM_EXIT_OK;
}
