/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of a distribution as the device headers have them, one by one or row by row. A header of its own because two
 * files include it: after device/random_cipher.h the same code draws by other ciphers.
 */
#ifndef WM_TESTS_WALK_EXPECT_H
#define WM_TESTS_WALK_EXPECT_H

#include "walk_random.h"

#include "reference/random_element_job.h"

/** By a job made for these arguments, whose table and input are in host memory. */
static void expect_elements(const wm_element_job *job, const wmRandomDesc *d, const wmRandomArgs *args) {
    static wmCountTable table;
    if (job->by_table) wm_count_table_make(&table, d, args);
    for (int64_t i = 0; i < args->count; i++) {
        unsigned char *out = (unsigned char *)args->out + i * job->element;
        uint64_t index = args->offset + (uint64_t)i;
        if (wm_is_continuous(d->distribution))
            wm_element_continuous(job, index, out);
        else if (wm_is_discrete(d->distribution))
            wm_element_discrete(job, &table, index, out);
        else if (d->distribution == WM_RANDOM_ROUND)
            wm_element_round(job, index, (uint64_t)i, out);
        else if (!wm_is_rows(d->distribution))
            wm_random_element(job, index, out);
        else if (i % args->dimension == 0)
            wm_random_row(job, args, args->offset, i / args->dimension, args->out);
    }
}

#endif
