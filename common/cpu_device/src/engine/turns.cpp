// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Independent thread scheduling. A thread that spins on memory keeps its OS thread, and the thread
// that it waits for may be one of the same block. So a worker whose launch makes no progress gets a
// signal (ask_to_look(), called by whoever watches the launch), and its handler, which runs on the
// stack of the spinning thread, goes on with another thread of the block.
//
// In the check build a thread that spins is nearly always inside a function that looks at one of
// its accesses, and must leave it before another one comes by. So the handler only asks for the
// next access, and the thread is looked at there.
//
// Which threads spin? Those that are seen twice in the same state: registers and top of the stack.
// Threads that compute are seen in a new state each time, and keep their turn longer.
//
// Each look starts a timer for the next one. Where many blocks share a processor, a worker waits
// long for its time there, and must not spend all of it on a single thread that spins.

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hashing.hpp"
#include "engine/engine.hpp"
#include "engine/kernel_code.hpp"

extern "C" [[noreturn]] void cpu_device_abort_to(void* slot);

namespace cpu_device {

namespace {
int turn_signal() { return SIGRTMIN + 6; }
}  // namespace

void ask_to_look(worker& w) {
  if (!w.notes.asked.exchange(true)) pthread_kill(w.os_thread, turn_signal());
}

look_timer::~look_timer() {
  if (process_ == getpid()) timer_delete(timer_);
}

void look_timer::make_for(int os_thread_id) {
  if (process_ == getpid()) return;
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = turn_signal();
  event._sigev_un._tid = os_thread_id;
  // Without one, whoever watches asks for each look.
  process_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0 ? getpid() : 0;
}

bool look_timer::start(long nanoseconds) {
  if (process_ == 0) return false;
  const itimerspec once{{0, 0}, {0, nanoseconds}};
  return timer_settime(timer_, 0, &once, nullptr) == 0;
}

bool seen_states::add(std::uint64_t state) {
  if (count_ > slots_.size() / 2) {
    std::fill(slots_.begin(), slots_.end(), 0);
    count_ = 0;
  }
  for (std::size_t i = state % slots_.size();; i = (i + 1) % slots_.size()) {
    if (slots_[i] == state) return false;
    if (slots_[i] != 0) continue;
    slots_[i] = state;
    ++count_;
    return true;
  }
}

namespace {

constexpr std::size_t kStackLooked = 512;  // bytes of a frame that count as a thread's state
constexpr std::size_t kWaitingStackLooked = 2048;  // ... of one that waits: seldom, and alone
constexpr unsigned kCodeLooked = 64;       // bytes of code that are one place: most loops that spin
constexpr unsigned kPatience = 16;         // looks at a thread whose state is new each time
constexpr unsigned kPutOffs = 8;           // before a block ends that rests
constexpr unsigned kMostPutOffs = 20'000;  // ... that is in a library: it may hold a lock there
constexpr long kShortPause = 100'000;      // nanoseconds from look to look
constexpr long kLongPause = 3'200'000;     // ... at a thread that computes

std::uint64_t hash_stack(const fiber_stack& s, const char* sp, std::uint64_t hash,
                         std::size_t bytes = kStackLooked) {
  const char* low = reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(sp) & ~7ULL);
  const char* high = std::min<const char*>(low + bytes, s.top);
  return hash_words(hash, low, high) | 1U;
}

/// False if the block has been in this state before.
bool note_state(worker& w, std::uint64_t state) {
  const bool novel = w.notes.seen->add(state);
  const unsigned quiet = w.notes.quiet.load(std::memory_order_relaxed);
  // A few instructions of a loop are met much more seldom than others, long after the rest. So a
  // single new state does not undo all that was seen; one in each round of the block's threads does
  // (see is_quiet()).
  w.notes.quiet.store(novel ? quiet / 2 : quiet + 1, std::memory_order_relaxed);
  if (novel) w.notes.novel.store(true, std::memory_order_relaxed);
  return novel;
}

std::uint64_t state_of(const ucontext_t& context, const fiber_stack& s) {
  auto hash = reinterpret_cast<std::uintptr_t>(progress.position);
#if defined(__x86_64__)
  for (int i = 0; i < REG_RIP; ++i)
    hash = mix(hash, static_cast<std::uint64_t>(context.uc_mcontext.gregs[i]));
  hash = mix(hash, static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]) / kCodeLooked);
  const auto* vectors = reinterpret_cast<const char*>(context.uc_mcontext.fpregs->_xmm);
  hash = hash_words(hash, vectors, vectors + sizeof context.uc_mcontext.fpregs->_xmm);
  constexpr int kBelow = 128;  // the part of the stack that leaf functions use below the pointer
  const auto* sp = reinterpret_cast<const char*>(context.uc_mcontext.gregs[REG_RSP]) - kBelow;
#else
  for (const auto value : context.uc_mcontext.regs) hash = mix(hash, value);
  hash = mix(hash, context.uc_mcontext.pc / kCodeLooked);
  const auto* vectors = reinterpret_cast<const char*>(context.uc_mcontext.__reserved);
  hash = hash_words(hash, vectors, vectors + 16 + 32 * 16);  // the first record: SIMD registers
  const auto* sp = reinterpret_cast<const char*>(context.uc_mcontext.sp);
