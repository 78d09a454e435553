// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "test_events.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace test_events {
namespace {

using clock = std::chrono::steady_clock;

constexpr int kPassed = 0, kFailed = 1, kUsage = 2, kNotPossible = 77;

constexpr double kCaseLimit = 300;              // seconds, unless --lab_case_limit says otherwise
constexpr std::chrono::seconds kTimeToSay(10);  // where it was when it was stopped
constexpr double kLimitOutside = 60;            // at least, for starting: the machine may be busy
constexpr std::size_t kKept = 64 << 10;         // bytes of a case's output
constexpr std::size_t kPrinted = 64U << 20U;    // bytes after which a case is stopped
constexpr std::size_t kFlood = 1U << 20U;       // from here on, line after line is not looked at
constexpr int kFailuresKept = 20;               // of one run of a case
constexpr int kCrashes = 10;  // after so many the rest is not run: each takes a new process

// --- what the child says ------------------------------------------------------------------------

// A message is its kind and some texts. The child waits until the watching process has taken it:
// then whatever the child printed before it lies in the pipe, and what comes later does not.
enum class kind : char { starts, repetition, begin, failure, end, ends };

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool read_all(int fd, char* to, std::size_t size) {
  while (size != 0) {
    const ssize_t got = ::read(fd, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

struct message {
  kind what = kind::starts;
  std::vector<std::string> texts;
};

void append_number(std::string& to, std::uint32_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string packed(const message& said) {
  std::string bytes(1, static_cast<char>(said.what));
  append_number(bytes, static_cast<std::uint32_t>(said.texts.size()));
  for (const std::string& text : said.texts) {
    append_number(bytes, static_cast<std::uint32_t>(text.size()));
    bytes += text;
  }
  return bytes;
}

bool receive(int fd, message& said) {
  std::uint32_t count = 0, size = 0;
  char what = 0;
  if (!read_all(fd, &what, 1) || !read_all(fd, reinterpret_cast<char*>(&count), sizeof count))
    return false;
  said.what = static_cast<kind>(what);
  said.texts.clear();
  for (; count != 0; --count) {
    if (!read_all(fd, reinterpret_cast<char*>(&size), sizeof size)) return false;
    said.texts.emplace_back(size, '\0');
    if (!read_all(fd, said.texts.back().data(), size)) return false;
  }
  return true;
}

int to_watcher = -1;  // in the child
bool the_rest_is_left_out = false;

void say(kind what, std::vector<std::string> texts) {
  std::fflush(stdout);
  std::fflush(stderr);
  write_all(to_watcher, packed({what, std::move(texts)}));
  char taken = 0;
  if (!read_all(to_watcher, &taken, 1)) std::_Exit(kFailed);  // nobody is interested any more
}

std::string name_of(const ::testing::TestInfo& info) {
  return std::string(info.test_suite_name()) + "." + info.name();
}

std::string folder_of(const char* file) {
  const std::string path = file == nullptr ? "" : file;
  return path.substr(0, path.find_last_of('/') + 1);
}

/// Tells the watching process what happens.
class reporter : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    say(kind::starts, {std::to_string(GTEST_FLAG_GET(repeat))});
  }

  void OnTestStart(const ::testing::TestInfo& info) override {
    failures_ = 0;
    foreign_skip_.clear();
    test_folder_ = folder_of(info.file());  // GoogleTest's lock is held when it is needed
    say(kind::begin, {name_of(info)});
  }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.skipped()) {
      // Only the course's own tests may say that a case is not for this machine.
      const std::string from = folder_of(result.file_name());
      if (from != test_folder_ && from != folder_of(__FILE__))
        foreign_skip_ = result.file_name() == nullptr ? "an unknown file" : result.file_name();
      skip_reason_ = result.message();
    } else if (result.failed()) {
      std::string_view text = result.message();
      if (text.ends_with('\n')) text.remove_suffix(1);  // as newer GoogleTests end it
      std::vector<std::string> failure = {result.file_name() == nullptr ? "" : result.file_name(),
                                          std::to_string(std::max(result.line_number(), 0)),
                                          std::string(text.substr(0, kKept))};
      if (++failures_ <= kFailuresKept)
        say(kind::failure, std::move(failure));
      else
        last_failure_ = std::move(failure);
    }
  }

  void OnTestEnd(const ::testing::TestInfo& info) override {
    const ::testing::TestResult& result = *info.result();
    std::string verdict = result.Failed() ? "failed" : result.Skipped() ? "skipped" : "passed";
    std::string detail = result.Skipped() ? skip_reason_ : "";
    if (verdict == "skipped" && !foreign_skip_.empty()) {
      verdict = "failed";
      detail = "skipped by " + foreign_skip_ + ", which is no test of the course";
    } else if (failures_ > kFailuresKept + 1) {
      detail = std::to_string(failures_ - kFailuresKept - 1) + " more failures are not shown";
    }
    // It may be what was found after the case: leaks, and reports of the CPU device.
    if (failures_ > kFailuresKept) say(kind::failure, std::move(last_failure_));
    say(kind::end, {verdict, detail, the_rest_is_left_out ? "last" : ""});
  }

  void OnTestProgramEnd(const ::testing::UnitTest&) override { say(kind::ends, {}); }

 private:
  int failures_ = 0;
  std::vector<std::string> last_failure_;  // behind those that are told as they come
  std::string test_folder_, foreign_skip_, skip_reason_;
};

// --- the process that watches -------------------------------------------------------------------

std::string json(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (letter == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(letter) < ' ') {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(letter));
      result += code.data();
    } else {
      result += letter;
    }
  }
  return result + '"';
}

