// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/command_line.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"

namespace {

const lab::testing::device_may_change kByDesign;  // a program chooses its device

namespace fs = std::filesystem;

struct outcome {
  int code = -1;
  std::string out;
  std::string err;
};

/// Runs the program as main() would, and catches what it prints.
outcome run(
    lab::program& program, const std::vector<std::string>& arguments,
    const std::function<bool()>& body = [] { return true; }) {
  std::vector<const char*> argv = {"bin/00.0_test"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  outcome result;
  result.code = program.run(static_cast<int>(argv.size()), argv.data(), body);
  result.out = ::testing::internal::GetCapturedStdout();
  result.err = ::testing::internal::GetCapturedStderr();
  return result;
}

/// A program with every kind of option.
class Program : public ::testing::Test {
 protected:
  enum class step { slow, fast };

  Program() {
    program.add_size("--size", size, "number of elements").positive().at_most(1 << 30);
    program.add_number("--count", count, "how many").at_least(-5).at_most(5);
    program.add_number("--scale", scale, "how much");
    program.add_flag("--loud", loud, "say more");
    chosen = &program.add_step<step>({{"slow", step::slow}, {"fast", step::fast, "the good one"}},
                                     step::slow);
  }

  lab::program program{"00.0_test", "A program for tests."};
  std::size_t size = 1000;
  int count = 3;
  double scale = 1.5;
  bool loud = false;
  const step* chosen = nullptr;
};

TEST(ParseSize, TakesWholeNumbersAndSuffixes) {
  EXPECT_EQ(lab::parse_size("0"), 0u);
  EXPECT_EQ(lab::parse_size("1000"), 1000u);
  EXPECT_EQ(lab::parse_size("33K"), 33u * 1024);
  EXPECT_EQ(lab::parse_size("2m"), 2u << 20);
  EXPECT_EQ(lab::parse_size("3G"), std::size_t{3} << 30);
  EXPECT_EQ(lab::parse_size("18446744073709551615"), ~std::size_t{0});
}

TEST(ParseSize, RefusesEverythingElseWithASentence) {
  for (const char* text : {"", "K", "-5", "+5", " 5", "5 ", "1.5", "1e6", "0x10", "12x", "abc",
                           "5KK", "nan", "18446744073709551616", "17179869184G", "5 K"}) {
    EXPECT_THROW(lab::parse_size(text), lab::invalid_input) << text;
  }
}

TEST_F(Program, RunsTheBodyWithTheDefaults) {
  const outcome result = run(program, {}, [&] {
    EXPECT_EQ(size, 1000u);
    EXPECT_EQ(*chosen, step::slow);
    EXPECT_EQ(program.step_name(), "slow");
    EXPECT_EQ(program.device(), 0);
    EXPECT_EQ(program.repeat(), lab::on_cpu_device() ? 3 : 20);
    return true;
  });
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, "00.0_test\n" + lab::describe_device(0) + "\n");
}

TEST_F(Program, HandsOnWhatTheUserAskedFor) {
  const outcome result = run(program, {"--size", "33K", "--count=-5", "--scale", "-2.5e3", "--loud",
                                       "--step", "fast", "--seed", "77", "--repeat", "5"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(size, 33u * 1024);
  EXPECT_EQ(count, -5);
  EXPECT_EQ(scale, -2500);
  EXPECT_TRUE(loud);
  EXPECT_EQ(*chosen, step::fast);
  EXPECT_EQ(program.step_name(), "fast");
  EXPECT_EQ(program.seed(), 77u);
  EXPECT_EQ(program.repeat(), 5);
}

/// A file that is not there yet, in the folder for such files.
fs::path fresh_file() {
  fs::path file =
      fs::path(::testing::TempDir()) / ("measurements-" + std::to_string(::getpid()) + ".jsonl");
  fs::remove(file);
  return file;
}

/// What --measurements FILE has left there; "" without a file.
std::string measurements(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_F(Program, WritesWhatItHasMeasured) {
  const fs::path file = fresh_file();
  float next = 0.5F;
  const outcome result = run(
      program, {"--measurements", file.string(), "--repeat", "2", "--loud", "--step", "fast"}, [&] {
        const auto time = program.report_kernel([&] { return next *= 2; },
                                                {.items = 3, .item_name = "\"odd\" \\ \n things"});
        program.report_library("cublasSdot", 0.25F, time);
        program.report_library("none", std::nullopt, time);
        return true;
      });
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string cpu_device = lab::on_cpu_device() ? "true" : "false";
  EXPECT_EQ(measurements(file),
            R"({"event":"program","name":"00.0_test","device":")" + lab::describe_device(0) +
                R"(","cpu_device":)" + cpu_device +
                R"(,"options":{"--device":"0","--seed":"1","--repeat":"2","--measurements":")" +
                file.string() +
                R"(","--size":"1000","--count":"3","--scale":"1.5","--loud":"given",)"
                R"("--step":"fast"},"steps":["slow","fast"]})"
                "\n"
                R"({"event":"kernel","ms":[2,4],"items":3,"item_name":"\"odd\" \\ \u000a things"})"
                "\n"
                R"({"event":"library","name":"cublasSdot","ms":0.25})"
                "\n");
}

