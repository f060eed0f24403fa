/* SPDX-License-Identifier: Apache-2.0 */
/* Images: layout, random inputs, copies. */
#include "context_internal.h"
#include "fields.h"
#include "image.h"
#include "reference/number.h"
#include <stdlib.h>
#include <string.h>

enum { BAND = 4096, POISON = 0xff };

/* Distinct random elements of an operand; what is longer repeats them. A prime, so that no tile falls in step. */
enum { PERIOD = 262139 };

static size_t operand_bytes(const wm_operand *operand) {
    size_t bytes = 0;
    size_t element = operand->role == WM_POINTERS_TO ? sizeof(void *) : wmTypeSize(operand->type);
    if (operand->elements < 0 || __builtin_mul_overflow((size_t)operand->elements, element, &bytes)) return SIZE_MAX;
    return bytes;
}

static void add_region(wm_image *image, size_t bytes, int operand) {
    image->region[image->regions++] = (wm_region){image->bytes, bytes, operand};
    if (__builtin_add_overflow(image->bytes, bytes, &image->bytes)) image->bytes = SIZE_MAX;
}

/* A band runs from an operand's last byte to the next one's start on a multiple of BAND. */
static void add_band(wm_image *image) {
    size_t round = (BAND - image->bytes % BAND) % BAND;
    if (image->bytes < SIZE_MAX) add_region(image, BAND + round, -1);
}

static void lay_out(wm_image *image, const wm_problem *problem) {
    memset(image, 0, sizeof *image);
    image->problem = problem;
    image->operands = wm_problem_operands(problem, image->operand);
    add_band(image);
    for (int i = 0; i < image->operands; i++) {
        add_region(image, operand_bytes(&image->operand[i]), i);
        add_band(image);
    }
}

size_t wm_image_bytes(const wm_problem *problem) {
    wm_image image;
    lay_out(&image, problem);
    return image.bytes == SIZE_MAX ? 0 : image.bytes;
}

/* ---- Moving ---- */

wmStatus wm_image_wait(const wm_image *image) {
    const wm_gpu *gpu = image->context->gpu;
    return gpu ? wm_gpu_check(gpu, gpu->stream_wait(gpu->self, image->stream), "cudaStreamSynchronize") : WM_OK;
}

static wmStatus move_later(const wm_image *image, void *to, const void *from, size_t bytes) {
    const wm_gpu *gpu = image->context->gpu;
    if (bytes == 0) return WM_OK;
    if (gpu) return wm_gpu_check(gpu, gpu->copy(gpu->self, to, from, bytes, image->stream), "cudaMemcpyAsync");
    memcpy(to, from, bytes);
    return WM_OK;
}

wmStatus wm_image_move(const wm_image *image, void *to, const void *from, size_t bytes) {
    WM_TRY(move_later(image, to, from, bytes));
    return wm_image_wait(image);
}

wmStatus wm_image_fill(const wm_image *image, void *to, int byte, size_t bytes) {
    const wm_gpu *gpu = image->context->gpu;
    if (bytes == 0) return WM_OK;
    if (gpu) return wm_gpu_check(gpu, gpu->set(gpu->self, to, byte, bytes, image->stream), "cudaMemsetAsync");
    memset(to, byte, bytes);
    return WM_OK;
}

/* Copies the first `done` bytes over and over until `bytes` are full. */
static wmStatus spread(const wm_image *image, unsigned char *to, size_t done, size_t bytes) {
    while (done < bytes) {
        size_t part = done < bytes - done ? done : bytes - done;
        WM_TRY(move_later(image, to + done, to, part));
        done += part;
    }
    return WM_OK;
}

/* ---- Filling ---- */

