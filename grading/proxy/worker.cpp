// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "worker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "../wire/exceptions.hpp"
#include "../wire/messages.hpp"
#include "lab/cuda_check.hpp"
#include "lab_testing.hpp"

extern char** environ;

namespace grading {
namespace {

#ifdef __CPU_DEVICE__
constexpr bool kHasGpu = false;
#else
constexpr bool kHasGpu = true;
#endif

using clock = std::chrono::steady_clock;
using wire::message;

constexpr double kCallLimit = 20;                        // seconds
constexpr std::size_t kPrinted = std::size_t{8} << 20U;  // bytes in one call
constexpr double kMostWaits = 3;                         // times what a call may take
constexpr double kUntimed = 0.01;                        // of it: its processor time does not count
constexpr int kMostUnanswered = 2;                       // times that a question is asked in vain
constexpr std::chrono::seconds kStarting{30};            // that a sandbox may take to start
constexpr std::chrono::seconds kCleaningUp{10};          // that a sandbox may take after its end
constexpr std::size_t kMostKept = 10'000;                // callbacks
constexpr std::size_t kSentAtOnce = 4096;                // bytes of a call, with what is about it

std::string signal_of(int status) {
  if (WIFEXITED(status)) {
    // A sandbox reports a signal as shells do.
    if (WEXITSTATUS(status) <= 128)
      return "ended with exit status " + std::to_string(WEXITSTATUS(status));
    return signal_of(WEXITSTATUS(status) - 128);
  }
  const int number = WTERMSIG(status);
  const char* name = ::sigabbrev_np(number);
  return "was ended by " +
         (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(number));
}

double call_limit() {
  const char* text = std::getenv("LAB_GRADING_CALL_LIMIT");
  const double seconds = text == nullptr ? 0 : std::strtod(text, nullptr);
  return seconds > 0 ? seconds : kCallLimit;
}

/// Whether a call that has had its time is late. On a busy machine it may have waited for a
/// processor all the while: then it gets up to kMostWaits times as long, and the verdict does not
/// depend on what else runs. In seconds: `limit`, what the call may take; `passed`, since it began;
/// `used`, processor time since then; `lately`, what it used of that in the last `period`.
bool is_late(double limit, double passed, double used, double lately, double period) {
  const bool had_a_processor = used >= 0.9 * limit;
  const bool is_idle = lately < period / 100;  // it sleeps, or was stopped: nothing will come of it
  return had_a_processor || is_idle || passed >= kMostWaits * limit;
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string number = std::to_string(process);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> all;
  for (pid_t child = 0; file >> child;) all.push_back(child);
  return all;
}

/// Whether a process is the first one of a namespace: it has a number in ours, and 1 in its own.
bool is_first(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("NSpid:"))
      return std::count(line.begin(), line.end(), '\t') > 1 && line.ends_with("\t1");
  return false;
}

/// The first processes of sandboxes that a process has started: with each all others in it end.
std::vector<pid_t> first_processes(pid_t process) {
  std::vector<pid_t> found;
  for (const pid_t child : children_of(process)) {
    if (is_first(child)) {
      found.push_back(child);
      continue;
    }
    const std::vector<pid_t> further = first_processes(child);
    found.insert(found.end(), further.begin(), further.end());
  }
  return found;
}

/// The processor time in seconds of a process and all that it has started, as far as /proc shows
/// it.
double processor_time(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream stat(folder + "/stat");
  std::string text;
  std::getline(stat, text);
  // The name may have spaces and brackets in it. After it: the state, 10 numbers, and then the
  // times of the process, and of those that it has waited for.
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double ticks = 0, one = 0;
  for (int i = 0; i < 4 && fields >> one; ++i) ticks += one;
  double seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (const pid_t child : children_of(process)) seconds += processor_time(child);
  return seconds;
}

class worker {
 public:
  wire::answer ask(message kind, const std::string& what, std::uint64_t number,
                   wire::writer& arguments) {
    const std::lock_guard lock(mutex_);
    const std::string question = what + first_of(arguments);
    require(what, question);
    // A step that never ends costs its own cases, and not the time of all others.
    if (unanswered_[question] >= kMostUnanswered) {
      what_ = what;
      lose("is not asked again what it did not answer " + std::to_string(kMostUnanswered) +
           " times");
    }
    question_ = question;
    wire::writer to;
    put_head(to, kind);
    if (kind == message::call)
      wire::put(to, what);
    else
      wire::put(to, number);
    printed_ = 0;
    began_ = clock::now();
    deadline_ = began_ + as_duration(call_limit());
    period_ = call_limit();
    is_timed_ = false;
    what_ = what;
    send(to, arguments.data());
    for (;;) {
      std::vector<std::byte> heard = receive(wire::longest_answer(arguments.data().size()));
      wire::reader from(heard);
      try {
        wire::arena memory;
        const auto answer = wire::get<message>(from, memory);
        if (answer == message::callback) {
          call_back(from);
          continue;
        }
        if (answer != message::value && answer != message::exception)
          throw wire::malformed("a message of no known kind");
        if (wire::get<std::uint64_t>(from, memory) != serial_)
          throw wire::malformed("an answer to another question");
        if (answer == message::exception) throw_what_came(from);
        const std::size_t begin = heard.size() - from.left();
        return {std::move(heard), begin};
      } catch (const wire::malformed& error) {
        babbles(error.what());
      }
    }
  }