TEST_F(Program, WritesNoMeasurementsUnlessAllWasRight) {
  const fs::path file = fresh_file();
  for (const bool returned : {true, false}) {
    const outcome result = run(program, {"--measurements", file.string()}, [&] {
      program.verdict(false, "for a test");
      program.report_kernel([] { return 1.0F; });
      return returned;
    });
    EXPECT_EQ(result.code, 1);
    EXPECT_FALSE(fs::exists(file));
  }
}

TEST_F(Program, SaysWhereItCannotWriteMeasurements) {
  const outcome result = run(program, {"--measurements", "/no/such/folder/m"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("cannot write "), std::string::npos) << result.err;
}

TEST_F(Program, UsesTheDeviceThatWasAskedFor) {
  const int last = lab::device_count() - 1;
  const outcome result = run(program, {"--device", std::to_string(last)}, [&] {
    int current = -1;
    CUDA_CHECK(cudaGetDevice(&current));
    return current == last;
  });
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.out.find("device " + std::to_string(last) + ": "), std::string::npos);
  CUDA_CHECK(cudaSetDevice(0));
}

TEST_F(Program, ExplainsItself) {
  bool ran = false;
  const outcome result = run(program, {"--help"}, [&] { return ran = true; });
  EXPECT_EQ(result.code, 0);
  EXPECT_FALSE(ran);
  for (const char* part : {"A program for tests.", "--size", "number of elements", "1000", "--step",
                           "slow", "fast", "the good one", "--device", "--seed", "--repeat"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " is missing in\n" << result.out;
}

TEST_F(Program, ExplainsItselfWithoutADevice) {
  EXPECT_EQ(run(program, {"--help", "--device", "12345"}).code, 0);
}

TEST_F(Program, ExplainsItselfToSomebodyWhoseOptionsAreWrong) {
  for (const char* help : {"--help", "-h"}) EXPECT_EQ(run(program, {"--sise", "5", help}).code, 0);
}

TEST(ProgramWithASize, LeavesRoomForArithmeticWithIt) {
  lab::program program("00.0_test", "A program for tests.");
  std::size_t size = 5;
  program.add_size("--size", size, "number of elements");
  EXPECT_EQ(run(program, {"--size", "0"}).code, 0);
  EXPECT_EQ(size, 0u);
  const outcome result = run(program, {"--size", "262144G"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(result.err.starts_with("00.0_test: --size: 262144G is too large: at most "))
      << result.err;
}

TEST_F(Program, RefusesBadOptionsWithOneSentence) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--sise", "5"}, "unknown: --sise 5"},
      {{"extra"}, "unknown: extra"},
      {{"--size", "-5"}, "--size: \"-5\" is not a size: write a whole number"},
      {{"--size", "12x"}, "--size: \"12x\" is not a size: write a whole number"},
      {{"--size", ""}, "--size: \"\" is not a size: write a whole number"},
      {{"--size", "0"}, "--size: 0 is too small: at least 1 is needed"},
      {{"--size", "2G"}, "--size: 2G is too large: at most 1073741824 is possible"},
      {{"--size", "99999999999999999999"},
       "--size: 99999999999999999999 is larger than any memory"},
      {{"--size"}, "--size: its value (N) is missing"},
      {{"--size", "--loud"}, "--size: its value (N) is missing"},
      {{"--size", "5", "--size=6"}, "--size: is there twice"},
      {{"--loud=yes"}, "--loud: takes no value"},
      {{"--size=5", "--", "x"}, "unknown: -- x"},
      {{"--siz=5"}, "unknown: --siz=5"},
      {{"--count", "6"}, "--count: 6 is too large: at most 5 is possible"},
      {{"--count", "-6"}, "--count: -6 is too small: at least -5 is needed"},
      {{"--count", "1.5"}, "--count: \"1.5\" is not a whole number"},
      {{"--count", "99999999999"}, "--count: 99999999999 is too large"},
      {{"--scale", "nan"}, "--scale: \"nan\" is not a number"},
      {{"--scale", "inf"}, "--scale: \"inf\" is not a number"},
      {{"--scale", "1x"}, "--scale: \"1x\" is not a number"},
      {{"--step", "medium"}, "--step: there is no \"medium\"; there are slow, fast"},
      {{"--seed", "-1"}, "--seed: \"-1\" is not a whole number, 0 or more"},
      {{"--repeat", "0"}, "--repeat: 0 is too small: at least 1 is needed"},
      {{"--device", "x"}, "--device: \"x\" is not the number of a device"},
      {{"--device", "12345"}, "there is no device 12345: this machine has "},
      {{"--device", "-1"}, "there is no device -1: this machine has "},
  };
  for (const auto& [arguments, sentence] : cases) {
    bool ran = false;
    const outcome result = run(program, arguments, [&] { return ran = true; });
    EXPECT_EQ(result.code, 2) << sentence;
    EXPECT_FALSE(ran) << sentence;
    EXPECT_TRUE(result.err.starts_with("00.0_test: " + sentence)) << result.err << "instead of\n"
                                                                  << sentence;
    EXPECT_TRUE(result.err.ends_with("\nTry bin/00.0_test --help\n")) << result.err;
  }
}

TEST_F(Program, NamesTheCommandThatHasStartedIt) {
  EXPECT_NE(run(program, {"--help"}).out.find("\nUsage: bin/00.0_test [OPTIONS]\n"),
            std::string::npos);
  ASSERT_EQ(::setenv("LAB_COMMAND", "scripts/lab run 00.0 --", 1), 0);
  const std::string help = run(program, {"--help"}).out;
  const std::string refusal = run(program, {"--size", "0"}).err;
  ASSERT_EQ(::unsetenv("LAB_COMMAND"), 0);
  EXPECT_NE(help.find("\nUsage: scripts/lab run 00.0 -- [OPTIONS]\n"), std::string::npos) << help;
  EXPECT_TRUE(refusal.ends_with("\nTry scripts/lab run 00.0 -- --help\n")) << refusal;
}

TEST_F(Program, ExitsOneForAWrongResult) {
  EXPECT_EQ(run(program, {}, [] { return false; }).code, 1);
}

TEST_F(Program, PrintsTheVerdict) {
  const outcome result = run(program, {}, [&] {
    EXPECT_TRUE(program.verdict({true, "all 33 elements match"}));
    return program.verdict(true, "the sum is 7");
  });
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(result.out.ends_with("right: all 33 elements match\nright: the sum is 7\n"))
      << result.out;
}

TEST_F(Program, NeverForgetsAWrongVerdict) {
  const outcome result = run(program, {}, [&] {
    EXPECT_FALSE(program.verdict({false, "1 of 2 elements differs"}));
    program.verdict({true, "all 2 elements match"});
    return true;
  });
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.out.find("WRONG: 1 of 2 elements differs\n"), std::string::npos) << result.out;
  lab::program other("00.1_other", "Another.");
  EXPECT_EQ(run(other, {},
                [&]() -> bool {
                  other.verdict(false, "wrong");
                  throw lab::not_possible("no window");
                })
                .code,
            1);
}

TEST_F(Program, TurnsExceptionsIntoSentencesAndExitCodes) {
  const auto failing = [&](const std::function<void()>& action) {
    return run(program, {}, [&] {
      action();
      return true;
    });
  };
  outcome result = failing([] { throw lab::invalid_input("the vectors have different lengths"); });
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err,
            "00.0_test: the vectors have different lengths\nTry bin/00.0_test --help\n");

  result = failing([] { throw lab::not_possible("there is no display"); });
  EXPECT_EQ(result.code, 77);
  EXPECT_EQ(result.err, "00.0_test: there is no display\n");

  result = failing([] { CUDA_CHECK(cudaSetDevice(12345)); });
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("cudaSetDevice(12345) failed: cudaErrorInvalidDevice"),
            std::string::npos);

  result = failing([] { CUDA_CHECK(cudaErrorMemoryAllocation); });
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("try a smaller size"), std::string::npos);

  for (const auto& action : std::vector<std::function<void()>>{
           [] { throw std::bad_alloc(); },
           [] { std::vector<int>().reserve(~std::size_t{0}); },
       }) {
    result = failing(action);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err,
              "00.0_test: the host has not enough memory; try a smaller size\n"
              "Try bin/00.0_test --help\n");
  }

  result = failing([] { throw lab::not_written("step fast", 4); });
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "00.0_test: step fast is not written yet: TODO(4) in command_line_test.cpp\n"
            "Hints: scripts/lab hint 00.0\n"
            "Another step: bin/00.0_test --step NAME (--help has the names)\n");

  EXPECT_EQ(failing([] { throw std::runtime_error("something else"); }).code, 1);
  EXPECT_EQ(failing([] { throw 5; }).code, 1);
}

