// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The process that starts an MPI job: it runs mpirun with its own executable, gives each rank its
// question, and has the answers or a sentence on what went wrong.

#include <cuda_runtime.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <thread>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"
#ifdef LAB_HAVE_NCCL
#include "lab/nccl_check.hpp"
#endif
#include "protocol.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace lab::mpi::detail {
namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;
namespace fs = std::filesystem;

constexpr double kStartLimit = 60;      // until all ranks have started
constexpr double kGraceToAnswer = 0.4;  // for the other ranks, after one has failed
constexpr double kGraceToEnd = 3;       // for mpirun, when its ranks have ended
constexpr std::size_t kJobsKept = 6;

std::map<std::string, rank_function>& functions() {
  static std::map<std::string, rank_function> all;
  return all;
}

double left_until(clock::time_point end) { return seconds(end - clock::now()).count(); }
clock::time_point after(double s) {
  return clock::now() + std::chrono::duration_cast<clock::duration>(seconds(s));
}

/// A limit in seconds: the one in the environment, where there is one.
double limit_or(double limit) {
  const char* const text = std::getenv("LAB_MPI_TIME_LIMIT");
  const double chosen = text == nullptr ? 0 : std::strtod(text, nullptr);
  return chosen > 0 ? chosen : limit;
}

std::string in_seconds(double limit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g s", limit);
  return text.data();
}

/// "rank 3", or "ranks 0, 1 and 3".
std::string in_words(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

bool starts_with_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

/// A folder of this job, for its socket and for what Open MPI keeps in files, such as the memory
/// that ranks share: in /dev/shm, unless there is little of that.
fs::path new_folder(int ranks) {
  std::vector<std::string> folders;
  struct statvfs room {};
  const std::uint64_t wanted = (std::uint64_t{8} << 20U) * static_cast<unsigned>(ranks + 1);
  if (::statvfs("/dev/shm", &room) == 0 && room.f_bavail * room.f_frsize > wanted)
    folders.emplace_back("/dev/shm");
  if (const char* chosen = std::getenv("TMPDIR")) folders.emplace_back(chosen);
  folders.emplace_back("/tmp");
  for (const std::string& folder : folders) {
    if (folder.size() > 40) continue;  // the path of a socket may have 107 characters
    std::string name = folder + "/lab-mpi-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) return name;
  }
  throw not_possible("an MPI job needs a folder for its files, and none can be made in /tmp");
}

/// This program, also when it has been built anew since it was started.
std::string own_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (!error && fs::exists(path, error)) return path.string();
  return "/proc/" + std::to_string(::getpid()) + "/exe";
}

