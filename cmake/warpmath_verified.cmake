# SPDX-License-Identifier: Apache-2.0
# No kernel is trusted on a green build alone. perf/verified.csv has a row a kernel that was run on a GPU: the hash of its
# sources then, and what it passed. This file computes the hash of each device/*.cu as it is now, with every header of ours
# that it includes. Comments and white space outside of literals do not count (wm_code_of), so a comment may be mended without
# a GPU at hand; any token, literal or macro does. Three cases:
#   - the row's hash is today's: verified, the planner offers it
#   - the row says `unverified`: known to be untested; the planner leaves it out unless WARPMATH_UNVERIFIED=1
#   - anything else: the check fails (and the planner leaves it out)
#
# At configure time:            warpmath_write_unverified(ROOT OUTPUT) writes the list that lib/registry.c includes.
# As a test or by hand:         cmake -DROOT=. -P cmake/warpmath_verified.cmake         fails on the third case
# For a new row's hash:         cmake -DROOT=. -DPRINT=ON -P cmake/warpmath_verified.cmake
# The hashes of other files:    cmake -DROOT=. -DFILES="examples/device/sums.cu;…" -P cmake/warpmath_verified.cmake

# Appends to the list `out` every file of ours that `file` includes, however deep.
function(wm_include_closure root file out)
    set(found ${${out}})
    list(FIND found ${file} seen)
    if(NOT seen EQUAL -1)
        return()
    endif()
    list(APPEND found ${file})
    file(STRINGS ${file} includes REGEX "^[ \t]*#[ \t]*include")
    get_filename_component(folder ${file} DIRECTORY)
    foreach(line IN LISTS includes)
        if(line MATCHES "<(warpmath/[^>]+)>")
            set(path ${root}/include/${CMAKE_MATCH_1})
        elseif(line MATCHES "\"([^\"]+)\"")
            set(path ${folder}/${CMAKE_MATCH_1})
            if(NOT EXISTS ${path})
                set(path ${root}/${CMAKE_MATCH_1})
            endif()
        else()
            continue()
        endif()
        # The engine's headers are the contract that the emulation tests on every build; only device code is pinned here.
        file(RELATIVE_PATH inside ${root} ${path}) # the checkout's own folder may be called device, too
        if(EXISTS ${path} AND inside MATCHES "(^|/)device/")
            wm_include_closure(${root} ${path} found)
        endif()
    endforeach()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# What the compiler's first phases leave of C text: lines joined, comments and white space gone, literals apart (behind the code,
# each a mark in it). White space stays where it means something: between two words, between two signs that would grow together,
# round a directive's line, and behind the name of a macro without parameters.
function(wm_code_of text out)
    # Where quotes mean something else (raw strings, 1'000) the text counts as it is: only stricter.
    if(text MATCHES "R\"[^\"()\\ \n]*\\(|[0-9]'[0-9]")
        set(${out} "${text}" PARENT_SCOPE)
        return()
    endif()
    string(ASCII 1 kept) # white space that stays
    string(ASCII 2 literal)
    set(quoted "\"[^\"\\\n]*(\\\\.[^\"\\\n]*)*\"|'[^'\\\n]*(\\\\.[^'\\\n]*)*'")
    set(comment "//[^\n]*|/\\*[^*]*\\*+([^*/][^*]*\\*+)*/")
    string(REGEX REPLACE "\\\\\r?\n" "" text "\n${text}\n")
    string(REGEX REPLACE "([^\"'/]+|${quoted})(${comment})*" "\\1 " text "${text}")
    string(REGEX REPLACE "[^\"']+(${quoted}|)" "\\1" literals "${text}")
    string(REGEX REPLACE "${quoted}" "${literal}" text "${text}")

    string(REGEX REPLACE "[ \t\r]+\n" "\n" text "${text}")
    string(REGEX REPLACE "(\n[ \t]*#[ \t]*define[ \t]+[A-Za-z0-9_]+)[ \t]" "\\1 ${kept} " text "${text}")
    string(REGEX REPLACE "\n[ \t]*(#[^\n]*)" "\n${kept}\\1${kept}" text "${text}")
    string(REGEX REPLACE "[ \t\n]+" " " text "${text}")
    foreach(again RANGE 1) # twice: `+ + +` overlaps
        foreach(pair "+ +" "- -" "- >" "& &" "| |" "< <" "> >" ": :" "# #" "+ =" "- =" "* =" "/ =" "% =" "& =" "| =" "^ =" "! =" "< ="
                "> =" "= =")
            string(REPLACE " " "${kept}" joined "${pair}")
            string(REPLACE "${pair}" "${joined}" text "${text}")
        endforeach()
    endforeach()
    string(REGEX REPLACE "([^A-Za-z0-9_ ${kept}]) " "\\1" text "${text}")
    string(REGEX REPLACE " ([^A-Za-z0-9_ ${kept}])" "\\1" text "${text}")
    set(${out} "${text}${literals}" PARENT_SCOPE)
