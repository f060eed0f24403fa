# SPDX-License-Identifier: Apache-2.0
# How the objects become libraries, and how these are installed.

function(warpmath_add_library target kind)
    add_library(${target} ${kind} $<TARGET_OBJECTS:wm_objects>)
    add_library(warpmath::${target} ALIAS ${target})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    find_package(Threads REQUIRED)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME warpmath LINKER_LANGUAGE C
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    if(kind STREQUAL "SHARED")
        target_link_libraries(${target} PRIVATE Threads::Threads m ${CMAKE_DL_LIBS})
        target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/warpmath.map
            -Wl,--exclude-libs,ALL -Wl,-z,relro -Wl,-z,now -Wl,--as-needed)
        if(NOT WARPMATH_SANITIZE)
            target_link_options(${target} PRIVATE -Wl,--no-undefined)
        endif()
        set_target_properties(${target} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/warpmath.map)
        if(WARPMATH_HAVE_CUDA)
            target_link_libraries(${target} PRIVATE CUDA::cudart_static)
        endif()
    else()
        target_link_libraries(${target} PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})
        if(WARPMATH_HAVE_CUDA)
            target_link_libraries(${target} PUBLIC CUDA::cudart_static)
        endif()
    endif()
endfunction()

function(warpmath_install)
    include(CMakePackageConfigHelpers)
    install(TARGETS ${ARGN} EXPORT warpmathTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/warpmath DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    set(package ${CMAKE_INSTALL_LIBDIR}/cmake/warpmath)
    install(EXPORT warpmathTargets NAMESPACE warpmath:: DESTINATION ${package})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/warpmathConfig.cmake.in
        ${PROJECT_BINARY_DIR}/warpmathConfig.cmake INSTALL_DESTINATION ${package})
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/warpmathConfigVersion.cmake COMPATIBILITY SameMajorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/warpmathConfig.cmake ${PROJECT_BINARY_DIR}/warpmathConfigVersion.cmake
        DESTINATION ${package})
    set(WM_STATIC_LIBS "-lm -ldl -lpthread")
    if(WARPMATH_HAVE_CUDA)
        string(APPEND WM_STATIC_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt")
    endif()
    # Relative to the file itself, so that `cmake --install --prefix` and moved trees stay right.
    file(RELATIVE_PATH WM_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/warpmath.pc.in ${PROJECT_BINARY_DIR}/warpmath.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/warpmath.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
