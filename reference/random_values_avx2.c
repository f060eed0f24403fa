/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions on the CPU, for AVX2 and FMA3. */
#include "random_values_body.h"

const wm_values_body wm_values_body_avx2 = {fill, fill_rows};
