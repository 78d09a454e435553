// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Exceptions as bytes: those that contracts promise arrive as what they were, with their text.
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "codec.hpp"

namespace wire {

/// Writes the exception that is being handled: for a catch block.
void put_exception(writer& to);
/// Throws what put_exception() has written.
[[noreturn]] void throw_exception(reader& from);

/// An exception class of a contract. Each side has one such variable for each class.
struct own_exception {
  /// Throws the exception again: the bytes of one of this class, or nothing.
  std::function<bool(writer&)> put;
  std::function<void(reader&)> raise;
};
std::vector<own_exception>& own_exceptions();

/// One that is made from its text.
template <class Exception>
bool add_exception() {
  own_exceptions().push_back({[](writer& to) {
                                try {
                                  throw;
                                } catch (const Exception& error) {
                                  wire::put(to, std::string(error.what()));
                                  return true;
                                } catch (...) {
                                  return false;
                                }
                              },
                              [](reader& from) {
                                arena memory;
                                throw Exception(wire::get<std::string>(from, memory));
                              }});
  return true;
}

/// One that is made from what it holds.
template <class Exception, class Member>
bool add_exception(Member Exception::*member) {
  own_exceptions().push_back({[member](writer& to) {
                                try {
                                  throw;
                                } catch (const Exception& error) {
                                  wire::put(to, error.*member);
                                  return true;
                                } catch (...) {
                                  return false;
                                }
                              },
                              [](reader& from) {
                                arena memory;
                                throw Exception(wire::get<Member>(from, memory));
                              }});
  return true;
}

}  // namespace wire
