/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every distribution of random numbers, for kernels and for CPU code: element i is a pure function of the key and i,
 * and the host's out[i - offset] of wmRandom. docs/random.md is the bit-level specification. Plain C, no other
 * dependency.
 */
#ifndef WARPMATH_DEVICE_DISTRIBUTIONS_H
#define WARPMATH_DEVICE_DISTRIBUTIONS_H

#include <warpmath/device/dist_basic.h>
#include <warpmath/device/dist_choice.h>
#include <warpmath/device/dist_continuous.h>
#include <warpmath/device/dist_discrete.h>
#include <warpmath/device/dist_rows.h>

#endif
