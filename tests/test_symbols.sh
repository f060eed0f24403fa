#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shared library exports what the headers declare and nothing else, and needs libc alone.
#   test_symbols.sh libwarpmath.so include-folder
set -eu
library=$1 headers=$2
failed=0

exported=$(nm -D --defined-only "$library" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | sort)
declared=$(cat "$headers"/warpmath/*.h | tr '\n' ' ' | grep -oE 'WM_API [^;{]*' | grep -oE 'wm[A-Z][A-Za-z0-9]*\(' | tr -d '(' | sort -u)
for name in $exported; do
    echo "$declared" | grep -x "$name" >/dev/null || { echo "exported, but not in a public header: $name"; failed=1; }
done
for name in $declared; do
    echo "$exported" | grep -x "$name" >/dev/null || { echo "declared, but not exported: $name"; failed=1; }
done
others=$(nm -D --defined-only "$library" | awk '$2 != "T" && $2 != "A" {print $3}')
[ -z "$others" ] || { echo "exported data: $others"; failed=1; }

needed=$(readelf -d "$library" | awk '/NEEDED/ {gsub(/[][]/, "", $5); print $5}')
for name in $needed; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux*) ;;
    libasan* | libubsan* | libtsan* | libgcc_s*) ;; # sanitizer builds
    *) echo "needs $name at load time"; failed=1 ;;
    esac
done
readelf -d "$library" | grep 'RPATH\|RUNPATH' >/dev/null && { echo "has an rpath"; failed=1; }
readelf -d "$library" | grep 'SONAME.*libwarpmath\.so\.[0-9]' >/dev/null || { echo "has no versioned soname"; failed=1; }
echo "$(echo "$exported" | wc -l) functions exported; needs: $(echo $needed)"
exit $failed