TEST_F(Program, RefusesSizesThatNoMemoryHolds) {
  bool went_on = false;
  const outcome result = run(program, {}, [&] {
    program.require_memory(std::size_t{1} << 50, std::size_t{1} << 50);
    return went_on = true;
  });
  EXPECT_EQ(result.code, 2);
  EXPECT_FALSE(went_on);
  EXPECT_NE(result.err.find("PiB of "), std::string::npos) << result.err;
}

TEST_F(Program, TimesAKernelAfterWarmingUp) {
  int runs = 0;
  const outcome result = run(program, {"--repeat", "5"}, [&] {
    const auto time = program.report_kernel([&] { return static_cast<float>(++runs); });
    EXPECT_EQ(time.median_ms, 4);  // of 2, 3, 4, 5 and 6: the first run warms up
    return true;
  });
  EXPECT_EQ(runs, 6);
  EXPECT_NE(result.out.find("kernel: 4.000 ms (median of 5, 2.000 to 6.000)"), std::string::npos)
      << result.out;
  EXPECT_EQ(result.out.find("not a GPU time") != std::string::npos, lab::on_cpu_device());
}

TEST_F(Program, ComparesWithALibraryThatIsThere) {
  const outcome result = run(program, {}, [&] {
    program.report_library("cublasSdot", std::nullopt, {1, 1, 1, 1});
    program.report_library("cublasSdot", 0.5f, {1, 1, 1, 1});
    return true;
  });
  EXPECT_TRUE(
      result.out.ends_with("0_test\n" + lab::describe_device(0) +
                           "\ncublasSdot: 0.500 ms; this kernel reaches 50 % of its speed\n"))
      << result.out;
}

