// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The main function of a worker: a student's code, and nothing of the tests. It answers the calls
// that come over the socket; wire/messages.hpp says how. Nothing here protects anything: what
// matters is decided on the other side.

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "../wire/exceptions.hpp"
#include "../wire/messages.hpp"
#include "stub.hpp"

namespace worker {
namespace {

using wire::message;

std::map<std::string, wire::handler, std::less<>>& offers() {
  static std::map<std::string, wire::handler, std::less<>> all;
  return all;
}

std::map<std::uint64_t, wire::handler>& kept() {
  static std::map<std::uint64_t, wire::handler> all;
  return all;
}

thread_local std::uint32_t this_thread = wire::kNoThread;  // that of the grader which it stands for

void send(wire::writer& to) {
  const std::uint64_t length = to.data().size();
  std::vector<std::byte> all(sizeof length);
  std::memcpy(all.data(), &length, sizeof length);
  all.insert(all.end(), to.data().begin(), to.data().end());
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t sent = ::send(wire::kSocket, all.data() + done, all.size() - done, MSG_NOSIGNAL);
    if (sent >= 0)
      done += static_cast<std::size_t>(sent);
    else if (errno != EINTR)
      ::_exit(0);  // the grader is gone
  }
}

void receive_bytes(void* to, std::size_t n) {
  for (std::size_t done = 0; done < n;) {
    const ssize_t got = ::recv(wire::kSocket, static_cast<std::byte*>(to) + done, n - done, 0);
    if (got > 0)
      done += static_cast<std::size_t>(got);
    else if (got == 0 || errno != EINTR)
      ::_exit(0);
  }
}

std::vector<std::byte> receive() {
  std::uint64_t length = 0;
  receive_bytes(&length, sizeof length);
  std::vector<std::byte> heard(length);
  receive_bytes(heard.data(), heard.size());
  return heard;
}

void answer(message kind, wire::reader& from, std::uint64_t serial) {
  wire::arena memory;
  wire::writer to;
  wire::put(to, message::value);
  wire::put(to, serial);
  try {
    if (kind == message::call) {
      const auto name = wire::get<std::string>(from, memory);
      const auto found = offers().find(name);
      if (found == offers().end()) throw std::logic_error("the worker has no function " + name);
      found->second(from, to);
    } else {
      const auto number = wire::get<std::uint64_t>(from, memory);
      if (kind == message::release)
        kept().erase(number);
      else
        kept().at(number)(from, to);
    }
  } catch (...) {
    to = {};
    wire::put(to, message::exception);
    wire::put(to, serial);
    wire::put_exception(to);
  }
  // What was printed comes before the answer.
  std::fflush(stdout);
  std::fflush(stderr);
  send(to);
}

/// A thread that does the calls of one of the grader's threads.
class server {
 public:
  explicit server(std::uint32_t number) : thread_([this, number] { serve(number); }) {
    thread_.detach();  // until the end of the process
  }
  void run(const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
  }

 private:
  void serve(std::uint32_t number) {
    this_thread = number;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return work_ != nullptr; });
      (*work_)();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  std::thread thread_;
};

[[noreturn]] void serve_the_grader() {
  this_thread = 0;
  wire::writer here;
  wire::put(here, message::ready);
  send(here);
  std::map<std::uint32_t, server*> servers;
  for (;;) {
    const std::vector<std::byte> heard = receive();
    wire::reader from(heard);
    wire::arena memory;
    const auto kind = wire::get<message>(from, memory);
    const auto serial = wire::get<std::uint64_t>(from, memory);
    const auto thread = wire::get<std::uint32_t>(from, memory);
    const std::function<void()> work = [&] { answer(kind, from, serial); };
    if (thread == 0) {
      work();
      continue;
    }
    server*& one = servers[thread];
    if (one == nullptr) one = new server(thread);  // until the end of the process
    one->run(work);
  }
}

}  // namespace

offer::offer(const char* name, wire::handler function) { offers()[name] = std::move(function); }

void call_back(std::uint64_t number) {
  wire::writer to;
  wire::put(to, message::callback);
  wire::put(to, number);
  wire::put(to, this_thread);
  std::fflush(stdout);
  send(to);
  // The grader waits for an answer to its call and says nothing else meanwhile.
  (void)receive();
}

}  // namespace worker

int main() {
  wire::this_side().keep = [last = std::uint64_t{0}](wire::handler function) mutable {
    worker::kept()[++last] = std::move(function);
    return last;
  };
  worker::serve_the_grader();
}
