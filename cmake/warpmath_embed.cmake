# SPDX-License-Identifier: Apache-2.0
# Writes the headers that run-time compiled kernels include as rows of C strings: {"warpmath/device/base.cuh", "text"},
#     cmake -DROOT=. -DOUTPUT=wm_headers.inc -P cmake/warpmath_embed.cmake
# As included by a build, it gives warpmath_embed(target), which makes generated/wm_headers.inc for it.

# All of the device API, what it shares with the host's (of random numbers the whole of a desc and of arguments), and
# the headers that device/ keeps for its kernels.
function(wm_embedded_files root out)
    file(GLOB files RELATIVE ${root}/include ${root}/include/warpmath/device/*)
    list(APPEND files warpmath/fft_direction.h warpmath/random_key.h warpmath/random_generator.h
         warpmath/random_interval.h warpmath/random.h warpmath/matmul.h warpmath/plan.h warpmath/context.h warpmath/types.h)
    list(TRANSFORM files PREPEND include/)
    file(GLOB own RELATIVE ${root} ${root}/device/*.cuh ${root}/device/*.h)
    list(APPEND files ${own})
    list(SORT files)
    set(${out} ${files} PARENT_SCOPE)
endfunction()

function(warpmath_embed target)
    set(output ${PROJECT_BINARY_DIR}/generated/wm_headers.inc)
    wm_embedded_files(${PROJECT_SOURCE_DIR} files)
    list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${output}
                -P ${PROJECT_SOURCE_DIR}/cmake/warpmath_embed.cmake
        DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/warpmath_embed.cmake VERBATIM)
    target_sources(${target} PRIVATE ${output})
    # A file that is added or taken away is noticed by configuring again.
    file(GLOB watched CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/warpmath/device/* ${PROJECT_SOURCE_DIR}/device/*.cuh
         ${PROJECT_SOURCE_DIR}/device/*.h)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
    get_filename_component(ROOT ${ROOT} ABSOLUTE)
    wm_embedded_files(${ROOT} files)
    file(WRITE ${OUTPUT}.new "/* Made by cmake/warpmath_embed.cmake. */\n")
    foreach(name IN LISTS files)
        file(READ ${ROOT}/${name} text)
        string(REPLACE "\\" "\\\\" text "${text}")
        string(REPLACE "\"" "\\\"" text "${text}")
        string(REPLACE "\n" "\\n\"\n\"" text "${text}")
        string(REGEX REPLACE "^include/" "" name ${name})
        file(APPEND ${OUTPUT}.new "{\"${name}\",\n\"${text}\"},\n")
    endforeach()
    file(RENAME ${OUTPUT}.new ${OUTPUT})
endif()
