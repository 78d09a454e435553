// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// NCCL. A call of one rank is posted; when those of all ranks have come, the work goes into all of
// their streams: it runs when each of them has come so far, and what is behind it in any of them
// waits.
//
// Where ranks are in several processes, a call sends its data to the others as messages, and waits
// for theirs (nccl_processes.hpp). What it receives goes into its stream.

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/streams.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "context/objects.hpp"
#include "engine/engine.hpp"
#include "library_calls.hpp"
#include "library_memory.hpp"
#include "nccl_numbers.hpp"
#include "nccl_processes.hpp"

using namespace cpu_device;

namespace {

enum class kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, receive };

/// One rank's call.
struct posted_call {
  const char* name;
  kind what;
  ncclComm_t comm;
  const void* send;
  void* receive;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int other;  // the root, or the peer
  cudaStream_t stream;
  std::uint64_t number = 0;  // of its rank's collective calls, or of those to or from this peer
  bool done = false;         // in the streams
  // Of ranks in other processes:
  ncclResult_t failed = ncclSuccess;
  std::uint64_t piece = 0;  // that is under way
  std::optional<nccl_segment::sent> sent = {};
  std::vector<char> received = {};
};
using call_pointer = std::shared_ptr<posted_call>;

/// Who communicates with whom.
struct clique {
  explicit clique(int ranks) : members(static_cast<std::size_t>(ranks)) {}

  std::vector<ncclComm_t> members;        // by rank; null: has not come, has gone, or is elsewhere
  int joined = 0;                         // of this process
  std::shared_ptr<nccl_segment> segment;  // null: all ranks are in this process
  std::string no_segment;                 // why there cannot be any
  ncclResult_t error = ncclSuccess;
  bool aborted = false;  // by a rank of this process: that is the error
  std::map<std::uint64_t, std::vector<call_pointer>> collectives;  // those that are not complete
  std::map<std::pair<int, int>, std::deque<call_pointer>> sends, receives;  // from, to
};

}  // namespace

struct ncclComm {
  std::shared_ptr<clique> all;
  int rank = 0, device = 0;
  std::uint64_t calls = 0;
  std::map<int, std::uint64_t> sends, receives;  // by peer
};

namespace {

// Everything here is used under api_mutex().
std::condition_variable_any& something_happened() {
  static auto* c = new std::condition_variable_any;
  return *c;
}
std::set<ncclComm_t>& comms() {
  static auto* all = new std::set<ncclComm_t>;
  return *all;
}
std::map<std::string, std::shared_ptr<clique>>& cliques_to_join() {
  static auto* all = new std::map<std::string, std::shared_ptr<clique>>;
  return *all;
}
/// Those of communicators that all ranks have joined.
std::set<std::string>& used_ids() {
  static auto* all = new std::set<std::string>;
  return *all;
}
std::string& last_sentence() {
  static auto* text = new std::string;
  return *text;
}
const object_keeper keeps_comms(object_kind::library_handle, [] { return comms().size(); });

/// A rank that wants to join.
struct joining {
  ncclComm_t* to;
  std::shared_ptr<clique> all;
  std::string id;
  int rank, device;
};
/// Calls between ncclGroupStart() and ncclGroupEnd(); or one.
struct open_group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<joining> joins;
  std::vector<call_pointer> calls;
};
thread_local open_group group;

ncclResult_t failed(ncclResult_t result, const std::string& sentence) {
  last_sentence() = sentence;
  explain(sentence);
  return result;
}
/// What would hang or destroy data on a GPU: the clique works no more.
ncclResult_t broken(clique& all, ncclResult_t result, const std::string& sentence) {
  last_sentence() = sentence;
  report(sentence);
  all.error = result;
  something_happened().notify_all();
  if (all.segment != nullptr) all.segment->fail(result, sentence);
  return result;
}
/// What another process has said is so in this one, too.
ncclResult_t learn_error(clique& all) {
  if (all.segment == nullptr || all.error != ncclSuccess) return all.error;
  all.error = all.segment->error();
  if (all.error != ncclSuccess) {
    last_sentence() = all.segment->sentence();
    explain(last_sentence());
  }
  return all.error;
}

std::string list_of(const std::vector<unsigned>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranges(ranks);
}

/// Processes have ended in the middle of it.
ncclResult_t lose(clique& all, const std::vector<unsigned>& dead) {
  if (dead.empty()) return ncclSuccess;
  all.segment->fail(ncclRemoteError, "NCCL: the process of " + list_of(dead) +
                                         " has ended without ncclCommDestroy().");
  return learn_error(all);
}
ncclResult_t look_for_the_dead(clique& all) {
  if (learn_error(all) != ncclSuccess || all.segment == nullptr) return all.error;
  return lose(all, all.segment->dead());
}

// --- the work -----------------------------------------------------------------------------------

class on_device {
 public:
  explicit on_device(int device) : before_(current_device()) { set_current_device(device); }
  ~on_device() { set_current_device(before_); }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;

