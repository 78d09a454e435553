// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What every exercise's main() has in common: options, device, verdict, times, exit code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/animation.hpp"
#include "lab/bitmap.hpp"
#include "lab/chart.hpp"
#include "lab/closeness.hpp"
#include "lab/report.hpp"
#include "lab/table.hpp"

namespace lab {

/// The exit codes of programs.
enum exit_code : int {
  kExitRight = 0,
  kExitWrong = 1,  ///< a wrong result, or a CUDA call that failed
  kExitUsage = 2,
  kExitNotPossible = 77,  ///< this machine cannot do it; CTest shows it as skipped
};

/// A whole number, or one with K, M or G (times 1024, 1024², 1024³): "33K" is 33792. Throws
/// invalid_input, with a sentence, for everything else (signs, garbage, too large).
std::size_t parse_size(std::string_view text);

/// One value of an option that is chosen by name, such as a step.
template <class Value>
struct choice {
  choice(std::string its_name, Value its_value, std::string what_it_is = {})
      : name(std::move(its_name)), value(its_value), what(std::move(what_it_is)) {}
  std::string name;
  Value value;
  std::string what;  ///< a few words for --help
};

/// The frame around an exercise:
///
///     int main(int argc, char** argv) {
///       lab::program program("05.1_dot_product", "Dot product of two vectors.");
///       std::size_t size = 33 * 1024;
///       program.add_size("--size", size, "number of elements").at_least(1);
///       return program.run(argc, argv, [&] {
///         program.require_memory(…);
///         const auto a = lab::random_floats(size, program.seed(), -1, 1);
///         …
///         if (!program.verdict(lab::compare(…))) return false;
///         program.report_kernel([&] { return dot(step, a, b).kernel_ms; }, {.bytes = …});
///         return true;
///       });
///     }
///
/// Every program has --help, --device, --seed, --repeat and --measurements. A value that was given
/// for an option is in its variable when the body runs.
///
/// --measurements FILE is for other programs, such as `scripts/lab bench`. After a run without
/// errors, the file has one JSON object per line: first the program, with `"event":"program"`, its
/// device, the value of every option and the names of its steps; then what report_kernel()
/// (`"kernel"`) and report_library() (`"library"`) have reported, in that order. Times are in
/// milliseconds, `limit` in bytes per second.
class program {
 public:
  /// `name` as the file is called, `description` in one sentence.
  program(std::string name, std::string description);
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  /// Bounds of a size. The default is any size, 0 too, below 2^48: so a few sizes may be multiplied
  /// by small numbers, as for require_memory(), without an overflow.
  class size_option {
   public:
    size_option& positive() { return at_least(1); }
    size_option& at_least(std::size_t least);
    size_option& at_most(std::size_t most);

   private:
    friend class program;
    std::size_t least_ = 0;
    std::size_t most_ = (std::size_t{1} << 48) - 1;
  };

  /// Bounds of a number; the default is any finite one.
  class number_option {
   public:
    number_option& at_least(double least);
    number_option& at_most(double most);

   private:
    friend class program;
    double least_ = -std::numeric_limits<double>::infinity();
    double most_ = std::numeric_limits<double>::infinity();
  };

  // The variable holds the default, which --help shows, and must live as long as the program.
  size_option& add_size(const std::string& name, std::size_t& value, const std::string& help);
  number_option& add_number(const std::string& name, int& value, const std::string& help);
  number_option& add_number(const std::string& name, float& value, const std::string& help);
  number_option& add_number(const std::string& name, double& value, const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);
  void add_text(const std::string& name, std::string& value, const std::string& help);

  /// An option whose values have names. The reference stays good as long as the program.
  template <class Value>
  const Value& add_choice(const std::string& name, std::vector<choice<Value>> choices,
                          std::type_identity_t<Value> initially, const std::string& help) {
    auto value = std::make_shared<Value>(initially);
    std::vector<std::pair<std::string, std::string>> names;
    std::size_t chosen = choices.size();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      names.emplace_back(choices[i].name, choices[i].what);
      if (choices[i].value == initially) chosen = i;
    }
    const Value& result = *value;
    add_named_choice(name, std::move(names), chosen, help,
                     [value, choices = std::move(choices)](std::size_t index) {
                       *value = choices[index].value;
                     });
    return result;
  }

