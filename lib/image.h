/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands to measure on: an image is every operand of a problem in one piece of memory, between bands. There are
 * several copies of it, so that executions can rotate past the last-level cache, and a pristine one to start over from.
 *
 *     | band | a | band | b | band | d | band |      copy 0, copy 1, ..., pristine
 *
 * Bands and outputs are 0xff, a NaN in every floating type: what is not written, or read where it should not be, shows.
 */
#ifndef WM_LIB_IMAGE_H
#define WM_LIB_IMAGE_H

#include "solver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_region {
    size_t offset, bytes; /* in the image */
    int operand;          /* -1: a band */
} wm_region;

typedef struct wm_image {
    wmContext *context;
    const wm_problem *problem;
    wmStream stream; /* on which all copies are enqueued */
    wm_operand operand[WM_MAX_OPERANDS];
    int operands;
    wm_region region[2 * WM_MAX_OPERANDS + 1];
    int regions;
    size_t bytes; /* of one copy */
    int copies;   /* without the pristine one */
    unsigned char *memory;
} wm_image;

/** Bytes of one copy of the problem's image; 0 if they overflow. */
size_t wm_image_bytes(const wm_problem *problem);

/** Allocates `copies` + 1 copies, filled from the seed. */
wmStatus wm_image_make(wm_image *out, wmContext *context, const wm_problem *problem, wmStream stream, int copies,
                       uint64_t seed);
void wm_image_free(wm_image *image);

/** Arguments of a plain execution on one copy. */
void wm_image_args(const wm_image *image, int copy, wm_args *out);

/** Makes the copy pristine again, whole, or only the operands that an execution reads and overwrites. Enqueued. */
wmStatus wm_image_reset(const wm_image *image, int copy);
wmStatus wm_image_refresh(const wm_image *image, int copy);

/** 1 if an execution may overwrite the operand although it reads it: in place, or an input that the problem gives up.
 */
int wm_image_is_overwritten(const wm_image *image, int operand);

/** 1 if executions overwrite what they read, so that a copy is used up by one. */
int wm_image_is_used_up(const wm_image *image);

/** Copies between host and place, or within the place, on the image's stream; the host's side is done on return. */
wmStatus wm_image_move(const wm_image *image, void *to, const void *from, size_t bytes);
wmStatus wm_image_fill(const wm_image *image, void *to, int byte, size_t bytes);
wmStatus wm_image_wait(const wm_image *image);

#ifdef __cplusplus
}
#endif

#endif