/// What a case prints: its beginning and its end, and a count of the lines between them.
class kept_output {
 public:
  void add(std::string_view text) {
    printed_ += text.size();
    const std::size_t room = kKept / 2 - std::min(kKept / 2, head_.size());
    head_ += text.substr(0, room);
    tail_ += text.substr(std::min(room, text.size()));
    if (tail_.size() > kKept) drop(tail_.size() - kKept / 2);
  }

  [[nodiscard]] std::size_t printed() const { return printed_; }

  /// What was kept since the last call.
  std::string take() {
    if (tail_.size() > kKept / 2) drop(tail_.size() - kKept / 2);
    std::string text = head_.substr(taken_);
    if (dropped_ != 0) {
      if (!text.empty() && text.back() != '\n') text += '\n';
      text += "… and " + std::to_string(dropped_) + (dropped_ == 1 ? " more line" : " more lines") +
              " …\n";
    }
    text += tail_;
    taken_ = head_.size();
    tail_.clear();
    dropped_ = 0;
    return text;
  }

 private:
  /// The tail loses so many bytes, and what is left of a line.
  void drop(std::size_t bytes) {
    bytes = std::min(tail_.find('\n', bytes - 1), tail_.size() - 1) + 1;
    const auto end = tail_.begin() + static_cast<std::ptrdiff_t>(bytes);
    dropped_ += static_cast<std::size_t>(std::count(tail_.begin(), end, '\n'));
    tail_.erase(tail_.begin(), end);
  }

  std::string head_, tail_;
  std::size_t printed_ = 0, taken_ = 0, dropped_ = 0;
};

struct test_case {
  std::string name;
  int runs = 0;
  std::string result;  // of the run that failed, else of the last one
};

struct options {
  std::string events;                             // empty: no watching
  std::optional<std::vector<std::string>> cases;  // to run; all where nobody said
  double case_limit = kCaseLimit;
  bool repetition_is_given = false;
};

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