/// What mpirun and the ranks find in their environment.
std::vector<std::string> environment_for(const fs::path& folder, [[maybe_unused]] int ranks,
                                         const options& job_options) {
  std::vector<std::string> all;
  const auto name_of = [](const std::string& one) { return one.substr(0, one.find('=') + 1); };
  const auto set = [&](const std::string& one, bool overrule) {
    const auto there = std::find_if(all.begin(), all.end(),
                                    [&](auto& old) { return old.starts_with(name_of(one)); });
    if (there == all.end())
      all.push_back(one);
    else if (overrule)
      *there = one;
  };
  for (char** one = environ; *one != nullptr; ++one) {
    // What another job has set is not for this one: it runs on this machine.
    if (!starts_with_one_of(
            *one, {"OMPI_COMM_", "OMPI_APP_", "OMPI_ARGV", "OMPI_COMMAND", "OMPI_UNIVERSE",
                   "OMPI_MCA_orte_", "OMPI_MCA_ess", "PMIX_", "PMI_", "PRTE_", "SLURM_"}))
      all.emplace_back(*one);
  }
  const std::string tmp = folder.string();
  set("OMPI_ALLOW_RUN_AS_ROOT=1", true);
  set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", true);
  set("TMPDIR=" + tmp, true);
  set("HOME=" + tmp, false);  // mpirun crashes for a user who has none
  set("OMPI_MCA_btl_vader_backing_directory=" + tmp, true);
  set("OMPI_MCA_plm=isolated", false);  // nothing is started on other machines
  set("OMPI_MCA_hwloc_base_binding_policy=none", false);
  set("OMPI_MCA_mpi_yield_when_idle=1", false);  // there may be more ranks than processors
  set("HWLOC_HIDE_ERRORS=2", false);
  set("OMPI_MCA_opal_signal=", false);                 // no stack traces
  set("OMPI_MCA_odls_base_sigkill_timeout=0", false);  // it has nothing to tidy up
  set("OMPI_MCA_btl_base_warn_component_unused=0", false);
  // One process may read another's memory only where the system allows it.
  set("OMPI_MCA_btl_vader_single_copy_mechanism=none", false);
  if (!query_cuda_support().compiled) {  // else the way is the library's to choose
    set("OMPI_MCA_pml=ob1", false);
    set("OMPI_MCA_btl=self,vader", false);
    set("OMPI_MCA_osc=^ucx", false);
  }
#ifdef __CPU_DEVICE__
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  set("CPU_DEVICE_WORKERS=" +
          std::to_string(std::max(1U, processors / static_cast<unsigned>(ranks))),
      false);
#endif
  for (const std::string& one : job_options.environment) set(one, true);
  set(std::string(kSocketVariable) + "=" + (folder / "socket").string(), true);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string text_of(const fs::path& file) {
  std::ifstream from(file);
  std::ostringstream text;
  text << from.rdbuf();
  return text.str();
}

/// An exception of a rank, thrown here.
[[noreturn]] void throw_again(int rank, std::size_t ranks, std::span<const std::byte> content) {
  unpacker from(content);
  const auto kind = from.get<thrown>();
  const auto text = from.get<std::string>();
  const std::string where = "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": ";
  /// lab::not_written makes its sentence from its arguments; here it is there already.
  class unwritten : public not_written {
   public:
    explicit unwritten(std::string sentence) : not_written("", 0), sentence_(std::move(sentence)) {}
    const char* what() const noexcept override { return sentence_.c_str(); }

   private:
    std::string sentence_;
  };
  switch (kind) {
    case thrown::invalid_input:
      throw invalid_input(text);
    case thrown::not_possible:
      throw not_possible(where + text);
    case thrown::not_written:
      throw unwritten(text);
    case thrown::cuda_error: {
      const auto code = from.get<cudaError_t>();
      const auto expression = where + from.get<std::string>();
      const auto file = from.get<std::string>();
      throw cuda_error(code, expression.c_str(), file.c_str(), from.get<int>());
    }
    case thrown::nccl_remote_error:
    case thrown::nccl_error: {
#ifdef LAB_HAVE_NCCL
      const auto result = from.get<ncclResult_t>();
      const auto expression = where + from.get<std::string>();
      const auto file = from.get<std::string>();
      throw nccl_error(result, expression.c_str(), file.c_str(), from.get<int>());
#else
      break;
#endif
    }
    case thrown::mpi_error:
      throw mpi_error(where + text);
    case thrown::bad_alloc:
      throw std::bad_alloc();
    case thrown::logic_error:
      throw std::logic_error(where + text);
    case thrown::runtime_error:
      break;
  }
  throw std::runtime_error(where + text);
}

/// mpirun and its ranks, from the first question to the last.
class running_job {
 public:
  running_job(int ranks, options job_options)
      : job_options_(std::move(job_options)),
        folder_(new_folder(ranks)),
        ranks_(static_cast<std::size_t>(ranks)) {
    try {
      start();
    } catch (...) {
      end();
      throw;
    }
  }
  running_job(const running_job&) = delete;
  running_job& operator=(const running_job&) = delete;
  ~running_job() { end(); }

  bool is_for(std::size_t ranks, const options& job_options) const {
    return ranks_.size() == ranks && job_options_ == job_options;
  }
  bool is_usable() const { return usable_; }

  std::vector<bytes> ask(const std::string& name, const std::vector<bytes>& questions) {
    usable_ = false;
    companion* const beside = the_companion();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      packer to;
      to.put(name);
      to.put(lab::detail::new_memory_byte);
      to.put(beside == nullptr ? bytes() : beside->before(static_cast<int>(rank)));
      bytes all = to.take();
      all.insert(all.end(), questions[rank].begin(), questions[rank].end());
      ranks_[rank].answer.reset();
      if (!send_message(ranks_[rank].socket, message::work, all)) report_end_of(rank);
    }
    int failed = -1;
    const double limit = limit_or(job_options_.time_limit_s);
    auto deadline = after(limit);
    while (count_silent() != 0) {
      if (left_until(deadline) <= 0) {
        if (failed >= 0) break;  // the others wait for it, and will not answer
        report_silence(limit);
      }
      const int rank = receive_one(left_until(deadline));
      if (rank < 0) continue;
      const auto& answer = ranks_[static_cast<std::size_t>(rank)].answer;
      if (answer && answer->kind == message::failure && failed < 0) {
        failed = rank;
        deadline = std::min(deadline, after(kGraceToAnswer));
      }
    }
    usable_ = count_silent() == 0;
    std::vector<bytes> answers;
    std::vector<std::pair<int, bytes>> failures;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].answer) continue;
      unpacker from(ranks_[rank].answer->content);
      const auto seen = from.get<bytes>();
      if (beside != nullptr) beside->after(static_cast<int>(rank), seen);
      answers.emplace_back(from.rest().begin(), from.rest().end());
      if (ranks_[rank].answer->kind == message::failure)
        failures.emplace_back(static_cast<int>(rank), answers.back());
    }
    for (rank_state& one : ranks_) one.answer.reset();
    if (failed < 0) return answers;
    // The first to say that it failed, unless another rank is the reason for it.
    const auto is_reason = [](const auto& failure) {
      return unpacker(failure.second).template get<thrown>() != thrown::nccl_remote_error;
    };
    auto told = std::find_if(failures.begin(), failures.end(),
                             [&](const auto& failure) { return failure.first == failed; });
    if (!is_reason(*told))
      if (const auto reason = std::find_if(failures.begin(), failures.end(), is_reason);
          reason != failures.end())
        told = reason;
    failure_ = told->second;
    throw_again(told->first, ranks_.size(), failure_);
  }

 private:
  struct heard {
    message kind;
    bytes content;
  };
  struct rank_state {
    int socket = -1;
    bool ready = false;
    std::optional<heard> answer;
    std::optional<std::string> waits_in;
  };

  void start() {
    listen();
    std::vector<std::string> words = {LAB_MPIRUN, "--oversubscribe"};
    words.insert(words.end(), job_options_.mpirun_options.begin(),
                 job_options_.mpirun_options.end());
    words.insert(words.end(), {"-n", std::to_string(ranks_.size()), own_program()});
    std::vector<std::string> variables =
        environment_for(folder_, static_cast<int>(ranks_.size()), job_options_);

    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors_file().c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    // A group of its own: what ends this program from the keyboard ends the ranks through it.
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    std::fflush(stdout);
    const int error = ::posix_spawn(&mpirun_, words[0].c_str(), &files, &attributes,
                                    pointers_to(words).data(), pointers_to(variables).data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      mpirun_ = -1;
      throw not_possible("an MPI job needs " + words[0] +
                         ", which cannot be started: " + std::strerror(error));
    }

    const double limit = limit_or(kStartLimit);
    const auto deadline = after(limit);
    const std::string too_long = "it takes longer than " + in_seconds(limit);
    for (std::size_t count = 0; count < ranks_.size(); ++count) accept_one(deadline, too_long);
    ::close(std::exchange(listener_, -1));
    while (std::any_of(ranks_.begin(), ranks_.end(), [](auto& one) { return !one.ready; })) {
      if (left_until(deadline) <= 0) cannot_start(too_long);
      try {
        receive_one(left_until(deadline));
      } catch (const mpi_error& reason) {
        cannot_start(reason.what());
      }
    }
    usable_ = true;
  }

  fs::path errors_file() const { return folder_ / "errors"; }

  void listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (folder_ / "socket").string();
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0 ||
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, static_cast<int>(ranks_.size())) != 0)
      throw not_possible("an MPI job needs a socket, and there is none: " +
                         std::string(std::strerror(errno)));
  }

  [[noreturn]] void cannot_start(const std::string& why) {
    throw not_possible("mpirun cannot start " + std::to_string(ranks_.size()) +
                       (ranks_.size() == 1 ? " rank: " : " ranks: ") + why);
  }

  void accept_one(clock::time_point deadline, const std::string& too_long) {
    for (;;) {
      pollfd one{listener_, POLLIN, 0};
      if (::poll(&one, 1, 50) == 1) break;
      if (mpirun_has_ended()) cannot_start(first_complaint());
      if (left_until(deadline) <= 0) cannot_start(too_long);
    }
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    message kind{};
    bytes content;
    if (socket < 0 || !receive_message(socket, kind, content) || kind != message::hello)
      cannot_start("a rank ended before it had begun");
    const int rank = unpacker(content).get<int>();
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks_.size() ||
        ranks_[static_cast<std::size_t>(rank)].socket >= 0)
      cannot_start("it counts its ranks otherwise");
    ranks_[static_cast<std::size_t>(rank)].socket = socket;
  }

  std::size_t count_silent() const {
    return static_cast<std::size_t>(
        std::count_if(ranks_.begin(), ranks_.end(), [](auto& one) { return !one.answer; }));
  }

  /// Waits for a message of some rank, and returns that rank, or -1 where none came.
  int receive_one(double limit) {
    std::vector<pollfd> all;
    for (const rank_state& one : ranks_) all.push_back({one.socket, POLLIN, 0});
    const int wait = static_cast<int>(std::clamp(limit, 0.0, 1.0) * 1000) + 1;
    if (::poll(all.data(), all.size(), wait) <= 0) return -1;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].revents == 0) continue;
      message kind{};
      bytes content;
      if (!receive_message(ranks_[rank].socket, kind, content)) report_end_of(rank);
      if (kind == message::ready)
        ranks_[rank].ready = true;
      else if (kind == message::here)
        ranks_[rank].waits_in = unpacker(content).get<std::string>();
      else
        ranks_[rank].answer = heard{kind, std::move(content)};
      return static_cast<int>(rank);
    }
    return -1;
  }

  [[noreturn]] void throw_failure(std::size_t rank, const bytes& content) {
    unpacker from(content);
    (void)from.get<bytes>();
    throw_again(static_cast<int>(rank), ranks_.size(), from.rest());
  }

  /// A rank is gone: mpirun, which has started it, knows how, and ends the others.
  [[noreturn]] void report_end_of(std::size_t rank) {
    usable_ = false;
    // If one has told what is wrong, that is the reason for the end of the others.
    for (std::size_t other = 0; other < ranks_.size(); ++other) {
      message kind{};
      if (other == rank || ranks_[other].answer ||
          ::recv(ranks_[other].socket, &kind, sizeof kind, MSG_PEEK | MSG_DONTWAIT) !=
              sizeof kind ||
          kind != message::failure)
        continue;
      bytes content;
      if (receive_message(ranks_[other].socket, kind, content)) throw_failure(other, content);
    }
    for (std::size_t other = 0; other < ranks_.size(); ++other)
      if (const auto& answer = ranks_[other].answer; answer && answer->kind == message::failure)
        throw_failure(other, answer->content);
    const auto deadline = after(kGraceToEnd);
    while (!mpirun_has_ended() && left_until(deadline) > 0)  // nothing else tells that it has
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::string said = text_of(errors_file());
    std::string cause = "ended in the middle of its work";
    std::smatch found;
    // Several may have ended by now, and mpirun knows which was the first.
    if (std::regex_search(said, found,
                          std::regex("rank ([0-9]+) with PID [^]*?exited on signal ([0-9]+)"))) {
      rank = std::stoul(found[1]);
      const char* name = ::sigabbrev_np(std::stoi(found[2]));
      cause = "was ended by " +
              (name == nullptr ? "signal " + found[2].str() : "SIG" + std::string(name));
    } else if (std::regex_search(said, found,
                                 std::regex(R"(,([0-9]+)\]\s+Exit code:\s+([0-9]+))"))) {
      rank = std::stoul(found[1]);
      cause = "ended with exit status " + found[2].str();
    }
    throw mpi_error("rank " + std::to_string(rank) + " of " + std::to_string(ranks_.size()) + " " +
                    cause + ", and that is the end of the job");
  }

  [[noreturn]] void report_silence(double limit) {
    std::vector<int> waiting, working;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (!ranks_[rank].answer) send_message(ranks_[rank].socket, message::where, {});
    const auto deadline = after(1);
    const auto has_to_say = [](auto& one) { return !one.answer && !one.waits_in; };
    while (left_until(deadline) > 0 && std::any_of(ranks_.begin(), ranks_.end(), has_to_say))
      receive_one(left_until(deadline));
    std::string sentence;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const rank_state& one = ranks_[rank];
      if (one.answer) continue;
      const bool waits = one.waits_in && !one.waits_in->empty();
      (waits ? waiting : working).push_back(static_cast<int>(rank));
      if (waits) sentence += "; rank " + std::to_string(rank) + " waits in " + *one.waits_in;
    }
    const std::string time = in_seconds(limit);
    if (!working.empty())
      sentence +=
          "; " + in_words(working) + (working.size() == 1 ? " is" : " are") + " in no call of MPI";
    std::vector<int> silent = waiting;
    silent.insert(silent.end(), working.begin(), working.end());
    std::sort(silent.begin(), silent.end());
    usable_ = false;
    if (silent.empty()) throw mpi_error("the ranks answered just after the limit of " + time);
    throw mpi_error(in_words(silent) + " of " + std::to_string(ranks_.size()) +
                    (silent.size() == 1 ? " has" : " have") + " not answered after " + time +
                    sentence);
  }

  bool mpirun_has_ended() {
    if (mpirun_ > 0 && ::waitpid(mpirun_, nullptr, WNOHANG) == mpirun_) mpirun_ = -1;
    return mpirun_ <= 0;
  }

  /// The first line of mpirun's that says something.
  std::string first_complaint() const {
    std::istringstream lines(text_of(errors_file()));
    for (std::string line; std::getline(lines, line);)
      if (line.find_first_not_of("- \t") != std::string::npos) return line;
    return "it ended and said nothing";
  }

  /// A rank ends as soon as its connection does. Then mpirun has nothing left to do; by itself it
  /// would take a second to end.
  void end() noexcept {
    if (listener_ >= 0) ::close(listener_);
    for (const rank_state& one : ranks_)
      if (one.socket >= 0) ::shutdown(one.socket, SHUT_WR);
    const auto deadline = after(kGraceToEnd);
    bool all_have_ended = true;
    for (rank_state& one : ranks_) {
      std::array<char, 4096> rest;
      pollfd readable{one.socket, POLLIN, 0};
      for (ssize_t got = one.socket < 0 ? 0 : 1; got > 0;) {
        const int wait = static_cast<int>(std::max(0.0, left_until(deadline)) * 1000);
        if (::poll(&readable, 1, wait) != 1) break;
        got = ::recv(one.socket, rest.data(), rest.size(), 0);
        if (got <= 0) ::close(std::exchange(one.socket, -1));
      }
      if (one.socket >= 0) all_have_ended = false;
    }
    if (mpirun_ > 0) {
      if (!all_have_ended ||
          std::any_of(ranks_.begin(), ranks_.end(), [](auto& one) { return !one.ready; })) {
        ::kill(mpirun_, SIGTERM);  // it knows its ranks, and ends them
        const auto latest = after(kGraceToEnd);
        while (!mpirun_has_ended() && left_until(latest) > 0) ::usleep(2000);
      }
      if (!mpirun_has_ended()) {
        ::kill(mpirun_, SIGKILL);
        ::waitpid(mpirun_, nullptr, 0);
      }
    }
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  options job_options_;
  fs::path folder_;
  std::vector<rank_state> ranks_;
  int listener_ = -1;
  pid_t mpirun_ = -1;
  bool usable_ = false;
  bytes failure_;
};

