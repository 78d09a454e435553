// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <random>
#include <set>

namespace cpu_device {

// All zeros is where it begins. Numbers of other processes are read, never trusted as places in
// this one's memory.
struct nccl_layout {
  static constexpr std::size_t max_messages = 1024;

  enum class presence : std::uint32_t { absent, here, left };
  struct rank {
    presence state;
    int device;
    std::uint64_t process;
  };
  enum class stage : std::uint32_t { empty, written, there };
  struct slot {
    stage state;
    std::uint32_t readers;  // that have not taken it
    std::uint64_t serial;
    nccl_key key;
    nccl_facts facts;
    std::uint64_t offset, bytes;
  };

  std::atomic<std::uint32_t> events;
  std::atomic<int> error;
  int ranks, came, joined;
  char sentence[1000];
  std::uint64_t serials;
  rank members[nccl_segment::max_ranks];
  slot slots[max_messages];
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "processes share it");

namespace {

/// In memory, unless a sandbox has little or nothing there. All processes choose the same one.
const std::string& folder_for_files() {
  static const std::string chosen = [] {
    constexpr unsigned long long enough = 32 << 20;
    struct statvfs place {};
    const bool fits = access("/dev/shm", W_OK | X_OK) == 0 && statvfs("/dev/shm", &place) == 0 &&
                      std::uint64_t{place.f_blocks} * place.f_frsize >= enough;
    return fits ? "/dev/shm" : "/tmp";
  }();
  return chosen;
}
constexpr const char* kPrefix = "cpu_device.nccl.";
constexpr off_t kTurns = off_t{1} << 40;  // the byte whose lock is held while something is changed
constexpr off_t kLives = kTurns + 1;      // and one a rank, locked as long as its process lives

/// Closing any descriptor of a file drops all locks that this process has on it, so each is open
/// once.
std::set<std::string>& open_here() {
  static auto* paths = new std::set<std::string>;
  return *paths;
}

bool lock_byte(int file, off_t byte, short type, bool wait) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  int result = 0;
  do result = fcntl(file, wait ? F_SETLKW : F_SETLK, &range);
  while (result != 0 && errno == EINTR);
  return result == 0;
}
/// By another process.
bool is_locked(int file, off_t byte, off_t length) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = length;
  return fcntl(file, F_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

/// A number that no other process has, nor a child of this one.
std::uint64_t this_process() {
  static const std::uint64_t chosen = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return chosen + static_cast<std::uint64_t>(getpid());
}

/// Removes what processes left that were killed before all ranks had come.
void sweep() {
  DIR* folder = opendir(folder_for_files().c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (std::strncmp(entry->d_name, kPrefix, std::strlen(kPrefix)) != 0) continue;
    const std::string path = folder_for_files() + "/" + entry->d_name;
    struct stat status {};
    if (open_here().count(path) != 0 || lstat(path.c_str(), &status) != 0 ||
        status.st_uid != geteuid() || std::time(nullptr) - status.st_mtime < 60)
      continue;
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    if (!is_locked(file, kTurns, 0)) unlink(path.c_str());
    close(file);
  }
  closedir(folder);
}

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

/// While it lives, no other process changes anything.
class nccl_segment::locked {
 public:
  explicit locked(const nccl_segment& segment) : file_(segment.file_) {
    lock_byte(file_, kTurns, F_WRLCK, true);
  }
  ~locked() { lock_byte(file_, kTurns, F_UNLCK, false); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

 private:
  int file_;
};

std::shared_ptr<nccl_segment> nccl_segment::open(const std::string& id, std::string* why) {
  std::string path = folder_for_files() + "/" + kPrefix;
  for (const char c : id) {
    path += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    path += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  sweep();
  const auto failed = [&](int file) {
    *why = path + ": " + std::strerror(errno);
    if (file >= 0) close(file);
    return nullptr;
  };
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failed(file);
  // Who comes second finds its bytes as they are.
  if (const int full = posix_fallocate(file, 0, sizeof(nccl_layout)); full != 0) {
    errno = full;
    return failed(file);
  }
  void* there = mmap(nullptr, sizeof(nccl_layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (there == MAP_FAILED) return failed(file);
  return std::make_shared<nccl_segment>(path, file, static_cast<nccl_layout*>(there));
}

nccl_segment::nccl_segment(const std::string& path, int file, nccl_layout* shared)
    : path_(path), file_(file), shared_(shared) {
  open_here().insert(path_);
}

nccl_segment::~nccl_segment() {
  // Unless all ranks came, it still has its name. Ranks that are late must learn of a mistake.
  if (shared_->came < shared_->ranks && error() != ncclInvalidUsage && !is_locked(file_, kLives, 0))
    unlink(path_.c_str());
  munmap(shared_, sizeof(nccl_layout));
  close(file_);
  open_here().erase(path_);
}

void nccl_segment::happened() {
  shared_->events.fetch_add(1);
  syscall(SYS_futex, &shared_->events, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}
std::uint32_t nccl_segment::events() const { return shared_->events.load(); }
void nccl_segment::wait(std::uint32_t seen, int milliseconds) const {
  timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  syscall(SYS_futex, &shared_->events, FUTEX_WAIT, seen, &time, nullptr, 0);
}

// --- who is there -------------------------------------------------------------------------------

std::string nccl_segment::join(int ranks, int rank, int device) {
  const locked hold(*this);
  nccl_layout& s = *shared_;
  if (++s.came >= ranks) unlink(path_.c_str());
  if (error() != ncclSuccess) return sentence();
  if (s.ranks == 0) s.ranks = ranks;
  if (ranks != s.ranks)
    return "ncclCommInitRank: one rank says that there are " + std::to_string(ranks) +
           " ranks, another one " + std::to_string(s.ranks) + ".";
  nccl_layout::rank& me = s.members[rank];
  if (me.state != nccl_layout::presence::absent)
    return "ncclCommInitRank: there are two ranks " + std::to_string(rank) + ".";
  for (int other = 0; other < ranks; ++other)
    if (s.members[other].state == nccl_layout::presence::here && s.members[other].device == device)
      return "ncclCommInitRank: ranks " + std::to_string(other) + " and " + std::to_string(rank) +
             " both have device " + std::to_string(device) +
             " of this machine. Try: cudaSetDevice(rank) in each thread or process before" +
             (ranks > 2 ? ", and CPU_DEVICE_COUNT=" + std::to_string(ranks) : "") + ".";
  lock_byte(file_, kLives + rank, F_WRLCK, false);
  me = {nccl_layout::presence::here, device, this_process()};
  ++s.joined;
  happened();
  return "";
}

void nccl_segment::leave(int rank) {
  const locked hold(*this);
  shared_->members[rank].state = nccl_layout::presence::left;
  lock_byte(file_, kLives + rank, F_UNLCK, false);
  happened();
}

bool nccl_segment::complete() const {
  const locked hold(*this);
  return shared_->joined != 0 && shared_->joined == shared_->ranks;
}
bool nccl_segment::one_process() const {
  const locked hold(*this);
  return std::all_of(shared_->members, shared_->members + shared_->ranks,
                     [](const auto& member) { return member.process == this_process(); });
}
std::vector<unsigned> nccl_segment::absent() const {
  const locked hold(*this);
  std::vector<unsigned> ranks;
  for (int r = 0; r < shared_->ranks; ++r)
    if (shared_->members[r].state == nccl_layout::presence::absent)
      ranks.push_back(static_cast<unsigned>(r));
  return ranks;
}
bool nccl_segment::has_left(int rank) const {
  const locked hold(*this);
  return shared_->members[rank].state == nccl_layout::presence::left;
}
std::vector<unsigned> nccl_segment::dead() const {
  const locked hold(*this);
  std::vector<unsigned> ranks;
  for (int r = 0; r < shared_->ranks; ++r) {
    const nccl_layout::rank& member = shared_->members[r];
    if (member.state == nccl_layout::presence::here && member.process != this_process() &&
        !is_locked(file_, kLives + r, 1))
      ranks.push_back(static_cast<unsigned>(r));
  }
  return ranks;
}

ncclResult_t nccl_segment::error() const {
  return static_cast<ncclResult_t>(shared_->error.load());
}
std::string nccl_segment::sentence() const { return shared_->sentence; }
void nccl_segment::fail(ncclResult_t result, const std::string& sentence) {
  const locked hold(*this);
  if (error() != ncclSuccess) return;
  sentence.copy(shared_->sentence, sizeof shared_->sentence - 1);
  shared_->error.store(result);
  happened();
}

// --- messages -----------------------------------------------------------------------------------

std::optional<nccl_segment::sent> nccl_segment::send(const nccl_key& key, const nccl_facts& facts,
                                                     const std::vector<char>& data) {
  sent mine{};
  nccl_layout& s = *shared_;
  {
    const locked hold(*this);
    const auto empty = std::find_if(s.slots, s.slots + nccl_layout::max_messages, [](auto& slot) {
      return slot.state == nccl_layout::stage::empty;
    });
    if (empty == s.slots + nccl_layout::max_messages) return {};
    // The first place that no other message has.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (const nccl_layout::slot& slot : s.slots)
      if (slot.state != nccl_layout::stage::empty)
        taken.emplace_back(slot.offset, slot.offset + rounded(slot.bytes));
    std::sort(taken.begin(), taken.end());
    std::uint64_t offset = rounded(sizeof(nccl_layout));
    for (const auto& [begin, end] : taken) {
      if (begin >= offset + rounded(data.size())) break;
      offset = std::max(offset, end);
    }
    *empty = {.state = nccl_layout::stage::written,
              .readers = key.to == nccl_key::everybody ? static_cast<std::uint32_t>(s.ranks) : 1,
              .serial = ++s.serials,
              .key = key,
              .facts = facts,
              .offset = offset,
              .bytes = data.size()};
    mine = {static_cast<std::size_t>(empty - s.slots), empty->serial};
  }
  nccl_layout::slot& slot = s.slots[mine.slot];
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t n = pwrite(file_, data.data() + done, data.size() - done,
                             static_cast<off_t>(slot.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fail(ncclSystemError, "NCCL: a message does not fit into " + folder_for_files() + ": " +
                                std::strerror(n < 0 ? errno : ENOSPC));
      return {};
    }
    done += static_cast<std::size_t>(n);
  }
  const locked hold(*this);
  slot.state = nccl_layout::stage::there;
  happened();
  return mine;
}

bool nccl_segment::was_taken(const sent& message) const {
  const locked hold(*this);
  const nccl_layout::slot& slot = shared_->slots[message.slot];
  return slot.serial != message.serial || slot.state == nccl_layout::stage::empty;
}

std::vector<nccl_segment::message> nccl_segment::find(const nccl_key& key, bool from_all) const {
  const locked hold(*this);
  std::vector<message> found;
  for (std::size_t i = 0; i < nccl_layout::max_messages; ++i) {
    const nccl_layout::slot& slot = shared_->slots[i];
    if (slot.state == nccl_layout::stage::there && slot.key.to == key.to &&
        slot.key.number == key.number && slot.key.piece == key.piece &&
        (from_all || slot.key.from == key.from))
      found.push_back({i, slot.key.from, slot.facts, slot.offset, slot.bytes});
  }
  std::sort(found.begin(), found.end(),
            [](const message& a, const message& b) { return a.from < b.from; });
  return found;
}

bool nccl_segment::read(const message& m, std::uint64_t first, std::size_t bytes, void* to) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = pread(file_, static_cast<char*>(to) + done, bytes - done,
                            static_cast<off_t>(m.offset + first + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fail(ncclSystemError, std::string("NCCL: a message cannot be read: ") + std::strerror(errno));
      return false;
    }
    done += static_cast<std::size_t>(n);
  }
  return true;
}

void nccl_segment::take(const std::vector<message>& messages) {
  const locked hold(*this);
  for (const message& m : messages) {
    nccl_layout::slot& slot = shared_->slots[m.slot];
    if (--slot.readers == 0) slot.state = nccl_layout::stage::empty;
  }
  happened();
}

}  // namespace cpu_device
