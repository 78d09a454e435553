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

const offer kOffers[] = {
    {"begin_recording", wire::handler_of<bool>([] {
       running().reset();
       running().emplace();
       return true;
     })},
    {"finish_recording", wire::handler_of<lab::testing::recorded_work>([] {
       lab::testing::recorded_work done;
       if (running()) done = running()->finish();
       running().reset();
       return done;
     })},
};

}  // namespace
}  // namespace worker
