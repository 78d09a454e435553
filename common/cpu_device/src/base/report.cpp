// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "base/report.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "cpu_device.h"

namespace cpu_device {
namespace {

std::mutex report_mutex;
std::size_t reports = 0;
std::atomic<unsigned> rounds{0};
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

void hold_reports() { report_mutex.lock(); }
void release_reports() { report_mutex.unlock(); }

std::size_t report_count() {
  const std::lock_guard lock(report_mutex);
  return reports;
}

std::string last_report() {
  const std::lock_guard lock(report_mutex);
  return last();
}

void report_again() { rounds.fetch_add(1, std::memory_order_relaxed); }
unsigned report_rounds() { return rounds.load(std::memory_order_relaxed); }

std::string ranges(const std::vector<unsigned>& numbers) {
  constexpr unsigned kMost = 8;
  std::string text;
  unsigned count = 0;
  for (std::size_t i = 0; i < numbers.size(); ++count) {
    if (count == kMost) return text + ", …";
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

std::string place(const char* file, int line) {
  return short_name(file) + ":" + std::to_string(line);
}

namespace {

/// The file that `pc` was loaded from (empty if unknown), and where addr2line finds it in there.
std::pair<std::string, std::uintptr_t> place_in_file(const void* pc) {
  Dl_info info{};
  link_map* map = nullptr;
  if (pc == nullptr || dladdr1(pc, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr)
    return {};
  // It counts from where the file was linked to lie. One byte back: the call, not what follows it.
  const auto address = reinterpret_cast<std::uintptr_t>(pc) - map->l_addr - 1;
  if (map->l_name != nullptr && *map->l_name != '\0') return {map->l_name, address};
  char file[4096];
  const ssize_t n = readlink("/proc/self/exe", file, sizeof file);
  return {std::string(file, n < 0 ? 0 : static_cast<std::size_t>(n)), address};
}

std::string for_shell(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Is it a line of this device's headers (in the repository or installed), of the standard
/// library's, of the course's? That is not where the program stands.
bool is_library(const std::string& line) {
  for (const char* folder :
       {"/cpu_device/include/", "/include/cpu_device/", "/include/c++/", "/include/lab/"})
    if (line.find(folder) != std::string::npos) return true;
  return false;
}

/// "/…/dot_product.cu:31" for each address. With inlining there are several, innermost first.
std::vector<std::vector<std::string>> source_lines(const std::vector<const void*>& pcs) {
  std::vector<std::vector<std::string>> places(pcs.size());
  constexpr std::size_t kAtOnce = 1000;  // a command line is not endless
  for (std::size_t begin = 0; begin < pcs.size();) {
    const std::string file = place_in_file(pcs[begin]).first;
    std::string command = "addr2line -a -i -e " + for_shell(file);
    std::size_t end = begin;
    for (; end < pcs.size() && end < begin + kAtOnce; ++end) {
      const auto [other, address] = place_in_file(pcs[end]);
      if (other != file) break;
      char number[32];
      std::snprintf(number, sizeof number, " 0x%lx", static_cast<unsigned long>(address));
      command += number;
    }
    std::FILE* pipe = file.empty() ? nullptr : popen((command + " 2>/dev/null").c_str(), "r");
    if (pipe != nullptr) {
      // For each address a line with it, then its places.
      std::size_t next = begin;
      char line[4096];
      while (std::fgets(line, sizeof line, pipe) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        if (std::strncmp(line, "0x", 2) == 0) {
          ++next;
          continue;
        }
        if (char* extra = std::strstr(line, " (discriminator")) *extra = '\0';
        if (line[0] == '?' || std::strstr(line, ":?") != nullptr) continue;
        if (next > begin && next <= end) places[next - 1].emplace_back(line);
      }
      pclose(pipe);
    }
    begin = end;
  }
  return places;
}

}  // namespace

std::vector<std::string> source_places(const std::vector<const void*>& pcs) {
  std::vector<std::string> places;
  for (const std::vector<std::string>& lines : source_lines(pcs)) {
    const auto own = std::find_if_not(lines.begin(), lines.end(), is_library);
    places.push_back(own == lines.end() ? std::string() : *own);
  }
  return places;
}

std::string source_place(const void* pc) {
  static std::mutex mutex;
  static auto* known = new std::map<const void*, std::string>;  // each takes a process to find
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = known->try_emplace(pc);
  if (is_new) it->second = short_name(source_places({pc}).front().c_str());
  return it->second;
}

std::string own_source_place(const void* pc) {
  const std::vector<std::string> lines = source_lines({pc}).front();
  if (lines.empty() || is_library(lines[0]) || lines[0].starts_with("/usr/")) return {};
  return short_name(lines[0].c_str());
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

std::string past_the_end_of(std::size_t bytes) {
  if (bytes == 0) return "just past the end of ";
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes") + " past the end of ";
}

}  // namespace cpu_device
