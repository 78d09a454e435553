// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <new>
#include <stdexcept>

#include "lab/atomic_file.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/nvtx_range.hpp"
#include "lab/time_kernel.hpp"
#include "lab/window.hpp"

namespace lab {
namespace {

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// The shortest text that reads back as the same number: 0.8, also for a float.
template <class Number>
std::string text_of(Number value) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

template <class Number>
Number parse_number(std::string_view text, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw invalid_input(std::string(text) + " is too large or too small for this option");
  if (error != std::errc{} || end != text.data() + text.size())
    throw invalid_input(in_quotes(text) + " is not " + kind);
  if constexpr (std::is_floating_point_v<Number>)
    if (!std::isfinite(value)) throw invalid_input(in_quotes(text) + " is not " + kind);
  return value;
}

/// As a string of JSON.
std::string json(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (code < 0x20)
      quoted += std::string("\\u00") + kHex[code >> 4U] + kHex[code & 15U];
    else
      quoted += c;
  }
  return quoted + '"';
}

/// As an array of JSON; `one` makes the text of an element.
template <class Elements, class One>
std::string json_array(const Elements& elements, const One& one) {
  std::string text;
  for (const auto& element : elements) text += (text.empty() ? "" : ",") + one(element);
  return "[" + text + "]";
}

/// The time that `run_once` returns, measured often.
timing measure(const std::function<float()>& run_once, int repeat) {
  {
    const repeated_timing repeated(repeat);
    timing sum{.median_ms = run_once()};
    for (const timing& part : repeated.timings()) {
      sum.min_ms += part.min_ms;
      sum.max_ms += part.max_ms;
      sum.runs = part.runs;
      sum.samples_ms.resize(part.samples_ms.size());
      for (std::size_t i = 0; i < part.samples_ms.size(); ++i)
        sum.samples_ms[i] += part.samples_ms[i];
    }
    if (sum.runs > 0) return sum;
  }
  std::vector<float> times;  // it has its own way to measure, and is warm by now
  for (int run = 0; run < repeat; ++run) times.push_back(run_once());
  return summarize(times);
}

}  // namespace

std::size_t parse_size(std::string_view text) {
  const std::string_view whole = text;
  unsigned shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
    if (shift != 0) text.remove_suffix(1);
  }
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all_read = !text.empty() && end == text.data() + text.size();
  if (all_read && (error == std::errc::result_out_of_range ||
                   value > std::numeric_limits<std::size_t>::max() >> shift))
    throw invalid_input(std::string(whole) + " is larger than any memory");
  if (error != std::errc{} || !all_read)
    throw invalid_input(in_quotes(whole) +
                        " is not a size: write a whole number, 0 or more, such as 1000 or 33K "
                        "(K, M and G stand for 1024, 1024^2 and 1024^3)");
  return value << shift;
}

program::size_option& program::size_option::at_least(std::size_t least) {
  least_ = least;
  return *this;
}

program::size_option& program::size_option::at_most(std::size_t most) {
  most_ = most;
  return *this;
}

program::number_option& program::number_option::at_least(double least) {
  least_ = least;
  return *this;
}

program::number_option& program::number_option::at_most(double most) {
  most_ = most;
  return *this;
}

struct program::state {
  state(std::string its_name, std::string its_description)
      : name(std::move(its_name)), description(std::move(its_description)) {}

  /// `--name VALUE` or, with no kind of value, a flag.
  struct option {
    std::string name;
    std::string kind;       ///< of its value, for --help; empty for a flag
    std::string initially;  ///< for --help
    std::string help;
    std::function<void(const std::string&)> take;
    std::string value{};                 ///< as it was given, or the default
    std::vector<std::string> choices{};  ///< where its values have names
  };

  std::string name;
  std::string command;  // what it was started with
  std::string description;
  std::vector<option> options;    // in the order of --help
  std::deque<size_option> sizes;  // deques: references to their elements stay good
  std::deque<number_option> numbers;

