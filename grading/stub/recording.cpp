// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The worker's end of a recording: see proxy/recording.cpp.

#include "recording.hpp"

#include <cpu_device.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../wire/work.hpp"
#include "faults.hpp"
#include "stub.hpp"

namespace worker {
namespace {

std::optional<lab::testing::detail::recording>& running() {
  static std::optional<lab::testing::detail::recording> one;
  return one;
}

std::optional<lab::testing::detail::nothing_comes_back>& erasing() {
  static std::optional<lab::testing::detail::nothing_comes_back> one;
  return one;
}

std::optional<lab::testing::detail::pretended_cuda_support>& pretending() {
  static std::optional<lab::testing::detail::pretended_cuda_support> one;
  return one;
}

std::optional<lab::testing::detail::fault>& failing() {
  static std::optional<lab::testing::detail::fault> one;
  return one;
}

std::optional<lab::testing::detail::fault_of_a_thread>& failing_in_a_thread() {
  static std::optional<lab::testing::detail::fault_of_a_thread> one;
  return one;
}

std::optional<lab::testing::detail::rank_fault>& failing_in_ranks() {
  static std::optional<lab::testing::detail::rank_fault> one;
  return one;
}

std::optional<lab::testing::detail::others_come_between>& others() {
  static std::optional<lab::testing::detail::others_come_between> one;
  return one;
}

std::optional<lab::testing::detail::other_input>& input() {
  static std::optional<lab::testing::detail::other_input> one;
  return one;
}

template <class Word>
offer others_of(const char* name) {
  return {name, wire::handler_of<bool, Word, const std::vector<Word>&>(
                    [](Word before, const std::vector<Word>& values) {
                      others().emplace(before, values);
                      return true;
                    })};
}

using calls_of_ranks = std::vector<std::pair<int, std::vector<lab::testing::detail::rank_call>>>;

/// Ends one of the above.
template <class One>
offer end_of(const char* name, std::optional<One>& (*which)()) {
  return {name, wire::handler_of<bool>([which] {
            which().reset();
            return true;
          })};
}

const offer kOffers[] = {
    {"begin_fault", wire::handler_of<bool, std::uint64_t>([](std::uint64_t fails) {
       failing().emplace(fails);
       return true;
     })},
    {"report_of_fault", wire::handler_of<lab::testing::detail::fault_report>([] {
       return failing() ? failing()->report() : lab::testing::detail::fault_report{};
     })},
    end_of("end_fault", failing),
    {"begin_fault_of_a_thread", wire::handler_of<bool, const std::string&, int, bool>(
                                    [](const std::string& function, int device, bool others_wait) {
                                      failing_in_a_thread().emplace(function, device, others_wait);
                                      return true;
                                    })},
    {"fault_of_a_thread_fired", wire::handler_of<bool>([] {
       return failing_in_a_thread() && failing_in_a_thread()->fired();
     })},
    end_of("end_fault_of_a_thread", failing_in_a_thread),
    {"begin_rank_fault",
     wire::handler_of<bool, std::uint64_t, int>([](std::uint64_t number, int rank) {
       failing_in_ranks().emplace(number, rank);
       return true;
     })},
    {"calls_of_ranks", wire::handler_of<calls_of_ranks>([] {
       const auto all = failing_in_ranks()
                            ? failing_in_ranks()->calls()
                            : std::map<int, std::vector<lab::testing::detail::rank_call>>{};
       return calls_of_ranks(all.begin(), all.end());
     })},
    end_of("end_rank_fault", failing_in_ranks),
    others_of<std::uint32_t>("others_come_between_32"),
    others_of<std::uint64_t>("others_come_between_64"),
    {"others_came", wire::handler_of<std::uint64_t>(
                        []() -> std::uint64_t { return others() ? others()->came() : 0; })},
    end_of("others_are_gone", others),
    {"begin_other_input",
     wire::handler_of<bool, const std::vector<std::uint32_t>&, const std::vector<std::uint32_t>&>(
         [](const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after) {
           input().emplace(before, after);
           return true;
         })},
    {"other_input_came", wire::handler_of<bool>([] { return input() && input()->came(); })},
    end_of("end_other_input", input),
    {"begin_recording",
     wire::handler_of<bool, const std::vector<double>&, const std::vector<double>&, double>(
         [](const std::vector<double>& kernel_ms, const std::vector<double>& copy_ms,
            double memset_ms) {
           running().reset();
           running().emplace(kernel_ms, copy_ms, memset_ms);
           return true;
         })},
    {"finish_recording", wire::handler_of<lab::testing::recorded_work>([] {
       lab::testing::recorded_work done;
       if (running()) done = running()->finish();
       running().reset();
       return done;
     })},
    {"begin_with_nothing_back", wire::handler_of<bool, bool>([](bool keeps_what_was_sent) {
       using except = lab::testing::detail::nothing_comes_back::except;
       erasing().emplace(keeps_what_was_sent ? except::what_was_sent : except::nothing);
       return true;
     })},
    {"nothing_back_made_a_difference",
     wire::handler_of<bool>([] { return erasing() && erasing()->made_a_difference(); })},
    {"begin_cuda_support", wire::handler_of<bool, bool, bool>([](bool compiled, bool running) {
       pretending().emplace(compiled, running);
       return true;
     })},
    end_of("end_cuda_support", pretending),
    end_of("end_with_nothing_back", erasing),
};

}  // namespace
}  // namespace worker