  [[noreturn]] void throw_what_came(wire::reader& from) {
    try {
      wire::throw_exception(from);
    } catch (const lab::cuda_error& error) {
      if (error.code() != cudaErrorLaunchTimeout) throw;
      // Its device is of no use any more.
      note_unanswered();
      lose("had a kernel that never ended (" + std::string(error.what()) + ")");
    }
  }

  void note_unanswered() {
    ++unanswered_[question_];
    unanswered_here_.push_back(question_);
  }

  /// The bytes of the first argument, such as a step.
  static std::string first_of(wire::writer& arguments) {
    const std::size_t n = std::min<std::size_t>(arguments.data().size(), 4);
    return {reinterpret_cast<const char*>(arguments.data().data()), n};
  }

  [[noreturn]] void babbles(const std::string& why) {
    note_unanswered();
    lose("sent what it was not asked for (" + why + ")");
  }

  void release(std::uint64_t generation, std::uint64_t number) noexcept {
    try {
      if (generation != generation_ || !loss_.empty()) return;
      wire::writer nothing;
      (void)ask(message::release, "the end of a function that was returned", number, nothing);
    } catch (...) {  // the loss is noted
    }
  }

  void give_up(const std::string& how) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      lose(how);
    } catch (...) {  // the loss is noted
    }
  }

  void renew() noexcept {
    const std::lock_guard lock(mutex_);
    end();
  }

  std::uint64_t add_callback(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    if (callbacks_.size() >= kMostKept) throw std::length_error("too many callbacks wait");
    callbacks_[++last_callback_] = std::move(callback);
    return last_callback_;
  }

  void add_set_up(std::function<void()> set_up) { set_ups_.push_back(std::move(set_up)); }
  const std::string& loss() const { return loss_; }
  std::uint64_t generation() const { return generation_; }

  /// The next test gets a worker again.
  void forgive() {
    loss_.clear();
    was_lost_ = false;
    unanswered_here_.clear();
  }

  /// The questions that the running test has asked in vain.
  const std::vector<std::string>& unanswered() const { return unanswered_here_; }

  /// They would be asked in vain again.
  void ask_in_vain(const std::vector<std::string>& questions) {
    for (const std::string& question : questions) ++unanswered_[question];
  }

  /// So does the rest of this one, which fails nevertheless.
  void go_on() {
    was_lost_ = was_lost();
    loss_.clear();
  }
  bool was_lost() const { return was_lost_ || !loss_.empty(); }

  /// In a copy of the process (a death test): the worker belongs to the original.
  void forget() {
    close_all();
    pid_ = -1;
    loss_.clear();
  }

  ~worker() { end(); }

 private:
  void put_head(wire::writer& to, message kind) {
    static std::atomic<std::uint32_t> threads{0};
    thread_local const std::uint32_t thread = threads++;
    wire::put(to, kind);
    wire::put(to, ++serial_);
    wire::put(to, thread);
    thread_ = thread;
  }

  void require(const std::string& what, const std::string& question) {
    if (!loss_.empty()) throw worker_lost(loss_);
    if (pid_ > 0) return;
    what_ = what;
    question_ = question;
    start();
    await();
    for (const auto& set_up : set_ups_) set_up();
  }

  /// The command, an argument a line.
  static std::vector<std::string> command() {
    const char* name = std::getenv("LAB_GRADING_WORKER");
    std::vector<std::string> words;
    std::ifstream file(name == nullptr ? "" : name);
    for (std::string word; std::getline(file, word);) words.push_back(word);
    if (words.empty()) {
      std::fprintf(stderr, "LAB_GRADING_WORKER must name a file with the worker's command\n");
      std::_Exit(2);
    }
    return words;
  }

  void start() {
    std::vector<std::string> words = command();
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // The worker gets of the environment what its device wants to know, and a path.
    // (Large vectors come and go with each call. With huge pages that takes half of the time.)
    std::vector<std::string> variables = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp",
                                          "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
    if (std::getenv("CPU_DEVICE_TIME_LIMIT") == nullptr)
      variables.emplace_back("CPU_DEVICE_TIME_LIMIT=10");
    for (char** each = environ; *each != nullptr; ++each)
      if (std::string_view(*each).starts_with("CPU_DEVICE_") ||
          std::string_view(*each).starts_with("CUDA_VISIBLE_DEVICES=") ||
          (kHasGpu && std::string_view(*each).starts_with("LD_LIBRARY_PATH=")))  // the driver's
        variables.emplace_back(*each);
    std::vector<char*> environment;
    for (std::string& each : variables) environment.push_back(each.data());
    environment.push_back(nullptr);

    std::array<int, 2> socket{}, out{}, err{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket.data()) != 0 ||
        ::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) {
      std::perror("the worker cannot be started");
      std::_Exit(2);
    }
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(2);
      ::setpgid(0, 0);
      // Out of the way first: 3 may be any of these.
      const int mine = ::fcntl(socket[1], F_DUPFD, 16), to_out = ::fcntl(out[1], F_DUPFD, 16),
                to_err = ::fcntl(err[1], F_DUPFD, 16);
      const int nothing = ::open("/dev/null", O_RDONLY);
      ::dup2(nothing, 0);
      ::dup2(to_out, 1);
      ::dup2(to_err, 2);
      ::dup2(mine, wire::kSocket);
      ::close_range(wire::kSocket + 1, ~0U, 0);
      ::execve(arguments[0], arguments.data(), environment.data());
      ::_exit(127);
    }
    ::close(socket[1]);
    ::close(out[1]);
    ::close(err[1]);
    socket_ = socket[0];
    out_ = {out[0], err[0]};
    for (const int fd : {socket_, out_[0], out_[1]}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    ++generation_;
  }

  /// Waits for the worker to say that it is there. A sandbox may take its time on a busy machine,
  /// which is not the call's.
  void await() {
    printed_ = 0;
    began_ = clock::now();
    deadline_ = began_ + kStarting + as_duration(call_limit());
    is_timed_ = true;
    used_before_ = used_lately_ = 0;
    const std::vector<std::byte> heard = receive(sizeof(message));
    wire::reader from(heard);
    wire::arena memory;
    try {
      if (wire::get<message>(from, memory) != message::ready)
        throw wire::malformed("an answer before any question");
    } catch (const wire::malformed& error) {
      babbles(error.what());
    }
  }

  void close_all() {
    for (int* fd : {&socket_, &out_[0], &out_[1]})
      if (*fd >= 0) ::close(std::exchange(*fd, -1));
    callbacks_.clear();
  }

  /// Kills the worker. In a sandbox the process that we know is the sandbox's, which ends when the
  /// first process in it does, and takes away what it has made.
  void end() {
    if (pid_ <= 0) return;
    const std::vector<pid_t> first = first_processes(pid_);
    for (const pid_t process : first) ::kill(process, SIGKILL);
    int status = 0;
    if (first.empty() || !has_ended(status, kCleaningUp)) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status, 0);
    }
    pid_ = -1;
    close_all();
  }

  /// Waits for the end of the process that we know, and says whether it came.
  bool has_ended(int& status, std::chrono::seconds most) const {
    const auto until = clock::now() + most;
    do {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } while (clock::now() < until);
    return false;
  }

  [[noreturn]] void lose(const std::string& how) {
    end();
    loss_ = "the submission's process " + how + ", in " + what_;
    throw worker_lost(loss_);
  }

  /// The socket is closed: the process is about to be gone, or has only closed it.
  [[noreturn]] void closed() {
    read_output(0);
    read_output(1);
    int status = 0;
    if (has_ended(status, std::chrono::seconds(2)) ||
        (first_processes(pid_).empty() && has_ended(status, kCleaningUp))) {
      pid_ = -1;
      close_all();
      loss_ = "the submission's process " + signal_of(status) + ", in " + what_;
      throw worker_lost(loss_);
    }
    note_unanswered();
    lose("closed its connection");
  }

  static clock::duration as_duration(double seconds) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
  }

  /// From here on the processor time of the call in hand counts. Most calls are over long before:
  /// to look at /proc for each takes longer than they do.
  void begin_to_time() {
    used_before_ = used_lately_ = processor_time(pid_);
    is_timed_ = true;
  }

  /// Whether the call in hand, whose time is up, has only waited for a processor.
  bool may_go_on() {
    const double used = processor_time(pid_);
    const double passed = std::chrono::duration<double>(clock::now() - began_).count();
    if (is_late(call_limit(), passed, used - used_before_, used - used_lately_, period_))
      return false;
    used_lately_ = used;
    period_ = call_limit() / 4;
    deadline_ = clock::now() + as_duration(period_);
    return true;
  }

  /// Waits until the socket can be read (or written), and passes on what is printed meanwhile.
  void wait(short events) {
    for (;;) {
      const auto until = is_timed_ ? deadline_ : began_ + as_duration(call_limit() * kUntimed);
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
      if (left <= 0) {
        if (!is_timed_) {
          begin_to_time();
          continue;
        }
        if (may_go_on()) continue;
        note_unanswered();
        std::array<char, 32> seconds{};
        std::snprintf(seconds.data(), seconds.size(), "%g", call_limit());
        lose("took longer than " + std::string(seconds.data()) + " s");
      }
      std::array<pollfd, 3> all{{{socket_, events, 0}, {out_[0], POLLIN, 0}, {out_[1], POLLIN, 0}}};
      const int found = ::poll(all.data(), all.size(), static_cast<int>(left));
      if (found < 0 && errno != EINTR) closed();
      if (found <= 0) continue;
      if (all[1].revents != 0) read_output(0);
      if (all[2].revents != 0) read_output(1);
      if (all[0].revents != 0) return;
    }
  }

  void read_output(std::size_t which) {
    std::array<char, 65536> part;
    for (;;) {
      if (out_[which] < 0) return;
      const ssize_t got = ::read(out_[which], part.data(), part.size());
      if (got == 0) ::close(std::exchange(out_[which], -1));
      if (got <= 0) return;
      std::FILE* const to = which == 0 ? stdout : stderr;
      std::fwrite(part.data(), 1, static_cast<std::size_t>(got), to);
      std::fflush(to);
      printed_ += static_cast<std::size_t>(got);
      if (printed_ > kPrinted)
        lose("printed more than " + std::to_string(kPrinted >> 20U) + " MiB");
    }
  }

  void send(wire::writer& to, std::span<const std::byte> more = {}) {
    const std::uint64_t length = to.data().size() + more.size();
    if (length > wire::kLongestMessage)
      throw std::length_error("a test passes more than can cross to a worker");
    const auto* const bytes = reinterpret_cast<const std::byte*>(&length);
    std::vector<std::byte> head(bytes, bytes + sizeof length);
    head.insert(head.end(), to.data().begin(), to.data().end());
    const std::size_t with = std::min(more.size(), kSentAtOnce);  // the rest is not copied for it
    head.insert(head.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(with));
    send_bytes(head.data(), head.size());
    send_bytes(more.data() + with, more.size() - with);
  }

  void send_bytes(const void* from, std::size_t n) {
    for (std::size_t done = 0; done < n;) {
      const ssize_t sent =
          ::send(socket_, static_cast<const std::byte*>(from) + done, n - done, MSG_NOSIGNAL);
      if (sent >= 0)
        done += static_cast<std::size_t>(sent);
      else if (errno == EAGAIN)
        wait(POLLOUT);
      else if (errno != EINTR)
        closed();
    }
  }

  void receive_bytes(std::vector<std::byte>& to, std::size_t n) {
    // As it comes: a length is only what the worker says. (Memory that is reserved costs nothing.)
    constexpr std::size_t kPart = std::size_t{1} << 20U;
    to.reserve(n);
    for (std::size_t done = 0; done < n;) {
      to.resize(std::min(n, done + kPart));
      const ssize_t got = ::recv(socket_, to.data() + done, to.size() - done, 0);
      if (got > 0)
        done += static_cast<std::size_t>(got);
      else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        closed();
      else
        wait(POLLIN);
    }
  }

  std::vector<std::byte> receive(std::size_t most) {
    std::vector<std::byte> heard;
    receive_bytes(heard, sizeof(std::uint64_t));
    std::uint64_t length = 0;
    std::memcpy(&length, heard.data(), sizeof length);
    if (length == 0 || length > most)
      lose("sent a message of " + std::to_string(length) + " bytes");
    heard.clear();
    receive_bytes(heard, length);
    // It has printed before it answered.
    read_output(0);
    read_output(1);
    return heard;
  }

  void call_back(wire::reader& from) {
    wire::arena memory;
    const auto number = wire::get<std::uint64_t>(from, memory);
    const auto thread = wire::get<std::uint32_t>(from, memory);
    from.expect_end();
    const auto found = callbacks_.find(number);
    if (found == callbacks_.end()) throw wire::malformed("a callback that nobody has left there");
    const std::function<void()> callback = std::move(found->second);
    callbacks_.erase(found);
    // In the thread whose call does it, or in none of those that the test knows.
    if (thread == thread_)
      callback();
    else
      std::thread(callback).join();
    wire::writer to;
    wire::put(to, message::called);
    send(to);
  }

  std::recursive_mutex mutex_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::array<int, 2> out_ = {-1, -1};
  std::uint64_t serial_ = 0, generation_ = 0, last_callback_ = 0;
  std::uint32_t thread_ = 0;  // that calls
  std::size_t printed_ = 0;
  clock::time_point began_, deadline_;
  double period_ = 0, used_before_ = 0, used_lately_ = 0;  // in seconds; of processor time
  bool is_timed_ = false;                                  // whether the last two are known
  std::string what_, question_, loss_;
  bool was_lost_ = false;                     // earlier in this test
  std::map<std::string, int> unanswered_;     // how often what was asked got no good answer
  std::vector<std::string> unanswered_here_;  // ... in the running test
  std::map<std::uint64_t, std::function<void()>> callbacks_;
  std::vector<std::function<void()>> set_ups_;
};