static uint64_t draw(uint64_t *state) { /* splitmix64: Steele, Lea and Flood, OOPSLA 2014 */
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double unit(uint64_t *state) {
    return (double)(int64_t)draw(state) * 0x1p-63;
}

/* Values in [-1, 1), integers of all bits; scales in [0.5, 1), since the bound knows no others. */
static void fill_host(const wm_operand *operand, void *host, int64_t elements, uint64_t *state) {
    const char *scale = strstr(operand->name, "scale");
    if (wm_number_shape(operand->type).digits == 0) {
        unsigned char *bytes = (unsigned char *)host;
        for (size_t i = 0; i < (size_t)elements * wmTypeSize(operand->type); i++) bytes[i] = (unsigned char)draw(state);
        return;
    }
    for (int64_t i = 0; i < elements; i++) {
        wm_number x = {unit(state), unit(state)};
        if (scale) x.re = 0.75 + 0.25 * x.re;
        wm_number_store(operand->type, host, i, x);
    }
}

static wmStatus fill_input(const wm_image *image, const wm_region *region, unsigned char *to, uint64_t *state) {
    const wm_operand *operand = &image->operand[region->operand];
    int64_t distinct = operand->elements < PERIOD ? operand->elements : PERIOD;
    size_t bytes = (size_t)distinct * wmTypeSize(operand->type);
    if (bytes == 0) return WM_OK;
    void *host = malloc(bytes);
    if (!host) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    fill_host(operand, host, distinct, state);
    wmStatus status = wm_image_move(image, to, host, bytes);
    free(host);
    return status == WM_OK ? spread(image, to, bytes, region->bytes) : status;
}

static unsigned char *payload(const wm_image *image, int copy, int operand) {
    return image->memory + (size_t)copy * image->bytes + image->region[2 * operand + 1].offset;
}

/* Pointer arrays hold addresses of their own copy. */
static wmStatus fill_pointers(const wm_image *image, int copy) {
    for (int i = 0; i < image->operands; i++) {
        const wm_operand *operand = &image->operand[i];
        if (operand->role != WM_POINTERS_TO || operand->elements == 0) continue;
        size_t step = (size_t)operand->stride * wmTypeSize(image->operand[operand->target].type);
        void **host = (void **)malloc((size_t)operand->elements * sizeof *host);
        if (!host) return wm_fail(WM_ERR_MEMORY, "out of host memory");
        for (int64_t j = 0; j < operand->elements; j++)
            host[j] = payload(image, copy, operand->target) + (size_t)j * step;
        wmStatus status =
            wm_image_move(image, payload(image, copy, i), (void *)host, (size_t)operand->elements * sizeof *host);
        free((void *)host);
        WM_TRY(status);
    }
    return WM_OK;
}

static wmStatus fill_groups(const wm_image *image, const wm_region *region, unsigned char *to) {
    const wmMatmulDesc *d = &image->problem->u.matmul;
    if (region->bytes == 0) return WM_OK;
    wmMatmulGroup *host = (wmMatmulGroup *)malloc(region->bytes);
    if (!host) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    for (int64_t t = 0; t < d->batch; t++) wm_matmul_group_example(d, t, &host[t]);
    wmStatus status = wm_image_move(image, to, host, region->bytes);
    free(host);
    return status;
}

static wmStatus fill(const wm_image *image, uint64_t seed) {
    WM_TRY(wm_image_fill(image, image->memory, POISON, image->bytes));
    for (int i = 0; i < image->regions; i++) {
        const wm_region *region = &image->region[i];
        if (region->operand < 0) continue;
        wm_role role = image->operand[region->operand].role;
        if (role == WM_GROUPS) WM_TRY(fill_groups(image, region, image->memory + region->offset));
        if (role != WM_INPUT && role != WM_IN_OUT) continue;
        WM_TRY(fill_input(image, region, image->memory + region->offset, &seed));
    }
    WM_TRY(spread(image, image->memory, image->bytes, image->bytes * ((size_t)image->copies + 1)));
    for (int copy = 0; copy < image->copies; copy++) WM_TRY(fill_pointers(image, copy));
    return wm_image_wait(image);
}

wmStatus wm_image_make(wm_image *out, wmContext *context, const wm_problem *problem, wmStream stream, int copies,
                       uint64_t seed) {
    size_t all = 0;
    lay_out(out, problem);
    out->context = context;
    out->stream = stream;
    out->copies = copies;
    if (out->bytes == SIZE_MAX || __builtin_mul_overflow(out->bytes, (size_t)copies + 1, &all)) {
        return wm_fail(WM_ERR_MEMORY, "the operands' bytes overflow");
    }
    void *memory = NULL;
    WM_TRY(wm_context_alloc(context, &memory, all));
    out->memory = (unsigned char *)memory;
    wmStatus status = fill(out, seed);
    if (status != WM_OK) wm_image_free(out);
    return status;
}

void wm_image_free(wm_image *image) {
    if (!image->memory) return;
    wm_context_free(image->context, image->memory, image->bytes * ((size_t)image->copies + 1));
    image->memory = NULL;
}

/* ---- Using ---- */

void wm_image_args(const wm_image *image, int copy, wm_args *out) {
    void *pointers[WM_MAX_OPERANDS] = {NULL};
    for (int i = 0; i < image->operands; i++) pointers[i] = payload(image, copy, i);
    memset(out, 0, sizeof *out);
    wm_problem_bind(image->problem, pointers, out);
    if (image->problem->op != WM_MATMUL) return;
    out->matmul.alpha = wmReal(1.0); /* as the checks of a caller's arguments leave them */
    out->matmul.beta = wmReal(0.0);
    out->matmul.c = out->matmul.d;
}

int wm_image_is_overwritten(const wm_image *image, int operand) {
    wm_role role = image->operand[operand].role;
    int allowed = image->problem->op == WM_FFT && image->problem->u.fft.allow_input_overwrite;
    return role == WM_IN_OUT || (role == WM_INPUT && allowed);
}

int wm_image_is_used_up(const wm_image *image) {
    for (int i = 0; i < image->operands; i++) {
        if (wm_image_is_overwritten(image, i)) return 1;
    }
    return 0;
}

wmStatus wm_image_reset(const wm_image *image, int copy) {
    WM_TRY(move_later(image, image->memory + (size_t)copy * image->bytes,
                      image->memory + (size_t)image->copies * image->bytes, image->bytes));
    return fill_pointers(image, copy);
}

wmStatus wm_image_refresh(const wm_image *image, int copy) {
    for (int i = 0; i < image->operands; i++) {
        if (!wm_image_is_overwritten(image, i)) continue;
        WM_TRY(move_later(image, payload(image, copy, i), payload(image, image->copies, i),
                          image->region[2 * i + 1].bytes));
    }
    return WM_OK;
}
