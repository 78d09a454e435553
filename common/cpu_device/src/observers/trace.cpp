// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CPU_DEVICE_TRACE=FILE writes a time line in the Trace Event format, which Perfetto and
// chrome://tracing open.
//
// The file is whole at any moment, however the program ends: each event is one write, and the end
// of the file comes with it; the next event is written over that end. What takes time is written
// when it has ended. Only the ranges of NVTX are written in two halves, so that those are seen in
// which the program stopped.

#include "observers/trace.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/events.hpp"
#include "base/report.hpp"

namespace cpu_device {
namespace {

/// Events in a file: some 100 MB, which Perfetto still opens.
constexpr std::uint64_t kMostEvents = 500'000;

constexpr std::string_view kHead = "{\"traceEvents\":[\n";
constexpr std::string_view kEnd =
    "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"device\":\"the CPU device\",\"times\":"
    "\"those of the CPU device, which say nothing about a GPU\"}}\n";

using clock = std::chrono::steady_clock;

/// A row of the time line.
struct track {
  int process;
  std::uint64_t thread;
  bool operator<(const track& other) const {
    return std::pair(process, thread) < std::pair(other.process, other.thread);
  }
};
// The viewer's groups of rows, its "processes", from the top to the bottom.
constexpr int kHost = 1, kBlocks = 2, kFirstDevice = 10;

/// How many bytes the character at the beginning has in UTF-8; 0 if it is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xC2 && first < 0xE0   ? 2
                            : first >= 0xE0 && first < 0xF0 ? 3
                            : first >= 0xF0 && first < 0xF5 ? 4
                                                            : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  const unsigned second = byte(1);  // too long, a surrogate, beyond the last character
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return 0;
  return bytes;
}

/// A string of JSON, with its quotes.
std::string json_text(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t bytes = character(text);
    const char c = text.front();
    if (bytes == 0) {
      result += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      result += code;
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return result + '"';
}

std::string extent(dim3 d) {
  return "[" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + "]";
}

std::uint64_t os_thread() {
  thread_local const auto number = static_cast<std::uint64_t>(syscall(SYS_gettid));
  return number;
}

/// What a host thread or a worker is in the middle of.
struct thread_state {
  clock::time_point call, block;
  unsigned ranges = 0, ranges_left_out = 0;
};
thread_state& here() {
  thread_local thread_state state;
  return state;
}

/// A piece of work that runs.
struct open_work {
  work_event event;
  clock::time_point begin, launch;
  std::vector<std::pair<clock::time_point, copy_event>> copies;
  unsigned launches = 0;
  bool has_nodes = false;
};

class trace final : public observer {
 public:
  explicit trace(const char* path) : path_(path) {}

 private:
  // --- streams: one event at a time -------------------------------------------------------------

  void work_begins(const work_event& e) override {
    if (!works_.empty()) works_.back().has_nodes = true;
    works_.push_back({e, clock::now(), {}, {}, 0, false});
  }

  void work_ends(const work_event& e) override {
    if (works_.empty()) return;
    const open_work work = std::move(works_.back());
    works_.pop_back();
    const clock::time_point now = clock::now();
    // Most calls are one launch or one copy, and need no frame around it. cuBLAS computes first.
    const bool is_frame = work.has_nodes || work.launches + work.copies.size() != 1 ||
                          std::string_view(e.name).starts_with("cublas");
    const std::lock_guard lock(mutex_);
    const track where = track_of(e);
    for (std::size_t i = 0; i < work.copies.size(); ++i) {
      const auto& [begin, copy] = work.copies[i];
      static constexpr const char* kKinds[] = {"copy host to host", "copy host to device",
                                               "copy device to host", "copy device to device"};
      span(where, begin, i + 1 < work.copies.size() ? work.copies[i + 1].first : now, "copy",
           copy.from == nullptr ? "memset" : kKinds[copy.kind],
           "\"bytes\":" + std::to_string(copy.bytes) + ",\"by\":" + json_text(e.name));
    }
    if (is_frame) span(where, work.begin, now, "work", e.name, "");
  }

  void launch_begins(const launch_event&) override {
    if (works_.empty()) return;
    works_.back().launch = clock::now();
    ++works_.back().launches;
  }

  void launch_ends(const launch_event& e) override {
    if (works_.empty()) return;
    const clock::time_point now = clock::now();
    const std::lock_guard lock(mutex_);
    std::string details = "\"grid\":" + extent(e.grid) + ",\"block\":" + extent(e.block) +
                          ",\"dynamic shared bytes\":" + std::to_string(e.shared_bytes);
    if (e.file != nullptr) details += ",\"launched at\":" + json_text(place(e.file, e.line));
    if (e.cooperative) details += ",\"cooperative\":true";
    if (e.status != 0) details += ",\"error\":" + std::to_string(e.status);
    span(track_of(works_.back().event), works_.back().launch, now, "kernel", e.kernel, details);
  }

  void copied(const copy_event& e) override {
    if (!works_.empty()) works_.back().copies.emplace_back(clock::now(), e);
  }

  // --- host threads -----------------------------------------------------------------------------

  int call_begins(const call_event&) override {
    here().call = clock::now();
    return 0;
  }

  void call_ends(const call_event& e) override {
    const clock::time_point now = clock::now();
    const std::lock_guard lock(mutex_);
    span(host(), here().call, now, "call", e.function,
         e.status != 0 ? "\"error\":" + std::to_string(e.status) : "");
  }

  void marked(const mark_event& e) override {
    if (!is_mine()) return;
    using what = mark_event::what;
    thread_state& mine = here();
    const clock::time_point now = clock::now();
    const std::lock_guard lock(mutex_);
    switch (e.kind) {
      case what::push:
        if (event("B", host(), now, "nvtx", e.text))
          ++mine.ranges;
        else
          ++mine.ranges_left_out;
        return;
      case what::pop:  // also in a full file: each range that began in it ends in it
        if (mine.ranges_left_out != 0) {
          --mine.ranges_left_out;
        } else if (mine.ranges != 0) {
          --mine.ranges;
          put("{\"ph\":\"E\"," + at(host(), now) + "}");
        }
        return;
      case what::start:
        if (event("b", host(), now, "nvtx", e.text, id_of(e.number))) ranges_[e.number] = e.text;
        return;
      case what::end:
        if (const auto it = ranges_.find(e.number); it != ranges_.end()) {
          put("{\"ph\":\"e\"," + at(host(), now) +
              ",\"cat\":\"nvtx\",\"name\":" + json_text(it->second) + id_of(e.number) + "}");
          ranges_.erase(it);
        }
        return;
      case what::point:
        event("i", host(), now, "nvtx", e.text, ",\"s\":\"t\"");
        return;
      case what::name_thread:
        name({kHost, e.number}, e.text);
        return;
      case what::name_stream:
        stream_names_[e.number] = e.text;
        return;
    }
  }

  // --- blocks: several workers at a time --------------------------------------------------------

  void block_begins(const block_event&) override { here().block = clock::now(); }

  void block_ends(const block_event& e) override {
    const clock::time_point now = clock::now();
    const std::lock_guard lock(mutex_);
    span(worker(), here().block, now, "block",
         std::string(e.launch.kernel) + " block (" + std::to_string(e.index.x) + "," +
             std::to_string(e.index.y) + "," + std::to_string(e.index.z) + ")",
         e.given_up ? "\"given up\":true" : "");
  }

  void barrier_passed(const barrier_event& e) override {
    static constexpr const char* kScopes[] = {"warp", "block", "grid", "system"};
    const clock::time_point now = clock::now();
    const std::lock_guard lock(mutex_);
    event("i", worker(), now, "barrier",
          e.file != nullptr ? "barrier " + place(e.file, e.line) : "barrier",
          std::string(",\"s\":\"t\",\"args\":{\"of a\":\"") +
              kScopes[static_cast<unsigned>(e.scope) % 4] +
              "\",\"threads\":" + std::to_string(e.threads) + "}");
  }

  // --- tracks, all under the mutex --------------------------------------------------------------

  void name(const track& t, const std::string& text) {
    named_.insert(t);
    put("{\"ph\":\"M\",\"pid\":" + std::to_string(t.process) +
        ",\"tid\":" + std::to_string(t.thread) + R"(,"name":"thread_name","args":{"name":)" +
        json_text(text) + "}}");
  }

  void name_process(int process, const std::string& text) {
    if (!processes_.insert(process).second) return;
    const std::string begin = R"({"ph":"M","tid":0,"pid":)" + std::to_string(process);
    put(begin + R"(,"name":"process_name","args":{"name":)" + json_text(text) + "}}");
    put(begin + R"(,"name":"process_sort_index","args":{"sort_index":)" +
        std::to_string(process == kBlocks ? 1000 : process) + "}}");
  }

  track track_of(const work_event& e) {
    const track t{kFirstDevice + e.device, e.number};
    if (named_.count(t) == 0) {
      name_process(t.process, "device " + std::to_string(e.device) +
                                  " (the CPU device: its times say nothing about a GPU)");
      const auto given = stream_names_.find(reinterpret_cast<std::uintptr_t>(e.stream));
      name(t, e.stream == nullptr            ? "default stream"
              : given != stream_names_.end() ? given->second
                                             : "stream " + std::to_string(e.number));
      if (given != stream_names_.end()) stream_names_.erase(given);  // the next one of this handle
    }
    return t;
  }

  track host() {
    const track t{kHost, os_thread()};
    if (named_.count(t) == 0) {
      name_process(kHost, "host threads");
      name(t, t.thread == static_cast<std::uint64_t>(getpid())
                  ? "main thread"
                  : "host thread " + std::to_string(t.thread));
    }
    return t;
  }

  track worker() {
    const track t{kBlocks, os_thread()};
    if (named_.count(t) == 0) {
      name_process(kBlocks, "blocks, on the workers that run them");
      name(t, "worker " + std::to_string(++workers_));
    }
    return t;
  }

  // --- the file, under the mutex ----------------------------------------------------------------

  static std::string microseconds(clock::duration d) {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return text;
  }

  std::string at(const track& t, clock::time_point time) const {
    return "\"pid\":" + std::to_string(t.process) + ",\"tid\":" + std::to_string(t.thread) +
           ",\"ts\":" + microseconds(time - start_);
  }

  static std::string id_of(std::uint64_t number) {
    return ",\"id\":\"" + std::to_string(number) + "\"";
  }

  /// False: it was left out, since the file is full.
  bool event(const char* phase, const track& t, clock::time_point time, const char* category,
             const std::string& text, const std::string& more = "") {
    if (events_ == kMostEvents) {
      put(R"({"ph":"i","s":"g","name":"the trace is full: later events are left out",)" +
          at(t, time) + R"(,"args":{"events":)" + std::to_string(kMostEvents) + "}}");
      explain("CPU_DEVICE_TRACE: " + path_ + " is full. After " + std::to_string(kMostEvents) +
              " events it leaves out the rest. Try: a smaller size, or without "
              "CPU_DEVICE_TRACE_BLOCKS.");
    }
    if (++events_ > kMostEvents) return false;
    return put(std::string("{\"ph\":\"") + phase + "\"," + at(t, time) + ",\"cat\":\"" + category +
               "\",\"name\":" + json_text(text) + more + "}");
  }

  void span(const track& t, clock::time_point begin, clock::time_point end, const char* category,
            const std::string& text, const std::string& details) {
    event("X", t, begin, category, text,
          ",\"dur\":" + microseconds(end - begin) + ",\"args\":{" + details + "}");
  }

  /// False in a process that was forked from the one that writes the file.
  bool is_mine() const {
    const pid_t owner = owner_.load(std::memory_order_relaxed);
    return owner == 0 || owner == getpid();
  }

  bool put(const std::string& text) {
    if (owner_.load(std::memory_order_relaxed) == 0) open();
    if (file_ < 0 || !is_mine()) return false;
    std::string piece = (is_empty_ ? "" : ",\n") + text;
    const std::size_t bytes = piece.size();
    piece += kEnd;
    if (!write(piece)) return false;
    end_ += static_cast<off_t>(bytes);
    is_empty_ = false;
    return true;
  }

  /// Opened with the first event, so that programs may fork before they use the device.
  void open() {
    owner_ = getpid();
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) return give_up();
    if (!write(std::string(kHead) + std::string(kEnd))) return;
    end_ = static_cast<off_t>(kHead.size());
  }

  bool write(const std::string& text) {
    errno = 0;
    if (pwrite(file_, text.data(), text.size(), end_) == static_cast<ssize_t>(text.size()))
      return true;
    const int why = errno != 0 ? errno : ENOSPC;
    if (ftruncate(file_, end_) == 0 && end_ != 0)  // the end fits in again
        [[maybe_unused]]
      const ssize_t done = pwrite(file_, kEnd.data(), kEnd.size(), end_);
    errno = why;
    give_up();
    return false;
  }

  void give_up() {
    explain("CPU_DEVICE_TRACE: cannot write " + path_ + ": " + std::strerror(errno) + ".");
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  const std::string path_;
  const clock::time_point start_ = clock::now();
  std::vector<open_work> works_;  // with the innermost at the end

  std::mutex mutex_;
  std::atomic<pid_t> owner_{0};  // 0: the file has not been opened
  int file_ = -1;
  off_t end_ = 0;
  bool is_empty_ = true;
  std::uint64_t events_ = 0;
  unsigned workers_ = 0;
  std::set<track> named_;
  std::set<int> processes_;
  std::map<std::uint64_t, std::string> stream_names_;  // by the handle, of streams without a track
  std::map<std::uint64_t, std::string> ranges_;        // of nvtxRangeStart, that have not ended
};

}  // namespace

bool trace_from_environment() {
  const char* path = std::getenv("CPU_DEVICE_TRACE");
  if (path == nullptr || *path == '\0') return false;
  event_set kinds = event_kind::launch | event_kind::copy | event_kind::call | event_kind::work;
  kinds = kinds | event_kind::mark;
  const char* blocks = std::getenv("CPU_DEVICE_TRACE_BLOCKS");
  if (blocks != nullptr && *blocks != '\0' && std::strcmp(blocks, "0") != 0)
    kinds = kinds | event_kind::block | event_kind::barrier;
  add_observer(*new trace(path), kinds);  // never destroyed: it watches to the end
  return true;
}

}  // namespace cpu_device
