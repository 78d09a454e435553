// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Tests of which one does what the variable MISBEHAVE says. test_events_test.py runs this program
// and looks at the events.

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "test_events.hpp"

namespace {

const std::string how = [] {
  const char* value = std::getenv("MISBEHAVE");
  return std::string(value == nullptr ? "" : value);
}();

// As a student's file could: before main(), and before anything that it is linked with.
[[gnu::constructor(101)]] void change_variables() {
  const char* asked = std::getenv("MISBEHAVE");
  if (asked == nullptr || std::string_view(asked) != "variables") return;
  ::setenv("GTEST_FILTER", "First.*", 1);
  ::setenv("GTEST_REPEAT", "7", 1);
  ::setenv("CPU_DEVICE_ORDER", "forward", 1);
  ::unsetenv("GIVEN");
}

// In the process that runs the tests, after everything was chosen.
[[maybe_unused]] const int filters = ::pthread_atfork(nullptr, nullptr, [] {
  if (how == "filter") GTEST_FLAG_SET(filter, "First.*");
});

void sleep_for_long() { std::this_thread::sleep_for(std::chrono::minutes(10)); }

struct at_the_end {
  ~at_the_end() {
    if (how == "crash at the end") std::raise(SIGSEGV);
    if (how == "exit at the end") ::_exit(3);
  }
} last_object;

TEST(First, Passes) {
  std::puts("nobody wants to read this");
  if (how == "fail") test_events::begin_repetition("backwards");
}

TEST(Middle, Misbehaves) {
  if (how == "fail") {
    std::puts("before \"it\"\t\x01");
    EXPECT_EQ(1 + 1, 3) << "after\nit";
    std::puts("in the end");
  } else if (how == "variables") {
    for (const char* name : {"GTEST_FILTER", "GTEST_REPEAT", "CPU_DEVICE_ORDER"})
      EXPECT_EQ(std::getenv(name), nullptr) << name;
    EXPECT_STREQ(std::getenv("GIVEN"), "from outside");
  } else if (how == "fail as the last") {
    test_events::leave_out_the_rest();
    FAIL() << "for long";
  } else if (how == "fail often") {
    for (int i = 0; i < 1000; ++i) ADD_FAILURE() << "failure " << i;
  } else if (how == "crash") {
    std::fputs("said before, without an end of line", stdout);
    std::fflush(stdout);
    std::raise(SIGSEGV);
  } else if (how == "exit 0") {
    std::exit(0);
  } else if (how == "_exit 0") {
    ::_exit(0);
  } else if (how == "exit 77") {
    std::exit(77);
  } else if (how == "hang") {
    std::puts("it begins");
    sleep_for_long();
  } else if (how == "hang and say") {
    std::signal(SIGXCPU, [](int) {
      constexpr std::string_view kWhere = "it was in line 7\n";
      ::_exit(::write(STDOUT_FILENO, kWhere.data(), kWhere.size()) > 0 ? 1 : 2);
    });
    sleep_for_long();
  } else if (how == "close and hang") {
    for (int fd = 0; fd < 100; ++fd) ::close(fd);
    sleep_for_long();
  } else if (how == "a million lines") {
    for (int i = 0; i < 1'000'000; ++i) std::printf("element %d\n", i);
    ADD_FAILURE() << "in the end";
  } else if (how == "print without end") {
    for (;;) std::puts("element");
  } else if (how == "no line end") {
    for (;;) std::fputs("element", stdout);
  } else if (how == "skip") {
    GTEST_SKIP() << "not here";
  } else if (how == "foreign skip") {
#line 1 "labs/99_chapter/1_x/x.cu"
    GTEST_SKIP() << "please";
#line 1 "misbehaving_tests.cpp"
  } else if (how == "wait") {
    std::ofstream(std::getenv("PID_FILE")) << ::getpid() << std::endl;
    sleep_for_long();
  }
}

TEST(Last, Passes) {}

class Suite : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (how == "fail outside") ADD_FAILURE() << "of every test";
    if (how == "exit outside") std::exit(0);
  }
};

TEST_F(Suite, Passes) {}

TEST(Crashes, DISABLED_IsNeverRun) { std::abort(); }

class Crash : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Many, Crash, ::testing::Range(0, 12));
TEST_P(Crash, IfAsked) {
  if (how == "crash often") std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  test_events::restore_environment();
  return test_events::run(argc, argv, [](bool) { return 0; });
}
