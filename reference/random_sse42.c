/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers on the CPU, for SSE4.2. */
#include "reference/random_fma.h" /* first: it changes what follows */

#include "reference/random_body.h"

void wm_random_blocks_sse42(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out) {
    draw(job, block, blocks, out);
}