TEST(ProgramWithPictures, WritesWhatWasAskedFor) {
  const fs::path path =
      fs::temp_directory_path() / ("lab_picture_" + std::to_string(::getpid()) + ".png");
  lab::bitmap picture(7, 5);
  picture.at(6, 4) = {1, 2, 3, 255};
  lab::program program("00.0_test", "A program for tests.");
  program.add_picture_options();
  const outcome result = run(program, {"--out", path.string()}, [&] {
    program.emit(picture);
    return true;
  });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(lab::testing::matches(lab::compare_exact(lab::read_png(path), picture)));
  fs::remove(path);
}

TEST(ProgramWithPictures, WritesTheDefaultFileUnlessToldOtherwise) {
  const fs::path path =
      fs::temp_directory_path() / ("lab_default_" + std::to_string(::getpid()) + ".png");
  const auto draw = [](const std::vector<std::string>& arguments, const std::string& file) {
    lab::program program("00.0_test", "A program for tests.");
    program.add_picture_options(file);
    return run(program, arguments, [&] {
      program.emit(lab::bitmap(2, 2));
      return true;
    });
  };
  EXPECT_EQ(draw({"--out", ""}, path.string()).code, 0);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(draw({}, path.string()).code, 0);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_NE(draw({"--help"}, "default.png").out.find("default.png"), std::string::npos);
  fs::remove(path);
}

TEST(ProgramWithPictures, DoesNothingUnasked) {
  lab::program program("00.0_test", "A program for tests.");
  program.add_picture_options();
  EXPECT_EQ(run(program, {},
                [&] {
                  program.emit(lab::bitmap(2, 2));
                  return true;
                })
                .code,
            0);
}