class watcher {
 public:
  watcher(const options& chosen, int events) : options_(chosen), events_(events) {
    const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); ++s) {
      const ::testing::TestSuite& suite = *all.GetTestSuite(s);
      for (int t = 0; t < suite.total_test_count(); ++t) {
        const ::testing::TestInfo& info = *suite.GetTestInfo(t);
        const std::string name = name_of(info);
        if (name.find("DISABLED_") != std::string::npos) continue;
        index_.emplace(name, cases_.size());
        cases_.push_back({name, 0, ""});
      }
    }
    if (options_.cases) choose(*options_.cases);
  }

  /// Says which cases would run.
  void list() {
    std::string chosen, others;
    for (const test_case& one : cases_) chosen += (chosen.empty() ? "" : ",") + json(one.name);
    for (const std::string& name : others_) others += (others.empty() ? "" : ",") + json(name);
    write("{\"event\":\"program\",\"cases\":[" + chosen + "]" +
          (others.empty() ? "" : ",\"others\":[" + others + "]") + "}");
  }

  /// Runs the tests in children until nothing is left to do; `child` is what each of them does.
  int run(const std::function<int()>& child) {
    list();
    if (!missing_.empty()) return finish(kFailed, "this program lacks the test " + missing_);
    if (cases_.empty()) return finish(kFailed, "this program has no test");
    for (int crashes = 0;;) {
      const int status = run_child(child);
      if (stop_) return finish(kFailed, detail_);
      if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPossible && !begun_)
        return finish(kNotPossible, "");
      const std::string how = ending(status);
      const bool in_a_case = current_ != nullptr;
      if (in_a_case) {
        flush_output();
        end_case("crashed", how + " in the middle of this case",
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
      } else if (ended_) {
        return finish_after(status);
      } else {
        flush_output();
        return finish(kFailed, begun_ ? "the program ended between two tests: " + how
                                      : "no test ran: " + how);
      }
      if (GTEST_FLAG_GET(fail_fast) || ++crashes == kCrashes || !choose_the_rest())
        return finish(kFailed, "");
    }
  }

 private:
  /// Leaves the cases of these names, and has GoogleTest run them.
  void choose(const std::vector<std::string>& names) {
    std::vector<test_case> chosen;
    std::string filter;
    std::unordered_map<std::string, std::size_t> index;
    for (const std::string& name : names) {
      if (!index_.contains(name) && missing_.empty()) missing_ = name;
      if (!index.emplace(name, chosen.size()).second) continue;
      chosen.push_back({name, 0, ""});
      filter += (filter.empty() ? "" : ":") + name;
    }
    for (const test_case& one : cases_)
      if (!index.contains(one.name)) others_.push_back(one.name);
    cases_ = std::move(chosen);
    index_ = std::move(index);
    GTEST_FLAG_SET(filter, filter);
  }

  // One child, from its start to its end. Returns its status.
  int run_child(const std::function<int()>& child) {
    std::array<int, 2> said{}, printed{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, said.data()) != 0 ||
        ::pipe2(printed.data(), O_CLOEXEC) != 0) {
      stop("cannot watch the tests: " + std::string(std::strerror(errno)));
      return 0;
    }
    std::fflush(nullptr);
    const pid_t self = ::getpid();
    child_ = ::fork();
    if (child_ == 0) {
      // Nothing of the tests outlives whoever asked for them.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != self) std::_Exit(kFailed);
      ::dup2(printed[1], STDOUT_FILENO);
      ::dup2(printed[1], STDERR_FILENO);
      ::close(said[0]);
      ::close(printed[0]);
      ::close(printed[1]);
      ::close(events_);
      ::setvbuf(stdout, nullptr, _IOLBF, 0);  // what it said before it hangs should be seen
      to_watcher = said[1];
      std::exit(child());
    }
    ::close(said[1]);
    ::close(printed[1]);
    ::fcntl(printed[0], F_SETFL, O_NONBLOCK);
    ::fcntl(printed[0], F_SETPIPE_SZ, 1 << 20);  // if it may; it is faster
    said_ = said[0];
    printed_ = printed[0];
    ended_ = false;
    output_ = {};
    status_ = 0;
    if (child_ < 0)
      stop("cannot start the tests: " + std::string(std::strerror(errno)));
    else
      follow();
    ::close(said_);
    ::close(printed_);
    return status_;
  }

  void follow() {
    alive_ = true;
    since_ = clock::now();
    bool prints = true, talks = true;
    while (alive_) {
      std::array<pollfd, 2> fds{
          {{prints ? printed_ : -1, POLLIN, 0}, {talks ? said_ : -1, POLLIN, 0}}};
      ::poll(fds.data(), fds.size(), prints || talks ? 50 : 2);
      if ((fds[0].revents & POLLIN) != 0) {
        if (output_.printed() > kFlood) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        read_output(kFlood);
      }
      if ((fds[0].revents & ~POLLIN) != 0 && (fds[0].revents & POLLIN) == 0) prints = false;
      if ((fds[1].revents & (POLLIN | POLLHUP)) != 0 && !stop_) {
        message heard;
        talks = receive(said_, heard);
        if (talks) {
          read_output(kPrinted);
          take(heard);
          if (!stop_) write_all(said_, std::string_view("\n", 1));
        }
      }
      if (!stop_) look_at_limits();
      if (stop_) ::kill(child_, SIGKILL);
      if (::waitpid(child_, &status_, stop_ ? 0 : WNOHANG) == child_) alive_ = false;
    }
    // What it said last may still lie there.
    message heard;
    while (talks && !stop_ && pending(said_) && receive(said_, heard)) {
      read_output(kPrinted);
      take(heard);
    }
    read_output(kPrinted);
  }

  static bool pending(int fd) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
  }

  /// Reads what has been printed, at most about so many bytes.
  void read_output(std::size_t most) {
    std::array<char, 65536> part;
    for (std::size_t total = 0; total < most;) {
      const ssize_t got = ::read(printed_, part.data(), part.size());
      if (got <= 0) return;
      output_.add({part.data(), static_cast<std::size_t>(got)});
      total += static_cast<std::size_t>(got);
    }
  }

  void look_at_limits() {
    if (output_.printed() > kPrinted) {
      const std::string what = "printed more than " + std::to_string(kPrinted >> 20U) + " MiB";
      ask_for_the_line();
      flush_output();
      if (current_ == nullptr) return stop("the program " + what);
      end_case("failed", what + ", and was stopped");
      return stop("");
    }
    const double limit =
        begun_ ? options_.case_limit : std::max(options_.case_limit, kLimitOutside);
    if (std::chrono::duration<double>(clock::now() - since_).count() < limit) return;
    std::array<char, 80> what{};
    std::snprintf(what.data(), what.size(), "took longer than %g s, and was stopped", limit);
    ask_for_the_line();
    flush_output();
    if (current_ == nullptr)
      return stop("what the program did outside of a test " + std::string(what.data()));
    end_case("timed out", what.data());
    stop("");
  }

  /// A program on the CPU device handles SIGXCPU: it says in which line it was, and ends.
  void ask_for_the_line() {
    if (!handles(child_, SIGXCPU)) return;
    ::kill(child_, SIGXCPU);
    const clock::time_point end = clock::now() + kTimeToSay;
    siginfo_t state{};
    do {
      read_output(kPrinted);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (::waitid(P_PID, static_cast<id_t>(child_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
             state.si_pid == 0 && clock::now() < end);
    read_output(kPrinted);
  }

  static bool handles(pid_t process, int signal) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string word; status >> word;)
      if (std::uint64_t mask = 0; word == "SigCgt:" && status >> std::hex >> mask)
        return (mask >> static_cast<unsigned>(signal - 1) & 1U) != 0;
    return false;
  }

  void stop(const std::string& detail) {
    stop_ = true;
    detail_ = detail;
  }

  void take(const message& heard) {
    since_ = clock::now();
    const std::vector<std::string>& texts = heard.texts;
    switch (heard.what) {
      case kind::starts:
        repetitions_ = std::atoi(texts[0].c_str());
        break;
      case kind::repetition:
        write(R"({"event":"repetition","order":)" + json(texts[0]) + "}");
        order_ = texts[0];
        break;
      case kind::begin: {
        flush_output();
        begun_ = true;
        began_ = clock::now();
        const auto found = index_.find(texts[0]);
        if (found == index_.end())
          return stop("a test ran that this program does not have: " + texts[0]);
        current_ = &cases_[found->second];
        output_ = {};
        write(R"({"event":"begin","case":)" + json(texts[0]) + "}");
        shown_ = false;
        break;
      }
      case kind::failure: {
        flush_output();
        write(R"({"event":"failure","case":)" + json(current_name()) + R"(,"file":)" +
              json(texts[0]) + ",\"line\":" + texts[1] + ",\"message\":" + json(texts[2]) +
              (order_.empty() ? "" : ",\"order\":" + json(order_)) + "}");
        show((texts[0].empty() ? "" : texts[0] + ":" + texts[1] + ": ") + texts[2] + "\n" +
             (order_.empty() ? "" : "(thread order: " + order_ + ")\n"));
        if (current_ == nullptr) fails_outside_ = true;
        break;
      }
      case kind::end:
        if (current_ == nullptr) return stop("a test ended that never began");
        if (texts[0] != "passed") flush_output();
        end_case(texts[0], texts[1]);
        if (!texts[2].empty())
          stop("a kernel never ended: the other tests were left out");
        else if (GTEST_FLAG_GET(fail_fast) && failed_)
          stop("the first failure ends the run");
        break;
      case kind::ends:
        ended_ = true;
        break;
    }
  }

  [[nodiscard]] std::string current_name() const { return current_ ? current_->name : ""; }

  void flush_output() {
    const std::string text = output_.take();
    if (text.empty()) return;
    write(R"({"event":"output","case":)" + json(current_name()) + ",\"text\":" + json(text) + "}");
    show(text);
  }

  void end_case(const std::string& result, const std::string& detail, int signal = 0) {
    const bool bad = result != "passed" && result != "skipped";
    std::array<char, 32> time{};
    std::snprintf(time.data(), time.size(), "%.3f",
                  std::chrono::duration<double>(clock::now() - began_).count());
    write(R"({"event":"end","case":)" + json(current_->name) + ",\"result\":" + json(result) +
          ",\"seconds\":" + time.data() +
          (signal == 0 ? "" : ",\"signal\":" + std::to_string(signal)) +
          (detail.empty() ? "" : ",\"detail\":" + json(detail)) + "}");
    if (bad || result == "skipped") show(detail.empty() ? "" : "(" + detail + ")\n");
    if (bad) failed_ = true;
    // One failure in one order is enough.
    if (current_->result.empty() || current_->result == "passed" || bad) current_->result = result;
    ++current_->runs;
    current_ = nullptr;
    output_ = {};
    since_ = clock::now();
  }

  /// For the console: what belongs to the current case, below its name.
  void show(const std::string& text) {
    if (current_ != nullptr && !shown_) {
      write_all(STDOUT_FILENO, "--- " + current_->name + "\n");
      shown_ = true;
    }
    write_all(STDOUT_FILENO, text);
    if (!text.empty() && text.back() != '\n') write_all(STDOUT_FILENO, "\n");
  }

  static std::string ending(int status) {
    if (WIFSIGNALED(status)) return "the program was ended by " + signal_name(WTERMSIG(status));
    return "the program left with exit status " + std::to_string(WEXITSTATUS(status));
  }

  /// After a crash: chooses the cases that have not run. False if there are none.
  bool choose_the_rest() {
    std::string names;
    for (const test_case& one : cases_)
      if (one.result.empty()) names += (names.empty() ? "" : ":") + one.name;
    if (names.empty()) return false;
    GTEST_FLAG_SET(filter, names);
    return true;
  }

  /// The last child came to the end of its tests: did all run, and did it end well?
  int finish_after(int status) {
    flush_output();
    const auto missing = static_cast<std::size_t>(
        std::count_if(cases_.begin(), cases_.end(), [this](const test_case& one) {
          return one.result.empty() || (one.result == "passed" && one.runs < repetitions_);
        }));
    if (missing != 0 && !failed_)
      return finish(kFailed, std::to_string(missing) +
                                 (missing == 1 ? " test has" : " tests have") +
                                 " not run, or not as often as planned");
    if (fails_outside_) return finish(kFailed, "something outside of the tests failed (see above)");
    if (failed_) return finish(kFailed, "");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return finish(kFailed, "after the last test: " + ending(status));
    const bool nothing = std::all_of(cases_.begin(), cases_.end(),
                                     [](const test_case& one) { return one.result == "skipped"; });
    return finish(nothing ? kNotPossible : kPassed, "");
  }

  int finish(int status, const std::string& detail) {
    current_ = nullptr;
    flush_output();
    write("{\"event\":\"ends\",\"status\":" + std::to_string(status) +
          (detail.empty() ? "" : ",\"detail\":" + json(detail)) + "}");
    if (!detail.empty()) show(detail + ".\n");
    std::string counts;
    for (const char* result : {"passed", "failed", "crashed", "timed out", "skipped", ""}) {
      const auto count = std::count_if(cases_.begin(), cases_.end(),
                                       [&](const test_case& one) { return one.result == result; });
      if (count == 0) continue;
      counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " +
                (*result == '\0' ? "not run" : result);
    }
    show(std::to_string(cases_.size()) + (cases_.size() == 1 ? " test: " : " tests: ") + counts +
         "\n");
    return status;
  }

  void write(const std::string& line) { write_all(events_, line + "\n"); }

  options options_;
  int events_;
  std::vector<test_case> cases_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::string> others_;  // that nobody asked for
  std::string missing_;              // the first that was asked for and is not there
  test_case* current_ = nullptr;
  std::string order_;
  kept_output output_;
  clock::time_point since_, began_;  // the last message, the current case
  int repetitions_ = 1;
  pid_t child_ = -1;
  int said_ = -1, printed_ = -1, status_ = 0;
  std::string detail_;
  bool alive_ = false, begun_ = false, ended_ = false, stop_ = false;
  bool failed_ = false, fails_outside_ = false, shown_ = false;
};

