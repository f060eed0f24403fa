/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a sequence of 16-byte chunks to any address: what the kernels of random draws share. The sequence's memory
 * image is cut into chunks of 16 bytes counted from element 0, chunks into tiles of N, one thread block each.
 *
 *     tile t    chunks [t N, (t + 1) N); thread i makes chunks i, i + threads, … and stores each at once
 *
 * Where `out` is not on 16 bytes when the sequence is, the warp shifts its row of chunks by shuffles and stores stay
 * whole; where the range begins or ends inside a tile, elements are stored one by one.
 */
#ifndef WM_DEVICE_RANDOM_TILE_CUH
#define WM_DEVICE_RANDOM_TILE_CUH

#include <warpmath/device/base.cuh>
#include <warpmath/device/philox.h>

#define WM_TILE_THREADS 256

typedef struct wm_tile {
    unsigned char *out;
    wm_u64 first_tile; /* tiles are counted from here */
    wm_i64 from, to;   /* bytes to write, counted from the first tile's: byte `from` goes to out[0] */
    int ahead;         /* bytes by which chunks start past a multiple of 16 */
    int element;       /* bytes */
} wm_tile;

/** Keys of the ten rounds: as constants of the kernel they save a sum a round and block. */
typedef struct wm_round_keys {
    wm_u32 round[20];
    wm_u32 substream;
} wm_round_keys;

/** Elements offset … offset + count - 1, without a wrap, in tiles of `chunks` chunks; *tiles gets their number. */
static inline wm_tile wm_tile_make(void *out, int element, wm_u64 offset, wm_i64 count, int chunks, wm_u32 *tiles) {
    wm_u64 per_tile = (wm_u64)(16 / element) * (wm_u64)chunks;
    wm_tile t;
    t.out = static_cast<unsigned char *>(out);
    t.first_tile = offset / per_tile;
    t.from = (wm_i64)((wm_u64)element * (offset - t.first_tile * per_tile));
    t.to = t.from + (wm_i64)element * count;
    t.ahead = (int)((reinterpret_cast<wm_u64>(out) - (wm_u64)t.from) & 15);
    t.element = element;
    *tiles = (wm_u32)((t.to + 16 * (wm_i64)chunks - 1) / (16 * (wm_i64)chunks));
    return t;
}

static inline wm_round_keys wm_round_keys_make(wmRandomKey key) {
    wm_round_keys k;
    for (wm_u32 r = 0; r < 10; r++) {
        k.round[2 * r] = (wm_u32)key.seed + r * 0x9e3779b9u;
        k.round[2 * r + 1] = (wm_u32)(key.seed >> 32) + r * 0xbb67ae85u;
    }
    k.substream = key.substream;
    return k;
}

/** Block `first` + i of a lane, whose upper word is that of `first`: wm_random_words with the key schedule done. */
WM_DEVICE wmWords wm_tile_block(const wm_round_keys &k, wm_u64 first, wm_u32 i, wm_u32 lane) {
    wmWords c = {
        {(wm_u32)first + i, (wm_u32)(first >> 32), lane, k.substream}
    };
    WM_UNROLL
    for (int r = 0; r < 10; r++) c = wm_philox_round(c, k.round[2 * r], k.round[2 * r + 1]);
    return c;
}

/** One access for certain: as a plain assignment the compiler may take it apart. */
WM_DEVICE void wm_tile_store(unsigned char *to, wm_u32 a, wm_u32 b, wm_u32 c, wm_u32 d) {
    __stcg(reinterpret_cast<uint4 *>(to), make_uint4(a, b, c, d));
}

/** Bytes [from, to) of a chunk, element by element. */
WM_DEVICE void wm_tile_store_part(int element, unsigned char *out, const wmWords &w, int from, int to) {
    if (element == 1) {
        WM_UNROLL
        for (int k = 0; k < 16; k++)
            if (k >= from && k < to) out[k] = (unsigned char)(w.w[k / 4] >> k % 4 * 8);
    } else if (element == 2) {
        WM_UNROLL
        for (int k = 0; k < 8; k++)
            if (2 * k >= from && 2 * k < to)
                reinterpret_cast<unsigned short *>(out)[k] = (unsigned short)(w.w[k / 2] >> k % 2 * 16);
    } else {
        WM_UNROLL
        for (int k = 0; k < 4; k++)
            if (4 * k >= from && 4 * k < to) reinterpret_cast<wm_u32 *>(out)[k] = w.w[k];
    }
}

/* Four words from the five at hand, moved down by `bits`. */
WM_DEVICE void wm_tile_store_window(unsigned char *to, wm_u32 a, wm_u32 b, wm_u32 c, wm_u32 d, wm_u32 e, wm_u32 bits) {
    wm_tile_store(to, __funnelshift_r(a, b, bits), __funnelshift_r(b, c, bits), __funnelshift_r(c, d, bits),
                  __funnelshift_r(d, e, bits));
}

/**
 * Chunks that start `ahead` (1 to 15) bytes past a multiple of 16: each lane stores the 16 bytes around its chunk's
 * start, the tail of the lane below's chunk and the head of its own. The warp's ends go element by element.
 */
WM_DEVICE void wm_tile_store_shifted(int element, unsigned char *to, int ahead, const wmWords &w) {
    wm_u32 b0 = wm_shuffle_up(w.w[0], 1), b1 = wm_shuffle_up(w.w[1], 1), b2 = wm_shuffle_up(w.w[2], 1),
           b3 = wm_shuffle_up(w.w[3], 1), bits = (wm_u32)(16 - ahead) % 4 * 8;
    if (wm_lane() == 0) {
        wm_tile_store_part(element, to, w, 0, 16 - ahead);
    } else if (ahead > 12) {
        wm_tile_store_window(to - ahead, b0, b1, b2, b3, w.w[0], bits);
    } else if (ahead > 8) {
        wm_tile_store_window(to - ahead, b1, b2, b3, w.w[0], w.w[1], bits);
    } else if (ahead > 4) {
        wm_tile_store_window(to - ahead, b2, b3, w.w[0], w.w[1], w.w[2], bits);
    } else {
        wm_tile_store_window(to - ahead, b3, w.w[0], w.w[1], w.w[2], w.w[3], bits);
    }
    if (wm_lane() == WM_WARP - 1) wm_tile_store_part(element, to, w, 16 - ahead, 16);
}

/** Chunk i of tile `tile` where the range begins or ends in the tile, or `out` lies off the sequence's 16 bytes. */
WM_DEVICE void wm_tile_store_any(const wm_tile &t, wm_u32 tile, int chunks, int i, const wmWords &w) {
    wm_i64 start = (wm_i64)tile * 16 * chunks, at = start + 16 * i, from = t.from - at, to = t.to - at;
    unsigned char *out = t.out + (at - t.from);
    if (start >= t.from && start + 16 * chunks <= t.to && t.ahead) /* the same for the whole block */
        wm_tile_store_shifted(t.element, out, t.ahead, w);
    else
        wm_tile_store_part(t.element, out, w, from > 0 ? (int)wm_min(from, (wm_i64)16) : 0,
                           to < 16 ? (int)wm_max(to, (wm_i64)0) : 16);
}

/** Whether all of the tile is written, in whole 16-byte stores; its first byte's place is then *to. */
WM_DEVICE bool wm_tile_whole(const wm_tile &t, wm_u32 tile, int chunks, unsigned char **to) {
    wm_i64 start = (wm_i64)tile * 16 * chunks;
    *to = t.out + (start - t.from);
    return !t.ahead && start >= t.from && start + 16 * chunks <= t.to;
}

#endif