  int device = 0;
  std::uint64_t seed = 1;
  int repeat = on_cpu_device() ? 3 : 20;
  std::string step_name;
  bool has_output = false;
  std::string out;
  bool window = false;
  int frames = 0;
  bool has_table = false, table_emitted = false;
  std::string csv, plot;
  bool wrong = false;
  std::unique_ptr<nvtx_range> before_verdict;  // the range until there is a verdict
  std::string measurements;                    // a file
  std::vector<std::string> measured;           // its lines, but for the first

  void write_measurements() const {
    std::string line = R"({"event":"program","name":)" + json(name) + R"(,"device":)" +
                       json(describe_device(device)) + R"(,"cpu_device":)" +
                       (on_cpu_device() ? "true" : "false");
    std::string values, steps = "[]";
    for (const option& each : options) {
      values += (values.empty() ? "" : ",") + json(each.name) + ":" + json(each.value);
      if (each.name == "--step") steps = json_array(each.choices, json);
    }
    line += R"(,"options":{)" + values + R"(},"steps":)" + steps + "}\n";
    for (const std::string& each : measured) line += each + "\n";
    atomic_file file(measurements);
    file.write(line.data(), line.size());
    file.commit();
  }

  void write_picture(const bitmap& picture) const {
    write_png(picture, out);
    std::cout << "wrote " << out << " (" << picture.width() << " x " << picture.height() << ")"
              << std::endl;
  }

  /// An option with a value that `take` makes sense of; what it throws gets the option's name.
  void add(const std::string& option_name, const std::string& kind, const std::string& initially,
           const std::string& help, std::function<void(const std::string&)> take) {
    options.push_back({option_name, kind, initially, help,
                       [option_name, take = std::move(take)](const std::string& text) {
                         try {
                           take(text);
                         } catch (const invalid_input& error) {
                           throw invalid_input(option_name + ": " + error.what());
                         }
                       },
                       initially});
  }

  template <class Number>
  number_option& add_number(const std::string& option_name, Number& value, const char* kind,
                            const std::string& help) {
    number_option& bounds = numbers.emplace_back();
    std::string initially;
    if constexpr (std::is_floating_point_v<Number>)
      initially = text_of(value);
    else
      initially = std::to_string(value);
    add(option_name, "NUMBER", initially, help, [&value, &bounds, kind](const std::string& text) {
      const Number number = parse_number<Number>(text, kind);
      const double wide = static_cast<double>(number);
      if (wide < bounds.least_)
        throw invalid_input(text + " is too small: at least " + text_of(bounds.least_) +
                            " is needed");
      if (wide > bounds.most_)
        throw invalid_input(text + " is too large: at most " + text_of(bounds.most_) +
                            " is possible");
      value = number;
    });
    return bounds;
  }

  int parse_and_run(int argc, const char* const* argv, const std::function<bool()>& body) {
    struct at_the_end {  // also of a body that throws: ranges end in reverse order
      std::unique_ptr<nvtx_range>& range;
      ~at_the_end() { range.reset(); }
    };
    if (!parse({argv + 1, argv + std::max(argc, 1)})) {
      std::cout << help_text() << std::flush;
      return kExitRight;
    }
    select_device(device);
    std::cout << name << '\n' << describe_device(device) << '\n' << std::flush;
    const nvtx_range whole(name);
    const at_the_end end{before_verdict};
    before_verdict = std::make_unique<nvtx_range>("data, call and check");
    if (!body() || wrong) return kExitWrong;
    if ((!csv.empty() || !plot.empty()) && !table_emitted)
      throw invalid_input(
          "--csv and --plot: with these options this program makes no table, and "
          "no file was written");
    if (!measurements.empty()) write_measurements();
    return kExitRight;
  }