 private:
  int before_;
};

void exchange(const std::vector<call_pointer>& calls) {
  const posted_call& any = *calls.front();
  const std::size_t part = any.count * nccl_bytes(any.type);
  const auto copy = [](void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memmove(to, from, bytes);
  };
  std::vector<const void*> sent;
  for (const call_pointer& c : calls) sent.push_back(c->send);
  switch (any.what) {
    case kind::all_reduce: {
      std::vector<char> result(part);
      nccl_reduce(sent, 0, any.count, any.type, any.op, result.data());
      for (const call_pointer& c : calls) copy(c->receive, result.data(), part);
      return;
    }
    case kind::reduce:
      return nccl_reduce(sent, 0, any.count, any.type, any.op,
                         calls[static_cast<std::size_t>(any.other)]->receive);
    case kind::broadcast:
      for (const call_pointer& c : calls)
        copy(c->receive, sent[static_cast<std::size_t>(any.other)], part);
      return;
    case kind::all_gather: {
      std::vector<char> all(part * calls.size());
      for (std::size_t r = 0; r < calls.size(); ++r) copy(all.data() + r * part, sent[r], part);
      for (const call_pointer& c : calls) copy(c->receive, all.data(), all.size());
      return;
    }
    case kind::reduce_scatter: {
      std::vector<char> all(part * calls.size());
      for (std::size_t r = 0; r < calls.size(); ++r)
        nccl_reduce(sent, r * any.count, any.count, any.type, any.op, all.data() + r * part);
      for (std::size_t r = 0; r < calls.size(); ++r)
        copy(calls[r]->receive, all.data() + r * part, part);
      return;
    }
    case kind::send:
    case kind::receive:
      return copy(calls[1]->receive, sent[0], part);
  }
}

/// All calls have come: their streams meet.
ncclResult_t put_into_streams(const std::vector<call_pointer>& calls) {
  const auto put_at = [](const posted_call& c, stream_work work) {
    const on_device there(c.comm->device);
    work.type = cudaGraphNodeTypeMemcpy;
    work.name = c.name;
    return put(c.stream, std::move(work), false);
  };
  const auto stream_of = [](const posted_call& c) {
    const on_device there(c.comm->device);
    return resolve(c.stream);
  };
  cudaError_t error = cudaSuccess;
  const auto note = [&](cudaError_t e) { error = error == cudaSuccess ? e : error; };
  const posted_call& first = *calls.front();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    note(put_at(*calls[i], {.serial = 0, .run = [] {}}));
    note(put_at(first, {.serial = 0,
                        .run = [] {},
                        .awaited = stream_of(*calls[i]),
                        .awaited_serial = last_serial()}));
  }
  note(put_at(first, {.serial = 0, .run = [calls] { exchange(calls); }}));
  const std::uint64_t exchanged = last_serial();
  for (std::size_t i = 1; i < calls.size(); ++i)
    note(put_at(
        *calls[i],
        {.serial = 0, .run = [] {}, .awaited = stream_of(first), .awaited_serial = exchanged}));
  for (const call_pointer& c : calls) c->done = true;
  something_happened().notify_all();
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

// --- calls that meet ----------------------------------------------------------------------------

nccl_facts facts_of(const posted_call& c) {
  nccl_facts facts{static_cast<int>(c.what), {}, c.count, c.type, c.op, c.other};
  std::string(c.name).copy(facts.name, sizeof facts.name - 1);
  return facts;
}

std::string text_of(int rank, const nccl_facts& c) {
  const auto what = static_cast<kind>(c.what);
  std::string text = "rank " + std::to_string(rank) + " calls " + c.name + " with " +
                     std::to_string(c.count) + " elements of type " + std::to_string(c.type);
  if (what == kind::all_reduce || what == kind::reduce || what == kind::reduce_scatter)
    text += ", operation " + std::to_string(c.op);
  if (what == kind::reduce || what == kind::broadcast) text += ", root " + std::to_string(c.other);
  return text;
}

ncclResult_t check_same(clique& all, const posted_call& c, int other_rank,
                        const nccl_facts& other) {
  const nccl_facts mine = facts_of(c);
  const bool pair = c.what == kind::send || c.what == kind::receive;
  if (mine.count == other.count && mine.type == other.type &&
      (pair || (mine.what == other.what && mine.op == other.op && mine.other == other.other)))
    return ncclSuccess;
  return broken(all, ncclInvalidUsage,
                "NCCL: " + text_of(c.comm->rank, mine) + ", and " + text_of(other_rank, other) +
                    (pair ? ".\n  A send and its receive must have the same count and type."
                          : ".\n  All ranks must make the same calls in the same order. On a GPU, "
                            "this hangs or gives wrong data."));
}

// --- ranks in other processes -------------------------------------------------------------------

