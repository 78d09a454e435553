// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "report.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "cpu_device.h"

namespace cpu_device {
namespace {

std::mutex report_mutex;
std::size_t reports = 0;
std::string& last() {  // never destroyed: reports come until the very end
  static auto* text = new std::string;
  return *text;
}

void print(const std::string& text) {
  std::fflush(stdout);  // so that the program's own output stands before what it led to
  std::fprintf(stderr, "CPU device: %s\n", text.c_str());
}

}  // namespace

void report(const std::string& text) {
  const std::lock_guard lock(report_mutex);
  ++reports;
  last() = text;
  print(text);
}

void explain(const std::string& text) {
  const std::lock_guard lock(report_mutex);
  print(text);
}

std::size_t report_count() {
  const std::lock_guard lock(report_mutex);
  return reports;
}

std::string last_report() {
  const std::lock_guard lock(report_mutex);
  return last();
}

std::string ranges(const std::vector<unsigned>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (j > i) text += "-" + std::to_string(numbers[j]);
    i = j + 1;
  }
  return text;
}

std::string short_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

std::string source_place(const void* pc) {
  if (pc == nullptr) return {};
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(pc, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return {};
  // addr2line counts from where the file was linked to lie. One byte back: the call, not what
  // follows it.
  const auto address = reinterpret_cast<std::uintptr_t>(pc) - map->l_addr - 1;
  char file[4096];
  const char* name = map->l_name;
  if (name == nullptr || *name == '\0') {
    const ssize_t n = readlink("/proc/self/exe", file, sizeof file - 1);
    if (n <= 0) return {};
    file[n] = '\0';
    name = file;
  }
  std::string quoted;
  for (const char* c = name; *c != '\0'; ++c) {
    if (*c == '\'')
      quoted += "'\\''";
    else
      quoted += *c;
  }
  char command[8192];
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%lx 2>/dev/null", quoted.c_str(),
                static_cast<unsigned long>(address));
  std::FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return {};
  // With inlining there are several lines, innermost first: the first one outside of the headers
  // of this device and of the standard library is where the program stands.
  std::string place;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    if (char* extra = std::strstr(line, " (discriminator")) *extra = '\0';
    if (line[0] == '?' || std::strstr(line, ":?") != nullptr) continue;
    if (std::strstr(line, "/cpu_device/include/") != nullptr) continue;
    if (std::strstr(line, "/include/c++/") != nullptr) continue;
    if (std::strstr(line, "/include/lab/") != nullptr) continue;
    if (place.empty()) place = short_name(line);
  }
  pclose(pipe);
  return place;
}

std::string human_bytes(std::size_t bytes) {
  char text[64];
  if (bytes < 10 * 1024)
    std::snprintf(text, sizeof text, "%zu bytes", bytes);
  else if (bytes < (std::size_t{10} << 20))
    std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
  else if (bytes < (std::size_t{10} << 30))
    std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / 1048576);
  else
    std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / 1073741824);
  return text;
}

}  // namespace cpu_device
