// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a test program tells the program that started it. `--lab_events=FILE` writes one JSON object
// per line to FILE while the tests run; scripts/lab and CTest start tests like that, so that
// nothing has to parse the text on the console:
//
//   {"event":"program","cases":["Suite.Case",…]}        what has to run; always the first line.
//                                                       "others": the cases that were not asked for
//   {"event":"repetition","order":"forward"}            all cases (again), in this thread order
//   {"event":"begin","case":"Suite.Case"}
//   {"event":"output","case":"Suite.Case","text":"…"}   only of cases that do not pass
//   {"event":"failure","case":"Suite.Case","file":"…","line":12,"message":"…"}
//   {"event":"end","case":"Suite.Case","result":"failed","seconds":0.012,"detail":"…"}
//   {"event":"ends","status":1,"detail":"…"}            the verdict; always the last line
//
// Results are passed, failed, skipped, crashed and timed out. "case" is empty for what happens
// outside of every case.
//
// The tests then run in a child process. This process only watches it, so that a case that crashes,
// exits, hangs (--lab_case_limit=SECONDS) or prints without end fails like any other, with
// everything that it printed before. After a crash, a new child runs the rest. Every case that the
// program was compiled with has to run: one that is missing is a failure.
//
// `--lab_cases=FILE` asks for the cases that FILE names, one per line, and for no others. A program
// need not be believed about which tests it has: `--lab_list` writes the first line and ends, and a
// program that the tested file is not part of can be asked that.
//
// The file under test is part of the program, and its static objects run before main(). What they
// set or remove in the environment does not count: the tests run with the one that the program was
// started with.
//
// Without --lab_events there is one process and GoogleTest's own output, for people and debuggers.
//
// Needs GoogleTest and nothing else of this repository: the CPU device's tests use it too.
#pragma once

#include <functional>
#include <string>

namespace test_events {

/// Runs all tests of this program and returns its exit status: 0 all passed, 1 not, 2 usage,
/// 77 (skipped) nothing could run here. The tests run in a child process, where a CUDA that was
/// used before would not work: code that runs before, such as the generators of parameters and of
/// their names, must not call CUDA.
///
/// `prepare` runs once in each process that runs tests, after InitGoogleTest. It may add listeners
/// and set flags. If it returns anything but 0, no test runs, and that is the exit status; it must
/// have printed why. Its argument says whether the user asked for a number of repetitions.
int run(int argc, char** argv, const std::function<int(bool repetition_is_given)>& prepare);

/// Undoes what static objects have done to the environment: it is again what the program was
/// started with. For the first line of a main() whose program has a student's file in it.
void restore_environment();

/// Whether this is such a child process.
bool is_watched();

/// Says what is special about the repetition that begins. Failures in it are reported with that.
void begin_repetition(const std::string& order);

/// Makes the running case the last one, because the others would take as long to fail.
void leave_out_the_rest();

}  // namespace test_events
