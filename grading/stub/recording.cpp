// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The worker's end of a recording: see proxy/recording.cpp.

#include "recording.hpp"

#include <cpu_device.h>

#include <optional>

#include "../wire/work.hpp"
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

const offer kOffers[] = {
    {"begin_recording",
     wire::handler_of<bool, const std::vector<double>&, const std::vector<double>&>(
         [](const std::vector<double>& kernel_ms, const std::vector<double>& copy_ms) {
           running().reset();
           running().emplace(kernel_ms, copy_ms);
           return true;
         })},
    {"finish_recording", wire::handler_of<lab::testing::recorded_work>([] {
       lab::testing::recorded_work done;
       if (running()) done = running()->finish();
       running().reset();
       return done;
     })},
    {"begin_with_nothing_back", wire::handler_of<bool>([] {
       erasing().emplace();
       return true;
     })},
    {"nothing_back_made_a_difference",
     wire::handler_of<bool>([] { return erasing() && erasing()->made_a_difference(); })},
    {"begin_cuda_support", wire::handler_of<bool, bool, bool>([](bool compiled, bool running) {
       pretending().emplace(compiled, running);
       return true;
     })},
    {"end_cuda_support", wire::handler_of<bool>([] {
       pretending().reset();
       return true;
     })},
    {"end_with_nothing_back", wire::handler_of<bool>([] {
       erasing().reset();
       return true;
     })},
};

}  // namespace
}  // namespace worker
