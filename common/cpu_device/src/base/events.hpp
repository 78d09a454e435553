// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// How events reach those who listen. Internal to the CPU device.
#pragma once

#include <vector>

#include "cpu_device/events.h"

namespace cpu_device {

struct listener {
  observer* who;
  event_set kinds;
};
/// Everybody who listens, in the order in which they came.
std::vector<listener>& listeners();

/// Whether kernels say what they access: a check build. Known before static objects are made.
extern bool accesses_are_published;

/// Tells everybody who listens to this kind: publish(event_kind::copy, &observer::copied, event).
/// Ask listening() first, and build the event only then.
template <class Event>
void publish(event_kind kind, void (observer::*what)(const Event&), const Event& event) {
  for (const listener& l : listeners())
    if ((l.kinds & static_cast<event_set>(kind)) != 0) (l.who->*what)(event);
}

/// Has listening() say yes for these kinds, though nobody listens: whoever publishes them is asked
/// to look at something then. While a kernel runs, too.
void want_events(event_set kinds);

/// Tells everybody who listens that a call begins. Returns the first answer that is not 0, or 0.
int publish_call(const call_event& event);

}  // namespace cpu_device
