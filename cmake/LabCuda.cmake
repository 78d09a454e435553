# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# lab_cuda_sources(<target> <file.cu>... [CHECK] [FORGIVING])
#
# Adds CUDA files to a target, for the device chosen by LAB_DEVICE.
#   gpu: nvcc compiles them.
#   cpu: the rewriter turns each into C++ (cuda/<target>/<file>.cpp in the build folder), which the
#        host compiler compiles. Line numbers are those of the .cu file.
# CHECK, or LAB_CHECK=ON, has the CPU device watch every access that these files make.
# FORGIVING: warnings are shown and are no errors. A student's file is like that while it grows.
function(lab_cuda_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK;FORGIVING" "" "")
  target_link_libraries(${target} PRIVATE lab_settings)
  if(NOT arg_FORGIVING)
    target_link_libraries(${target} PRIVATE lab_strict)
  endif()
  if(LAB_DEVICE STREQUAL "gpu")
    target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${target} PRIVATE CUDA::cudart lab_cuda_libraries)
    return()
  endif()

  set(folder "${CMAKE_BINARY_DIR}/cuda/${target}")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source FILENAME name)
    cmake_path(GET source PARENT_PATH source_folder)
    set(rewritten "${folder}/${name}.cpp")
    add_custom_command(
      OUTPUT "${rewritten}"
      COMMAND cuda_rewriter "${source}" --output "${rewritten}" --depfile "${rewritten}.d"
      DEPENDS "${source}" cuda_rewriter
      DEPFILE "${rewritten}.d"
      COMMENT "Rewriting ${name} for the CPU device"
      VERBATIM)
    target_sources(${target} PRIVATE "${rewritten}")
    # -gdwarf-4: clang's version 5 would name the generated file instead of the .cu file.
    # `#pragma unroll` is nvcc's.
    set(options -include cuda_runtime.h "-I${source_folder}" -gdwarf-4 -Wno-unknown-pragmas)
    if(arg_CHECK OR LAB_CHECK)
      list(APPEND options -fsanitize=thread)
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        list(APPEND options -Wno-tsan)  # warns that fences are not watched; they need not be
      endif()
    endif()
    set_source_files_properties("${rewritten}" PROPERTIES COMPILE_OPTIONS "${options}")
  endforeach()
  target_link_libraries(${target} PRIVATE cpu_device lab_cuda_libraries)
endfunction()
