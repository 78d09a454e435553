// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Marks and ranges for a time line, which CPU_DEVICE_TRACE writes. When nobody listens they are
// nothing; a push still tells how deep the ranges are nested. Categories, colours, payloads and the
// names of domains go nowhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../cpu_device/marks.h"

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
inline const char* nvtx_text(const nvtxEventAttributes_t* a) {
  return a != nullptr && a->messageType == NVTX_MESSAGE_TYPE_ASCII ? a->message.ascii : nullptr;
}
inline const wchar_t* nvtx_wide_text(const nvtxEventAttributes_t* a) {
  return a != nullptr && a->messageType == NVTX_MESSAGE_TYPE_UNICODE ? a->message.unicode : nullptr;
}
}  // namespace cpu_device

inline int nvtxRangePushA(const char* text) { return cpu_device::push_range(text, nullptr); }
inline int nvtxRangePushW(const wchar_t* text) { return cpu_device::push_range(nullptr, text); }
inline int nvtxRangePushEx(const nvtxEventAttributes_t* a) {
  return cpu_device::push_range(cpu_device::nvtx_text(a), cpu_device::nvtx_wide_text(a));
}
inline int nvtxRangePop() {
  const int depth = cpu_device::pop_range();
  return depth < 0 ? NVTX_NO_PUSH_POP_TRACKING : depth;
}
inline void nvtxMarkA(const char* text) { cpu_device::mark_point(text, nullptr); }
inline void nvtxMarkW(const wchar_t* text) { cpu_device::mark_point(nullptr, text); }
inline void nvtxMarkEx(const nvtxEventAttributes_t* a) {
  cpu_device::mark_point(cpu_device::nvtx_text(a), cpu_device::nvtx_wide_text(a));
}
inline nvtxRangeId_t nvtxRangeStartA(const char* text) {
  return cpu_device::start_range(text, nullptr);
}
inline nvtxRangeId_t nvtxRangeStartW(const wchar_t* text) {
  return cpu_device::start_range(nullptr, text);
}
inline nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t* a) {
  return cpu_device::start_range(cpu_device::nvtx_text(a), cpu_device::nvtx_wide_text(a));
}
inline void nvtxRangeEnd(nvtxRangeId_t id) { cpu_device::end_range(id); }
inline void nvtxNameCategoryA(std::uint32_t, const char*) {}
inline void nvtxNameCategoryW(std::uint32_t, const wchar_t*) {}
inline void nvtxNameOsThreadA(std::uint32_t thread, const char* name) {
  cpu_device::name_os_thread(thread, name, nullptr);
}
inline void nvtxNameOsThreadW(std::uint32_t thread, const wchar_t* name) {
  cpu_device::name_os_thread(thread, nullptr, name);
}
inline nvtxDomainHandle_t nvtxDomainCreateA(const char*) { return nullptr; }
inline nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t*) { return nullptr; }
inline void nvtxDomainDestroy(nvtxDomainHandle_t) {}
inline int nvtxDomainRangePushEx(nvtxDomainHandle_t, const nvtxEventAttributes_t* a) {
  return nvtxRangePushEx(a);
}
inline int nvtxDomainRangePop(nvtxDomainHandle_t) { return nvtxRangePop(); }
inline nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t, const nvtxEventAttributes_t* a) {
  return nvtxRangeStartEx(a);
}
inline void nvtxDomainRangeEnd(nvtxDomainHandle_t, nvtxRangeId_t id) { nvtxRangeEnd(id); }
inline void nvtxDomainMarkEx(nvtxDomainHandle_t, const nvtxEventAttributes_t* a) { nvtxMarkEx(a); }

#define nvtxRangePush nvtxRangePushA
#define nvtxMark nvtxMarkA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxDomainCreate nvtxDomainCreateA