  /// --step NAME: which version of the exercise to run.
  ///
  ///     const auto& step = program.add_step<dot_product::step>(
  ///         {{"static", step::static_shared}, {"dynamic", step::dynamic_shared}},
  ///         step::static_shared);
  template <class Step>
  const Step& add_step(std::vector<choice<Step>> steps, std::type_identity_t<Step> initially) {
    return add_choice<Step>("--step", std::move(steps), initially, "which version to run");
  }

  /// --out FILE.png and --window, for programs that make one picture: see emit(). Without --out
  /// the picture goes to `default_file`; where that is empty, and for `--out ""`, to no file.
  void add_picture_options(const std::string& default_file = {});
  /// --frames N, --out FILE.png and --window, for programs that make an animation: see
  /// emit_frames(). `frames` and `default_file` are the defaults, as for a picture.
  void add_animation_options(int frames, const std::string& default_file = {});

  /// --csv FILE and --plot FILE.svg, for programs that measure over many sizes: see emit_table().
  void add_table_options();

  // --- for the body, after parsing -----------------------------------------------------------

  int device() const;
  std::uint64_t seed() const;
  /// How often report_kernel() runs what it measures. The default is 20, or 3 on the CPU device.
  int repeat() const;
  /// The name of the chosen step, as on the command line.
  const std::string& step_name() const;

  /// Throws invalid_input, with what is needed and what is free, unless both fit. Call it before
  /// anything large is allocated.
  void require_memory(std::size_t host_bytes, std::size_t device_bytes) const;

  /// Prints `right: all 33792 elements match` or `WRONG: …`, and returns whether it is right. After
  /// one wrong verdict the program exits 1, whatever else happens.
  bool verdict(const comparison& result);
  bool verdict(bool right, const std::string& message) { return verdict({right, message}); }

  /// Prints the line of describe_kernel() for `run_once`, which returns the kernel's time in
  /// milliseconds. Where that comes from time_kernel(), one call of it is enough: its data is
  /// copied to the device once. Otherwise it is called once to warm up and then repeat() times.
  /// Only after a right verdict: the time of a wrong result means nothing.
  timing report_kernel(const std::function<float()>& run_once, const kernel_work& work = {});

  /// `cublasSdot: 0.512 ms; this kernel reaches 91 % of its speed`; prints nothing without a
  /// library time. For example with library_dot_milliseconds().
  void report_library(const std::string& name, std::optional<float> library_ms,
                      const timing& ours) const;

  /// Does what add_picture_options() offers: writes the file, then shows the window.
  void emit(const bitmap& picture);

  /// Does what add_animation_options() offers: `draw(picture, tick)` makes frame 0, 1, 2, …; the
  /// file gets the first --frames of them (a plain picture, where that is 1), the window continues
  /// until it is closed. Without --out and --window it draws nothing.
  void emit_frames(int width, int height, int delay_ms,
                   const std::function<void(bitmap& picture, int tick)>& draw);
  /// The same, for frames that need no bitmap in a window: `play_in_window(title)` plays them
  /// there.
  void emit_frames(int width, int height, int delay_ms,
                   const std::function<void(bitmap& picture, int tick)>& draw,
                   const std::function<void(const std::string& title)>& play_in_window);
  /// --frames.
  int frames() const;

  /// Prints the table and does what add_table_options() offers.
  void emit_table(const table& rows, const chart& plot);

  /// Parses the command line, selects the device, prints name and device, runs the body, which
  /// returns whether all was right, and turns every outcome into an exit code. Never throws.
  int run(int argc, const char* const* argv, const std::function<bool()>& body);

 private:
  void add_named_choice(const std::string& name,
                        std::vector<std::pair<std::string, std::string>> names, std::size_t chosen,
                        const std::string& help, std::function<void(std::size_t)> choose);

  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace lab
