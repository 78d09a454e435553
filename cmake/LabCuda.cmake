# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

include("${CMAKE_CURRENT_LIST_DIR}/../common/cpu_device/cmake/CpuDevice.cmake")

# lab_cpu_device_options(<variable> [CHECK] [QUICK] [CONTRACT])
# The compile options of a CUDA file for the CPU device. QUICK: of a file that is run once and never
# debugged, and that should compile quickly.
function(lab_cpu_device_options variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK;QUICK;CONTRACT" "" "")
  # -gdwarf-4: clang's version 5 would name the generated file instead of the .cu file.
  # `#pragma unroll` is nvcc's: g++ does not know it, and clang cannot always follow it.
  # Kernels often read memory as another type, such as eight halves as one uint4.
  set(options -gdwarf-4 -Wno-unknown-pragmas -fno-strict-aliasing)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Where an optimised variable is at each instruction takes an eighth of the compiler's time, and
    # only a debugger asks. (Lines with what was inlined into them are another matter: reports do.)
    list(APPEND options -fno-var-tracking)
  else()
    list(APPEND options -Wno-pass-failed)
  endif()
  if(arg_QUICK)
    # slp: a float4 is moved in one piece, as with -O2, so a wrong alignment is noticed.
    set(options $<$<CONFIG:RelWithDebInfo>:-O1> -ftree-slp-vectorize -g0 -Wno-unknown-pragmas
      -fno-strict-aliasing)
  endif()
  if(arg_CHECK OR LAB_CHECK)
    cpu_device_check_options(check_options)
    list(APPEND options ${check_options})
  endif()
  if(arg_CONTRACT OR LAB_CONTRACT)
    list(APPEND options -ffp-contract=fast ${LAB_FMA_OPTION})
  endif()
  set(${variable} "${options}" PARENT_SCOPE)
endfunction()

# lab_cuda_headers(<target> [CHECK] [QUICK] [AND <header>...])
# Makes, once, a target that compiles cuda_runtime.h for the CPU device, and other headers with it, for
# lab_cuda_sources(… HEADERS <target>). All CUDA files begin with cuda_runtime.h, and without a compiled
# copy of it that is most of the time which a short one takes.
function(lab_cuda_headers target)
  if(TARGET ${target} OR LAB_DEVICE STREQUAL "gpu")
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK;QUICK" "" "AND")
  set(empty "${CMAKE_BINARY_DIR}/${target}.cpp")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "// Only there to compile the headers with.\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${empty}")
  target_link_libraries(${target} PRIVATE lab_settings lab_strict lab_common cpu_device)
  lab_cpu_device_options(options ${ARGN})
  # CMake leaves out what is there twice from the options of a target.
  string(REPLACE "-mllvm;" "SHELL:-mllvm " options "${options}")
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} PRIVATE <cuda_runtime.h> ${arg_AND})
endfunction()

