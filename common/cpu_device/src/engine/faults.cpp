// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What happens when a kernel touches memory it may not, divides by zero, waits for ever or never
// ends: the block is given up, the launch fails, and the student reads why.

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/memory.hpp"
#include "base/report.hpp"
#include "engine/engine.hpp"

extern "C" [[noreturn]] void cpu_device_abort_to(void* slot);

namespace cpu_device {
namespace {

std::string position(uint3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

std::string many_threads(const std::vector<unsigned>& threads) {
  return std::to_string(threads.size()) + (threads.size() == 1 ? " thread (" : " threads (") +
         ranges(threads) + ")";
}

// --- signals ------------------------------------------------------------------------------------

const int kTimeSignal = SIGRTMIN + 6;
struct sigaction previous_segv, previous_bus, previous_fpe;

const struct sigaction& previous_of(int signal) {
  return signal == SIGSEGV ? previous_segv : signal == SIGBUS ? previous_bus : previous_fpe;
}

#if defined(__x86_64__)
/// Of an instruction that the processor has refused: does it want the address of its 16 bytes to be
/// a multiple of 16? That is how compilers move a float4.
bool wants_alignment(const unsigned char* instruction) {
  bool wide_integers = false;  // the prefix that makes 16 bytes of MMX's 8
  for (;; ++instruction) {
    if (*instruction == 0x66)
      wide_integers = true;
    else if ((*instruction & 0xF0) != 0x40 && *instruction != 0x64)  // REX, thread-local
      break;
  }
  if (*instruction != 0x0F) return false;
  const unsigned char operation = instruction[1];
  return operation == 0x28 || operation == 0x29 || operation == 0x2B ||  // moves
         (operation >= 0x51 && operation <= 0x5F) || operation == 0x14 || operation == 0x15 ||
         operation == 0xC6 ||
         (wide_integers && ((operation >= 0x60 && operation <= 0x7F) || operation >= 0xD0 ||
                            operation == 0x38 || operation == 0x3A));
}
#endif

void on_signal(int signal, siginfo_t* info, void* raw) {
  worker* w = current_worker();
  const bool ours = w != nullptr && w->in_kernel.load(std::memory_order_relaxed);
  // In the middle of a report it would hold locks for ever. The watchdog comes again.
  if (ours && signal == kTimeSignal && w->writes_report.load(std::memory_order_relaxed)) return;
  if (!ours) {
    if (signal == kTimeSignal) return;
    const struct sigaction& previous = previous_of(signal);
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
      previous.sa_sigaction(signal, info, raw);
      return;
    }
    if (previous.sa_handler == SIG_DFL) {
#if defined(__x86_64__)
      const auto pc = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_RIP];
#else
      const auto pc = static_cast<ucontext_t*>(raw)->uc_mcontext.pc;
#endif
      report_host_fault(signal, reinterpret_cast<const void*>(pc));
    }
    sigaction(signal, &previous, nullptr);  // the fault comes again and takes its usual course
    return;
  }
  auto* context = static_cast<ucontext_t*>(raw);
  w->problem.what = signal == kTimeSignal ? failure::kind::time_limit : failure::kind::fault;
  w->problem.signal = signal;
  w->problem.address = info->si_addr;
#if defined(__x86_64__)
  w->problem.pc = reinterpret_cast<void*>(context->uc_mcontext.gregs[REG_RIP]);
  w->problem.sp = reinterpret_cast<void*>(context->uc_mcontext.gregs[REG_RSP]);
  w->problem.misaligned = signal == SIGSEGV && info->si_code == SI_KERNEL &&
                          wants_alignment(static_cast<const unsigned char*>(w->problem.pc));
  context->uc_mcontext.gregs[REG_RDI] = reinterpret_cast<greg_t>(w->abort_sp);
  context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&cpu_device_abort_to);
#else
  w->problem.pc = reinterpret_cast<void*>(context->uc_mcontext.pc);
  w->problem.sp = reinterpret_cast<void*>(context->uc_mcontext.sp);
  context->uc_mcontext.regs[0] = reinterpret_cast<std::uintptr_t>(w->abort_sp);
  context->uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(&cpu_device_abort_to);
#endif
}

void install_handlers() {
  prepare_host_fault_reports();
  struct sigaction action = {};
  action.sa_sigaction = &on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
  sigaction(SIGFPE, &action, &previous_fpe);
  action.sa_flags |= SA_RESTART;
  sigaction(kTimeSignal, &action, nullptr);
}

void install_handlers_once() {
  static std::once_flag once;
  std::call_once(once, install_handlers);
}
// From the start: host code may crash before the first launch.
[[maybe_unused]] const bool installed = (install_handlers_once(), true);