#endif
  return hash_stack(s, sp, hash);
}

const void* pc_of(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return reinterpret_cast<const void*>(context.uc_mcontext.pc);
#endif
}

/// A function of the kernel's that has called one that looks at its accesses.
struct calling_frame {
  const void* pc;  // the call returns there
  const char* sp = nullptr;
  std::uint64_t hash;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* raw) {
  auto& frame = *static_cast<calling_frame*>(raw);
  if (reinterpret_cast<const void*>(_Unwind_GetIP(context)) != frame.pc) return _URC_NO_REASON;
  frame.sp = reinterpret_cast<const char*>(_Unwind_GetCFA(context));
  // The registers that calls keep, by DWARF's numbers: what else it needs later is on its stack.
#if defined(__x86_64__)
  for (const int kept : {3, 6, 12, 13, 14, 15})
#else
  for (int kept = 19; kept <= 29; ++kept)
#endif
    frame.hash = mix(frame.hash, _Unwind_GetGR(context, kept));
  return _URC_END_OF_STACK;
}

/// What the functions in between have in their frames is not the thread's state: it differs from
/// call to call.
std::uint64_t state_at_access(worker& w, const void* pc) {
  const engine_work work(w);  // unwinding may take locks
  calling_frame frame{pc, nullptr,
                      mix(reinterpret_cast<std::uintptr_t>(progress.position),
                          reinterpret_cast<std::uintptr_t>(pc))};
  _Unwind_Backtrace(&note_frame, &frame);
  if (frame.sp == nullptr) return frame.hash | 1U;
  return hash_stack(w.stacks[w.current->stack], frame.sp, frame.hash);
}

/// Outside of the kernel's code the block may be on its way from one thread to the next, and would
/// leave a report without one of them. Moments later it is there; if not, it waits, and may end. Or
/// it is in printf(): if it ended there, nobody could print any more.
bool put_off_end(worker& w, const void* pc) {
  const unsigned most = w.notes.rests.load(std::memory_order_relaxed) ? kPutOffs : kMostPutOffs;
  const bool later = !is_kernel_code(pc) && w.notes.put_off < most;
  w.notes.put_off = later ? w.notes.put_off + 1 : 0;
  return later && w.notes.timer.start(kShortPause);
}

/// The block goes on nowhere: it is to be given up when the handler returns.
void end_block(worker& w, ucontext_t& context) {
  w.problem.what = static_cast<failure::kind>(w.launch->ended_as.load());
  // It may rest in the middle of a look: what counts is where the thread stands in the kernel.
  const bool looked = !is_kernel_code(pc_of(context)) && w.notes.looked_at == progress.position;
  w.problem.pc = const_cast<void*>(looked ? w.notes.pc : pc_of(context));
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RDI] = reinterpret_cast<greg_t>(w.abort_sp);
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&cpu_device_abort_to);
#else
  context.uc_mcontext.regs[0] = reinterpret_cast<std::uintptr_t>(w.abort_sp);
  context.uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(&cpu_device_abort_to);
#endif
}

/// A thread stands in the kernel's code and has run for a while.
void look_at_running_thread(worker& w, std::uint64_t state, const void* pc) {
  turn_notes& notes = w.notes;
  const bool novel = note_state(w, state);
  if (notes.looked_at != progress.position) {
    notes.looked_at = progress.position;
    notes.looks = 0;
  }
  notes.pc = pc;
  notes.pause =
      novel && notes.looks > kPatience / 4 ? std::min(2 * notes.pause, kLongPause) : kShortPause;
  if (novel && ++notes.looks < kPatience) {
    notes.timer.start(notes.pause);
    return;
  }
  notes.looks = 0;
  give_back_blocks(w);
  // All others of the block have had their turns, and nothing was new? Other blocks may know more.
  const bool others = others_can_run(w);
  if (!others || notes.quiet.load(std::memory_order_relaxed) > w.tail - w.head) rest(w);
  notes.timer.start(kShortPause);  // one that begins does not come back here
  if (others) take_turn(w, notes.pc);
  // The next look is to find that the thread has done something. (On a busy machine the return to
  // it may take a while.)
  notes.leave.store(2);
  notes.timer.start(kShortPause);
}

/// The block goes from barrier to barrier: the state of its first thread stands for it.
void look_at_waiting_thread(worker& w) {
  for (unsigned i = 0; i < std::min(w.arrived, kMaxThreads); ++i) {
    const fiber& f = *w.waiting[i];
    if (f.thread != 0 || f.sp == nullptr) continue;
    // It says what the block has not seen before, but not that a thread has looked in vain.
    if (w.notes.seen->add(hash_stack(w.stacks[f.stack], static_cast<const char*>(f.sp), 1)))
      w.notes.novel.store(true, std::memory_order_relaxed);
    return;
  }
}

