# SPDX-License-Identifier: Apache-2.0
# What the hash of a verified kernel covers (cmake/warpmath_verified.cmake): comments and white space do not count, whatever the
# compiler would see does. A kernel and its header are written to ROOT as they were and once for each edit.
# Called as: cmake -DMODULE=…/warpmath_verified.cmake -DFOLDER=scratch -P test_verified.cmake
set(folder ${FOLDER})
unset(ROOT)
include(${MODULE})
file(REMOVE_RECURSE ${folder})
set(number 0)
set(bad 0)

set(header [=[
/* Head of the header: "quotes", it's, // and such. */
#define TWICE(x) ((x) + (x)) /* a comment */
#define PAIR (1, 2)
#define STEP(i, n) \
    for (int i = 0; \
         i < n; i++)
static int wm_step(int a, int b) { return a + ++b; } // it's a comment; "x"
]=])
set(kernel [=[
#include <warpmath/device/step.cuh>

/** Doc comment of the kernel
 *  over two lines. **/
__global__ void kernel(float *x, int n) {
    asm volatile("bar.sync %0;  // \" not a comment" ::"r"(n) : "memory");
    if (x[0] / 2 > '"' && n-- > 1 /* mid */) x[1] = unsigned(n) - -3; /**/
    const char *path = "http://a/*b*/c"; // a comment behind a literal
}
]=])

function(hash_of header kernel out)
    math(EXPR number "${number} + 1")
    set(number ${number} PARENT_SCOPE)
    set(root ${folder}/${number})
    file(WRITE ${root}/include/warpmath/device/step.cuh "${header}")
    file(WRITE ${root}/device/kernel.cu "${kernel}")
    wm_kernel_hash(${root} ${root}/device/kernel.cu hash)
    set(${out} ${hash} PARENT_SCOPE)
endfunction()

# One edit of either file: `expected` is same or other.
function(edit expected from to)
    string(REPLACE "${from}" "${to}" new_header "${header}")
    string(REPLACE "${from}" "${to}" new_kernel "${kernel}")
    hash_of("${new_header}" "${new_kernel}" hash)
    set(number ${number} PARENT_SCOPE)
    set(found other)
    if(hash STREQUAL first)
        set(found same)
    endif()
    if("${new_header}${new_kernel}" STREQUAL "${header}${kernel}")
        set(found "no edit")
    endif()
    if(NOT found STREQUAL expected)
        message("`${from}` made `${to}`: ${found}, not ${expected}")
        set(bad 1 PARENT_SCOPE)
    endif()
endfunction()

hash_of("${header}" "${kernel}" first)

# Comments, and white space that a formatter may change.
edit(same "Doc comment" "Better words; [with] brackets")
edit(same "Head of the header" "/ Head ** of \"the header\n")
edit(same "it's a comment; \"x\"" "another")
edit(same " /* mid */" "")
edit(same "__global__" "// one more line, isn't it\n__global__")
edit(same "(float *x, int n) {" "(float* x,\n            int n)\n{")
edit(same "x[0] / 2" "x[0]/2")
edit(same "= unsigned(n) - -3" "=unsigned( n )- -3")
edit(same "for (int i = 0; \\\n" "for (int i = 0;")
edit(same "((x) + (x)) /* a comment */" "((x)+(x))   ")
edit(same "\n    if" "\r\n\n\n\tif")
edit(same "#define PAIR" "#   define   PAIR  ")

# Tokens.
edit(other "x[1]" "x[2]")
edit(other "int n" "intn")
edit(other "+ ++b" "++ +b")
edit(other "- -3" "--3")
edit(other "n-- > 1" "n - -> 1")
edit(other "x[1] =" "// x[1] =")
edit(other "wm_step" "wm_stepped")
edit(other "/ 2" "/* 2 */")
# Literals: their text, their white space, and what looks like a comment in one.
edit(other "bar.sync" "bar.arrive")
edit(other "%0;  //" "%0; //")
edit(other "not a comment" "no comment")
edit(other "a/*b*/c" "a/*d*/c")
edit(other "'\"'" "'\\\"'")
edit(other "\"r\"(n)" "\"n\"(n)")
# Macros and directives.
edit(other "TWICE(x) (" "TWICE (x) (")
edit(other "PAIR (1" "PAIR(1")
edit(other "(1, 2)\n" "(1, 2) ")
edit(other "i < n; i++" "i <= n; i++")
edit(other "#define PAIR" "//#define PAIR")
# Not understood, so taken to the letter.
edit(other "- -3" "- -3'000")
edit(other "\"memory\"" "R\"(memory)\"")

if(bad)
    message(FATAL_ERROR "the hash of a kernel covers something else than what it should")
endif()
message("${number} texts, all as expected")
