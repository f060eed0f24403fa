/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions on the CPU, for any CPU. */
#include "random_values_body.h"

const wm_values_body wm_values_body_base = {fill, fill_rows};
