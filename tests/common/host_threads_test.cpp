// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/host_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using lab::in_host_threads;

TEST(HostThreads, DoNothingForNoWork) {
  in_host_threads(0, [](std::size_t) { throw std::runtime_error("nobody asked"); });
}

TEST(HostThreads, EachNumberHasAThreadOfItsOwn) {
  std::vector<std::thread::id> ids(5);
  in_host_threads(ids.size(), [&](std::size_t k) { ids[k] = std::this_thread::get_id(); });
  std::set<std::thread::id> different(ids.begin(), ids.end());
  different.insert(std::this_thread::get_id());
  EXPECT_EQ(different.size(), ids.size() + 1);
}

TEST(HostThreads, AllHaveEndedWhenTheFirstExceptionComesOut) {
  std::atomic<int> ended = 0;
  try {
    in_host_threads(6, [&](std::size_t k) {
      ++ended;
      if (k == 4 || k == 2) throw std::runtime_error(std::to_string(k));
    });
    ADD_FAILURE() << "two threads threw, and nothing came out";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "2");
  }
  EXPECT_EQ(ended, 6);
}

}  // namespace