  /// Hands each value to its option: `--size 5` or `--size=5`. False if --help is asked for, which
  /// explains the program whatever the other arguments are.
  bool parse(const std::vector<std::string>& arguments) {
    if (std::ranges::any_of(arguments, [](const auto& a) { return a == "--help" || a == "-h"; }))
      return false;
    std::vector<std::pair<option*, std::string>> values;
    std::string unknown;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      const std::size_t equals = argument.find('=');
      const auto found = std::ranges::find(options, argument.substr(0, equals), &option::name);
      if (found == options.end()) {
        unknown += " " + argument;
        continue;
      }
      const bool is_flag = found->kind.empty();
      const bool again = std::ranges::any_of(values, [&](auto& v) { return v.first == &*found; });
      if (again && !is_flag) throw invalid_input(found->name + ": is there twice");
      if (is_flag && equals != std::string::npos)
        throw invalid_input(found->name + ": takes no value");
      if (is_flag || equals != std::string::npos) {
        values.emplace_back(&*found, is_flag ? "" : argument.substr(equals + 1));
      } else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
        values.emplace_back(&*found, arguments[++i]);
      } else {
        throw invalid_input(found->name + ": its value (" + found->kind + ") is missing");
      }
    }
    if (!unknown.empty()) throw invalid_input("unknown:" + unknown);
    for (const auto& [chosen, value] : values) {
      chosen->take(value);
      chosen->value = chosen->kind.empty() ? "given" : value;
    }
    return true;
  }

  std::string help_text() const {
    constexpr std::size_t kColumn = 30;  // where what an option does is explained
    std::string text = description + "\nUsage: " + command + " [OPTIONS]\n\nOptions:\n";
    const auto explain = [&](std::string line, const std::string& help) {
      line.resize(std::max(line.size() + 2, kColumn), ' ');
      for (const char c : help)
        line += c == '\n' ? c + std::string(kColumn, ' ') : std::string(1, c);
      text += line + "\n";
    };
    explain("  -h, --help", "print this and exit");
    for (const option& each : options)
      explain("  " + each.name + (each.kind.empty() ? "" : " " + each.kind) +
                  (each.initially.empty() ? "" : "=" + each.initially),
              each.help);
    return text;
  }

  int complain(int code, const std::string& sentence) const {
    std::cout << std::flush;
    std::cerr << name << ": " << sentence << '\n';
    if (code == kExitUsage) std::cerr << "Try " << command << " --help\n";
    return wrong && code == kExitNotPossible ? kExitWrong : code;
  }
};

program::program(std::string name, std::string description)
    : state_(std::make_unique<state>(std::move(name), std::move(description))) {
  state_->add_number("--device", state_->device, "the number of a device",
                     "which device to use, counted from 0");
  state_->add("--seed", "NUMBER", std::to_string(state_->seed), "where the random numbers start",
              [this](const std::string& text) {
                state_->seed = parse_number<std::uint64_t>(text, "a whole number, 0 or more");
              });
  state_
      ->add_number("--repeat", state_->repeat, "a whole number",
                   "how often the kernel is timed; the median is shown")
      .at_least(1)
      .at_most(1e6);
  add_text("--measurements", state_->measurements,
           "the file that measured times are written to, for other programs (JSON lines)");
}

program::~program() = default;

program::size_option& program::add_size(const std::string& name, std::size_t& value,
                                        const std::string& help) {
  size_option& bounds = state_->sizes.emplace_back();
  state_->add(name, "N", std::to_string(value), help, [&value, &bounds](const std::string& text) {
    const std::size_t size = parse_size(text);
    if (size < bounds.least_)
      throw invalid_input(text + " is too small: at least " + std::to_string(bounds.least_) +
                          " is needed");
    if (size > bounds.most_)
      throw invalid_input(text + " is too large: at most " + std::to_string(bounds.most_) +
                          " is possible");
    value = size;
  });
  return bounds;
}

program::number_option& program::add_number(const std::string& name, int& value,
                                            const std::string& help) {
  return state_->add_number(name, value, "a whole number", help);
}

program::number_option& program::add_number(const std::string& name, float& value,
                                            const std::string& help) {
  return state_->add_number(name, value, "a number", help);
}

program::number_option& program::add_number(const std::string& name, double& value,
                                            const std::string& help) {
  return state_->add_number(name, value, "a number", help);
}

void program::add_flag(const std::string& name, bool& value, const std::string& help) {
  state_->add(name, "", "", help, [&value](const std::string&) { value = true; });
}

