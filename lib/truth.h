/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trusted solver computed on an image, and whether another one agrees. Large regions are compared in windows,
 * the first and last bytes and random pieces between, so that a check costs milliseconds whatever the size.
 */
#ifndef WM_LIB_TRUTH_H
#define WM_LIB_TRUTH_H

#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_window {
    size_t offset, bytes; /* in the image */
    int region;
} wm_window;

typedef struct wm_truth {
    const wm_image *image;
    wm_bound bound;
    wm_window *window;
    int windows, capacity;
    unsigned char *expected; /* the windows' bytes, one behind the other */
    unsigned char *got;      /* room for the largest window */
    unsigned char *counts;   /* a bit a scalar of an in-place C2R's array: 1 where the result is; NULL: everywhere */
} wm_truth;

/**
 * Takes down what every solver must leave alone, from a pristine copy. Free it in any case, after the image's stream
 * was waited for: a copy to it may be under way.
 */
wmStatus wm_truth_make(wm_truth *out, const wm_image *image, int copy);
void wm_truth_free(wm_truth *truth);

/** The judge ran on the copy: its outputs are right. WM_ERR_INTERNAL if it wrote where it must not. */
wmStatus wm_truth_take(wm_truth *truth, int copy);

/**
 * A candidate ran on the copy. *error gets its largest difference over the bound, infinity with the reason in `why` (of
 * 160 bytes) where it is wrong. The status is that of the copying alone.
 */
wmStatus wm_truth_check(const wm_truth *truth, int copy, double *error, char *why);

#ifdef __cplusplus
}
#endif

#endif
