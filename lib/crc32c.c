/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C bit by bit, reflected polynomial 0x82f63b78: wisdom lines are short, a table would not pay. */
#include "crc32c.h"

uint32_t wm_crc32c(const void *data, size_t bytes) {
    const unsigned char *at = (const unsigned char *)data;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
    }
    return ~crc;
}