# lab_include_lines(<variable> <file>)
# The lines of a file that include others. Each file is read once, since most are asked for by dozens
# of programs. A pipe or a device, which might never end, has no size; nothing but the beginning of a
# large file is read, since a student may include anything. (Only of a large one: with a limit, CMake
# asks the system at each character where it is.)
function(lab_include_lines variable file)
  get_property(known GLOBAL PROPERTY "lab_include_lines ${file}" SET)
  if(NOT known)
    set(lines)
    if(EXISTS "${file}" AND NOT IS_DIRECTORY "${file}")
      file(SIZE "${file}" size)
      set(limit)
      if(size GREATER 1048576)
        set(limit LIMIT_INPUT 1048576)
      endif()
      if(NOT size EQUAL 0)
        file(STRINGS "${file}" lines ${limit} REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
      endif()
    endif()
    set_property(GLOBAL PROPERTY "lab_include_lines ${file}" "${lines}")
  endif()
  get_property(lines GLOBAL PROPERTY "lab_include_lines ${file}")
  set(${variable} "${lines}" PARENT_SCOPE)
endfunction()

# lab_all_include_lines(<variable> <file>)
# Those of a file and of the headers that it includes by "name". They are gathered once for each file, since
# each is asked about several libraries.
function(lab_all_include_lines variable file)
  get_property(known GLOBAL PROPERTY "lab_all_include_lines ${file}" SET)
  if(NOT known)
    set(all)
    set(files "${file}")
    set(seen)
    while(files)
      list(POP_FRONT files next)
      if(next IN_LIST seen)
        continue()
      endif()
      list(APPEND seen "${next}")
      lab_include_lines(lines "${next}")
      list(APPEND all ${lines})
      cmake_path(GET next PARENT_PATH folder)
      foreach(line IN LISTS lines)
        # Headers of lab/ are not beside the file: what they need is linked anyway.
        if(NOT line MATCHES "\"lab/" AND line MATCHES "\"([^\"]+)\"")
          list(APPEND files "${folder}/${CMAKE_MATCH_1}")
        endif()
      endforeach()
    endwhile()
    set_property(GLOBAL PROPERTY "lab_all_include_lines ${file}" "${all}")
  endif()
  get_property(all GLOBAL PROPERTY "lab_all_include_lines ${file}")
  set(${variable} "${all}" PARENT_SCOPE)
endfunction()

# lab_includes(<variable> <regular expression> <file>...)
# Whether one of the files, or a header that it includes by "name", includes what the expression
# matches behind the opening quote or bracket.
function(lab_includes variable expression)
  set(${variable} OFF PARENT_SCOPE)
  foreach(file IN LISTS ARGN)
    lab_all_include_lines(lines "${file}")
    if(lines MATCHES "[<\"](${expression})")
      set(${variable} ON PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# lab_uses_libraries(<variable> <file>...)
# Whether one of the files includes cuBLAS, cuRAND or NCCL, or one of our own headers for them
# (lab/cublas_handle.hpp). CUDA's runtime is always linked; these are not, since building the CPU
# device's takes a while.
function(lab_uses_libraries variable)
  lab_includes(uses "(lab/)?(cublas|curand|nccl)" ${ARGN})
  set(${variable} ${uses} PARENT_SCOPE)
endfunction()

# lab_uses_counters(<variable> <file>...)
# Whether one of the files includes what the CPU device offers beyond CUDA, such as counters of
# memory accesses. They come with its checks, which take a while to build and are not linked otherwise.
function(lab_uses_counters variable)
  lab_includes(uses "cpu_device\\.h" ${ARGN})
  set(${variable} ${uses} PARENT_SCOPE)
endfunction()

# lab_own_architectures(<target> <file>...)
# Has nvcc compile a target for what its files need, where the build asks for less:
# - a contract that says "// Needs compute capability 9.0": for nothing before that. (Its host code
#   refuses older devices.)
# - lab/wgmma.hpp: for nothing before 8.0, and for 90a in place of 90, since only the former has these
#   instructions. LAB_SM90A is defined where 90a is among the architectures.
function(lab_own_architectures target)
  set(least 0)
  foreach(file IN LISTS ARGN)
    file(STRINGS "${file}" needed REGEX "^// Needs compute capability [0-9]+\\.[0-9]")
    if(needed)
      string(REGEX REPLACE "[^0-9]" "" least "${needed}")
    endif()
  endforeach()
  lab_includes(uses_wgmma "lab/wgmma\\.hpp" ${ARGN})
  if(uses_wgmma AND least LESS 80)
    set(least 80)
  endif()
  set(given ${CMAKE_CUDA_ARCHITECTURES})
  if(given STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
    set(given ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
  endif()
  if(least EQUAL 0 OR NOT given MATCHES "^[0-9]")
    return()
  endif()
  set(suitable)
  foreach(architecture IN LISTS given)
    if(architecture MATCHES "^([0-9]+)(-.*)?$" AND CMAKE_MATCH_1 LESS least)
      set(architecture "${least}${CMAKE_MATCH_2}")
    endif()
    if(uses_wgmma)
      string(REGEX REPLACE "^90(-|$)" "90a\\1" architecture "${architecture}")
    endif()
    list(APPEND suitable "${architecture}")
  endforeach()
  list(REMOVE_DUPLICATES suitable)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${suitable}")
  if(suitable MATCHES "90a")
    target_compile_definitions(${target} PRIVATE LAB_SM90A)
  endif()
endfunction()

# lab_uses_opengl(<variable> <file>...)
# Whether one of the files includes OpenGL, be it through lab/opengl.hpp.
function(lab_uses_opengl variable)
  lab_includes(uses "lab/opengl|cuda_gl_interop|GL/|EGL/" ${ARGN})
  set(${variable} ${uses} PARENT_SCOPE)
endfunction()

# lab_uses_mpi(<variable> <file>...)
# Whether one of the files includes MPI, be it through lab/mpi_job.hpp.
function(lab_uses_mpi variable)
  lab_includes(uses "lab/mpi_(job|check)|mpi\\.h" ${ARGN})
  set(${variable} ${uses} PARENT_SCOPE)
endfunction()

# lab_cuda_sources(<target> <file.cu>... [CHECK] [CONTRACT] [QUICK] [UNFINISHED] [FORGIVING]
#                  [HEADERS <other target>])
#
# Adds CUDA files to a target, for the device chosen by LAB_DEVICE.
#   gpu: nvcc compiles them.
#   cpu: the rewriter turns each into C++ (cuda/<target>/<file>.cpp in the build folder), which the
#        host compiler compiles. Line numbers are those of the .cu file. Headers in the target's
#        own include directories, as far as they are set by now, are rewritten where they need it.
# CHECK, or LAB_CHECK=ON, has the CPU device watch every access that these files make.
# CONTRACT, or LAB_CONTRACT=ON, has a*b+c rounded once, as nvcc does it: what must round twice is seen
#   to fail. (In these files, that is: code of main.cpp and the references rounds twice as ever.)
# QUICK: lab_cpu_device_options().
# HEADERS takes the headers that were compiled for lab_cuda_headers(<other target>), with the same CHECK
#   and QUICK, for all files of the target.
# UNFINISHED: nothing is said about what the files leave unused.
# FORGIVING: warnings are shown and are no errors. A student's file is like that while it grows.
function(lab_cuda_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK;CONTRACT;QUICK;UNFINISHED;FORGIVING" "HEADERS" "")
  target_link_libraries(${target} PRIVATE lab_settings)
  if(arg_UNFINISHED)
    target_link_libraries(${target} PRIVATE lab_unused_is_fine)
  endif()
  if(NOT arg_FORGIVING)
    target_link_libraries(${target} PRIVATE lab_strict)
  endif()
  if(LAB_DEVICE STREQUAL "gpu")
    target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${target} PRIVATE CUDA::cudart lab_cuda_libraries)
    set(sources ${arg_UNPARSED_ARGUMENTS})
    get_target_property(include_folders ${target} INCLUDE_DIRECTORIES)
    foreach(folder IN LISTS include_folders)  # where a solution's given.hpp is
      if(folder MATCHES "^${PROJECT_SOURCE_DIR}/labs/")
        file(GLOB headers "${folder}/*.hpp")
        list(APPEND sources ${headers})
      endif()
    endforeach()
    lab_own_architectures(${target} ${sources})
    return()
  endif()

  set(how)
  foreach(option IN ITEMS CHECK CONTRACT QUICK)
    if(arg_${option})
      list(APPEND how ${option})
    endif()
  endforeach()
  lab_cpu_device_options(options ${how})
  if(arg_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${arg_HEADERS})
  else()
    list(PREPEND options -include cuda_runtime.h)
  endif()
  get_target_property(include_folders ${target} INCLUDE_DIRECTORIES)
  if(NOT include_folders)
    set(include_folders)
  endif()
  list(TRANSFORM include_folders PREPEND "-I")
  set(sources)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    list(APPEND sources "${source}")
  endforeach()
  cpu_device_add_sources(${target} ${sources} OPTIONS ${options} INCLUDES ${include_folders})
  if(arg_CHECK)
    target_link_libraries(${target} PRIVATE cpu_device_checks)
  endif()
  target_link_libraries(${target} PRIVATE cpu_device)
  lab_uses_libraries(uses_libraries ${sources})
  if(uses_libraries)
    target_link_libraries(${target} PRIVATE lab_cuda_libraries)
  endif()
endfunction()
