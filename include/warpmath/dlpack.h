/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descs from DLPack's tensors (dmlc.github.io/dlpack), the form in which PyTorch, JAX, CuPy, NumPy and others hand
 * arrays over. Include <dlpack/dlpack.h> first: it is not part of warpmath, and warpmath.h does not include this file.
 *
 * Nothing is copied and nothing is owned: a desc takes type, shape and strides; wmDlpackData gives the pointer. The
 * caller keeps the tensors alive, and orders work with the stream that produced them. Failures return a status and
 * leave wmLastError() alone, since no library code runs.
 */
#ifndef WARPMATH_DLPACK_H
#define WARPMATH_DLPACK_H

#include <warpmath/fft.h>
#include <warpmath/matmul.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The tensor's first element. */
static inline void *wmDlpackData(const DLTensor *tensor) {
    return (char *)tensor->data + tensor->byte_offset;
}

/** The type of its elements; WM_TYPE_UNSET if warpmath has none (vector lanes, opaque handles). */
static inline wmType wmDlpackType(const DLTensor *tensor) {
    static const struct {
        uint8_t code, bits;
        wmType type;
    } known[] = {
        {0, 8,   WM_I8  },
        {0, 16,  WM_I16 },
        {0, 32,  WM_I32 },
        {0, 64,  WM_I64 },
        {1, 8,   WM_U8  },
        {1, 16,  WM_U16 },
        {1, 32,  WM_U32 },
        {1, 64,  WM_U64 },
        {2, 16,  WM_F16 },
        {2, 32,  WM_F32 },
        {2, 64,  WM_F64 },
        {4, 16,  WM_BF16},
        {5, 32,  WM_C32 },
        {5, 64,  WM_C64 },
        {5, 128, WM_C128}
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (tensor->dtype.lanes == 1 && tensor->dtype.code == known[i].code && tensor->dtype.bits == known[i].bits)
            return known[i].type;
    return WM_TYPE_UNSET;
}

/** Where it lies: WM_PLACE_GPU (CUDA, managed), WM_PLACE_CPU (host, pinned); WM_PLACE_AUTO for other devices. */
static inline wmPlace wmDlpackPlace(const DLTensor *tensor) {
    switch ((int)tensor->device.device_type) {
    case 1: /* kDLCPU */
    case 3: /* kDLCUDAHost, kDLCPUPinned in old versions */
        return WM_PLACE_CPU;
    case 2:  /* kDLCUDA */
    case 13: /* kDLCUDAManaged */
        return WM_PLACE_GPU;
    default:
        return WM_PLACE_AUTO;
    }
}

/** Elements between neighbours along the axis; without strides a tensor is row-major and packed. */
static inline int64_t wmDlpackStride(const DLTensor *tensor, int axis) {
    int64_t stride = 1;
    if (tensor->strides) return tensor->strides[axis];
    for (int i = axis + 1; i < tensor->ndim; i++) stride *= tensor->shape[i];
    return stride;
}

/** The multiple, up to 16 bytes, that its pointer is. */
static inline int64_t wmDlpackAlign(const DLTensor *tensor) {
    uintptr_t address = (uintptr_t)wmDlpackData(tensor);
    int64_t align = 16;
    while (address % (uintptr_t)align) align /= 2;
    return align;
}

/**
 * The layout of a matrix (rank 2), or of a batch of them along the first axis (rank 3), with its numbers of rows and
 * columns. WM_ERR_UNSUPPORTED: another rank, a type that warpmath lacks, or no stride of 1 along rows or columns
 * (copy such a tensor first).
 */
static inline wmStatus wmDlpackMatrix(const DLTensor *tensor, wmMatrixDesc *out, int64_t *rows, int64_t *cols) {
    int row = tensor->ndim - 2, col = tensor->ndim - 1;
    wmMatrixDesc m = {wmDlpackType(tensor), WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, WM_PACKED, 0};
    if (tensor->ndim < 2 || tensor->ndim > 3 || m.type == WM_TYPE_UNSET) return WM_ERR_UNSUPPORTED;
    *rows = tensor->shape[row];
    *cols = tensor->shape[col];
    if (wmDlpackStride(tensor, col) == 1 || *cols <= 1) {
        m.ld = *rows > 1 ? wmDlpackStride(tensor, row) : *cols;
    } else if (wmDlpackStride(tensor, row) == 1 || *rows <= 1) {
        m.order = WM_COL_MAJOR;
        m.ld = wmDlpackStride(tensor, col);
    } else {
        return WM_ERR_UNSUPPORTED;
    }
    if (tensor->ndim == 3) m.batch_stride = wmDlpackStride(tensor, 0);
    m.align = wmDlpackAlign(tensor);
    *out = m;
    return WM_OK;
}

/**
 * The product d = a · b (alpha 1, beta 0: set the rest of the desc afterwards). WM_ERR_ARGUMENT: the shapes do not fit
 * each other, or the tensors lie at different places. WM_ERR_UNSUPPORTED: as wmDlpackMatrix.
 */
static inline wmStatus wmDlpackMatmul(wmMatmulDesc *out, const DLTensor *a, const DLTensor *b, const DLTensor *d) {
    const DLTensor *const tensors[] = {a, b, d};
    wmMatmulDesc desc = wmMatmulDescDefault(wmDlpackType(a), 0, 0, 0);
    wmMatrixDesc *const matrices[] = {&desc.a, &desc.b, &desc.d};
    int64_t rows[3], cols[3];
    for (int i = 0; i < 3; i++) {
        wmStatus status = wmDlpackMatrix(tensors[i], matrices[i], &rows[i], &cols[i]);
        if (status != WM_OK) return status;
        if (tensors[i]->ndim != a->ndim || wmDlpackPlace(tensors[i]) != wmDlpackPlace(a)) return WM_ERR_ARGUMENT;
        if (a->ndim == 3 && tensors[i]->shape[0] != a->shape[0]) return WM_ERR_ARGUMENT;
    }
    if (cols[0] != rows[1] || rows[0] != rows[2] || cols[1] != cols[2]) return WM_ERR_ARGUMENT;
    desc.m = rows[0];
    desc.n = cols[1];
    desc.k = cols[0];
    desc.batch = a->ndim == 3 ? a->shape[0] : 1;
    desc.place = wmDlpackPlace(a);
    *out = desc;
    return WM_OK;
}

/**
 * The transform from `in` to `out` over `rank` axes, the others being batch loops; the axes are named outermost first.
 * WM_ERR_ARGUMENT: an axis out of range or named twice, or shapes, types or places that do not fit each other.
 * WM_ERR_UNSUPPORTED: more than three axes or three loops, or a type that warpmath does not transform.
 */
static inline wmStatus wmDlpackFft(wmFftDesc *out, wmFftKind kind, const DLTensor *in, const DLTensor *to, int rank,
                                   const int axes[]) {
    const DLTensor *real = kind == WM_FFT_C2R ? to : in, *half = kind == WM_FFT_C2R ? in : to;
    wmType types[2] = {wmDlpackType(real), wmDlpackType(half)};
    int64_t n[WM_FFT_MAX_RANK] = {1, 1, 1};
    wmType scalar = types[1] == WM_C64 ? WM_F32 : types[1] == WM_C128 ? WM_F64 : WM_TYPE_UNSET;
    if (rank < 1 || rank > WM_FFT_MAX_RANK || in->ndim - rank > WM_FFT_MAX_LOOPS || scalar == WM_TYPE_UNSET)
        return WM_ERR_UNSUPPORTED;
    if (types[0] != (kind == WM_FFT_C2C ? types[1] : scalar) || in->ndim != to->ndim || in->ndim < rank ||
        wmDlpackPlace(in) != wmDlpackPlace(to))
        return WM_ERR_ARGUMENT;
    for (int i = 0; i < rank; i++) {
        for (int j = 0; j < i; j++)
            if (axes[j] == axes[i]) return WM_ERR_ARGUMENT;
        if (axes[i] < 0 || axes[i] >= in->ndim) return WM_ERR_ARGUMENT;
        n[i] = real->shape[axes[i]];
    }
    wmFftDesc desc = wmFftDescPacked(kind, scalar, rank, n, 1);
    desc.place = wmDlpackPlace(in);
    desc.loops = 0;
    for (int axis = 0; axis < in->ndim; axis++) {
        wmFftDim dim = {real->shape[axis], wmDlpackStride(in, axis), wmDlpackStride(to, axis)};
        int64_t other = dim.n;
        int at = 0;
        while (at < rank && axes[at] != axis) at++;
        if (at == rank - 1 && kind != WM_FFT_C2C) other = dim.n / 2 + 1;
        if (half->shape[axis] != other) return WM_ERR_ARGUMENT;
        if (at < rank) {
            desc.dim[at] = dim;
        } else {
            desc.loop[desc.loops++] = dim;
        }
    }
    desc.placement = wmDlpackData(in) == wmDlpackData(to) ? WM_IN_PLACE : WM_OUT_OF_PLACE;
    desc.align = wmDlpackAlign(in) < wmDlpackAlign(to) ? wmDlpackAlign(in) : wmDlpackAlign(to);
    *out = desc;
    return WM_OK;
}

#ifdef __cplusplus
}
#endif

#endif
