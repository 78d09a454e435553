// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu_device/marks.h"

#include <atomic>
#include <string>

#include "base/events.hpp"

namespace cpu_device {
namespace {

using what = mark_event::what;

/// UTF-8. What is no character becomes U+FFFD.
std::string narrow(const wchar_t* wide) {
  std::string text;
  for (; *wide != L'\0'; ++wide) {
    auto c = static_cast<std::uint32_t>(*wide);
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;  // bytes
    constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
    text += static_cast<char>(kFirst[more] | c >> (6 * more));
    for (unsigned left = more; left-- > 0;)
      text += static_cast<char>(0x80U | (c >> (6 * left) & 0x3FU));
  }
  return text;
}

void tell(what kind, const char* text, const wchar_t* wide, std::uint64_t number) {
  if (!listening(event_kind::mark)) return;
  const std::string converted = text == nullptr && wide != nullptr ? narrow(wide) : "";
  publish(event_kind::mark, &observer::marked,
          mark_event{kind, text != nullptr ? text : converted.c_str(), number});
}

thread_local constinit int tls_depth = 0;
constinit std::atomic<std::uint64_t> ranges_started{0};

}  // namespace

int push_range(const char* text, const wchar_t* wide) {
  tell(what::push, text, wide, 0);
  return tls_depth++;
}

int pop_range() {
  if (tls_depth == 0) return -1;
  tell(what::pop, nullptr, nullptr, 0);
  return --tls_depth;
}

std::uint64_t start_range(const char* text, const wchar_t* wide) {
  const std::uint64_t id = ranges_started.fetch_add(1) + 1;
  tell(what::start, text, wide, id);
  return id;
}

void end_range(std::uint64_t id) { tell(what::end, nullptr, nullptr, id); }
void mark_point(const char* text, const wchar_t* wide) { tell(what::point, text, wide, 0); }

void name_os_thread(std::uint32_t thread, const char* text, const wchar_t* wide) {
  tell(what::name_thread, text, wide, thread);
}

void name_stream(const void* stream, const char* text, const wchar_t* wide) {
  tell(what::name_stream, text, wide, reinterpret_cast<std::uintptr_t>(stream));
}

}  // namespace cpu_device
