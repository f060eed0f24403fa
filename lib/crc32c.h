/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as in RFC 3720. */
#ifndef WM_LIB_CRC32C_H
#define WM_LIB_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t wm_crc32c(const void *data, size_t bytes);

#endif
