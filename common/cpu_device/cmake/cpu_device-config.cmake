# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# find_package(cpu_device): the installed CPU device, wherever its folder has been moved to.

include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(NOT TARGET cpu_device::cpu_device)
  cmake_path(SET cpu_device_prefix NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")
  set(cpu_device_archives "${cpu_device_prefix}/lib/cpu_device")
  file(READ "${cpu_device_archives}/settings.json" cpu_device_settings)
  string(JSON cpu_device_openblas GET "${cpu_device_settings}" openblas)
  string(JSON cpu_device_thrust GET "${cpu_device_settings}" thrust)

  add_executable(cuda_rewriter IMPORTED)
  set_target_properties(cuda_rewriter PROPERTIES
    IMPORTED_LOCATION "${cpu_device_archives}/cuda_rewriter")

  # Each links those below it.
  set(below Threads::Threads ${CMAKE_DL_LIBS})
  foreach(layer IN ITEMS base engine observers context api)
    add_library(cpu_device::${layer} STATIC IMPORTED)
    set_target_properties(cpu_device::${layer} PROPERTIES
      IMPORTED_LOCATION "${cpu_device_archives}/libcpu_device_${layer}.a"
      IMPORTED_LINK_INTERFACE_LANGUAGES CXX  # so that a program of C files is linked with it
      INTERFACE_LINK_LIBRARIES "${below}")
    set(below cpu_device::${layer})
  endforeach()
  add_library(cpu_device::cpu_device INTERFACE IMPORTED)
  set_target_properties(cpu_device::cpu_device PROPERTIES
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES "${cpu_device_prefix}/include/cpu_device"
    INTERFACE_LINK_LIBRARIES cpu_device::api)
  if(cpu_device_thrust)
    target_include_directories(cpu_device::cpu_device INTERFACE "${cpu_device_thrust}")
    if(EXISTS "${cpu_device_thrust}/cuda/std")
      target_compile_definitions(cpu_device::cpu_device INTERFACE CCCL_DISABLE_FP16_SUPPORT)
    endif()
  endif()
  foreach(part IN ITEMS checks libraries)
    add_library(cpu_device::${part} STATIC IMPORTED)
    set_target_properties(cpu_device::${part} PROPERTIES
      IMPORTED_LOCATION "${cpu_device_archives}/libcpu_device_${part}.a"
      INTERFACE_LINK_LIBRARIES cpu_device::api)
  endforeach()
  if(cpu_device_openblas)
    set_property(TARGET cpu_device::libraries APPEND PROPERTY INTERFACE_LINK_LIBRARIES openblas)
  endif()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/CpuDevice.cmake")