void program::add_text(const std::string& name, std::string& value, const std::string& help) {
  state_->add(name, "TEXT", value, help, [&value](const std::string& text) { value = text; });
}

void program::add_named_choice(const std::string& name,
                               std::vector<std::pair<std::string, std::string>> names,
                               std::size_t chosen, const std::string& help,
                               std::function<void(std::size_t)> choose) {
  if (chosen >= names.size())
    throw std::logic_error("the default of " + name + " is not one of its choices");
  const bool is_step = name == "--step";
  if (is_step) state_->step_name = names[chosen].first;
  std::string all;
  std::string long_help = help;
  for (const auto& [choice_name, what] : names) {
    all += (all.empty() ? "" : ", ") + choice_name;
    if (!what.empty()) long_help += "\n" + choice_name + ": " + what;
  }
  const std::string initially = names[chosen].first;
  std::vector<std::string> choices;
  for (const auto& each : names) choices.push_back(each.first);
  if (long_help == help) long_help += ": " + all;
  state_->add(name, "NAME", initially, long_help,
              [this, is_step, names = std::move(names), all,
               choose = std::move(choose)](const std::string& text) {
                for (std::size_t i = 0; i < names.size(); ++i) {
                  if (names[i].first != text) continue;
                  choose(i);
                  if (is_step) state_->step_name = text;
                  return;
                }
                throw invalid_input("there is no " + in_quotes(text) + "; there are " + all);
              });
  state_->options.back().choices = std::move(choices);
}

void program::add_picture_options(const std::string& default_file) {
  state_->out = default_file;
  add_text("--out", state_->out, "the PNG file to write");
  add_flag("--window", state_->window, "show the picture in a window (Esc closes it)");
  state_->has_output = true;
}

void program::add_animation_options(int frames, const std::string& default_file) {
  state_->frames = frames;
  state_->out = default_file;
  add_number("--frames", state_->frames, "how many frames the file gets; 1 is a picture")
      .at_least(1);
  add_text("--out", state_->out, "the PNG file to write; several frames move in a browser");
  add_flag("--window", state_->window, "play it in a window (Esc closes it)");
  state_->has_output = true;
}

void program::add_table_options() {
  add_text("--csv", state_->csv, "the file that the table is written to, for other programs");
  add_text("--plot", state_->plot, "the SVG file that the chart is written to, for a browser");
  state_->has_table = true;
}

int program::device() const { return state_->device; }
std::uint64_t program::seed() const { return state_->seed; }
int program::repeat() const { return state_->repeat; }
int program::frames() const { return state_->frames; }
const std::string& program::step_name() const { return state_->step_name; }

void program::require_memory(std::size_t host_bytes, std::size_t device_bytes) const {
  lab::require_memory(host_bytes, device_bytes);
}

bool program::verdict(const comparison& result) {
  state_->before_verdict.reset();
  if (!result.ok) state_->wrong = true;
  std::cout << (result.ok ? "right: " : "WRONG: ") << result.message << std::endl;
  return result.ok;
}

timing program::report_kernel(const std::function<float()>& run_once, const kernel_work& work) {
  const nvtx_range range("report_kernel");
  const timing time = measure(run_once, state_->repeat);
  std::optional<double> bandwidth;
  if (!on_cpu_device() && work.bytes > 0 && time.median_ms > 0) bandwidth = copy_bandwidth();
  std::cout << describe_kernel(time, work, bandwidth, on_cpu_device()) << std::endl;
  std::string line = R"({"event":"kernel","ms":)" + json_array(time.samples_ms, text_of<float>);
  if (work.bytes > 0) line += R"(,"bytes":)" + text_of(work.bytes);
  if (work.items > 0)
    line += R"(,"items":)" + text_of(work.items) + R"(,"item_name":)" + json(work.item_name);
  if (bandwidth && *bandwidth > 0) line += R"(,"limit":)" + text_of(*bandwidth);
  state_->measured.push_back(line + "}");
  return time;
}

