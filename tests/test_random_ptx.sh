#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_random_ptx.sh NVCC ROOT: random_philox must store whole blocks in one access and keep nothing in local memory.
# The compiler once took its 16-byte stores apart, at a third of the speed, and no result told.
set -eu
ptx=$(mktemp)
trap 'rm -f "$ptx"' EXIT
"$1" -std=c++17 -O3 -gencode arch=compute_90a,code=compute_90a -I"$2/include" -I"$2" -ptx "$2/device/random_philox.cu" -o "$ptx"
awk '
/\.entry wm_random_philox_/ { kernel = $0; sub(/.*wm_random_philox_/, "", kernel); sub(/\(.*/, "", kernel); kernels++ }
/st\.global.*\.v4/ { whole[kernel]++ }
/st\.global/ && !/\.v4/ { words[kernel]++ }
/\.local/ && !seen[kernel]++ { print kernel ": local memory"; bad = 1 }
END {
    for (kernel in whole) n++
    if (kernels != 13 || n != kernels) { print kernels " kernels, " n " with whole stores"; bad = 1 }
    for (kernel in words) # the ends of a range, and of a warp whose row is shifted
        if (words[kernel] > 8) { print kernel ": " words[kernel] " stores of single words"; bad = 1 }
    exit bad
}' "$ptx"