TEST(ProgramWithPictures, RefusesAPathThatCannotBeWritten) {
  lab::program program("00.0_test", "A program for tests.");
  program.add_picture_options();
  const outcome result = run(program, {"--out", "/no/such/folder/p.png"}, [&] {
    program.emit(lab::bitmap(2, 2));
    return true;
  });
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("cannot write /no/such/folder/p.png: there is no folder"),
            std::string::npos)
      << result.err;
}

TEST(ProgramWithPictures, WritesTheFileBeforeItMissesTheDisplay) {
  ::unsetenv("DISPLAY");
  const fs::path path =
      fs::temp_directory_path() / ("lab_window_" + std::to_string(::getpid()) + ".png");
  lab::program program("00.0_test", "A program for tests.");
  program.add_picture_options();
  const outcome result = run(program, {"--window", "--out", path.string()}, [&] {
    program.emit(lab::bitmap(2, 2));
    return true;
  });
  EXPECT_EQ(result.code, 77);
  EXPECT_NE(result.err.find("no window: "), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(path));
  fs::remove(path);
}

TEST(ProgramWithAnimation, WritesAsManyFramesAsWereAskedFor) {
  const fs::path path =
      fs::temp_directory_path() / ("lab_animation_" + std::to_string(::getpid()) + ".png");
  lab::program program("00.0_test", "A program for tests.");
  program.add_animation_options(30);
  std::vector<int> ticks;
  const outcome result = run(program, {"--out", path.string(), "--frames", "3"}, [&] {
    program.emit_frames(4, 3, 40, [&](lab::bitmap& picture, int tick) {
      ticks.push_back(tick);
      picture.at(tick, 0) = {255, 0, 0, 255};
    });
    return true;
  });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(ticks, (std::vector<int>{0, 1, 2}));
  EXPECT_NE(result.out.find("(3 frames of 4 x 3"), std::string::npos) << result.out;
  EXPECT_EQ(lab::read_png(path).at(0, 0), (lab::rgba{255, 0, 0, 255}));
  fs::remove(path);
}

TEST(ProgramWithAnimation, WritesOneFrameAsAPlainPicture) {
  const fs::path path =
      fs::temp_directory_path() / ("lab_picture_" + std::to_string(::getpid()) + ".png");
  lab::program program("00.0_test", "A program for tests.");
  program.add_animation_options(1);
  const outcome result = run(program, {"--out", path.string()}, [&] {
    program.emit_frames(4, 3, 40, [](lab::bitmap& picture, int) { picture.at(1, 2) = {9, 8, 7}; });
    return true;
  });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("(4 x 3)"), std::string::npos) << result.out;
  EXPECT_EQ(lab::read_png(path).at(1, 2), (lab::rgba{9, 8, 7}));
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(bytes.find("acTL"), std::string::npos) << "an animation of one frame";
  fs::remove(path);
}

TEST(ProgramWithATable, PrintsItAndWritesTheFilesThatWereAskedFor) {
  const std::string stem =
      (fs::temp_directory_path() / ("lab_rows_" + std::to_string(::getpid()))).string();
  const auto emit = [](std::vector<std::string> arguments) {
    lab::program program("00.0_test", "A program for tests.");
    program.add_table_options();
    return run(program, std::move(arguments), [&] {
      lab::table rows({"step", "size", "ms"});
      rows.add({"a", std::int64_t{8}, 0.25});
      program.emit_table(rows, {.title = "t",
                                .x_label = "size",
                                .y_label = "ms",
                                .lines = lab::lines_of(rows, "step", "size", "ms")});
      return true;
    });
  };
  outcome result = emit({});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("a        8  0.25\n"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("wrote"), std::string::npos) << result.out;

  result = emit({"--csv", stem + ".csv", "--plot", stem + ".svg"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_GT(fs::file_size(stem + ".csv"), 10u);
  EXPECT_GT(fs::file_size(stem + ".svg"), 100u);
  fs::remove(stem + ".csv");
  fs::remove(stem + ".svg");
  EXPECT_EQ(emit({"--csv", stem + "/missing/rows.csv"}).code, 2);
}

TEST(ProgramWithATable, SaysSoWhereItMakesNone) {
  const auto without = [](std::vector<std::string> arguments) {
    lab::program program("00.0_test", "A program for tests.");
    program.add_table_options();
    return run(program, std::move(arguments), [] { return true; });
  };
  EXPECT_EQ(without({}).code, 0);
  for (const char* option : {"--csv", "--plot"}) {
    const outcome result = without({option, "never_written"});
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("makes no table"), std::string::npos) << result.err;
  }
}

}  // namespace