/// Elements of one message. A call of many takes several, one after the other, so that little of
/// /dev/shm is in use.
std::size_t piece_elements(const posted_call& c) {
  constexpr std::size_t bytes = 1 << 20;
  const std::size_t rows = c.what == kind::reduce_scatter ? c.comm->all->members.size() : 1;
  return std::max<std::size_t>(1, bytes / (nccl_bytes(c.type) * rows));
}
bool is_last_piece(const posted_call& c) { return (c.piece + 1) * piece_elements(c) >= c.count; }

nccl_key key_of(const posted_call& c) {
  const int me = c.comm->rank;
  if (c.what == kind::send) return {me, c.other, c.number, c.piece};
  if (c.what == kind::receive) return {c.other, me, c.number, c.piece};
  return {me, nccl_key::everybody, c.number, c.piece};
}

ncclResult_t post_to_processes(posted_call& c) {
  c.number = c.what == kind::send      ? c.comm->sends[c.other]++
             : c.what == kind::receive ? c.comm->receives[c.other]++
                                       : c.comm->calls++;
  // What is sent must have been calculated.
  const on_device there(c.comm->device);
  const cudaError_t error = put(c.stream, {.serial = 0, .run = [] {}, .name = c.name}, true);
  if (error != cudaSuccess || pending_error() != cudaSuccess) c.failed = ncclUnhandledCudaError;
  return c.failed;
}

/// The part of this call's data that its next message has.
std::vector<char> outgoing_piece(const posted_call& c) {
  const std::size_t bytes = nccl_bytes(c.type), first = c.piece * piece_elements(c);
  const std::size_t count = std::min(piece_elements(c), c.count - first);
  const auto* const data = static_cast<const char*>(c.send);
  std::vector<char> piece;
  const auto append = [&](std::size_t from) {
    if (count != 0) piece.insert(piece.end(), data + from * bytes, data + (from + count) * bytes);
  };
  if (c.what == kind::reduce_scatter)
    for (std::size_t r = 0; r < c.comm->all->members.size(); ++r) append(r * c.count + first);
  else if (c.what != kind::broadcast || c.comm->rank == c.other)
    append(first);
  return piece;
}

/// Takes what all ranks have sent, in their order, or for a receive, what one has. False: it cannot
/// be read.
bool take_piece(posted_call& c, const std::vector<nccl_segment::message>& messages) {
  nccl_segment& segment = *c.comm->all->segment;
  const std::size_t bytes = nccl_bytes(c.type), first = c.piece * piece_elements(c);
  const std::size_t count = std::min(piece_elements(c), c.count - first);
  const auto me = static_cast<std::size_t>(c.comm->rank);
  const bool gathers = c.what == kind::all_gather;
  const bool is_root = c.comm->rank == c.other;
  if (c.piece == 0 && (c.what != kind::reduce || is_root))
    c.received.resize(c.count * bytes * (gathers ? messages.size() : 1));
  if (count == 0) return true;
  const auto place = [&](std::size_t rank) {
    return c.received.data() + ((gathers ? rank * c.count : 0) + first) * bytes;
  };
  switch (c.what) {
    case kind::reduce:
      if (!is_root) return true;
      [[fallthrough]];
    case kind::all_reduce:
    case kind::reduce_scatter: {
      std::vector<std::vector<char>> parts;
      std::vector<const void*> from;
      for (const nccl_segment::message& m : messages) {
        parts.emplace_back(count * bytes);
        if (!segment.read(m, c.what == kind::reduce_scatter ? me * count * bytes : 0, count * bytes,
                          parts.back().data()))
          return false;
        from.push_back(parts.back().data());
      }
      nccl_reduce(from, 0, count, c.type, c.op, place(0));
      return true;
    }
    case kind::all_gather:
      for (std::size_t r = 0; r < messages.size(); ++r)
        if (!segment.read(messages[r], 0, count * bytes, place(r))) return false;
      return true;
    case kind::broadcast:
      return segment.read(messages[static_cast<std::size_t>(c.other)], 0, count * bytes, place(0));
    case kind::receive:
      return segment.read(messages.front(), 0, count * bytes, place(0));
    case kind::send:
      break;
  }
  return true;
}

