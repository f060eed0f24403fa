/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of a uniform, for host and device. This header includes nothing, so that kernels compiled at run time can.
 */
#ifndef WARPMATH_RANDOM_INTERVAL_H
#define WARPMATH_RANDOM_INTERVAL_H

/** Which ends a uniform may reach. */
typedef enum wmInterval {
    WM_CLOSED_OPEN = 0, /**< [low, high) */
    WM_OPEN_CLOSED = 1, /**< (low, high] */
    WM_OPEN = 2         /**< (low, high) */
} wmInterval;

#endif
