/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions by any cipher on the CPU, for AVX2 and FMA3. */
#include "device/random_cipher.h" /* first: it changes what follows */

#include "random_values_body.h"

const wm_values_body wm_cipher_body_avx2 = {fill, fill_rows};
