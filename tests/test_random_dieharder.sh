#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_random_dieharder.sh TOOL: a subset of dieharder that takes seconds, on words that the command line tool draws with
# fixed seeds. Exit code 77, skipped, where dieharder is not installed.
set -eu
command -v dieharder > /dev/null || exit 77
words=$(mktemp)
trap 'rm -f "$words" "$words.npy"' EXIT
# generator, test, samples. Tests: 0 birthday spacings, 8 count the 1s, 15 runs, 100 and 101 NIST's
# monobit and runs
for line in "philox4x32-10 0 20" "philox4x32-10 8 20" "philox4x32-10 15 20" "philox4x32-10 100 100" \
    "philox4x32-10 101 100" "philox4x32-7 15 20" "philox4x64-10 15 20" "threefry2x32-20 15 20" "threefry4x64-20 15 20"; do
    set -- "$1" $line
    [ -s "$words" ] && [ "${drawn:-}" = "$2" ] || {
        "$1" random bits --shape 16777216 --seed 99 --generator "$2" --place cpu -o "$words.npy" > /dev/null
        tail -c 67108864 "$words.npy" > "$words"
        drawn=$2
    }
    p=$(dieharder -g 201 -f "$words" -d "$3" -p "$4" -D test_name -D pvalues -D default -D no_whitespace 2> /dev/null |
        grep -E '[0-9]\.[0-9]+' | tail -n 1)
    echo "$2, test $3: $p"
    case $p in
    *FAILED*) exit 1 ;;
    *PASSED* | *WEAK*) ;;
    *) echo "dieharder said nothing of that test"; exit 1 ;;
    esac
done
