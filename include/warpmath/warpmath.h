/* SPDX-License-Identifier: Apache-2.0 */
/* All of warpmath's host API. Device functions are in <warpmath/device/...>. */
#ifndef WARPMATH_WARPMATH_H
#define WARPMATH_WARPMATH_H

#include <warpmath/types.h>
#include <warpmath/context.h>
#include <warpmath/plan.h>
#include <warpmath/matmul.h>
#include <warpmath/fft.h>
#include <warpmath/convolution.h>
#include <warpmath/random.h>
#include <warpmath/wisdom.h>

#endif
