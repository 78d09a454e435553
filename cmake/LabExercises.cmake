# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# Exercises are found by their folders, labs/CC_chapter/E_name; there is no other list of them.

# lab_program(<target> SOURCES <file or $<TARGET_OBJECTS:...>>... OUTPUT <name> FOLDER <bin/...>
#             INCLUDE <folder> [LINK <library>...])
# A program or a test of an exercise.
function(lab_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT;FOLDER;INCLUDE" "SOURCES;LINK")
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${arg_INCLUDE}")
  target_link_libraries(${target} PRIVATE lab_settings lab_strict lab_common ${arg_LINK})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${arg_OUTPUT}"
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/${arg_FOLDER}"
    LINKER_LANGUAGE CXX)
endfunction()

# lab_add_test(<name> <target> [ALONE] LABELS <label>...)
# A CTest test that runs all cases of a test program. Each case's result is in events/<name>.jsonl of
# the build folder (tests/support/test_events.hpp). Exit code 77 means skipped. No TIMEOUT: that would
# overrule `ctest --timeout`; the program itself stops a case that takes too long.
# ALONE: on a GPU nothing else runs meanwhile: for tests that fill the memory of devices, that measure
# time, or that draw with OpenGL (drivers were seen to draw nothing while seven programs used CUDA).
function(lab_add_test name target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "ALONE" "" "LABELS")
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/events")
  add_test(NAME ${name}
    COMMAND ${target} "--lab_events=${CMAKE_BINARY_DIR}/events/${name}.jsonl")
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77 FIXTURES_REQUIRED programs)
  if(arg_ALONE AND LAB_DEVICE STREQUAL "gpu")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# lab_one_job_at_a_time(<test> [<lab_mpi>])
# On a GPU, tests that start MPI jobs run one after the other. Each process of a job has a CUDA context
# of its own on the device, and cudaSetDevice was seen to fail, out of memory, with several jobs at once.
function(lab_one_job_at_a_time test)
  if(ARGN AND LAB_DEVICE STREQUAL "gpu")
    set_tests_properties(${test} PROPERTIES RESOURCE_LOCK mpi_job)
  endif()
endfunction()

# lab_refuse_stale_programs()
# The fixture `programs`, which every test that runs a program requires. It removes programs that are
# not built from the sources as they are, so that none of them runs, whatever the build said.
function(lab_refuse_stale_programs)
  set(targets all)
  if(LAB_DEVICE STREQUAL "cpu")
    list(APPEND targets tests/cpu_device/all)
  endif()
  if(LAB_BUGS)
    list(APPEND targets right)
  endif()
  if(LAB_BUGS AND LAB_DEVICE STREQUAL "cpu")
    list(APPEND targets bugs)
  endif()
  add_test(NAME programs.are_current COMMAND "${Python3_EXECUTABLE}"
    "${PROJECT_SOURCE_DIR}/scripts/lablib/stale.py" "${CMAKE_MAKE_PROGRAM}" "${CMAKE_BINARY_DIR}" ${targets})
  set_tests_properties(programs.are_current PROPERTIES
    FIXTURES_SETUP programs RESOURCE_LOCK build)
endfunction()

# lab_missing(<variable> <file>...)
# What the files need and is not installed here, with the packages that have it; or nothing.
function(lab_missing variable)
  set(missing)
  lab_includes(uses_thrust "thrust/" ${ARGN})
  lab_includes(uses_nccl "(lab/)?nccl" ${ARGN})
  lab_uses_opengl(uses_opengl ${ARGN})
  lab_uses_mpi(uses_mpi ${ARGN})
  if(uses_thrust AND NOT LAB_HAVE_THRUST)
    set(missing "Thrust (libthrust-dev)")
  elseif(uses_nccl AND NOT LAB_HAVE_NCCL)
    set(missing "NCCL (libnccl-dev)")
  elseif(uses_opengl AND NOT LAB_HAVE_OPENGL)
    set(missing "OpenGL and EGL (libgl-dev, libegl-dev)")
  elseif(uses_mpi AND NOT LAB_HAVE_MPI)
    set(missing "Open MPI (libopenmpi-dev, openmpi-bin)")
  endif()
  set(${variable} "${missing}" PARENT_SCOPE)
endfunction()

