/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions by other ciphers than Philox4x32-10: the device headers' elements over their words. */
#include "walk_random.h"

#include "device/random_cipher.h" /* before what draws: it changes what follows */

#include "walk_expect.h"

void walk_expect_cipher(const wmRandomDesc *d, const wmRandomArgs *args) {
    wm_element_job job = wm_element_job_make(d, args);
    wm_cipher_name(&job, (int)d->generator, args->span);
    expect_elements(&job, d, args);
}
