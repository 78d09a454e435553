// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Runs a function on several MPI ranks: real processes, which Open MPI's mpirun starts. The program
// itself is the launcher, so that no command has to be typed, and a contract remains a function
// that takes values and returns values:
//
//     float dot_of_rank(MPI_Comm world, std::span<const float> x, std::span<const float> y);
//     const lab::mpi::job kDot("dot", dot_of_rank);
//
//     float dot(std::span<const float> x, std::span<const float> y, int ranks) {
//       using parts = std::tuple<std::span<const float>, std::span<const float>>;
//       return kDot.run(ranks, [&](int rank) { return rank == 0 ? parts(x, y) : parts(); })[0];
//     }
//
// mpirun starts the same executable again, which then becomes a rank instead of entering main().
// Ranks are kept for the next call, since starting them takes longer than most calls.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/mpi_check.hpp"
#include "lab/mpi_companion.hpp"
#include "lab/packed.hpp"

namespace lab::mpi {

inline constexpr int kMostRanks = 64;

/// How to run a job.
struct options {
  /// Of a call. LAB_MPI_TIME_LIMIT in the environment overrules it, and the limit of a start.
  double time_limit_s = 60;
  /// Variables for mpirun and the ranks, as in `OMPI_MCA_btl=tcp,self`. They overrule what the
  /// ranks inherit, and what this file sets.
  std::vector<std::string> environment = {};
  std::vector<std::string> mpirun_options = {};  ///< words before the program's name
  friend bool operator==(const options&, const options&) = default;
};

namespace detail {

/// What a parameter is while it travels: a span's elements are kept in a vector.
template <class T>
struct stored {
  using type = T;
};
template <class T>
struct stored<std::span<const T>> {
  using type = std::vector<T>;
};
template <class T>
using stored_t = typename stored<std::remove_cvref_t<T>>::type;

using rank_function = std::function<bytes(MPI_Comm, std::span<const std::byte>)>;
void add(const std::string& name, rank_function function);
/// Sends each rank its request, and returns the answers. Throws what a rank has thrown.
std::vector<bytes> run(const std::string& name, const std::vector<bytes>& questions,
                       const options& job_options);

}  // namespace detail

/// Whether this library takes pointers to device memory. `compiled`: its header says so
/// (MPIX_CUDA_AWARE_SUPPORT); `running`: the library that was loaded does
/// (MPIX_Query_cuda_support).
struct cuda_support {
  bool compiled = false, running = false;
};
cuda_support query_cuda_support();

/// A function of an exercise that several ranks run together. Make one for each function, outside
/// of all functions: a rank knows it by its name before main() would begin.
template <class Answer, class... Stored>
class job {
 public:
  template <class... Given>
  job(const char* name, Answer (*work)(MPI_Comm, Given...)) : name_(name) {
    detail::add(name_, [work](MPI_Comm world, std::span<const std::byte> question) {
      detail::unpacker from(question);
      std::tuple<Stored...> given{from.get<Stored>()...};
      detail::packer answer;
      answer.put(std::apply([&](auto&... values) { return work(world, values...); }, given));
      return answer.take();
    });
  }

  /// Runs it on `ranks` ranks. `given(rank)` is a std::tuple of this rank's arguments. Returns what
  /// each rank has returned. Throws
  /// - what a rank has thrown, with its sentence: the first one, if several have;
  /// - lab::mpi_error if a rank has ended, or some have not answered in time. The sentence names
  ///   them;
  /// - lab::not_possible if mpirun cannot start the ranks.
  template <class Arguments>
  std::vector<Answer> run(int ranks, const Arguments& given,
                          const options& job_options = {}) const {
    std::vector<bytes> questions;
    for (int rank = 0; rank < ranks; ++rank) {
      detail::packer to;
      const auto arguments = given(rank);
      static_assert(
          std::is_same_v<std::tuple<detail::stored_t<Stored>...>, stored_of<decltype(arguments)>>,
          "the arguments are not those of the function");
      to.put(arguments);
      questions.push_back(to.take());
    }
    std::vector<Answer> answers;
    for (const bytes& answer : detail::run(name_, questions, job_options))
      answers.push_back(detail::unpacker(answer).get<Answer>());
    return answers;
  }

 private:
  template <class T>
  struct stored_tuple;
  template <class... T>
  struct stored_tuple<std::tuple<T...>> {
    using type = std::tuple<detail::stored_t<T>...>;
  };
  template <class T>
  using stored_of = typename stored_tuple<std::remove_cvref_t<T>>::type;

  std::string name_;
};

template <class Answer, class... Given>
job(const char*, Answer (*)(MPI_Comm, Given...)) -> job<Answer, detail::stored_t<Given>...>;

}  // namespace lab::mpi