# lab_cuda_code(<target> <file.cu> INCLUDE <lab folder> [LINK <library>...] [WATCHED] [UNFINISHED]
#               [FORGIVING])
# Compiles a CUDA file of an exercise. WATCHED: with every memory access watched, and a*b+c rounded
# once where the processor can.
function(lab_cuda_code target file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "WATCHED;UNFINISHED;FORGIVING" "INCLUDE" "LINK")
  set(how HEADERS cuda_headers)
  if(arg_WATCHED)
    set(how CHECK)
    if(LAB_CAN_CONTRACT)
      list(APPEND how CONTRACT)
    endif()
  endif()
  foreach(option IN ITEMS UNFINISHED FORGIVING)
    if(arg_${option})
      list(APPEND how ${option})
    endif()
  endforeach()
  add_library(${target} OBJECT EXCLUDE_FROM_ALL)
  target_include_directories(${target} PRIVATE "${arg_INCLUDE}")
  lab_cuda_sources(${target} "${file}" ${how})
  target_link_libraries(${target} PRIVATE lab_common ${arg_LINK})
endfunction()

# lab_add_exercise(<folder>)   with <folder> = labs/CC_chapter/E_name
#
# Targets:  lab.CC.E  solution.CC.E            the program with the student's file and the solution
#           lab_test.CC.E  solution_test.CC.E  the tests against each
#           watched_lab.CC.E, watched_solution_test.CC.E …  (cpu) the same four, with every memory
#                                              access of the CUDA file watched, and a*b+c rounded
#                                              once where the processor can
#           cases.CC.E                         lists the tests, without any CUDA file
#           bug.CC.E.<name>                    (LAB_BUGS, cpu) the tests against a wrong version
#           right.CC.E.<style>, watched_right.CC.E.<style>  (LAB_BUGS; the watched one: cpu) the tests
#                                              against a right solution in another style
function(lab_add_exercise folder)
  cmake_path(GET folder FILENAME exercise)
  cmake_path(GET folder PARENT_PATH chapter_folder)
  cmake_path(GET chapter_folder FILENAME chapter)
  string(REGEX MATCH "^([0-9][0-9])_" _ "${chapter}")
  set(cc "${CMAKE_MATCH_1}")
  string(REGEX MATCH "^([0-9]+)_(.+)$" _ "${exercise}")
  set(id "${cc}.${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}")

  set(lab_file "${PROJECT_SOURCE_DIR}/labs/${chapter}/${exercise}/${name}.cu")
  set(solution_file "${PROJECT_SOURCE_DIR}/solutions/${chapter}/${exercise}/${name}.cu")
  set(test_file "${PROJECT_SOURCE_DIR}/tests/${chapter}/${name}_test.cpp")
  set(bugs_file "${PROJECT_SOURCE_DIR}/tests/${chapter}/${name}.bugs")
  # What the student's file is made of. An edition for students has the starter in its place.
  set(model "${solution_file}")
  if(NOT EXISTS "${solution_file}")
    set(model "${PROJECT_SOURCE_DIR}/starters/${chapter}/${exercise}/${name}.cu")
  endif()
  file(GLOB given CONFIGURE_DEPENDS "${folder}/*.cpp")
  foreach(file IN ITEMS "${folder}/main.cpp" "${lab_file}" "${model}" "${test_file}")
    if(NOT EXISTS "${file}")
      message(WARNING "Exercise ${id} ${name} is left out: ${file} is missing")
      return()
    endif()
  endforeach()

  lab_missing(missing ${given} "${model}" "${test_file}")
  if(missing)
    message(STATUS "Exercise ${id} ${name} is left out: it needs ${missing}")
    return()
  endif()

  lab_uses_opengl(uses_opengl "${model}" "${test_file}")
  lab_uses_mpi(uses_mpi "${lab_file}" "${model}" "${test_file}")
  lab_uses_libraries(uses_libraries ${given} "${lab_file}" "${model}" "${test_file}")
  set(libraries)
  if(uses_libraries)
    set(libraries lab_cuda_libraries)
  endif()
  lab_uses_counters(uses_counters ${given} "${test_file}")
  if(uses_counters AND LAB_DEVICE STREQUAL "cpu")
    list(APPEND libraries cpu_device_checks)
  endif()
  set(opengl)
  if(uses_opengl)
    set(opengl lab_opengl)
    list(APPEND libraries lab_opengl)
  endif()
  set(mpi)
  if(uses_mpi)
    set(mpi lab_mpi)  # before lab_test_main, whose main() it calls
    list(PREPEND libraries lab_mpi)
  endif()

  # The test is compiled once and linked with the student's file, the solution and each bug.
  add_library(test_objects.${id} OBJECT EXCLUDE_FROM_ALL "${test_file}")
  target_include_directories(test_objects.${id} PRIVATE "${folder}")
  target_link_libraries(test_objects.${id} PRIVATE
    lab_common lab_test_main lab_strict ${opengl} ${mpi})
  if(NOT uses_opengl)  # whose definitions are not those of the shared headers
    lab_test_options(test_objects.${id})
  endif()

  # So is the program around the CUDA file.
  add_library(program_objects.${id} OBJECT EXCLUDE_FROM_ALL ${given})
  target_include_directories(program_objects.${id} PRIVATE "${folder}")
  target_link_libraries(program_objects.${id} PRIVATE lab_common lab_strict ${opengl} ${mpi})
  if(NOT uses_opengl)
    lab_shared_headers(program_objects.${id} program_headers LINK lab_common
      HEADERS <cmath> <cstddef> <cstdint> <cstdio> <string> <vector>
        <lab/command_line.hpp> <lab/random.hpp>)
  endif()

  set(alone)
  lab_includes(fills_devices "full_device.hpp" "${test_file}")
  file(STRINGS "${test_file}" measures_time REGEX "^// Measures time\\.")
  if(fills_devices OR uses_opengl OR measures_time)
    set(alone ALONE)
  endif()

  # Once more, for `scripts/lab check` and `profile`: all but the CUDA file is the same.
  set(kinds lab solution)
  if(LAB_DEVICE STREQUAL "cpu" AND NOT LAB_CHECK AND NOT LAB_ASAN)
    list(APPEND kinds watched_lab watched_solution)
  endif()
  if(NOT EXISTS "${solution_file}")
    list(FILTER kinds EXCLUDE REGEX "solution$")
  endif()
  foreach(kind IN LISTS kinds)
    set(how)
    set(file "${solution_file}")
    if(kind MATCHES "lab$")
      set(file "${lab_file}")
      set(how UNFINISHED)
      if(NOT LAB_BUGS)
        list(APPEND how FORGIVING)
      endif()
    endif()
    set(checks)
    if(kind MATCHES "^watched_")
      list(APPEND how WATCHED)
      set(checks cpu_device_checks)
    endif()
    # The CUDA file, too, is compiled once: for the program and for the test.
    lab_cuda_code(${kind}_code.${id} "${file}" ${how} INCLUDE "${folder}" LINK ${opengl} ${mpi})

    lab_program(${kind}.${id}
      SOURCES $<TARGET_OBJECTS:program_objects.${id}> $<TARGET_OBJECTS:${kind}_code.${id}>
      INCLUDE "${folder}" LINK ${checks} ${libraries}
      OUTPUT "${id}_${name}" FOLDER "${kind}s")
    lab_program(${kind}_test.${id}
      SOURCES $<TARGET_OBJECTS:test_objects.${id}> $<TARGET_OBJECTS:${kind}_code.${id}>
      INCLUDE "${folder}" LINK ${mpi} lab_test_main ${checks} ${libraries}
      OUTPUT "${id}_${name}_test" FOLDER "tests/${kind}s")
    if(kind MATCHES "^watched_")
      set_target_properties(${kind}.${id} ${kind}_test.${id} PROPERTIES EXCLUDE_FROM_ALL ON)
    else()
      lab_add_test(${kind}.${id} ${kind}_test.${id} ${alone} LABELS ${kind} ${cc} ${id})
      lab_one_job_at_a_time(${kind}.${id} ${mpi})
    endif()
  endforeach()

  # Which tests there are is no matter of what is tested: nothing is called, so nothing is missed.
  lab_program(cases.${id} SOURCES $<TARGET_OBJECTS:test_objects.${id}>
    INCLUDE "${folder}" LINK ${mpi} lab_test_main ${libraries} OUTPUT "${id}_${name}" FOLDER "tests/cases")
  # (In a position-independent program GNU ld writes a relocation for them that no loader takes.)
  target_link_options(cases.${id} PRIVATE
    -no-pie LINKER:--unresolved-symbols=ignore-all LINKER:--strip-debug)
  set_target_properties(cases.${id} PROPERTIES EXCLUDE_FROM_ALL ON)

  if(NOT EXISTS "${solution_file}")  # nothing below is possible without
    return()
  endif()

  set(starters "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/scripts/lablib/starters.py")
  add_test(NAME starter.${id}.is_generated
    COMMAND ${starters} check "${solution_file}" "${lab_file}")
  add_test(NAME starter.${id}.fails_readably
    COMMAND ${starters} fails-readably $<TARGET_FILE:lab_test.${id}>)
  set_tests_properties(starter.${id}.is_generated starter.${id}.fails_readably PROPERTIES
    LABELS "starter;${cc};${id}")
  set_tests_properties(starter.${id}.fails_readably PROPERTIES FIXTURES_REQUIRED programs)
  if(fills_devices AND LAB_DEVICE STREQUAL "gpu")  # as the same cases of the solution do
    set_tests_properties(starter.${id}.fails_readably PROPERTIES RUN_SERIAL ON)
  endif()

  if(COMMAND lab_add_grading)
    lab_add_grading(${id} ${name} "${folder}" "${uses_opengl}" "${libraries}")
  endif()

  # Some bugs do no visible harm on a GPU: it is the CPU device that must catch them.
  if(LAB_BUGS AND LAB_DEVICE STREQUAL "cpu" AND EXISTS "${bugs_file}")
    lab_add_bugs(${id} ${cc} "${folder}" "${solution_file}" "${bugs_file}" "${libraries}")
  endif()

  if(LAB_BUGS)
    file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${chapter}/${name}.right/*.cu")
    foreach(file IN LISTS files)
      lab_add_right(${id} ${cc} "${folder}" "${file}" "${alone}" "${libraries}" ${opengl} ${mpi})
    endforeach()
  endif()
endfunction()

# lab_test_options(<target of tests>)
# Tests are host code that runs for a moment and takes long to compile: they are optimised less and,
# where the whole course is built, share one compiled copy of the headers.
function(lab_test_options target)
  set(quick $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-Og>)
  target_compile_options(${target} PRIVATE ${quick})
  lab_shared_headers(${target} test_headers LINK lab_common lab_test_main OPTIONS ${quick}
    HEADERS <cuda_runtime.h> <gtest/gtest.h>
      <algorithm> <array> <cmath> <cstddef> <cstdint> <functional> <limits> <memory> <random>
      <span> <sstream> <string> <tuple> <vector>)
endfunction()

# lab_shared_headers(<target> <name> LINK <libraries>... [OPTIONS <options>...] HEADERS <headers>...)
# Where the whole course is built, all targets that give this name share one compiled copy of these
# headers. (Elsewhere a forgotten #include is noticed.)
function(lab_shared_headers target name)
  if(NOT LAB_BUGS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK;OPTIONS;HEADERS")
  if(NOT TARGET ${name})
    set(empty "${CMAKE_BINARY_DIR}/${name}.cpp")
    file(CONFIGURE OUTPUT "${empty}" CONTENT "// Only there to compile the headers with.\n")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL "${empty}")
    target_link_libraries(${name} PRIVATE ${arg_LINK} lab_strict)
    target_compile_options(${name} PRIVATE ${arg_OPTIONS})
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()

# lab_add_bugs(<id> <chapter number> <lab folder> <solution.cu> <name.bugs> <libraries>)
# Each bug is an edit of the solution. Its test passes when the bug is caught as the file says.
function(lab_add_bugs id cc folder solution_file bugs_file libraries)
  set(bugs "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/scripts/lablib/bugs.py")
  file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.hpp")  # a bug may be in one of them
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${bugs_file}" "${solution_file}" ${headers})
  cmake_path(GET solution_file PARENT_PATH solution_folder)
  execute_process(
    COMMAND ${bugs} emit "${bugs_file}" "${solution_folder}" "${folder}"
      "${CMAKE_BINARY_DIR}/bugs/${id}"
    OUTPUT_VARIABLE lines RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the bugs of ${id} cannot be made (see above)")
  endif()
  string(REPLACE ";" "|" lines "${lines}")
  string(REPLACE "\n" ";" lines "${lines}")
  if(NOT TARGET bugs)
    add_custom_target(bugs)
  endif()
  set(mpi)
  if("lab_mpi" IN_LIST libraries)
    set(mpi lab_mpi)
  endif()
  foreach(line IN LISTS lines)
    string(REPLACE "|" ";" fields "${line}")
    list(GET fields 0 bug)
    list(GET fields 1 how)
    list(GET fields 2 file)
    set(target bug.${id}.${bug})
    cmake_path(GET file PARENT_PATH bug_folder)
    set(check)
    set(headers bug_headers)
    if(how MATCHES "^(check|watched)$")
      set(check CHECK)
      set(headers bug_headers_check)
    endif()
    # Only bugs share more headers than cuda_runtime.h: a solution is compiled without that, so an
    # #include that it forgets is noticed.
    lab_cuda_headers(${headers} QUICK ${check} AND
      <algorithm> <array> <cmath> <cstddef> <cstdint> <memory> <span> <string> <vector>
      <lab/cuda_check.hpp> <lab/device_buffer.hpp> <lab/errors.hpp> <lab/timer.hpp>)
    lab_program(${target} SOURCES $<TARGET_OBJECTS:test_objects.${id}>
      INCLUDE "${bug_folder};${folder}" LINK ${mpi} lab_test_main ${libraries} OUTPUT "${bug}" FOLDER "bugs/${id}")
    # There are a thousand of these, and with what debuggers need they would fill 20 gigabytes.
    target_link_options(${target} PRIVATE LINKER:--strip-debug)
    lab_cuda_sources(${target} "${file}" UNFINISHED QUICK ${check} HEADERS ${headers})
    # scripts/lab verify chooses which ones it builds; the target `bugs` is all that compile.
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    if(how STREQUAL "compiler")
      add_test(NAME ${target} COMMAND ${bugs} expect-compile-error --name ${bug} --
        "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target ${target})
      # Tests run side by side, but two builds in one folder would spoil each other's results.
      set_tests_properties(${target} PROPERTIES RESOURCE_LOCK build)
    else()
      add_dependencies(bugs ${target})
      add_test(NAME ${target}
        COMMAND ${bugs} expect-caught --how ${how} --name ${bug} --bugs "${bugs_file}"
          -- $<TARGET_FILE:${target}>)
      set_tests_properties(${target} PROPERTIES FIXTURES_REQUIRED programs)
    endif()
    set_tests_properties(${target} PROPERTIES LABELS "bug;${cc};${id}" SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

# lab_add_right(<id> <chapter number> <lab folder> <style.cu> <ALONE or ""> <libraries> [<lab_opengl>]
#               [<lab_mpi>])
# A right solution in another style, which the tests must not refuse. It is built as the solution is.
function(lab_add_right id cc folder file alone libraries)
  cmake_path(GET file STEM style)
  lab_missing(missing "${file}")
  if(missing)
    message(STATUS "The right solution ${id} ${style} is left out: it needs ${missing}")
    return()
  endif()
  set(mpi)
  if("lab_mpi" IN_LIST libraries)
    set(mpi lab_mpi)
  endif()
  set(kinds right)
  if(TARGET watched_solution_code.${id})
    list(APPEND kinds watched_right)
  endif()
  set(programs)
  foreach(kind IN LISTS kinds)
    set(target ${kind}.${id}.${style})
    set(how)
    set(checks)
    if(kind MATCHES "^watched_")
      set(how WATCHED)
      set(checks cpu_device_checks)
    endif()
    lab_cuda_code(${kind}_code.${id}.${style} "${file}" ${how} INCLUDE "${folder}" LINK ${ARGN})
    # It may use a library that the solution does not.
    lab_uses_libraries(uses_libraries "${file}")
    if(uses_libraries)
      list(APPEND libraries lab_cuda_libraries)
    endif()
    lab_program(${target}
      SOURCES $<TARGET_OBJECTS:test_objects.${id}> $<TARGET_OBJECTS:${kind}_code.${id}.${style}>
      INCLUDE "${folder}" LINK ${mpi} lab_test_main ${checks} ${libraries}
      OUTPUT "${style}" FOLDER "tests/${kind}/${id}")
    # scripts/lab verify chooses which ones it builds; the target `right` is all of them.
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(right ${target})
    list(APPEND programs $<TARGET_FILE:${target}>)
  endforeach()
  add_test(NAME right.${id}.${style} COMMAND "${Python3_EXECUTABLE}"
    "${PROJECT_SOURCE_DIR}/scripts/lablib/right.py" "${file}" ${programs})
  # Watched, some take minutes: CTest starts what has a cost first, and no core is idle in the end.
  set_tests_properties(right.${id}.${style} PROPERTIES
    LABELS "right;${cc};${id}" SKIP_RETURN_CODE 77 FIXTURES_REQUIRED programs COST 100)
  lab_one_job_at_a_time(right.${id}.${style} ${mpi})
  if(alone AND LAB_DEVICE STREQUAL "gpu")
    set_tests_properties(right.${id}.${style} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# lab_add_all_exercises(): one lab_add_exercise() for each folder.
function(lab_add_all_exercises)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true
    "${PROJECT_SOURCE_DIR}/labs/[0-9][0-9]_*/[0-9]*_*")
  list(SORT folders COMPARE NATURAL)
  if(LAB_BUGS)
    add_custom_target(right)
  endif()
  foreach(folder IN LISTS folders)
    lab_add_exercise("${folder}")
  endforeach()
endfunction()