endfunction()

# The hash of one file's code; each file is read once.
function(wm_code_hash file out)
    get_property(hash GLOBAL PROPERTY wm_code_of_${file})
    if(NOT hash)
        file(READ ${file} text)
        wm_code_of("${text}" text)
        string(SHA256 hash "${text}")
        set_property(GLOBAL PROPERTY wm_code_of_${file} ${hash})
    endif()
    set(${out} ${hash} PARENT_SCOPE)
endfunction()

function(wm_kernel_hash root file out)
    set(closure "")
    wm_include_closure(${root} ${file} closure)
    list(SORT closure)
    set(all "")
    foreach(part IN LISTS closure)
        wm_code_hash(${part} hash)
        string(APPEND all ${hash})
    endforeach()
    string(SHA256 hash "${all}")
    string(SUBSTRING ${hash} 0 16 hash)
    set(${out} ${hash} PARENT_SCOPE)
endfunction()

# State of one kernel: verified, unverified, or missing.
function(wm_kernel_state root name hash out)
    set(${out} missing PARENT_SCOPE)
    file(STRINGS ${root}/perf/verified.csv rows REGEX "^${name},")
    foreach(row IN LISTS rows)
        if(row MATCHES "^${name},${hash},")
            set(${out} verified PARENT_SCOPE)
            return()
        elseif(row MATCHES "^${name},unverified,")
            set(${out} unverified PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

function(warpmath_write_unverified root output)
    set(text "/* Made by cmake/warpmath_verified.cmake from perf/verified.csv. */\n")
    file(GLOB kernels ${root}/device/*.cu)
    foreach(file IN LISTS kernels)
        get_filename_component(name ${file} NAME_WE)
        wm_kernel_hash(${root} ${file} hash)
        wm_kernel_state(${root} ${name} ${hash} state)
        if(NOT state STREQUAL verified)
            string(APPEND text "UNVERIFIED(\"${name}\")\n")
        endif()
    endforeach()
    file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
    file(GLOB_RECURSE inputs ${root}/device/* ${root}/include/warpmath/device/* ${root}/perf/verified.csv)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND DEFINED FILES)
    get_filename_component(ROOT ${ROOT} ABSOLUTE)
    foreach(file IN LISTS FILES)
        wm_kernel_hash(${ROOT} ${ROOT}/${file} hash)
        message("${file},${hash}")
    endforeach()
elseif(CMAKE_SCRIPT_MODE_FILE AND DEFINED ROOT)
    get_filename_component(ROOT ${ROOT} ABSOLUTE)
    file(GLOB kernels ${ROOT}/device/*.cu)
    set(bad 0)
    foreach(file IN LISTS kernels)
        get_filename_component(name ${file} NAME_WE)
        wm_kernel_hash(${ROOT} ${file} hash)
        wm_kernel_state(${ROOT} ${name} ${hash} state)
        message("${name},${hash}: ${state}")
        if(state STREQUAL missing)
            set(bad 1)
        endif()
    endforeach()
    if(bad AND NOT PRINT)
        message(FATAL_ERROR "Kernels above marked `missing` changed since they were last run on a GPU, or never were. "
            "Run them there (docs/adding-a-kernel.md) and record the row in perf/verified.csv, or mark them `unverified`.")
    endif()
endif()
