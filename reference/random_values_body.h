/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops over a draw's elements, from the device headers' own code: whole chunks of 16 bytes where elements come
 * from a fixed part of the sequence, masks 128 draws at a time, else element by element. Included by one file an
 * instruction set: fused multiply-adds are calls where the set has none.
 */
#include "random_values_fill.h"

#include <string.h>

static void one(const wm_values_task *t, uint64_t i, unsigned char *out) {
    wmDistribution d = (wmDistribution)t->element.distribution;
    if (d == WM_RANDOM_PERMUTATION && i >= t->element.permutation.span) i %= t->element.permutation.span;
    if (wm_is_continuous(d))
        wm_element_continuous(&t->element, i, out);
    else if (wm_is_discrete(d))
        wm_element_discrete(&t->element, &t->table, i, out);
    else if (d == WM_RANDOM_ROUND)
        wm_element_round(&t->element, i, i - t->offset, out);
    else
        wm_random_element(&t->element, i, out);
}

static void one_by_one(const wm_values_task *t, uint64_t i, int64_t count, unsigned char *out) {
    for (; count > 0; count--, i++, out += t->element.element) one(t, i, out);
}

/* Vectors [from, to) of the draw; each lies within a row of the output. */
static void fill_rows(void *user, int64_t from, int64_t to, int thread) {
    const wm_values_task *t = user;
    (void)thread;
    for (int64_t i = from * t->args->dimension; i < to * t->args->dimension; i += t->args->dimension) {
        unsigned char *out = t->out + (i / t->columns * t->ld + i % t->columns) * t->element.element;
        wm_random_row(&t->element, t->args, t->offset + (uint64_t)i, 0, out);
    }
}

/* Bernoulli's 128 draws of a block, as bytes. */
static void whole_masks(const wm_values_task *t, uint64_t block, unsigned char *out) {
    wmWords masks = wm_mask_words(t->element.key, block, t->element.p);
    if (t->element.distribution == WM_RANDOM_MASK) {
        memcpy(out, masks.w, sizeof masks.w);
        return;
    }
    for (int i = 0; i < 128; i++) out[i] = (unsigned char)(masks.w[i / 32] >> i % 32 & 1);
}

static void whole_chunk(const wm_values_task *t, uint64_t chunk, unsigned char *out) {
    const wm_value_job *job = &t->value;
    wmWords w[2];
    int blocks = wm_value_blocks(job->kind, job->element);
    for (int k = 0; k < blocks; k++) w[k] = wmRandomBlock(job->key, chunk * (uint64_t)blocks + (uint64_t)k);
    wmWords x = wm_value_chunk(job->kind, job->element, 0, 0, job, chunk, w);
    memcpy(out, x.w, sizeof x.w);
}

/* Without a wrap: the ends one by one, whole groups of `per` elements between. */
static void fill_range(const wm_values_task *t, uint64_t offset, int64_t count, unsigned char *out) {
    int bernoulli = t->element.distribution == WM_RANDOM_BERNOULLI, element = t->element.element;
    int masks = bernoulli || t->element.distribution == WM_RANDOM_MASK;
    int64_t per = bernoulli ? 128 : 16 / element, skip = (int64_t)(offset % (uint64_t)per);
    int64_t head = skip ? per - skip : 0;
    if (!t->chunked && !masks) head = count;
    if (head > count) head = count;
    one_by_one(t, offset, head, out);
    offset += (uint64_t)head, count -= head, out += head * element;
    for (uint64_t group = offset / (uint64_t)per; count >= per; group++, count -= per, out += per * element) {
        if (masks)
            whole_masks(t, group, out);
        else
            whole_chunk(t, group, out);
        offset += (uint64_t)per;
    }
    one_by_one(t, offset, count, out);
}

/* Elements from, from + 1, … of the draw, all of one row. */
static void fill_part(const wm_values_task *t, int64_t from, int64_t count, unsigned char *out) {
    uint64_t offset = t->offset + (uint64_t)from, left = 0 - offset; /* elements up to the wrap; 0 stands for 2^64 */
    int64_t first = left && left < (uint64_t)count ? (int64_t)left : count;
    fill_range(t, offset, first, out);
    if (first < count) fill_range(t, 0, count - first, out + first * t->element.element);
}

static void fill(void *user, int64_t from, int64_t to, int thread) {
    const wm_values_task *t = user;
    (void)thread;
    while (from < to) {
        int64_t row = from / t->columns, column = from % t->columns;
        int64_t part = to - from < t->columns - column ? to - from : t->columns - column;
        fill_part(t, from, part, t->out + (row * t->ld + column) * t->element.element);
        from += part;
    }
}
