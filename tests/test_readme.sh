#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The README's program, built as the README says, against an installed tree: with pkg-config (shared and static) and with
# find_package. Prints what the program prints.
#   test_readme.sh source-folder build-folder
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/install" > "$work/install.log"
awk '/README example/ {on = 1} on && /^```$/ {exit} on && c {print} on && /^```c$/ {c = 1}' "$source/README.md" > "$work/product.c"
grep -q wmMatmul "$work/product.c"

PKG_CONFIG_PATH=$(dirname "$(find "$work/install" -name warpmath.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH
expected="4 5
10 11"
flags="-std=c11 -Wall -Wextra -Werror"
cc $flags "$work/product.c" $(pkg-config --cflags --libs warpmath) -o "$work/shared"
[ "$("$work/shared")" = "$expected" ] || { echo "the shared build printed: $("$work/shared")"; exit 1; }

cat > "$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(product C)
find_package(warpmath REQUIRED)
add_executable(product product.c)
target_link_libraries(product warpmath::warpmath)
add_executable(product_static product.c)
target_link_libraries(product_static warpmath::warpmath_static)
END
cmake -G Ninja -S "$work" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/install" > "$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
for program in product product_static; do
    [ "$("$work/cmake/$program")" = "$expected" ] || { echo "$program printed: $("$work/cmake/$program")"; exit 1; }
done
echo "the README's program works by pkg-config, find_package, and statically"