/// Asks a thread whose accesses are watched to come by at the next one. False if it need not or
/// will not: it has been asked before, and computes in its registers, or waits.
bool ask_next_access(worker& w) {
  return progress.watching && w.open_watch.exchange(nullptr, std::memory_order_relaxed) != nullptr;
}

// On the stack of the thread that it interrupts, and with the signal unblocked, since other threads
// run before it returns.
void on_turn_signal(int, siginfo_t*, void* raw) {
  worker* w = current_worker();
  if (w == nullptr) return;
  w->notes.asked.store(false);
  if (!w->notes.in_blocks.load(std::memory_order_relaxed)) return;
  // In the middle of a report it would hold locks for ever. Whoever watches asks again.
  if (w->writes_report.load(std::memory_order_relaxed)) return;
  // So would a thread that has no watching() yet: the others of its block would be without, too.
  if (progress.copies_arguments) return;
  const int error = errno;
  auto& context = *static_cast<ucontext_t*>(raw);
  const void* pc = pc_of(context);
  if (w->launch->ended_as.load() != 0) {
    if (!ask_next_access(*w) && !put_off_end(*w, pc)) end_block(*w, context);
  } else if (!w->notes.watched.load(std::memory_order_acquire) || w->current == nullptr)
    ;
  else if (const bool asked = ask_next_access(*w); !asked && is_kernel_code(pc))
    look_at_running_thread(*w, state_of(context, w->stacks[w->current->stack]), pc);
  else if (!w->notes.rests.load(std::memory_order_relaxed))
    look_at_waiting_thread(*w);
  errno = error;
}

}  // namespace

void look_at_access(worker& w, const void* pc) {
  turn_notes& notes = w.notes;
  const char* call = static_cast<const char*>(pc) - 1;
  if (!notes.in_blocks.load(std::memory_order_relaxed)) return;
  if (const int ended_as = w.launch->ended_as.load(); ended_as != 0) {
    notes.looked_at = progress.position;
    notes.pc = call;
    w.problem.what = static_cast<failure::kind>(ended_as);
    w.problem.pc = const_cast<char*>(call);
    give_up_block(w);
  }
  if (notes.watched.load(std::memory_order_acquire) && is_kernel_code(call))
    look_at_running_thread(w, state_at_access(w, pc), call);
}

void install_turn_handler() {
  struct sigaction action = {};
  action.sa_sigaction = &on_turn_signal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(turn_signal(), &action, nullptr);
}

void note_waiting_states(worker& w, bool all_have_come) {
  bool fresh = false;
  const auto note = [&](const fiber& f) {
    // The last one to come has not left its stack. One that was preempted may stand anywhere.
    if (&f == w.current || f.sp == nullptr || f.line == 0) return;
    const std::uint64_t place = mix(mix(f.thread, static_cast<std::uint64_t>(f.line)),
                                    reinterpret_cast<std::uintptr_t>(f.what));
    fresh = w.notes.at_barriers->add(hash_stack(w.stacks[f.stack], static_cast<const char*>(f.sp),
                                                place, kWaitingStackLooked)) ||
            fresh;
  };
  for (unsigned i = 0; i < w.arrived; ++i) note(*w.waiting[i]);
  for (unsigned i = w.head; i != w.tail; ++i) note(*w.ready[i % kMaxThreads]);
  for (const warp_group* group : w.open_groups)
    for (; group != nullptr; group = group->next)
      for (unsigned i = 0; i < group->count; ++i) note(*group->waiting[i]);
  if (w.cluster != nullptr)
    for (const fiber* f : w.cluster->waiting) note(*f);
  if (all_have_come) {
    std::uint64_t hash = hash_bytes(1, progress.dynamic_shared, w.launch->shared_bytes);
    if (w.declared.block == progress.block_serial)
      for (unsigned i = 0; i < w.declared.count; ++i) {
        const shared_variable& one = w.declared.all[i].variable;
        hash = hash_bytes(hash, one.address, one.bytes);
      }
    fresh = w.notes.at_barriers->add(hash | 1U) || fresh;
  }
  if (fresh) w.notes.fresh.store(true, std::memory_order_relaxed);
}

[[gnu::noinline]] void note_spin(worker& w) {
  __builtin_unwind_init();  // the registers that the kernel has kept its variables in
  const auto* frame = static_cast<const char*>(__builtin_frame_address(0));
  const auto hash = reinterpret_cast<std::uintptr_t>(progress.position);
  note_state(w, hash_stack(w.stacks[w.current->stack], frame - 40, hash));
  give_back_blocks(w);
}

void rest(worker& w) {
  const unsigned quiet = w.notes.quiet.load(std::memory_order_relaxed);
  const long most = w.notes.longest_rest.load(std::memory_order_relaxed);
  const timespec time{0, std::min(50000L << std::min(quiet / 4, 10U), most)};
  w.notes.rests.store(true, std::memory_order_relaxed);
  nanosleep(&time, nullptr);
  w.notes.rests.store(false, std::memory_order_relaxed);
}

}  // namespace cpu_device
