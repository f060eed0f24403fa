/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions by any cipher on the CPU, for any CPU. */
#include "device/random_cipher.h" /* first: it changes what follows */

#include "random_values_body.h"

const wm_values_body wm_cipher_body_base = {fill, fill_rows};

void wm_cipher_task(wm_values_task *task, int generator) {
    task->value.key.generator = generator;
    wm_cipher_name(&task->element, generator, task->args->span);
}