std::mutex the_lock;
std::list<std::unique_ptr<running_job>>& the_jobs() {
  static std::list<std::unique_ptr<running_job>> jobs;
  return jobs;
}

}  // namespace

void add(const std::string& name, rank_function function) {
  functions()[name] = std::move(function);
}

const rank_function* find(const std::string& name) {
  const auto found = functions().find(name);
  return found == functions().end() ? nullptr : &found->second;
}

std::vector<bytes> run(const std::string& name, const std::vector<bytes>& questions,
                       const options& job_options) {
  if (questions.empty() || questions.size() > static_cast<std::size_t>(kMostRanks))
    throw invalid_input("a job has 1 to " + std::to_string(kMostRanks) + " ranks, and not " +
                        std::to_string(questions.size()));
  const std::lock_guard lock(the_lock);
  auto& jobs = the_jobs();
  auto found = std::find_if(jobs.begin(), jobs.end(),
                            [&](auto& one) { return one->is_for(questions.size(), job_options); });
  if (found == jobs.end()) {
    if (jobs.size() >= kJobsKept) jobs.pop_back();  // the one that was not used for longest
    jobs.push_front(std::make_unique<running_job>(static_cast<int>(questions.size()), job_options));
  } else {
    jobs.splice(jobs.begin(), jobs, found);
  }
  try {
    std::vector<bytes> answers = jobs.front()->ask(name, questions);
    if (!jobs.front()->is_usable()) jobs.pop_front();
    return answers;
  } catch (...) {
    if (!jobs.front()->is_usable()) jobs.pop_front();
    throw;
  }
}

}  // namespace lab::mpi::detail

// Every program that is linked with this file has its main() called from here
// (common/CMakeLists.txt): when all objects outside of functions have been made, so that a rank
// knows its functions.
extern "C" {
int __real_main(int argc, char** argv);  // NOLINT(bugprone-reserved-identifier): the linker's name
int __wrap_main(int argc, char** argv);  // NOLINT(bugprone-reserved-identifier)

int __wrap_main(int argc, char** argv) {
  if (const char* socket = std::getenv(lab::mpi::detail::kSocketVariable))
    lab::mpi::detail::be_a_rank(socket);
  return __real_main(argc, argv);
}
}
