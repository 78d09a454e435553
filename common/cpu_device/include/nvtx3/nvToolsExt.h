// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Marks and ranges for a profiler's time line. There is no profiler here, so they are nothing; a
// push still tells how deep the ranges are nested.
#pragma once

#include <cstddef>
#include <cstdint>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE static_cast<std::uint16_t>(sizeof(nvtxEventAttributes_t))

typedef std::uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st* nvtxDomainHandle_t;

enum { NVTX_NO_PUSH_POP_TRACKING = -2 };
enum { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 };
enum { NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE = 2 };
enum { NVTX_PAYLOAD_UNKNOWN = 0 };

struct nvtxEventAttributes_t {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t colorType;
  std::uint32_t color;
  std::int32_t payloadType, reserved0;
  union {
    std::uint64_t ullValue;
    std::int64_t llValue;
    double dValue;
  } payload;
  std::int32_t messageType;
  union {
    const char* ascii;
    const wchar_t* unicode;
  } message;
};

namespace cpu_device {
inline thread_local int nvtx_depth = 0;
}  // namespace cpu_device

inline int nvtxRangePushA(const char*) { return cpu_device::nvtx_depth++; }
inline int nvtxRangePushW(const wchar_t*) { return cpu_device::nvtx_depth++; }
inline int nvtxRangePushEx(const nvtxEventAttributes_t*) { return cpu_device::nvtx_depth++; }
inline int nvtxRangePop() {
  return cpu_device::nvtx_depth > 0 ? --cpu_device::nvtx_depth : NVTX_NO_PUSH_POP_TRACKING;
}
inline void nvtxMarkA(const char*) {}
inline void nvtxMarkW(const wchar_t*) {}
inline void nvtxMarkEx(const nvtxEventAttributes_t*) {}
inline nvtxRangeId_t nvtxRangeStartA(const char*) { return 1; }
inline nvtxRangeId_t nvtxRangeStartW(const wchar_t*) { return 1; }
inline nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t*) { return 1; }
inline void nvtxRangeEnd(nvtxRangeId_t) {}
inline void nvtxNameCategoryA(std::uint32_t, const char*) {}
inline void nvtxNameOsThreadA(std::uint32_t, const char*) {}
inline nvtxDomainHandle_t nvtxDomainCreateA(const char*) { return nullptr; }
inline void nvtxDomainDestroy(nvtxDomainHandle_t) {}
inline int nvtxDomainRangePushEx(nvtxDomainHandle_t, const nvtxEventAttributes_t*) {
  return cpu_device::nvtx_depth++;
}
inline int nvtxDomainRangePop(nvtxDomainHandle_t) { return nvtxRangePop(); }
inline void nvtxDomainMarkEx(nvtxDomainHandle_t, const nvtxEventAttributes_t*) {}

#define nvtxRangePush nvtxRangePushA
#define nvtxMark nvtxMarkA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxDomainCreate nvtxDomainCreateA