void program::report_library(const std::string& name, std::optional<float> library_ms,
                             const timing& ours) const {
  if (!library_ms || !(*library_ms > 0) || !(ours.median_ms > 0)) return;
  std::cout << describe_library(name, *library_ms, ours) << std::endl;
  state_->measured.push_back(R"({"event":"library","name":)" + json(name) + R"(,"ms":)" +
                             text_of(*library_ms) + "}");
}

void program::emit(const bitmap& picture) {
  if (!state_->has_output) throw std::logic_error("emit() without add_picture_options()");
  if (!state_->out.empty()) state_->write_picture(picture);
  if (state_->window) show(picture, state_->name);
}

void program::emit_frames(int width, int height, int delay_ms,
                          const std::function<void(bitmap& picture, int tick)>& draw) {
  emit_frames(width, height, delay_ms, draw,
              [&](const std::string& title) { play(width, height, draw, title); });
}

void program::emit_frames(int width, int height, int delay_ms,
                          const std::function<void(bitmap& picture, int tick)>& draw,
                          const std::function<void(const std::string& title)>& play_in_window) {
  if (!state_->has_output) throw std::logic_error("emit_frames() without add_animation_options()");
  if (!state_->out.empty() && state_->frames == 1) {
    bitmap picture(width, height);
    draw(picture, 0);
    state_->write_picture(picture);
  } else if (!state_->out.empty()) {
    animation frames(width, height, delay_ms);
    bitmap picture(width, height);
    for (int tick = 0; tick < state_->frames; ++tick) {
      draw(picture, tick);
      frames.add(picture);
    }
    frames.write(state_->out);
    std::cout << "wrote " << state_->out << " (" << frames.frame_count() << " frames of " << width
              << " x " << height << "; open it in a browser)" << std::endl;
  }
  if (state_->window) play_in_window(state_->name);
}

void program::emit_table(const table& rows, const chart& plot) {
  if (!state_->has_table) throw std::logic_error("emit_table() without add_table_options()");
  state_->table_emitted = true;
  std::cout << rows.text() << std::flush;
  if (!state_->csv.empty()) {
    write_csv(rows, state_->csv);
    std::cout << "wrote " << state_->csv << " (" << rows.rows().size() << " rows)" << std::endl;
  }
  if (!state_->plot.empty()) {
    write_svg(plot, state_->plot);
    std::cout << "wrote " << state_->plot << " (open it in a browser)" << std::endl;
  }
}

int program::run(int argc, const char* const* argv, const std::function<bool()>& body) {
  int code = kExitWrong;
  const char* from_lab = std::getenv("LAB_COMMAND");  // set by scripts/lab
  state_->command = from_lab != nullptr ? from_lab : argc > 0 ? argv[0] : state_->name;
  try {
    code = state_->parse_and_run(argc, argv, body);
  } catch (const invalid_input& error) {
    code = state_->complain(kExitUsage, error.what());
  } catch (const not_possible& error) {
    code = state_->complain(kExitNotPossible, error.what());
  } catch (const std::bad_alloc&) {
    code = state_->complain(kExitUsage, "the host has not enough memory; try a smaller size");
  } catch (const std::length_error&) {  // from a vector of more elements than can be addressed
    code = state_->complain(kExitUsage, "the host has not enough memory; try a smaller size");
  } catch (const not_written& error) {
    const std::string& name = state_->name;  // such as 03.1_vector_add
    std::string text = error.what();
    text += "\nHints: scripts/lab hint " + name.substr(0, name.find('_'));
    if (!state_->step_name.empty())
      text += "\nAnother step: " + state_->command + " --step NAME (--help has the names)";
    code = state_->complain(kExitWrong, text);
  } catch (const std::exception& error) {  // cuda_error among them: its text is a sentence
    code = state_->complain(kExitWrong, error.what());
  } catch (...) {
    code = state_->complain(kExitWrong, "failed for a reason that nobody has a name for");
  }
  // A full disk behind `> file` would otherwise go unnoticed.
  std::cout << std::flush;
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::cerr << state_->name << ": cannot write to the standard output\n";
    if (code == kExitRight) code = kExitWrong;
  }
  return code;
}

}  // namespace lab
