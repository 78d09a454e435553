# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# cmake --install: cpucc, the runtime, its headers and a CMake package. Each finds the others by where it is
# itself, so the folder may be moved.

# The runtime as a shared library, for shared libraries with kernels (cpucc -shared): a process has one.
add_library(cpu_device_shared SHARED)
foreach(layer IN ITEMS engine base)
  file(GLOB sources CONFIGURE_DEPENDS src/${layer}/*.cpp src/${layer}/*.S)
  set(target cpu_device_${layer}_shared)
  add_library(${target} OBJECT ${sources})
  lab_built_once(${target} FAST)
  cpu_device_anywhere(${target})
  target_include_directories(${target} SYSTEM PRIVATE include PRIVATE src)
  target_link_libraries(${target} PRIVATE lab_settings lab_strict)
  target_link_libraries(cpu_device_shared PRIVATE ${target})
endforeach()
set_target_properties(cpu_device_shared PROPERTIES OUTPUT_NAME cpu_device LINKER_LANGUAGE CXX)
target_link_libraries(cpu_device_shared PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
foreach(layer IN ITEMS api context observers)  # without the engine and the base, which they link
  target_link_options(cpu_device_shared PRIVATE
    LINKER:--whole-archive "$<TARGET_FILE:cpu_device_${layer}>" LINKER:--no-whole-archive)
  set_property(TARGET cpu_device_shared APPEND PROPERTY
    LINK_DEPENDS "$<TARGET_FILE:cpu_device_${layer}>")
  add_dependencies(cpu_device_shared cpu_device_${layer})
endforeach()

set(thrust)
if(LAB_THRUST_FOLDER AND NOT LAB_THRUST_FOLDER STREQUAL "/usr/include")  # which is found anyway
  set(thrust "${LAB_THRUST_FOLDER}")
endif()
set(openblas false)
if(LAB_HAVE_OPENBLAS)
  set(openblas true)
endif()
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/settings.json" CONTENT
  "{\"version\": \"@PROJECT_VERSION@\", \"openblas\": @openblas@, \"thrust\": \"@thrust@\"}\n" @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/cpu_device-config-version.cmake"
  COMPATIBILITY SameMinorVersion)

install(TARGETS ${layers} cpu_device_shared cuda_rewriter
  RUNTIME DESTINATION lib/cpu_device
  LIBRARY DESTINATION lib/cpu_device
  ARCHIVE DESTINATION lib/cpu_device)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/settings.json" DESTINATION lib/cpu_device)
install(DIRECTORY include/ DESTINATION include/cpu_device)
install(PROGRAMS cpucc/cpucc.py DESTINATION bin RENAME cpucc)
# A folder of a toolkit's shape, for makefiles that ask for one (CUDA_HOME=...) or that call nvcc. Those that
# link with g++ and -lcudart get the runtime's archives.
set(toolkit "${CMAKE_CURRENT_BINARY_DIR}/toolkit")
# For programs that load the runtime while they run (Python's ctypes), shared/ has it under CUDA's name: the one
# of all shared libraries with kernels.
foreach(link IN ITEMS "bin/nvcc ../../../../bin/cpucc" "bin/host-link ../../../../bin/cpucc"
    "include ../../../include/cpu_device" "lib64 .." "lib .." "shared/libcudart.so ../../libcpu_device.so"
    "shared/libcudart.so.13 ../../libcpu_device.so")
  string(REGEX MATCH "^([^ ]+) (.*)$" link "${link}")
  cmake_path(GET CMAKE_MATCH_1 PARENT_PATH folder)
  file(MAKE_DIRECTORY "${toolkit}/${folder}")
  file(CREATE_LINK "${CMAKE_MATCH_2}" "${toolkit}/${CMAKE_MATCH_1}" SYMBOLIC)
endforeach()
list(TRANSFORM layers PREPEND "lib" OUTPUT_VARIABLE archives)
list(TRANSFORM archives APPEND ".a")
list(APPEND archives "AS_NEEDED(-lstdc++ -lm)")  # some link with gcc: NVIDIA's library is complete
if(LAB_HAVE_OPENBLAS)
  list(APPEND archives "AS_NEEDED(-lopenblas)")
endif()
list(JOIN archives " " archives)
foreach(name IN ITEMS libcudart.so libcudart_static.a libcudadevrt.a libcublas.so libcublasLt.so libcurand.so
    libnccl.so)
  file(CONFIGURE OUTPUT "${toolkit}/stubs/${name}" CONTENT "GROUP(@archives@)\n" @ONLY)
endforeach()
install(DIRECTORY "${toolkit}/stubs/" DESTINATION lib/cpu_device)
install(DIRECTORY "${toolkit}/bin" "${toolkit}/include" "${toolkit}/lib64" "${toolkit}/lib"
  "${toolkit}/shared" DESTINATION lib/cpu_device/toolkit)

install(FILES cmake/cpu_device-config.cmake cmake/CpuDevice.cmake
  "${CMAKE_CURRENT_BINARY_DIR}/cpu_device-config-version.cmake"
  DESTINATION lib/cmake/cpu_device)

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME cpu-device)
  set(CPACK_PACKAGE_CONTACT "The CUDA Labs authors")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3 (>= 3.9), g++ (>= 4:12)")
  set(CPACK_STRIP_FILES OFF)  # reports name lines
  if(LAB_HAVE_OPENBLAS)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libopenblas-dev")
  endif()
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libthrust-dev)
  include(CPack)
endif()
