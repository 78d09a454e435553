# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# Graders and workers (docs/instructors.md): the tests of an exercise in one process, the code to be
# graded in another. Nothing of this is built unless it is asked for. On a GPU it is the worker that
# has one: the grader's process has none, there either, and needs only CUDA's headers.

set(grading "${PROJECT_SOURCE_DIR}/grading")
set(grading_left_out "/opengl\\.cpp$")  # with what is linked with OpenGL
if(LAB_DEVICE STREQUAL "cpu")
  set(grading_headers $<TARGET_PROPERTY:cpu_device,INTERFACE_INCLUDE_DIRECTORIES>)
  set(grading_device cpu_device_checks)
  set(grading_support "${PROJECT_SOURCE_DIR}/tests/support")
  set(grading_support "${grading_support}/faults.cpp" "${grading_support}/recording.cpp"
    "${grading_support}/device_state.cpp")
  set(grading_workers worker watched_worker)
  set(grading_stand_in)
  # Submissions are compiled with it by scripts/lablib/grading/compiling.py. Who checks an exercise of
  # their own does not wait for it.
  set(contract)
  if(LAB_CAN_CONTRACT)
    set(contract CONTRACT)
  endif()
  lab_cuda_headers(watched_cuda_headers CHECK ${contract})
else()  # where nothing is recorded or watched
  set(grading_headers ${CUDAToolkit_INCLUDE_DIRS}
    $<TARGET_PROPERTY:lab_cuda_libraries,INTERFACE_INCLUDE_DIRECTORIES>)
  set(grading_device)
  set(grading_support)
  set(grading_workers worker)
  set(grading_stand_in $<TARGET_FILE:lab_test_device>)
  string(APPEND grading_left_out "|/recording\\.cpp$")
endif()

# What a grader has of the course's library. It has no device, so it is linked with none: what it
# calls of CUDA is in grading/proxy, and what it does not call is left out, function by function.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/common/src/*.cpp")
list(FILTER sources EXCLUDE REGEX "/window\\.cpp$")
if(LAB_HAVE_NCCL)
  file(GLOB nccl CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/common/src/nccl/*.cpp")
  list(APPEND sources ${nccl})
endif()
add_library(grading_common STATIC EXCLUDE_FROM_ALL ${sources})
file(GLOB sources CONFIGURE_DEPENDS "${grading}/proxy/*.cpp" "${grading}/wire/*.cpp")
list(FILTER sources EXCLUDE REGEX "${grading_left_out}")
add_library(grading_proxy OBJECT EXCLUDE_FROM_ALL ${sources})
file(GLOB sources CONFIGURE_DEPENDS "${grading}/stub/*.cpp" "${grading}/wire/*.cpp")
list(FILTER sources EXCLUDE REGEX "${grading_left_out}")
add_library(grading_stub OBJECT EXCLUDE_FROM_ALL ${sources} ${grading_support})
set(libraries grading_common grading_proxy grading_stub)
if(LAB_HAVE_OPENGL)
  foreach(side IN ITEMS proxy stub)
    add_library(grading_${side}_opengl OBJECT EXCLUDE_FROM_ALL "${grading}/${side}/opengl.cpp")
    target_compile_definitions(grading_${side}_opengl PRIVATE GL_GLEXT_PROTOTYPES)
    list(APPEND libraries grading_${side}_opengl)
  endforeach()
endif()
foreach(library IN LISTS libraries)
  target_include_directories(${library} PRIVATE "${PROJECT_SOURCE_DIR}"
    "${PROJECT_SOURCE_DIR}/common/include" "${PROJECT_SOURCE_DIR}/tests/support")
  target_include_directories(${library} SYSTEM PRIVATE ${grading_headers})
  if(LAB_HAVE_NCCL)
    target_compile_definitions(${library} PRIVATE LAB_HAVE_NCCL=1)
  endif()
  target_link_libraries(${library} PRIVATE lab_settings lab_strict GTest::gtest)
  target_compile_options(${library} PRIVATE -Wshadow -Wconversion
    -ffunction-sections -fdata-sections)
endforeach()

# lab_add_grading(<id> <name> <lab folder> <uses OpenGL> <libraries>)
#
# Targets:  grader.CC.E   the tests, with a proxy in the place of the code that they test
#           stub.CC.E     (object) what makes a worker of an exercise's code
#           worker.CC.E   the solution as a worker
#           watched_worker.CC.E            (cpu) … with every memory access watched
function(lab_add_grading id name folder uses_opengl libraries)
  set(made "${CMAKE_BINARY_DIR}/grading/${id}")
  file(MAKE_DIRECTORY "${made}")
  set(contracts "${PROJECT_SOURCE_DIR}/scripts/lablib/grading/contracts.py")
  add_custom_command(
    OUTPUT "${made}/proxy.cpp" "${made}/stub.cpp"
    COMMAND "${Python3_EXECUTABLE}" "${contracts}" "${folder}/${name}.hpp"
      --proxy "${made}/proxy.cpp" --stub "${made}/stub.cpp"
    DEPENDS "${folder}/${name}.hpp" "${contracts}"
      "${PROJECT_SOURCE_DIR}/scripts/lablib/cuda_tokens.py"
    COMMENT "Making both ends of ${id} ${name}"
    VERBATIM)
  foreach(side IN ITEMS proxy stub)
    add_library(${side}.${id} OBJECT EXCLUDE_FROM_ALL "${made}/${side}.cpp")
    target_include_directories(${side}.${id} PRIVATE "${folder}" "${PROJECT_SOURCE_DIR}"
      "${PROJECT_SOURCE_DIR}/common/include")
    target_include_directories(${side}.${id} SYSTEM PRIVATE ${grading_headers})
    target_link_libraries(${side}.${id} PRIVATE lab_settings lab_strict)
    target_compile_options(${side}.${id} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endforeach()

  set(opengl_proxy)
  set(opengl_stub)
  if(uses_opengl)
    set(opengl_proxy $<TARGET_OBJECTS:grading_proxy_opengl>)
    set(opengl_stub $<TARGET_OBJECTS:grading_stub_opengl>)
  endif()
  add_executable(grader.${id} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:test_objects.${id}>
    $<TARGET_OBJECTS:proxy.${id}> $<TARGET_OBJECTS:grading_proxy> ${opengl_proxy})
  # The files, not the targets: those would bring the device along.
  target_link_libraries(grader.${id} PRIVATE lab_settings
    $<TARGET_FILE:lab_test_main> ${grading_stand_in} $<TARGET_FILE:test_events> grading_common
    GTest::gtest PNG::PNG ZLIB::ZLIB ${CMAKE_DL_LIBS})
  target_link_options(grader.${id} PRIVATE LINKER:--gc-sections)
  add_dependencies(grader.${id} lab_test_main test_events)
  set_target_properties(grader.${id} PROPERTIES LINKER_LANGUAGE CXX
    OUTPUT_NAME "${id}_${name}" RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/graders")

  foreach(worker IN LISTS grading_workers)
    string(REPLACE worker solution_code code ${worker})
    add_executable(${worker}.${id} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:stub.${id}>
      $<TARGET_OBJECTS:grading_stub> ${opengl_stub} $<TARGET_OBJECTS:${code}.${id}>)
    target_link_libraries(${worker}.${id} PRIVATE lab_settings ${grading_device} lab_common
      ${libraries})
    set_target_properties(${worker}.${id} PROPERTIES LINKER_LANGUAGE CXX
      OUTPUT_NAME "${id}_${name}" RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/${worker}s")
  endforeach()
endfunction()