worker& the_worker() {
  static worker one;
  return one;
}

/// Says that a test has lost its worker, whatever the test thinks of it. A test that has failed is
/// not run again with other thread orders: nothing would become of it but the time that it takes.
class watch : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo& test) override {
    the_worker().forgive();
    const auto before = failed_.find(&test);
    if (before == failed_.end()) return;
    the_worker().ask_in_vain(before->second);
    // GoogleTest runs no test that has failed fatally by now.
    FAIL() << "it has failed with another thread order, and is not run again";
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (the_worker().was_lost() && !test.result()->Failed())
      ADD_FAILURE() << (loss().empty() ? "the submission's process was lost" : loss());
    if (test.result()->Failed()) failed_.emplace(&test, the_worker().unanswered());
  }

 private:
  std::map<const ::testing::TestInfo*, std::vector<std::string>> failed_;  // what was not answered
};

const lab::testing::needs needs_watch([] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new watch);  // GoogleTest owns it
  ::pthread_atfork(nullptr, nullptr, [] { the_worker().forget(); });
  wire::this_side().refuse = [](const wire::malformed& error) {
    the_worker().babbles(error.what());
  };
  wire::this_side().reach = [](std::uint64_t number) -> wire::carrier {
    struct kept {
      std::uint64_t generation, number;
      ~kept() { the_worker().release(generation, number); }
    };
    auto shared = std::make_shared<kept>(the_worker().generation(), number);
    return [shared](wire::writer& arguments) {
      if (shared->generation != the_worker().generation())
        throw worker_lost("this function belongs to a process that is gone");
      return the_worker().ask(message::call_kept, "a function that was returned", shared->number,
                              arguments);
    };
  };
});

}  // namespace

wire::carrier function(const char* name) {
  return [name](wire::writer& arguments) {
    return the_worker().ask(message::call, name, 0, arguments);
  };
}

std::uint64_t add_callback(std::function<void()> callback) {
  return the_worker().add_callback(std::move(callback));
}

void on_new_worker(std::function<void()> set_up) { the_worker().add_set_up(std::move(set_up)); }

void give_up(const std::string& how) noexcept { the_worker().give_up(how); }

void renew() noexcept { the_worker().renew(); }

const std::string& loss() { return the_worker().loss(); }

void go_on() { the_worker().go_on(); }

}  // namespace grading