/// The call is complete: what has come goes into the stream.
ncclResult_t put_received(posted_call& c) {
  c.done = true;
  if (c.received.empty()) return ncclSuccess;
  const on_device there(c.comm->device);
  const cudaError_t error = put(
      c.stream,
      {.serial = 0,
       .run = [to = c.receive, data = std::make_shared<std::vector<char>>(std::move(
                                   c.received))] { std::memcpy(to, data->data(), data->size()); },
       .type = cudaGraphNodeTypeMemcpy,
       .name = c.name},
      false);
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

/// The ranks whose message a call waits for.
std::vector<unsigned> awaited_ranks(const posted_call& c) {
  const nccl_segment& segment = *c.comm->all->segment;
  if (c.what == kind::send || c.what == kind::receive) {
    const bool has_come = c.what == kind::send ? c.sent && segment.was_taken(*c.sent)
                                               : !segment.find(key_of(c), false).empty();
    if (has_come) return {};
    return {static_cast<unsigned>(c.other)};
  }
  const auto came = segment.find(key_of(c), true);
  std::vector<unsigned> ranks;
  for (unsigned r = 0; r < c.comm->all->members.size(); ++r)
    if (std::none_of(came.begin(), came.end(),
                     [&](const nccl_segment::message& m) { return m.from == static_cast<int>(r); }))
      ranks.push_back(r);
  return ranks;
}

/// Goes on as far as the messages that are there allow: also if the communicator has failed since,
/// so that no call of one rank fails which another rank has seen succeed.
ncclResult_t advance(posted_call& c) {
  clique& all = *c.comm->all;
  nccl_segment& segment = *all.segment;
  const bool collective = c.what != kind::send && c.what != kind::receive;
  while (!c.done) {
    if (c.what != kind::receive && !c.sent) {
      c.sent = segment.send(key_of(c), facts_of(c), outgoing_piece(c));
      if (!c.sent) return ncclSuccess;  // no room yet
    }
    if (c.what == kind::send) {
      if (!segment.was_taken(*c.sent)) return ncclSuccess;
    } else {
      const auto messages = segment.find(key_of(c), collective);
      for (const nccl_segment::message& m : messages)
        if (const ncclResult_t same = check_same(all, c, m.from, m.facts); same != ncclSuccess)
          return same;
      if (messages.size() != (collective ? all.members.size() : 1)) return ncclSuccess;
      if (!take_piece(c, messages)) return learn_error(all);
      segment.take(messages);
    }
    if (is_last_piece(c)) return put_received(c);
    ++c.piece;
    c.sent.reset();
  }
  return ncclSuccess;
}

std::string missing_text(const posted_call& c);

/// Whoever a call waits for must be there.
ncclResult_t look_for_those_who_left(const posted_call& c) {
  clique& all = *c.comm->all;
  for (const unsigned r : awaited_ranks(c)) {
    if (!all.segment->has_left(static_cast<int>(r))) continue;
    // What it did last, it may have done since.
    if (const auto still = awaited_ranks(c); std::count(still.begin(), still.end(), r) == 0)
      continue;
    all.segment->fail(ncclRemoteError, std::string(c.name) + ": rank " +
                                           std::to_string(c.comm->rank) + " waits for rank " +
                                           std::to_string(r) +
                                           ", which has destroyed its communicator.");
    return learn_error(all);
  }
  return ncclSuccess;
}

using wait_clock = std::chrono::steady_clock;

/// How long nothing has happened in a communicator or in this process.
class patience {
 public:
  bool is_over(const nccl_segment& segment) {
    const std::pair now{segment.events(), last_serial()};
    if (now != seen_) since_ = wait_clock::now();
    seen_ = now;
    return wait_clock::now() - since_ > std::chrono::duration<double>(time_limit_seconds());
  }

 private:
  std::pair<std::uint32_t, std::uint64_t> seen_{};
  wait_clock::time_point since_ = wait_clock::now();
};

constexpr int kLookMilliseconds = 50;  // between two looks for processes that have ended

/// Lets other threads call meanwhile.
void wait_for_others(std::unique_lock<std::recursive_mutex>& lock, nccl_segment& segment,
                     std::uint32_t seen, int milliseconds) {
  lock.unlock();
  segment.wait(seen, milliseconds);
  lock.lock();
}

/// Waits until all of these calls are done or have failed.
ncclResult_t finish(std::unique_lock<std::recursive_mutex>& lock,
                    const std::vector<call_pointer>& calls) {
  ncclResult_t result = ncclSuccess;
  std::map<nccl_segment*, patience> waiting;
  wait_clock::time_point looked = wait_clock::now();
  for (;;) {
    std::map<std::shared_ptr<nccl_segment>, std::uint32_t> seen;  // before anything is looked at
    for (const call_pointer& c : calls)
      if (!c->done && c->failed == ncclSuccess)
        seen.emplace(c->comm->all->segment, c->comm->all->segment->events());
    if (seen.empty()) return result;
    const bool look = wait_clock::now() - looked > std::chrono::milliseconds(kLookMilliseconds);
    if (look) looked = wait_clock::now();
    bool moved = false;
    for (const call_pointer& c : calls) {
      if (c->done || c->failed != ncclSuccess) continue;
      clique& all = *c->comm->all;
      // Before, since a rank may end or fail when it has sent all that this call needs.
      const bool had_failed = all.segment->error() != ncclSuccess;
      const auto dead = look ? all.segment->dead() : std::vector<unsigned>();
      c->failed = advance(*c);
      moved = moved || c->done;
      if (!c->done && c->failed == ncclSuccess && had_failed) c->failed = learn_error(all);
      if (!c->done && c->failed == ncclSuccess) c->failed = look_for_those_who_left(*c);
      if (!c->done && c->failed == ncclSuccess) c->failed = lose(all, dead);
      if (!c->done && c->failed == ncclSuccess && waiting[all.segment.get()].is_over(*all.segment))
        c->failed = broken(all, ncclSystemError, missing_text(*c));
      if (result == ncclSuccess) result = c->failed;
    }
    if (!moved)
      wait_for_others(lock, *seen.begin()->first, seen.begin()->second,
                      seen.size() == 1 ? kLookMilliseconds : 1);
  }
}

// --- calls that meet in one process -------------------------------------------------------------

ncclResult_t post(const call_pointer& c) {
  clique& all = *c->comm->all;
  if (learn_error(all) != ncclSuccess) return c->failed = all.error;
  if (all.segment != nullptr) return post_to_processes(*c);
  if (c->what == kind::send || c->what == kind::receive) {
    const bool sends = c->what == kind::send;
    const int me = c->comm->rank;
    const auto way = sends ? std::pair{me, c->other} : std::pair{c->other, me};
    auto& others = (sends ? all.receives : all.sends)[way];
    if (others.empty()) {
      (sends ? all.sends : all.receives)[way].push_back(c);
      return ncclSuccess;
    }
    const call_pointer other = others.front();
    others.pop_front();
    if (const ncclResult_t result = check_same(all, *c, other->comm->rank, facts_of(*other));
        result != ncclSuccess)
      return result;
    return put_into_streams(sends ? std::vector{c, other} : std::vector{other, c});
  }
  c->number = c->comm->calls++;
  std::vector<call_pointer>& calls = all.collectives[c->number];
  calls.resize(all.members.size());
  for (const call_pointer& other : calls)
    if (other != nullptr) {
      if (const ncclResult_t result = check_same(all, *c, other->comm->rank, facts_of(*other));
          result != ncclSuccess)
        return result;
      break;
    }
  calls[static_cast<std::size_t>(c->comm->rank)] = c;
  if (std::find(calls.begin(), calls.end(), nullptr) != calls.end()) return ncclSuccess;
  const std::vector<call_pointer> complete = std::move(calls);
  all.collectives.erase(c->number);
  return put_into_streams(complete);
}

/// Waits until `done()`, or the clique is broken. If nothing happens in the whole process for as
/// long as a kernel may do nothing, `missing()` says who has not come.
template <class Done, class Missing>
ncclResult_t wait_until(std::unique_lock<std::recursive_mutex>& lock, clique& all, Done done,
                        Missing missing) {
  const std::chrono::duration<double> limit(time_limit_seconds());
  while (!done()) {
    if (all.error != ncclSuccess) return all.error;
    const std::uint64_t before = last_serial();
    if (something_happened().wait_for(lock, limit) == std::cv_status::timeout && !done() &&
        all.error == ncclSuccess && last_serial() == before)
      return broken(all, ncclSystemError, missing());
  }
  return ncclSuccess;
}

std::string missing_text(const posted_call& c) {
  std::string who;
  if (c.what == kind::send || c.what == kind::receive) {
    who = "rank " + std::to_string(c.other) + " has not called " +
          (c.what == kind::send ? "ncclRecv" : "ncclSend");
  } else {
    std::vector<unsigned> ranks;
    if (c.comm->all->segment != nullptr) {
      ranks = awaited_ranks(c);
    } else {
      const auto& calls = c.comm->all->collectives[c.number];
      for (unsigned r = 0; r < calls.size(); ++r)
        if (calls[r] == nullptr) ranks.push_back(r);
    }
    who = list_of(ranks) + (ranks.size() == 1 ? " has" : " have") + " not called it";
  }
  return std::string(c.name) + ": rank " + std::to_string(c.comm->rank) + " waits, and " + who +
         ".\n  On a GPU, this hangs. Try: ncclGroupStart() and ncclGroupEnd() around the calls of "
         "a "
         "thread that has several ranks, or that sends and receives; and the same calls in all "
         "ranks.";
}

ncclResult_t join(joining& j) {
  clique& all = *j.all;
  auto& member = all.members[static_cast<std::size_t>(j.rank)];
  if (all.segment != nullptr) {
    const bool first_to_fail = all.segment->error() == ncclSuccess;
    const std::string wrong =
        all.segment->join(static_cast<int>(all.members.size()), j.rank, device_slot(j.device));
    if (!wrong.empty())
      return first_to_fail ? broken(all, ncclInvalidUsage, wrong) : learn_error(all);
  } else if (member != nullptr) {
    return broken(all, ncclInvalidUsage,
                  "ncclCommInitRank: there are two ranks " + std::to_string(j.rank) + ".");
  }
  if (all.segment == nullptr)
    for (const ncclComm_t other : all.members)
      if (other != nullptr && other->device == j.device)
        return broken(all, ncclInvalidUsage,
                      "ncclCommInitRank: ranks " + std::to_string(other->rank) + " and " +
                          std::to_string(j.rank) + " both have device " + std::to_string(j.device) +
                          ". Try: cudaSetDevice(rank) in each thread before.");
  auto made = std::make_unique<ncclComm>();
  made->all = j.all;
  made->rank = j.rank;
  made->device = j.device;
  member = *j.to = made.release();
  comms().insert(*j.to);
  ++all.joined;
  something_happened().notify_all();
  return ncclSuccess;
}

/// All ranks have come.
bool is_complete(const joining& j) {
  clique& all = *j.all;
  if (all.segment != nullptr) {
    if (!all.segment->complete()) return false;
    if (all.segment->one_process()) all.segment.reset();  // then nothing is shared
  } else if (all.joined != static_cast<int>(all.members.size())) {
    return false;
  }
  cliques_to_join().erase(j.id);
  used_ids().insert(j.id);
  return true;
}

std::string missing_text(const joining& j) {
  std::vector<unsigned> ranks;
  if (j.all->segment != nullptr) {
    ranks = j.all->segment->absent();
  } else {
    for (unsigned r = 0; r < j.all->members.size(); ++r)
      if (j.all->members[r] == nullptr) ranks.push_back(r);
  }
  return "ncclCommInitRank: rank " + std::to_string(j.rank) + " of " +
         std::to_string(j.all->members.size()) + " waits, and " + list_of(ranks) +
         (ranks.size() == 1 ? " has" : " have") +
         " not called it.\n  On a GPU, this hangs. Try: ncclCommInitAll(), a thread or a process "
         "for "
         "each rank, or ncclGroupStart() and ncclGroupEnd() around the calls of one thread." +
         (j.all->no_segment.empty()
              ? ""
              : "\n  Other processes cannot be reached: " + j.all->no_segment + ".");
}

ncclResult_t wait_for_all(std::unique_lock<std::recursive_mutex>& lock, const joining& j) {
  clique& all = *j.all;
  if (all.segment == nullptr)
    return wait_until(
        lock, all, [&] { return is_complete(j); }, [&] { return missing_text(j); });
  patience until;
  while (const std::shared_ptr<nccl_segment> segment = all.segment) {
    const std::uint32_t seen = segment->events();
    if (is_complete(j)) break;
    if (look_for_the_dead(all) != ncclSuccess)  // unless all had come before
      return is_complete(j) ? ncclSuccess : all.error;
    if (until.is_over(*segment)) return broken(all, ncclSystemError, missing_text(j));
    wait_for_others(lock, *segment, seen, kLookMilliseconds);
  }
  return ncclSuccess;
}

ncclResult_t end_comm(ncclComm_t comm) {
  clique& all = *comm->all;
  all.members[static_cast<std::size_t>(comm->rank)] = nullptr;
  if (all.segment != nullptr) all.segment->leave(comm->rank);
  comms().erase(comm);
  delete comm;
  return ncclSuccess;
}

/// The calls of a group, together. Not under api_mutex(), since others must be able to call.
ncclResult_t make_calls(open_group calls) {
  std::unique_lock lock(api_mutex());
  ncclResult_t result = calls.error;
  const auto note = [&](ncclResult_t r) { result = result == ncclSuccess ? r : result; };
  if (result != ncclSuccess) return result;
  for (joining& j : calls.joins) note(join(j));
  for (const joining& j : calls.joins) note(wait_for_all(lock, j));
  if (result != ncclSuccess) {  // then there are no communicators
    for (const joining& j : calls.joins) {
      cliques_to_join().erase(j.id);
      if (comms().count(*j.to) != 0 && (*j.to)->all == j.all) end_comm(*j.to);
      *j.to = nullptr;
    }
    return result;
  }
  for (const call_pointer& c : calls.calls) note(post(c));
  std::vector<call_pointer> here, elsewhere;
  for (const call_pointer& c : calls.calls)
    (c->comm->all->segment == nullptr ? here : elsewhere).push_back(c);
  note(finish(lock, elsewhere));
  for (const call_pointer& c : here)
    note(wait_until(
        lock, *c->comm->all, [&] { return c->done; }, [&] { return missing_text(*c); }));
  return result;
}

ncclResult_t add_or_make() {
  if (group.depth != 0) return ncclSuccess;
  return make_calls(std::exchange(group, {}));
}

// --- what is checked at once --------------------------------------------------------------------

ncclResult_t no_communicator() {
  return failed(ncclInvalidArgument,
                this_call() + ": this is no communicator. Was it destroyed before?");
}

ncclResult_t check(const posted_call& c) {
  if (comms().count(c.comm) == 0) return no_communicator();
  const auto ranks = static_cast<std::size_t>(c.comm->all->members.size());
  const auto wrong = [&](const std::string& what) {
    return failed(ncclInvalidArgument, this_call() + ": " + what);
  };
  if (nccl_bytes(c.type) == 0) return wrong("there is no such type of elements.");
  if (c.op < ncclSum || c.op >= ncclNumOps) return wrong("there is no such operation.");
  if (c.other < 0 || c.other >= static_cast<int>(ranks))
    return wrong("there is no rank " + std::to_string(c.other) + " among " + std::to_string(ranks) +
                 ".");
  const on_device there(c.comm->device);
  if (pending_error() != cudaSuccess) return ncclUnhandledCudaError;
  const CUstream_st* stream = resolve(c.stream);
  if (stream == nullptr || stream->device != c.comm->device)
    return wrong("the stream is none of device " + std::to_string(c.comm->device) +
                 ", which is that of the communicator.");
  if (stream->capture)
    return failed(ncclInvalidUsage, this_call() + ": the CPU device cannot capture NCCL's calls.");
  const std::size_t bytes = c.count * nccl_bytes(c.type);
  const bool is_root = c.comm->rank == c.other;
  const bool sends = c.what != kind::receive && (c.what != kind::broadcast || is_root);
  const bool receives = c.what != kind::send && (c.what != kind::reduce || is_root);
  if (bytes == 0) return ncclSuccess;
  if (sends && !usable_on_device(c.comm->device, c.name, "the send buffer", c.send,
                                 bytes * (c.what == kind::reduce_scatter ? ranks : 1)))
    return ncclInvalidArgument;
  if (receives && !usable_on_device(c.comm->device, c.name, "the receive buffer", c.receive,
                                    bytes * (c.what == kind::all_gather ? ranks : 1)))
    return ncclInvalidArgument;
  return ncclSuccess;
}

// Of a unique id: what all begin with, and how many bytes make it one of its own.
constexpr std::string_view kIdBegins = "NCCLcpu ";
constexpr std::size_t kIdBytes = 16;

/// A function that communicates.
template <function_name Name>
ncclResult_t communicate(kind what, const void* send, void* receive, std::size_t count,
                         ncclDataType_t type, ncclRedOp_t op, int other, ncclComm_t comm,
                         cudaStream_t stream) {
  const ncclResult_t result = nccl_call<Name>([&] {
    auto call = std::make_shared<posted_call>(posted_call{name_of_this_call(), what, comm, send,
                                                          receive, count, type, op, other, stream});
    const ncclResult_t checked = check(*call);
    if (checked == ncclSuccess) group.calls.push_back(std::move(call));
    return checked;
  });
  if (result == ncclSuccess) return add_or_make();
  if (group.depth != 0) group.error = result;  // then ncclGroupEnd() makes none of the calls
  return result;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  return nccl_call<"ncclGetVersion">([&] {
    if (version == nullptr) return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a call of CUDA has failed";
    case ncclSystemError:
      return "a rank cannot be reached";
    case ncclInternalError:
      return "an error inside of NCCL";
    case ncclInvalidArgument:
      return "an argument is not valid";
    case ncclInvalidUsage:
      return "the calls of the ranks do not fit together";
    case ncclRemoteError:
      return "another rank has failed or left";
    case ncclInProgress:
      return "still under way";
    default:
      return "no result of NCCL";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  const std::lock_guard lock(api_mutex());
  return last_sentence().c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call<"ncclGetUniqueId">([&] {
    if (id == nullptr) return ncclInvalidArgument;
    std::memset(id, 0, sizeof *id);
    kIdBegins.copy(id->internal, kIdBegins.size());
    std::random_device random;
    for (std::size_t i = 0; i < kIdBytes; ++i)
      id->internal[kIdBegins.size() + i] = static_cast<char>(random());
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  const ncclResult_t result = nccl_call<"ncclCommInitRank">([&] {
    const bool is_id = std::string_view(id.internal, kIdBegins.size()) == kIdBegins;
    const std::string name(id.internal + kIdBegins.size(), kIdBytes);
    if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks || !is_id)
      return failed(ncclInvalidArgument, "ncclCommInitRank: rank " + std::to_string(rank) + " of " +
                                             std::to_string(ranks) +
                                             ", or an id that ncclGetUniqueId() has not made.");
    if (ranks > nccl_segment::max_ranks)
      return failed(ncclInvalidUsage, "ncclCommInitRank: the CPU device takes up to " +
                                          std::to_string(nccl_segment::max_ranks) + " ranks, not " +
                                          std::to_string(ranks) + ".");
    if (used_ids().count(name) != 0) {
      last_sentence() =
          "ncclCommInitRank: the id has made a communicator before. On a GPU, this hangs or fails. "
          "Try: ncclGetUniqueId() for each communicator.";
      report(last_sentence());
      return ncclInvalidUsage;
    }
    std::shared_ptr<clique>& all = cliques_to_join()[name];
    if (all == nullptr) {
      all = std::make_shared<clique>(ranks);
      all->segment = nccl_segment::open(name, &all->no_segment);
    }
    if (static_cast<int>(all->members.size()) != ranks)
      return broken(*all, ncclInvalidUsage,
                    "ncclCommInitRank: one rank says that there are " + std::to_string(ranks) +
                        " ranks, another one " + std::to_string(all->members.size()) + ".");
    group.joins.push_back({comm, all, name, rank, current_device()});
    return ncclSuccess;
  });
  return result == ncclSuccess ? add_or_make() : result;
}

ncclResult_t ncclCommInitAll(ncclComm_t* new_comms, int count, const int* devices) {
  return nccl_call<"ncclCommInitAll">([&] {
    if (new_comms == nullptr || count < 1) return ncclInvalidArgument;
    const auto all = std::make_shared<clique>(count);
    std::vector<joining> joins;
    for (int rank = 0; rank < count; ++rank) {
      const int device = devices != nullptr ? devices[rank] : rank;
      if (!is_device(device))
        return failed(ncclInvalidArgument,
                      "ncclCommInitAll: there is no device " + std::to_string(device) + ".");
      for (const joining& j : joins)
        if (j.device == device)
          return failed(ncclInvalidUsage,
                        "ncclCommInitAll: device " + std::to_string(device) + " is there twice.");
      joins.push_back({new_comms + rank, all, {}, rank, device});
    }
    for (joining& j : joins) join(j);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return nccl_call<"ncclCommFinalize">(
      [&] { return comms().count(comm) != 0 ? ncclSuccess : no_communicator(); });
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return nccl_call<"ncclCommDestroy", ncclUnhandledCudaError, rules::releases>([&] {
    if (comm == nullptr) return ncclSuccess;
    return comms().count(comm) != 0 ? end_comm(comm) : no_communicator();
  });
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return nccl_call<"ncclCommAbort", ncclUnhandledCudaError, rules::releases>([&] {
    if (comm == nullptr) return ncclSuccess;
    if (comms().count(comm) == 0) return no_communicator();
    if (comm->all->error == ncclSuccess) comm->all->aborted = comm->all->segment == nullptr;
    comm->all->error = ncclRemoteError;
    something_happened().notify_all();
    if (comm->all->segment != nullptr)
      comm->all->segment->fail(ncclRemoteError, "NCCL: rank " + std::to_string(comm->rank) +
                                                    " has aborted its communicator.");
    return end_comm(comm);
  });
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return nccl_call<"ncclCommGetAsyncError">([&] {
    if (comms().count(comm) == 0 || error == nullptr) return no_communicator();
    // On a GPU, too, a rank that has called does not notice that another one of its process aborts.
    *error = comm->all->aborted ? ncclSuccess : look_for_the_dead(*comm->all);
    return ncclSuccess;
  });
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* ranks) {
  return nccl_call<"ncclCommCount">([&] {
    if (comms().count(comm) == 0 || ranks == nullptr) return no_communicator();
    *ranks = static_cast<int>(comm->all->members.size());
    return ncclSuccess;
  });
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return nccl_call<"ncclCommCuDevice">([&] {
    if (comms().count(comm) == 0 || device == nullptr) return no_communicator();
    *device = comm->device;
    return ncclSuccess;
  });
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return nccl_call<"ncclCommUserRank">([&] {
    if (comms().count(comm) == 0 || rank == nullptr) return no_communicator();
    *rank = comm->rank;
    return ncclSuccess;
  });
}

ncclResult_t ncclMemAlloc(void** pointer, std::size_t bytes) {
  return nccl_call<"ncclMemAlloc">([&] {
    return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
  });
}
ncclResult_t ncclMemFree(void* pointer) {
  return nccl_call<"ncclMemFree", ncclUnhandledCudaError, rules::releases>(
      [&] { return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError; });
}

ncclResult_t ncclGroupStart() {
  return nccl_call<"ncclGroupStart">([&] {
    ++group.depth;
    return ncclSuccess;
  });
}
ncclResult_t ncclGroupEnd() {
  const ncclResult_t result = nccl_call<"ncclGroupEnd">([&] {
    if (group.depth == 0)
      return failed(ncclInvalidUsage, "ncclGroupEnd: there is no ncclGroupStart() before it.");
    --group.depth;
    return ncclSuccess;
  });
  if (result == ncclSuccess) return add_or_make();
  group = {};  // it ends nevertheless, and its calls are not made
  return result;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return communicate<"ncclAllReduce">(kind::all_reduce, send, receive, count, type, op, 0, comm,
                                      stream);
}
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return communicate<"ncclReduce">(kind::reduce, send, receive, count, type, op, root, comm,
                                   stream);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return communicate<"ncclBroadcast">(kind::broadcast, send, receive, count, type, ncclSum, root,
                                      comm, stream);
}
ncclResult_t ncclBcast(void* buffer, std::size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t stream) {
  return communicate<"ncclBcast">(kind::broadcast, buffer, buffer, count, type, ncclSum, root, comm,
                                  stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return communicate<"ncclAllGather">(kind::all_gather, send, receive, count, type, ncclSum, 0,
                                      comm, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return communicate<"ncclReduceScatter">(kind::reduce_scatter, send, receive, count, type, op, 0,
                                          comm, stream);
}
ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return communicate<"ncclSend">(kind::send, send, nullptr, count, type, ncclSum, peer, comm,
                                 stream);
}
ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return communicate<"ncclRecv">(kind::receive, nullptr, receive, count, type, ncclSum, peer, comm,
                                 stream);
}
