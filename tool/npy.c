/* SPDX-License-Identifier: Apache-2.0 */
/* Whole .npy files in and out: sizes, bytes and the element types. npy_header.c parses the header's text. */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "npy_header.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are used as they lie in the file: little-endian");

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, MAX_HEADER = 65535, ALIGNMENT = 64 };

/* One row a type that is read and written. bf16 has no NumPy type: it travels as u2. */
static const struct {
    char dtype[4];
    wmType type;
} types[] = {
    {"f2",  WM_F16 },
    {"f4",  WM_F32 },
    {"f8",  WM_F64 },
    {"c8",  WM_C64 },
    {"c16", WM_C128},
    {"b1",  WM_U8  },
    {"i1",  WM_I8  },
    {"i2",  WM_I16 },
    {"i4",  WM_I32 },
    {"i8",  WM_I64 },
    {"u1",  WM_U8  },
    {"u2",  WM_U16 },
    {"u4",  WM_U32 },
    {"u8",  WM_U64 },
};
enum { TYPES = sizeof types / sizeof *types };

wmType wm_npy_type(const wm_npy *array) {
    char name[16];
    (void)snprintf(name, sizeof name, "%c%d", array->kind, array->item);
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(types[i].dtype, name) == 0) return types[i].type;
    }
    return WM_TYPE_UNSET;
}

const char *wm_npy_dtype(wmType type) {
    if (type == WM_U8) return "u1";
    if (type == WM_BF16) return "u2";
    for (int i = 0; i < TYPES; i++) {
        if (types[i].type == type) return types[i].dtype;
    }
    return NULL;
}

int wm_npy_describe(wm_npy *out, const char *what, const char *dtype, int rank, const int64_t shape[]) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(types[i].dtype, dtype) == 0) {
            out->kind = dtype[0];
            out->item = atoi(dtype + 1); // NOLINT(cert-err34-c): the string is one of the table's
        }
    }
    if (!out->item) {
        return wm_tool_fail("%s: element type '%s' is none of f2 f4 f8 c8 c16 b1 i1 i2 i4 i8 u1 u2 u4 u8", what, dtype);
    }
    if (rank < 0 || rank > WM_NPY_RANK) {
        return wm_tool_fail("%s: %d dimensions; an array has at most %d", what, rank, WM_NPY_RANK);
    }
    /* As in NumPy, the product of the dimensions other than 0 must fit, so that strides always do. */
    int64_t bytes = out->item;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) return wm_tool_fail("%s: dimension %d is negative: %" PRId64, what, i, shape[i]);
        if (shape[i] == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(bytes, shape[i], &bytes)) {
            return wm_tool_fail("%s: the shape's size in bytes passes 2^63 - 1 at dimension %d", what, i);
        }
        out->shape[i] = shape[i];
    }
    out->rank = rank;
    out->count = empty ? 0 : bytes / out->item;
    return WM_EXIT_OK;
}

int wm_npy_allocate(wm_npy *array, const char *what) {
    size_t bytes = (size_t)array->count * (size_t)array->item;
    /* Whole lines, at least one: aligned_alloc() wants multiples, and NULL is to mean failure. */
    size_t rounded = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    array->data = aligned_alloc(ALIGNMENT, rounded);
    if (!array->data) return wm_tool_fail("%s: out of memory: %zu bytes are needed", what, bytes);
    return WM_EXIT_OK;
}

void wm_npy_free(wm_npy *array) {
    free(array->data);
    array->data = NULL;
}