/// The faults of a full stack must be handled on another one.
struct signal_stack {
  static constexpr std::size_t kBytes = 64 * 1024;
  void* memory = nullptr;
  signal_stack() {
    stack_t old{};
    if (sigaltstack(nullptr, &old) == 0 && (old.ss_flags & SS_DISABLE) == 0) return;
    memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      memory = nullptr;
      return;
    }
    stack_t mine{};
    mine.ss_sp = memory;
    mine.ss_size = kBytes;
    sigaltstack(&mine, nullptr);
  }
  ~signal_stack() {
    if (memory == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(memory, kBytes);
  }
};

// --- watchdog -----------------------------------------------------------------------------------

std::mutex workers_mutex;
std::set<worker*>& workers() {
  static auto* all = new std::set<worker*>;
  return *all;
}

double time_limit_seconds() {
  static const double seconds = [] {
    if (const char* text = std::getenv("CPU_DEVICE_TIME_LIMIT")) {
      const double wanted = std::strtod(text, nullptr);
      if (wanted > 0) return wanted;
    }
    return 30.0;
  }();
  return seconds;
}

using clock = std::chrono::steady_clock;

/// One thread that sleeps until the oldest running launch is overdue.
class watch_thread {
 public:
  static watch_thread& instance() {
    static auto* self = new watch_thread;
    return *self;
  }
  void begin(running_launch& launch) {
    const std::lock_guard lock(mutex_);
    if (owner_ != getpid()) {
      owner_ = getpid();
      running_ = false;
      deadlines_.clear();
    }
    const auto limit = std::chrono::duration_cast<clock::duration>(
        std::chrono::duration<double>(time_limit_seconds()));
    deadlines_[&launch] = clock::now() + limit;
    if (!running_) {
      running_ = true;
      std::thread([this] { watch(); }).detach();
    }
  }
  void end(running_launch& launch) {
    const std::lock_guard lock(mutex_);
    deadlines_.erase(&launch);
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      // Looks a few times within the limit rather than being woken for each launch.
      changed_.wait_for(
          lock, std::chrono::duration<double>(std::clamp(time_limit_seconds() / 8, 0.01, 1.0)));
      const auto now = clock::now();
      for (auto& [launch, deadline] : deadlines_) {
        if (deadline > now) continue;
        deadline = now + std::chrono::seconds(1);  // again, should a worker not have stopped
        const std::lock_guard workers_lock(workers_mutex);
        for (worker* w : workers())
          if (w->launch == launch && w->in_kernel.load(std::memory_order_acquire) &&
              !w->waits_for_blocks.load(std::memory_order_acquire))  // it waits for a slow one
            pthread_kill(w->os_thread, kTimeSignal);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<running_launch*, clock::time_point> deadlines_;
  bool running_ = false;
  pid_t owner_ = getpid();
};

// --- texts --------------------------------------------------------------------------------------

struct waiting_place {
  std::string text;
  std::vector<unsigned> threads;
};

void add_place(std::vector<waiting_place>& places, const fiber& f, const std::string& extra = {}) {
  const std::string text = std::string(f.what) + " at " + place(f.file, f.line) + extra;
  for (auto& p : places)
    if (p.text == text) {
      p.threads.push_back(f.position->linear);
      return;
    }
  places.push_back({text, {f.position->linear}});
}

}  // namespace

void register_worker(worker& w) {
  const std::lock_guard lock(workers_mutex);
  workers().insert(&w);
}
void unregister_worker(worker& w) {
  const std::lock_guard lock(workers_mutex);
  workers().erase(&w);
}

watchdog::watchdog(running_launch& launch) : launch_(launch) {
  watch_thread::instance().begin(launch_);
}
watchdog::~watchdog() { watch_thread::instance().end(launch_); }

void watch_faults_on_this_thread() {
  install_handlers_once();
  static thread_local signal_stack stack;
  (void)stack;
}

std::string describe_block(const worker& w) {
  return "kernel " + std::string(w.launch->site.kernel) + " (launched at " +
         place(w.launch->site.file, w.launch->site.line) + "), block " + position(blockIdx);
}

std::string describe_stuck_block(worker& w) {
  std::vector<waiting_place> places;
  std::set<unsigned> waiting;
  bool warp_function = false;
  const auto add = [&](const fiber& f, const std::string& extra = {}) {
    add_place(places, f, extra);
    waiting.insert(f.position->linear);
  };
  for (unsigned i = 0; i < w.arrived; ++i) add(*w.waiting[i]);
  for (const warp_group* group : w.open_groups)
    for (; group != nullptr; group = group->next)
      for (unsigned i = 0; i < group->count; ++i) {
        char mask[32];
        std::snprintf(mask, sizeof mask, " (mask 0x%08x)", group->mask);
        add(*group->waiting[i], mask);
        warp_function = true;
      }
  std::vector<unsigned> gone;
  for (unsigned i = 0; i < progress.count; ++i)
    if (waiting.count(i) == 0) gone.push_back(i);

  std::string text = warp_function ? "threads of a warp do not meet in " : "barrier divergence in ";
  text += describe_block(w) + ":";
  for (auto& p : places) {
    std::sort(p.threads.begin(), p.threads.end());
    text += "\n  " + many_threads(p.threads) + " wait in " + p.text;
  }
  if (!gone.empty()) text += "\n  " + many_threads(gone) + " have left the kernel";
  if (warp_function)
    text +=
        "\n  A warp function waits for every lane that its mask names. Try: name only the lanes "
        "that get there, or move the call out of the condition.";
  else
    text +=
        "\n  Every thread of a block must reach every barrier; here some never will. "
        "Try: move the barrier out of the if or the loop, and put the condition around the work "
        "only.";
  return text;
}

std::string describe_fault(worker& w, cudaError_t& error) {
  std::string where = describe_block(w) + ", thread " + position(threadIdx);
  const std::string line = source_place(static_cast<char*>(w.problem.pc) + 1);
  if (!line.empty()) where += ", at " + line;
  if (w.problem.signal == SIGFPE) {
    error = cudaErrorLaunchFailure;
    return "integer division by zero in " + where +
           ".\n  A GPU does not stop here: it goes on with a meaningless result.";
  }
  if (w.problem.misaligned) {
    error = cudaErrorMisalignedAddress;
    return "misaligned access in " + where +
           ": the address of 16 bytes (a float4, two doubles) is no multiple of 16.\n  A GPU ends "
           "the kernel there, too: an address must be a multiple of its type's alignment. Try: an "
           "offset that is a multiple of 16 bytes, or the elements one by one.";
  }
  error = cudaErrorIllegalAddress;
  const char* address = static_cast<const char*>(w.problem.address);
  // A full stack: the access is where the stack pointer is, below the stack's lowest byte.
  const fiber& stack = *w.current;
  const char* sp = static_cast<const char*>(w.problem.sp);
  constexpr std::ptrdiff_t kNear = 64 * 1024;
  if (address < stack.low + 4096 && address - sp < kNear && sp - address < kNear)
    return "stack overflow in " + where +
           ".\n  The local variables of a thread do not fit: the recursion is too deep or an "
           "array is too large.";
  if (address >= w.shared_end && address < w.shared_end + 4096)
    return "access outside the dynamic shared memory in " + where + ": " +
           std::to_string(address - w.shared_end) +
           " bytes past its end.\n  The launch asked for " +
           std::to_string(w.launch->shared_bytes) +
           " bytes (third launch argument). Try: compare it with what the kernel indexes.";
  std::string text = "illegal memory access in " + where + ": ";
  if (const auto near = find_near(address)) {
    const char* end = near->begin + near->bytes;
    if (near->freed)
      text += "the address lies in " + describe(*near) + ". It was freed before this kernel ran.";
    else if (address >= end)
      text += std::to_string(address - end) + " bytes past the end of " + describe(*near) +
              ".\n  Try: compare the thread's index with the length before the access.";
    else
      text += std::to_string(near->begin - address) + " bytes before the begin of " +
              describe(*near) + ".\n  Try: look for an index that becomes negative.";
  } else if (address < reinterpret_cast<const char*>(4096)) {
    text += "a null pointer was followed.";
  } else {
    text += "no allocation of the device is anywhere near that address. Was the pointer ever set?";
  }
  return text;
}

std::string describe_time_limit(worker& w) {
  std::string text = "stopped " + describe_block(w) + ", thread " + position(threadIdx);
  const fiber& f = *w.current;
  const std::string line = source_places({static_cast<char*>(w.problem.pc) + 1}).front();
  const bool in_engine = line.find("/cpu_device/src/") != std::string::npos;
  if (f.what != nullptr && (in_engine || f.position == progress.position)) {
    // It comes by a barrier again and again: a better place to name than one in the engine.
    text += ", which last waited in " + std::string(f.what) + " at " + place(f.file, f.line);
  } else if (!line.empty() && !in_engine) {
    text += ", near " + short_name(line.c_str());
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", time_limit_seconds());
  return text + ": the launch ran for more than " + seconds +
         " s.\n  Try: look for a loop whose condition never becomes false, or a lock that nobody "
         "gives back. CPU_DEVICE_TIME_LIMIT sets the limit in seconds.";
}

}  // namespace cpu_device
