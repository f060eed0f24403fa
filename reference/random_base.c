/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers on the CPU, for the baseline instruction set: SSE2, or NEON. */
#include "reference/random_body.h"

void wm_random_blocks_base(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out) {
    draw(job, block, blocks, out);
}
