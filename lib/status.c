/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, the last sentence of each thread, the version, and the table of types. */
#include "status.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

static _Thread_local wm_error last;

int wmVersion(void) {
    return WM_VERSION;
}

const char *wmStatusName(wmStatus status) {
    static const char *const names[] = {
        [WM_OK] = "WM_OK",
        [WM_ERR_ARGUMENT] = "WM_ERR_ARGUMENT",
        [WM_ERR_UNSUPPORTED] = "WM_ERR_UNSUPPORTED",
        [WM_ERR_NO_WISDOM] = "WM_ERR_NO_WISDOM",
        [WM_ERR_MEMORY] = "WM_ERR_MEMORY",
        [WM_ERR_STATE] = "WM_ERR_STATE",
        [WM_ERR_VERSION] = "WM_ERR_VERSION",
        [WM_ERR_CUDA] = "WM_ERR_CUDA",
        [WM_ERR_VENDOR] = "WM_ERR_VENDOR",
        [WM_ERR_IO] = "WM_ERR_IO",
        [WM_ERR_INTERNAL] = "WM_ERR_INTERNAL",
    };
    size_t i = (size_t)(unsigned)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "WM_ERR_?";
}

const char *wmLastError(void) {
    return last.text;
}

int wmLastCudaError(void) {
    return last.cuda;
}

/* Formats aside first: an argument may be the last sentence itself. */
static wmStatus keep(wmStatus status, int cuda, const char *format, va_list rest) {
    char text[sizeof last.text];
    vsnprintf(text, sizeof text, format, rest);
    memcpy(last.text, text, sizeof text);
    last.status = status;
    last.cuda = cuda;
    return status;
}

wmStatus wm_fail(wmStatus status, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    keep(status, 0, format, rest);
    va_end(rest);
    return status;
}

wmStatus wm_fail_in(wmStatus status, const char *format, ...) {
    char text[sizeof last.text];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    wm_append(last.text, sizeof last.text, "%s%s", last.text[0] ? ", " : "", text);
    last.status = status;
    return status;
}

wmStatus wm_fail_cuda(int error, const char *error_name, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    keep(WM_ERR_CUDA, error, format, rest);
    va_end(rest);
    wm_append(last.text, sizeof last.text, ": %s (%d)", error_name ? error_name : "unknown error", error);
    return WM_ERR_CUDA;
}

void wm_error_save(wm_error *out) {
    *out = last;
}

void wm_error_restore(const wm_error *error) {
    last = *error;
}

/* ---- Types ---- */

typedef struct type_row {
    wmType type;
    unsigned bytes;
    const char *name;
} type_row;

static const type_row types[] = {
    {WM_F16,    2,  "f16"  },
    {WM_BF16,   2,  "bf16" },
    {WM_F32,    4,  "f32"  },
    {WM_F64,    8,  "f64"  },
    {WM_C32,    4,  "c32"  },
    {WM_C64,    8,  "c64"  },
    {WM_C128,   16, "c128" },
    {WM_CBF16,  4,  "cbf16"},
    {WM_F8E4M3, 1,  "e4m3" },
    {WM_F8E5M2, 1,  "e5m2" },
    {WM_I8,     1,  "i8"   },
    {WM_U8,     1,  "u8"   },
    {WM_I16,    2,  "i16"  },
    {WM_U16,    2,  "u16"  },
    {WM_I32,    4,  "i32"  },
    {WM_U32,    4,  "u32"  },
    {WM_I64,    8,  "i64"  },
    {WM_U64,    8,  "u64"  },
};

static const type_row *type_find(wmType type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].type == type) return &types[i];
    }
    return NULL;
}

const char *wmTypeName(wmType type) {
    const type_row *row = type_find(type);
    if (row) return row->name;
    return type == WM_TYPE_UNSET ? "unset" : "?";
}

size_t wmTypeSize(wmType type) {
    const type_row *row = type_find(type);
    return row ? row->bytes : 0;
}

wmType wmTypeFromCuda(int cuda_data_type) {
    if (cuda_data_type < 0 || cuda_data_type > 0xff) return WM_TYPE_UNSET;
    const type_row *row = type_find((wmType)(0x100 | cuda_data_type));
    return row ? row->type : WM_TYPE_UNSET;
}

int wmTypeToCuda(wmType type) {
    return type_find(type) ? (int)type & 0xff : -1;
}
