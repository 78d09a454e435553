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
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/memory.hpp"
#include "base/report.hpp"
#include "engine/engine.hpp"

extern "C" [[noreturn]] void cpu_device_abort_to(void* slot);

namespace cpu_device {
namespace {

std::string position(uint3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

/// As blockIdx has it.
std::string block_position(const running_launch& launch, unsigned linear) {
  const dim3 grid = launch.grid;
  return position({linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y});
}

/// What they do: `one` if it is one thread, `many` if there are more.
std::string threads_that(const std::vector<unsigned>& threads, const char* one, const char* many) {
  const bool single = threads.size() == 1;
  return std::to_string(threads.size()) + (single ? " thread (" : " threads (") + ranges(threads) +
         ") " + (single ? one : many);
}

// --- signals ------------------------------------------------------------------------------------

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

const void* interrupted_at(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(registers.gregs[REG_RIP]);
#else
  return reinterpret_cast<const void*>(registers.pc);
#endif
}

/// Of abort(), and of somebody who wants to know where the program hangs. Any thread may be the one
/// that hears it, such as a worker; the program's own code is in the first one.
void on_ending_signal(int signal, siginfo_t*, void* context) {
  const pid_t process = getpid();
  if (signal != SIGABRT && gettid() != process && tgkill(process, process, signal) == 0) return;
  report_host_fault(signal, interrupted_at(context));
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* raw) {
  worker* w = current_worker();
  const bool ours = w != nullptr && w->in_kernel.load(std::memory_order_relaxed);
  if (!ours) {
    const struct sigaction& previous = previous_of(signal);
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
      previous.sa_sigaction(signal, info, raw);
      return;
    }
    if (previous.sa_handler == SIG_DFL) report_host_fault(signal, interrupted_at(raw));
    sigaction(signal, &previous, nullptr);  // the fault comes again and takes its usual course
    return;
  }
  auto* context = static_cast<ucontext_t*>(raw);
  w->problem.what = failure::kind::fault;
  w->problem.signal = signal;
  w->problem.address = info->si_addr;
#if defined(__x86_64__)
  w->problem.pc = reinterpret_cast<void*>(context->uc_mcontext.gregs[REG_RIP]);
  w->problem.sp = reinterpret_cast<void*>(context->uc_mcontext.gregs[REG_RSP]);
  // The processor does not say which address it was.
  w->problem.no_address = signal == SIGSEGV && info->si_code == SI_KERNEL;
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
  action.sa_sigaction = &on_ending_signal;
  for (const int signal : {SIGABRT, SIGXCPU, SIGQUIT}) {
    struct sigaction previous = {};
    sigaction(signal, nullptr, &previous);
    if (previous.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
  install_turn_handler();
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

// --- texts --------------------------------------------------------------------------------------

std::string running_position() {
  const thread_position& t = current_position();  // threadIdx may be in a register
  return position({t.x, t.y, t.z});
}

struct waiting_place {
  std::string text;
  std::string mask;  // " (mask 0x…)" of a warp function, or nothing
  std::vector<unsigned> threads;
};

[[gnu::cold]] void add_place(std::vector<waiting_place>& places, const fiber& f,
                             const std::string& mask = {}) {
  const std::string text = std::string(f.what) + " at " + place(f.file, f.line);
  for (auto& p : places)
    if (p.text == text && p.mask == mask) {
      p.threads.push_back(f.position().linear);
      return;
    }
  places.push_back({text, mask, {f.position().linear}});
}

/// A line for each place; where threads wait with many masks, as tiles do, three lines for all.
[[gnu::cold]] std::string lines_of(std::vector<waiting_place>& places) {
  std::map<std::string, unsigned> masks, shown;
  for (auto& p : places) {
    std::sort(p.threads.begin(), p.threads.end());
    ++masks[p.text];
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.threads.front() < b.threads.front(); });
  std::string lines;
  std::map<std::string, std::vector<unsigned>> others;
  for (const auto& p : places)
    if (masks[p.text] <= 3 || ++shown[p.text] <= 2)
      lines += "\n  " + threads_that(p.threads, "waits", "wait") + " in " + p.text + p.mask;
    else
      others[p.text].insert(others[p.text].end(), p.threads.begin(), p.threads.end());
  for (auto& [text, threads] : others) {
    std::sort(threads.begin(), threads.end());
    lines += "\n  " + threads_that(threads, "waits", "wait") + " in " + text + " (" +
             std::to_string(masks[text] - 2) + " other masks)";
  }
  return lines;
}

/// "barrier.cu:12", or nothing. Asked for the same few instructions by many blocks.
std::string place_of_instruction(const void* pc) {
  static std::mutex mutex;
  static auto* known = new std::map<const void*, std::string>;
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = known->try_emplace(pc);
  if (is_new) {
    const std::string line = source_places({static_cast<const char*>(pc) + 1}).front();
    if (line.find("/cpu_device/src/") == std::string::npos) it->second = short_name(line.c_str());
  }
  return it->second;
}

}  // namespace

void watch_faults_on_this_thread() {
  install_handlers_once();
  static thread_local signal_stack stack;
  (void)stack;
}

std::string describe_block(const worker& w) {
  return "kernel " + std::string(w.launch->site.kernel) + " (launched at " +
         place(w.launch->site.file, w.launch->site.line) + "), block " + position(blockIdx);
}

namespace {
[[gnu::cold]] std::string describe_waiting(worker& w, bool& warp_function) {
  std::vector<waiting_place> places;
  std::set<unsigned> waiting;
  warp_function = false;
  const auto add = [&](const fiber& f, const std::string& mask = {}) {
    add_place(places, f, mask);
    waiting.insert(f.position().linear);
  };
  for (unsigned i = 0; i < w.arrived; ++i) add(*w.waiting[i]);
  if (w.cluster != nullptr)
    for (const fiber* f : w.cluster->waiting) add(*f);
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
  text += describe_block(w) + ":" + lines_of(places);
  if (!gone.empty()) text += "\n  " + threads_that(gone, "has left", "have left") + " the kernel";
  return text;
}
}  // namespace

std::string describe_divergence(worker& w) {
  bool warp_function = false;
  return describe_waiting(w, warp_function);
}

std::string describe_stuck_block(worker& w) {
  bool warp_function = false;
  std::string text = describe_waiting(w, warp_function);
  if (warp_function && (text.find(" wait in wmma::") != std::string::npos ||
                        text.find(" waits in wmma::") != std::string::npos))
    text +=
        "\n  All 32 threads of a warp must call a function of nvcuda::wmma. Try: conditions "
        "that are the same for the whole warp.";
  else if (warp_function)
    text +=
        "\n  A warp function waits for every lane that its mask names. Try: name only the lanes "
        "that get there, or move the call out of the condition.";
  else
    text +=
        "\n  Every thread of a block must reach every barrier; here some never do. "
        "Try: move the barrier out of the if or the loop, and put the condition around the work "
        "only.";
  return text;
}

std::string shared_name(std::string_view names, unsigned index) {
  for (unsigned i = 0; i < index; ++i) names.remove_prefix(names.find(", ") + 2);
  return std::string(names.substr(0, names.find(',')));
}

namespace {
/// "cache (1024 bytes)".
std::string declared_text(const shared_declarations::declaration& one) {
  return shared_name(one.names, one.index) + " (" + std::to_string(one.variable.bytes) + " bytes)";
}

/// What is said of an address that lies past the block's static __shared__ variables; else empty.
std::string past_static_shared(const worker& w, const char* address) {
  constexpr std::ptrdiff_t kNear = 64 << 20;  // whatever else is there has an owner of its own
  const shared_declarations& declared = w.declared;
  if (declared.count == 0 || declared.block != progress.block_serial) return {};
  std::string all;
  const char* end = nullptr;
  for (unsigned i = 0; i < declared.count; ++i) {
    const shared_variable& one = declared.all[i].variable;
    end = std::max(end, static_cast<const char*>(one.address) + one.bytes);
    all += (i == 0 ? "" : ", ") + declared_text(declared.all[i]);
  }
  if (address < end || address - end > kNear) return {};
  return (declared.count == 1 ? past_the_end_of(static_cast<std::size_t>(address - end)) +
                                    "the __shared__ variable " + all
                              : "past the end of all __shared__ variables of the block: " + all) +
         ".\n  Try: compare the index with the number of elements before the access. Shared memory "
         "is a block's own: threadIdx counts in it, and blockIdx does not.";
}
}  // namespace

std::string describe_fault(worker& w, cudaError_t& error) {
  std::string where = describe_block(w) + ", thread " + running_position();
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
  const fiber_stack& stack = w.stacks[w.current->stack];
  const char* sp = static_cast<const char*>(w.problem.sp);
  constexpr std::ptrdiff_t kNear = 64 * 1024;
  if (address < stack.low + 4096 && address - sp < kNear && sp - address < kNear)
    return "stack overflow in " + where +
           ".\n  The local variables of a thread do not fit: the recursion is too deep or an "
           "array is too large.";
  const char* in_shared = address;
  std::string whose;
  if (remote_shared remote{}; w.cluster != nullptr && find_remote(w, address, remote)) {
    in_shared = reinterpret_cast<const char*>(remote.own);
    whose = " of the block with rank " + std::to_string(remote.rank) + " in the cluster";
  }
  if (in_shared >= w.shared_end && in_shared < w.shared_end + kSharedGuard)
    return "access outside the dynamic shared memory" + whose + " in " + where + ": " +
           past_the_end_of(static_cast<std::size_t>(in_shared - w.shared_end)) +
           "it.\n  The launch asked for " + std::to_string(w.launch->shared_bytes) +
           " bytes (third launch argument). Try: compare it with what the kernel indexes.";
  std::string text = "illegal memory access in " + where + ": ";
  if (w.problem.no_address) {
    text +=
        "the pointer has a value that is no address. Was it ever set, or was it calculated from "
        "something that was not?";
  } else if (const auto near = find_near(address)) {
    const char* end = near->begin + near->bytes;
    if (near->freed)
      text += "the address lies in " + describe(*near) + ". It was freed before this kernel ran.";
    else if (near->closed && near->of_graph)
      text +=
          "the address lies in " + describe(*near) +
          ". A graph allocates it, and has not done so yet, or it has been freed.\n  Try: look "
          "whether this kernel depends on the node that allocates, and the one that frees on it.";
    else if (near->closed)
      text += "the address lies in " + describe(*near) +
              ". Its stream has not come to the allocation yet.\n  Try: another stream has to wait"
              " for it, by an event (cudaStreamWaitEvent).";
    else if (address >= end)
      text += past_the_end_of(static_cast<std::size_t>(address - end)) + describe(*near) +
              ".\n  Try: compare the thread's index with the length before the access. If you do, "
              "make sure that it is this index: rows and columns may be swapped." +
              pitch_advice(*near);
    else
      text += std::to_string(near->begin - address) + " bytes before the begin of " +
              describe(*near) + ".\n  Try: look for an index that becomes negative.";
  } else if (address < reinterpret_cast<const char*>(4096)) {
    text += "a null pointer was followed.";
  } else if (const std::string shared = past_static_shared(w, address); !shared.empty()) {
    text += shared;
  } else {
    text += "no allocation of the device is anywhere near that address. Was the pointer ever set?";
  }
  return text;
}

std::string describe_time_limit(worker& w) {
  std::string text = "stopped " + describe_block(w) + ", thread " + running_position();
  const std::string line = source_places({static_cast<char*>(w.problem.pc) + 1}).front();
  const bool in_engine = line.find("/cpu_device/src/") != std::string::npos;
  // On its way from one thread to the next, the block still has those that wait.
  const bool others = w.current->line == 0 && w.arrived != 0 && (line.empty() || in_engine);
  const fiber& f = others ? *w.waiting[0] : *w.current;
  if (f.line != 0 && (in_engine || &f.position() == progress.position)) {
    // It comes by a barrier again and again: a better place to name than one in the engine.
    text += ", which last waited in " + std::string(f.what) + " at " + place(f.file, f.line);
  } else if (!line.empty() && !in_engine) {
    text += ", near " + short_name(line.c_str());
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", time_limit_seconds());
  return text + ": the launch made no progress for more than " + seconds +
         " s.\n  Try: look for a loop whose condition never becomes false, or a lock that nobody "
         "gives back. CPU_DEVICE_TIME_LIMIT sets the limit in seconds.";
}

std::string describe_threads(worker& w) {
  std::map<std::string, std::vector<unsigned>> places;
  std::set<unsigned> added;  // a thread that was stopped on its way to sleep stands in two lists
  const auto add = [&](const fiber& f, const thread_position& thread, const void* pc) {
    if (!added.insert(thread.linear).second) return;
    const std::string where = f.line != 0 ? place(f.file, f.line) : place_of_instruction(pc);
    const bool spins = f.line == 0 || std::string_view(f.what) == kSpinLoop;
    places[(spins ? "in a loop" : std::string("in ") + f.what) +
           (where.empty() ? "" : " at " + where)]
        .push_back(thread.linear);
  };
  for (unsigned i = 0; i < w.arrived; ++i) add(*w.waiting[i], w.waiting[i]->position(), nullptr);
  if (w.cluster != nullptr)
    for (const fiber* f : w.cluster->waiting) add(*f, f->position(), nullptr);
  for (const warp_group* group : w.open_groups)
    for (; group != nullptr; group = group->next)
      for (unsigned i = 0; i < group->count; ++i)
        add(*group->waiting[i], group->waiting[i]->position(), nullptr);
  for (unsigned i = w.head; i != w.tail; ++i) {
    const fiber& f = *w.ready[i % kMaxThreads];
    add(f, f.position(), f.pc);
  }
  if (w.arrived == 0 || w.waiting[w.arrived - 1] != w.current) {
    // It may have spun through the engine, or have been looked at in the kernel's code.
    fiber running;
    running.what = kSpinLoop;
    if (w.notes.looked_at != progress.position && &w.current->position() == progress.position) {
      running.what = w.current->what;
      running.file = w.current->file;
      running.line = w.current->line;
    }
    add(running, current_position(), w.notes.pc);
  }
  std::string text;
  for (auto& [where, threads] : places) {
    std::sort(threads.begin(), threads.end());
    text += (text.empty() ? "" : "; ") + threads_that(threads, "waits", "wait") + " " + where;
  }
  return text;
}

std::string describe_deadlock(const running_launch& launch) {
  std::string text = "deadlock in kernel " + std::string(launch.site.kernel) + " (launched at " +
                     place(launch.site.file, launch.site.line) +
                     "): no thread can go on. Each waits for another, or goes around a loop "
                     "that changes nothing.";
  std::uint64_t stuck = 0;
  for (const auto& [what, numbers] : launch.stuck_blocks) {
    std::vector<unsigned> blocks = numbers;
    std::sort(blocks.begin(), blocks.end());
    stuck += blocks.size();
    text +=
        "\n  " +
        (blocks.size() == 1 ? "block " + block_position(launch, blocks.front())
                            : std::to_string(blocks.size()) + " blocks (" + ranges(blocks) + ")") +
        ": " + what;
  }
  const std::uint64_t left = blocks_to_start(launch);
  if (left != 0)
    return text + "\n  " + std::to_string(left) + (left == 1 ? " block has" : " blocks have") +
           " not started: no more than " + std::to_string(stuck) +
           " of this launch are resident at the same time, and the others start when one of "
           "these ends.\n  A block must not wait for one that may not be resident. Try: as many "
           "blocks as cudaOccupancyMaxActiveBlocksPerMultiprocessor times multiProcessorCount, "
           "and a grid-stride loop.";
  return text +
         "\n  Try: if the loop should end by itself, look for what it forgets to change. Otherwise "
         "look "
         "for who should write what they wait for, and whether it waits itself. Locks must be "
         "taken "
         "in the same order by all, and given back on every path.";
}

}  // namespace cpu_device
