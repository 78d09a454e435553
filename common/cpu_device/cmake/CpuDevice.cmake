# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# CUDA programs for the CPU device in CMake. They need the targets that both
# find_package(cpu_device) and add_subdirectory(<folder of the CPU device>) bring:
#   cpu_device::cpu_device   the runtime and its headers
#   cpu_device::libraries    cuBLAS, cuBLASLt, cuBLAS-Xt, cuRAND and NCCL
#   cpu_device::checks       what files need that were compiled with CHECK
#   cuda_rewriter

# cpu_device_add_executable(<name> <source>... [CHECK])
# A program of .cu files and others. CHECK has the CPU device watch every access that the .cu files make:
# races, bad addresses and counters of the memory traffic.
function(cpu_device_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK" "" "")
  set(cuda_files ${arg_UNPARSED_ARGUMENTS})
  list(FILTER cuda_files INCLUDE REGEX "\\.cu$")
  set(others ${arg_UNPARSED_ARGUMENTS})
  list(FILTER others EXCLUDE REGEX "\\.cu$")
  add_executable(${name} ${others})
  # -gdwarf-4: clang's version 5 would name the generated file instead of the .cu file.
  # -fno-strict-aliasing: kernels often read memory as another type, such as eight halves as one uint4.
  set(options -include cuda_runtime.h -g -gdwarf-4 -ffp-contract=off -fno-strict-aliasing
    -Wno-unknown-pragmas)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # a `#pragma unroll` that clang cannot follow
    list(APPEND options -Wno-pass-failed)
  endif()
  if(arg_CHECK)
    cpu_device_check_options(check_options)
    list(APPEND options ${check_options})
    target_link_libraries(${name} PRIVATE cpu_device::checks)
  endif()
  target_link_libraries(${name} PRIVATE cpu_device::cpu_device)
  # Headers of the system and of the CPU device have no CUDA syntax.
  set(folders "$<FILTER:$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>")
  set(folders "$<FILTER:${folders},EXCLUDE,/cpu_device/include$|/include/cpu_device$>")
  cpu_device_add_sources(${name} ${cuda_files} OPTIONS ${options}
    INCLUDES "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>")
endfunction()

# cpu_device_add_sources(<target> <file.cu>... [OPTIONS <option>...] [INCLUDES <-Ifolder>...])
# Adds CUDA files to a target. The rewriter turns each into C++ (cuda/<target>/<file>.cpp in the build
# folder), which is compiled with the OPTIONS; line numbers are those of the .cu file. Headers below
# INCLUDES are rewritten where they need it.
function(cpu_device_add_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;INCLUDES")
  set(folder "${CMAKE_BINARY_DIR}/cuda/${target}")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source FILENAME name)
    cmake_path(GET source PARENT_PATH source_folder)
    set(rewritten "${folder}/${name}.cpp")
    add_custom_command(
      OUTPUT "${rewritten}"
      COMMAND cuda_rewriter "${source}" --output "${rewritten}" --depfile "${rewritten}.d"
        "${arg_INCLUDES}"
      DEPENDS "${source}" cuda_rewriter
      DEPFILE "${rewritten}.d"
      COMMENT "Rewriting ${name} for the CPU device"
      COMMAND_EXPAND_LISTS
      VERBATIM)
    target_sources(${target} PRIVATE "${rewritten}")
    set_source_files_properties("${rewritten}" PROPERTIES COMPILE_OPTIONS
      "-I${source_folder};${arg_OPTIONS}")
  endforeach()
endfunction()

# cpu_device_check_options(<variable>)
# The compile options that have every access of a file watched. (cpucc has them for --check.)
function(cpu_device_check_options variable)
  # Arrays whose length the compiler knows are indexed within it.
  set(options -fsanitize=thread,bounds)
  # The accesses that are watched should be those of the source: a float4 is loaded as a whole
  # and not by its components, and four turns of a loop are not one access.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND options -fno-tree-sra -fno-ipa-sra --param=tsan-distinguish-volatile=1)
    # Each address is compared with the alignment of its type: a GPU refuses others. (clang looks
    # at few of them, and reads words once more for it.)
    list(APPEND options -fsanitize=alignment)
    list(APPEND options -Wno-tsan)  # warns that its own library knows no fences; ours does
  else()
    # Two words each: options of source files, where some of these go, know no SHELL:.
    list(APPEND options -fno-vectorize -mllvm -tsan-distinguish-volatile=1)
    # A read of what is written next is a read, too.
    list(APPEND options -mllvm -tsan-instrument-read-before-write=1)
  endif()
  set(${variable} "${options}" PARENT_SCOPE)
endfunction()
