// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "exceptions.hpp"

#include <cuda_runtime.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "call.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#ifdef LAB_HAVE_NCCL
#include "lab/nccl_check.hpp"
#endif

namespace wire {
namespace {

enum class what : std::uint8_t {
  invalid_input,
  not_possible,
  not_written,
  cuda_error,
  cublas_error,
  nccl_error,
  bad_alloc,
  out_of_range,
  invalid_argument,
  logic_error,
  runtime_error,
  foreign,
  own,  // and those behind it: the contract's classes, in their order
};

/// lab::not_written makes its sentence from its arguments; here the sentence is there already.
class not_written : public lab::not_written {
 public:
  explicit not_written(std::string sentence)
      : lab::not_written("", 0), sentence_(std::move(sentence)) {}
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

/// Thrust's has a text, which names the error of CUDA.
class bad_alloc : public std::bad_alloc {
 public:
  explicit bad_alloc(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

void put_text(writer& to, what kind, const char* text) {
  put(to, kind);
  put(to, std::string(text));
}

/// The errors of calls that failed, of CUDA, cuBLAS and NCCL.
template <class Code, class Error>
void put_call(writer& to, what kind, Code code, const Error& error) {
  put(to, kind);
  put(to, code);
  put(to, error.expression());
  put(to, error.file());
  put(to, error.line());
}

template <class Error, class Code>
[[noreturn]] void throw_call(reader& from, arena& memory) {
  const auto code = get<Code>(from, memory);
  const auto expression = get<std::string>(from, memory);
  const auto file = get<std::string>(from, memory);
  throw Error(code, expression.c_str(), file.c_str(), get<int>(from, memory));
}

}  // namespace

host_memory& pinned() {
  static host_memory here;
  return here;
}
side& this_side() {
  static side here;
  return here;
}
std::vector<own_exception>& own_exceptions() {
  static std::vector<own_exception> here;
  return here;
}

void put_exception(writer& to) {
  for (std::size_t i = 0; i < own_exceptions().size(); ++i) {
    writer one;
    put(one, static_cast<what>(static_cast<std::size_t>(what::own) + i));
    if (!own_exceptions()[i].put(one)) continue;
    to.bytes(one.data().data(), one.data().size());
    return;
  }
  try {
    throw;
  } catch (const lab::invalid_input& error) {
    put_text(to, what::invalid_input, error.what());
  } catch (const lab::not_possible& error) {
    put_text(to, what::not_possible, error.what());
  } catch (const lab::not_written& error) {
    put_text(to, what::not_written, error.what());
  } catch (const lab::cuda_error& error) {
    put_call(to, what::cuda_error, error.code(), error);
  } catch (const lab::cublas_error& error) {
    put_call(to, what::cublas_error, error.status(), error);
#ifdef LAB_HAVE_NCCL
  } catch (const lab::nccl_error& error) {
    put_call(to, what::nccl_error, error.result(), error);
#endif
  } catch (const std::bad_alloc& error) {
    put_text(to, what::bad_alloc, error.what());
  } catch (const std::out_of_range& error) {
    put_text(to, what::out_of_range, error.what());
  } catch (const std::invalid_argument& error) {
    put_text(to, what::invalid_argument, error.what());
  } catch (const std::logic_error& error) {
    put_text(to, what::logic_error, error.what());
  } catch (const std::exception& error) {
    put_text(to, what::runtime_error, error.what());
  } catch (...) {
    put_text(to, what::foreign, "something was thrown that is no std::exception");
  }
}

void throw_exception(reader& from) {
  arena memory;
  const auto kind = get<what>(from, memory);
  if (kind >= what::own) {
    const std::size_t i = static_cast<std::size_t>(kind) - static_cast<std::size_t>(what::own);
    if (i >= own_exceptions().size()) throw malformed("an exception of no known class");
    own_exceptions()[i].raise(from);
  }
  if (kind == what::cuda_error) throw_call<lab::cuda_error, cudaError_t>(from, memory);
  if (kind == what::cublas_error) throw_call<lab::cublas_error, cublasStatus_t>(from, memory);
#ifdef LAB_HAVE_NCCL
  if (kind == what::nccl_error) throw_call<lab::nccl_error, ncclResult_t>(from, memory);
#endif
  const auto text = get<std::string>(from, memory);
  switch (kind) {
    case what::invalid_input:
      throw lab::invalid_input(text);
    case what::not_possible:
      throw lab::not_possible(text);
    case what::not_written:
      throw not_written(text);
    case what::bad_alloc:
      throw bad_alloc(text);
    case what::out_of_range:
      throw std::out_of_range(text);
    case what::invalid_argument:
      throw std::invalid_argument(text);
    case what::logic_error:
      throw std::logic_error(text);
    default:
      throw std::runtime_error(text);
  }
}

}  // namespace wire
