# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# How the CPU device is built: functions, options and packages, which the course around it shares. On its
# own (or in another project) it also brings the targets lab_settings and lab_strict.

option(LAB_OPENBLAS "CPU device: use OpenBLAS for cuBLAS where it is there" ON)
option(LAB_FILES_AT_ONCE "Compile several files of a library at a time: quicker, unless they are changed" ON)

# lab_built_once(<target> [FAST] [FILES_AT_ONCE <n>])
# For a library that is built once in a clone and hardly ever changed: n of its files (all, if not given)
# are compiled at a time, so that the compiler reads the headers they share once, and optimised less
# unless they are to be FAST. So what is local to a file needs a name that is the only one in the
# library. LAB_FILES_AT_ONCE=OFF is for those who change such a library.
function(lab_built_once target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAST" "FILES_AT_ONCE" "")
  if(NOT arg_FILES_AT_ONCE)
    set(arg_FILES_AT_ONCE 0)  # CMake's word for all
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${LAB_FILES_AT_ONCE} UNITY_BUILD_BATCH_SIZE ${arg_FILES_AT_ONCE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # takes the files for headers
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  if(NOT arg_FAST)
    target_compile_options(${target} PRIVATE  # -Og takes g++ no longer than -O0, -O1 a fifth longer
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-Og>)
  endif()
endfunction()

# lab_runs_fast(<file>...)
# Files of a target that is built once which are worth the time that -O2 takes.
function(lab_runs_fast)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O2>)
endfunction()

# Thrust: Debian's (libthrust-dev) or that of a toolkit whose CCCL lies in a folder of its own (CUDA 13),
# since no other header of it may be found.
if(NOT LAB_DEVICE STREQUAL "gpu")
  set(what "Folder that holds thrust/ (libthrust-dev, or a CUDA 13 toolkit's include/cccl)")
  find_path(LAB_THRUST_FOLDER thrust/version.h DOC "${what}")
  find_path(LAB_THRUST_FOLDER thrust/version.h PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
    PATH_SUFFIXES include/cccl NO_DEFAULT_PATH DOC "${what}")
endif()

set(LAB_HAVE_OPENBLAS OFF)
if(NOT LAB_DEVICE STREQUAL "gpu" AND LAB_OPENBLAS)
  find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
  find_library(OPENBLAS_LIBRARY openblas)
  if(CBLAS_INCLUDE_DIR AND OPENBLAS_LIBRARY)
    set(LAB_HAVE_OPENBLAS ON)
  else()
    message(STATUS "No OpenBLAS: the CPU device's cuBLAS multiplies with plain loops, slowly.")
  endif()
endif()

if(NOT TARGET lab_settings)
  find_package(Threads REQUIRED)
  if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
  endif()
  if(PROJECT_IS_TOP_LEVEL)  # lines are enough for reports, and take a third of the room
    string(REGEX REPLACE "(^| )-g( |$)" "\\1-g1\\2"
      CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  endif()
  add_library(lab_settings INTERFACE)
  target_compile_features(lab_settings INTERFACE cxx_std_20)
  # Contracting a*b+c would give other bits on machines with a fused multiply-add.
  target_compile_options(lab_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  add_library(lab_strict INTERFACE)  # what the CPU device itself is compiled with
  # A project that chooses no build type still wants a quick CPU device.
  target_compile_options(lab_strict INTERFACE $<$<CONFIG:>:-O2>
    # clang 17 and later warn of what std::stable_sort of g++ 12's library calls in its own headers.
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,17>>:-Wno-deprecated-declarations>)
endif()