// --- the command line ---------------------------------------------------------------------------

int usage(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  return kUsage;
}

/// A variable of the environment that would change which tests run, or "".
std::string disturbing_variable() {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if ((variable.starts_with("GTEST_") && !variable.starts_with("GTEST_COLOR=")) ||
        variable.starts_with("TESTBRIDGE_"))
      return std::string(variable.substr(0, variable.find('=')));
  }
  return "";
}

int run_here(const std::function<int(bool)>& prepare, const options& chosen) {
  if (const int status = prepare(chosen.repetition_is_given); status != 0) return status;
  return RUN_ALL_TESTS();
}

}  // namespace

void begin_repetition(const std::string& what) {
  if (is_watched()) say(kind::repetition, {what});
}

bool is_watched() { return to_watcher >= 0; }

void leave_out_the_rest() {
  the_rest_is_left_out = true;
  if (!is_watched()) GTEST_FLAG_SET(fail_fast, true);
}

void restore_environment() {
  std::ifstream file("/proc/self/environ", std::ios::binary);
  if (!file) return;
  // The environment points into it from now on, until after the last static object is gone.
  static std::string& given = *new std::string(std::istreambuf_iterator<char>(file), {});
  ::clearenv();
  for (std::size_t at = 0; at < given.size(); at += std::strlen(&given[at]) + 1)
    if (given[at] != '\0') ::putenv(&given[at]);
}

