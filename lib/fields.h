/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of fields an operation. Equality and hash walk every row; print and parse walk the rows that have a key;
 * the range check walks enums and types. A new parameter is one field in the public desc, one row here, one check in
 * host/.
 */
#ifndef WM_LIB_FIELDS_H
#define WM_LIB_FIELDS_H

#include "problem.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wm_field_kind {
    WM_FIELD_I64, /* int64_t, `count` of them */
    WM_FIELD_I32, /* int32_t: a number or a flag */
    WM_FIELD_ENUM,
    WM_FIELD_TYPE /* wmType */
} wm_field_kind;

typedef struct wm_field {
    const char *name; /* as in the header: "a.ld" */
    const char *key;  /* in problem strings: "lda"; NULL: positional, or not part of the text */
    size_t offset;    /* in the desc */
    wm_field_kind kind;
    int count;                /* of an I64 array; 1 elsewhere */
    const char *const *names; /* ENUM: words of its values 0, 1, ...; NULL-terminated */
} wm_field;

/** The operation's fields; *count gets their number. */
const wm_field *wm_fields(wm_op op, int *count);

/** "matmul", "fft", "random", "convolution". */
const char *wm_op_name(wm_op op);

/** Bytes of the operation's desc. */
size_t wm_desc_size(wm_op op);

/** A field's value as a number. I64 arrays: the first. */
int64_t wm_field_get(const wm_field *field, const void *desc);
void wm_field_set(const wm_field *field, void *desc, int64_t value);

/** Refuses enum values and types that are none, by name and value. `what` names the struct in the sentence ("desc"). */
wmStatus wm_fields_check(wm_op op, const void *desc);

/** The enum word's value; -1 if it is none. */
int wm_word_value(const char *const *names, const char *word, size_t length);

/** The type that a word names; WM_TYPE_UNSET if none. */
wmType wm_type_value(const char *word, size_t length);

/** Fills in every default that depends on other fields; leaves impossible values for the checks to find. */
void wm_matmul_resolve(wmMatmulDesc *desc);
void wm_fft_resolve(wmFftDesc *desc);
void wm_random_resolve(wmRandomDesc *desc);

/** 1 for Sobol' points. */
int wm_random_is_sobol(const wmRandomDesc *desc);

/** Elements from the first to the last that a draw of `count` writes, gaps included; -1 where 63 bits overflow. */
int64_t wm_random_extent(const wmRandomDesc *desc, int64_t count);

/** Packed layout, out of place or in place (real rows padded). */
wmFftDesc wm_fft_packed(wmFftKind kind, wmType type, int rank, const int64_t n[], int64_t batch, wmPlacement placement);

/** Copies a caller's struct of any size that we know; later fields of a shorter one become zero. */
wmStatus wm_copy_sized(void *to, size_t known, size_t least, const void *from, const char *what);

/** The other way: fills a caller's struct, of which it knows `size` bytes; what we do not know becomes zero. */
void wm_give_sized(void *to, size_t size, const void *from, size_t known);

/** The stored shape of op(A), op(B), C or D: rows × columns as laid out in memory before op. */
typedef struct wm_shape {
    int64_t rows, cols;
} wm_shape;
wm_shape wm_matmul_shape(const wmMatmulDesc *desc, char which);

/** Elements from the first to the last one of a matrix, or of the whole strided batch; -1: overflow of 63 bits in
 * bytes. */
int64_t wm_matrix_span(const wmMatrixDesc *matrix, wm_shape shape, int64_t batch);

/** Some groups to measure and test a grouped batch with: sizes from none to the desc's, matrices one behind the other,
 * wm_matmul_group_span elements from one to the next. */
void wm_matmul_group_example(const wmMatmulDesc *desc, int64_t group, wmMatmulGroup *out);
int64_t wm_matmul_group_span(const wmMatmulDesc *desc, const wmMatrixDesc *matrix, char which);

/** Elements from the first to the last of one side of a transform; -1: overflow. */
int64_t wm_fft_span(const wmFftDesc *desc, int output);

/** Length of axis i on one side: n/2 + 1 for the last axis of a complex side of R2C and C2R. */
int64_t wm_fft_length(const wmFftDesc *desc, int axis, int output);

/** Points of one transform (the product of n), and transforms (the product of the loops); -1: overflow. */
int64_t wm_fft_points(const wmFftDesc *desc);
int64_t wm_fft_batch(const wmFftDesc *desc);

/** The element type of one side in memory. */
wmType wm_fft_side_type(const wmFftDesc *desc, int output);

/** Pairs of a scalar type. */
wmType wm_fft_complex_type(wmType scalar);

/** 1 if the type is complex. */
int wm_type_is_complex(wmType type);

#ifdef __cplusplus
}
#endif

#endif