/* Bytes read, fewer than asked only at the end of the file; -1 on error. */
static ssize_t read_full(int fd, void *to, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = read(fd, (char *)to + done, bytes - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Reads `bytes` of the file's opening, or says what is missing. */
static int read_opening(int fd, const char *path, const char *part, void *to, size_t bytes) {
    ssize_t got = read_full(fd, to, bytes);
    if (got < 0) return wm_tool_fail("%s: cannot read it: %m", path);
    if ((size_t)got < bytes) {
        return wm_tool_fail("%s: truncated: %zu bytes of its %s expected, %zd found", path, bytes, part, got);
    }
    return WM_EXIT_OK;
}

/* Reads magic, version and header; *offset is where the data begin. */
static int read_header(int fd, const char *path, wm_npy *out, size_t *offset) {
    unsigned char start[MAGIC + 2];
    unsigned char length[4] = {0};
    char text[MAX_HEADER];
    int status = read_opening(fd, path, ".npy magic", start, sizeof start);
    if (status) return status;
    if (memcmp(start, magic, MAGIC) != 0) {
        return wm_tool_fail("%s: is no .npy file: it does not begin with \\x93NUMPY", path);
    }
    if (start[MAGIC] < 1 || start[MAGIC] > 3 || start[MAGIC + 1] != 0) {
        return wm_tool_fail("%s: .npy format version %d.%d; versions 1.0, 2.0 and 3.0 are read", path, start[MAGIC],
                            start[MAGIC + 1]);
    }
    size_t width = start[MAGIC] == 1 ? 2 : 4;
    status = read_opening(fd, path, "header length", length, width);
    if (status) return status;
    size_t bytes = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    if (bytes > MAX_HEADER) {
        return wm_tool_fail("%s: a header of %zu bytes; at most %d are read", path, bytes, MAX_HEADER);
    }
    status = read_opening(fd, path, "header", text, bytes);
    if (status) return status;
    *offset = sizeof start + width + bytes;
    return wm_npy_parse(path, text, bytes, out);
}

/* Refuses a file whose size is not what the header promises, before anything of that size is allocated. */
static int check_size(int fd, const char *path, size_t offset, size_t bytes) {
    struct stat facts;
    if (fstat(fd, &facts) != 0) return wm_tool_fail("%s: cannot read it: %m", path);
    if (!S_ISREG(facts.st_mode)) return WM_EXIT_OK; /* a pipe: read_data() sees its end */
    size_t found = (size_t)facts.st_size < offset ? 0 : (size_t)facts.st_size - offset;
    if (found < bytes) {
        return wm_tool_fail("%s: truncated: %zu bytes of data expected, %zu found", path, bytes, found);
    }
    if (found > bytes) {
        return wm_tool_fail("%s: %zu bytes of data expected, %zu found: is the header damaged?", path, bytes, found);
    }
    return WM_EXIT_OK;
}

static int read_data(int fd, const char *path, wm_npy *out) {
    size_t bytes = (size_t)out->count * (size_t)out->item;
    char extra;
    int status = wm_npy_allocate(out, path);
    if (status) return status;
    ssize_t got = read_full(fd, out->data, bytes);
    if (got < 0) return wm_tool_fail("%s: cannot read it: %m", path);
    if ((size_t)got < bytes) {
        return wm_tool_fail("%s: truncated: %zu bytes of data expected, %zd found", path, bytes, got);
    }
    if (read_full(fd, &extra, 1) != 0) {
        return wm_tool_fail("%s: more than the expected %zu bytes of data: is the header damaged?", path, bytes);
    }
    return WM_EXIT_OK;
}

int wm_npy_read(const char *path, wm_npy *out) {
    size_t offset = 0;
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return wm_tool_fail("%s: cannot open it: %m", path);
    int status = read_header(fd, path, out, &offset);
    if (!status) status = check_size(fd, path, offset, (size_t)out->count * (size_t)out->item);
    if (!status) status = read_data(fd, path, out);
    if (status) wm_npy_free(out);
    (void)close(fd);
    return status;
}

int wm_npy_write_header(wm_output *out, const wm_npy *array) {
    char text[WM_NPY_HEADER];
    const size_t start = MAGIC + 4;
    memcpy(text, magic, MAGIC);
    size_t bytes = wm_npy_format(array, text + start, sizeof text - start);
    /* The data begin at a multiple of 64, after a newline, as NumPy writes them. */
    size_t total = (start + bytes + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (total > sizeof text) return wm_tool_fail("%s: the header does not fit", out->name);
    memset(text + start + bytes, ' ', total - start - bytes);
    text[total - 1] = '\n';
    text[MAGIC] = 1;
    text[MAGIC + 1] = 0;
    text[MAGIC + 2] = (char)((total - start) & 0xff);
    text[MAGIC + 3] = (char)((total - start) >> 8);
    return wm_output_write(out, text, total);
}

int wm_npy_write_to(wm_output *out, const wm_npy *array) {
    int status = wm_npy_write_header(out, array);
    if (!status) status = wm_output_write(out, array->data, (size_t)array->count * (size_t)array->item);
    if (!status) status = wm_output_commit(out);
    return status;
}

int wm_npy_write(const char *path, const wm_npy *array) {
    wm_output out;
    int status = wm_output_open(&out, path);
    if (!status) status = wm_npy_write_to(&out, array);
    wm_output_discard(&out);
    return status;
}