/// The lines of a file; none where it cannot be read.
std::optional<std::vector<std::string>> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

int run(int argc, char** argv, const std::function<int(bool)>& prepare) {
  options chosen;
  chosen.repetition_is_given = std::getenv("GTEST_REPEAT") != nullptr;
  bool is_filtered = false, only_lists = false;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    const auto value = [&] { return std::string(argument.substr(argument.find('=') + 1)); };
    if (argument.starts_with("--lab_events=")) {
      chosen.events = value();
      if (chosen.events.empty()) return usage("--lab_events= needs the name of a file");
      continue;
    }
    if (argument.starts_with("--lab_cases=")) {
      chosen.cases = lines_of(value());
      if (!chosen.cases) return usage("cannot read " + value() + ", which should name the tests");
      continue;
    }
    if (argument == "--lab_list") {
      only_lists = true;
      continue;
    }
    if (argument.starts_with("--lab_case_limit=")) {
      char* end = nullptr;
      const std::string text = value();
      chosen.case_limit = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0' || !(chosen.case_limit > 0))
        return usage("--lab_case_limit=" + text + ": this must be a number of seconds above 0");
      continue;
    }
    if (argument.starts_with("--gtest_repeat")) chosen.repetition_is_given = true;
    if (argument.starts_with("--gtest_filter")) is_filtered = true;
    argv[kept++] = argv[i];
  }
  argv[argc = kept] = nullptr;  // death tests start this program with what GoogleTest sees
  ::testing::InitGoogleTest(&argc, argv);
  if (argc > 1) return usage(std::string(argv[1]) + " is not understood; see --help");
  // What is listed must not depend on this machine's device.
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  if (chosen.events.empty()) {
    if (chosen.cases || only_lists) return usage("--lab_cases and --lab_list need --lab_events");
    return run_here(prepare, chosen);
  }

  if (is_filtered)
    return usage("--lab_events runs all tests; leave it out to choose some by --gtest_filter");
  if (const std::string variable = disturbing_variable(); !variable.empty())
    return usage(variable + " is set in the environment and may keep tests from running: unset it");
  // GoogleTest has read the environment as soon as it was loaded.
  GTEST_FLAG_SET(filter, "*");
  if (!chosen.repetition_is_given) GTEST_FLAG_SET(repeat, 1);
  const int events =
      ::open(chosen.events.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (events < 0) return usage("cannot write " + chosen.events + ": " + std::strerror(errno));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  watcher watching(chosen, events);
  if (only_lists) {
    watching.list();
    return kPassed;
  }
  const int status = watching.run([&] {
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new reporter);  // GoogleTest owns it
    return run_here(prepare, chosen);
  });
  std::_Exit(status);  // what the tests' objects do at the end is the child's
}

}  // namespace test_events
