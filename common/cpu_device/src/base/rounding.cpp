// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Double arithmetic in the roundings that are not the usual one. The processor can do it, but its
// rounding is a setting of the OS thread: it is changed around each operation. The compiler knows
// nothing of that, so operands and results pass through volatile variables.

#include <cfenv>
#include <cmath>

#include "cpu_device/intrinsics.h"

namespace cpu_device {
namespace {

class rounding_setting {
 public:
  explicit rounding_setting(rounding mode) : before_(std::fegetround()) {
    std::fesetround(mode == rounding::ru   ? FE_UPWARD
                    : mode == rounding::rd ? FE_DOWNWARD
                    : mode == rounding::rz ? FE_TOWARDZERO
                                           : FE_TONEAREST);
  }
  ~rounding_setting() { std::fesetround(before_); }
  rounding_setting(const rounding_setting&) = delete;
  rounding_setting& operator=(const rounding_setting&) = delete;

 private:
  int before_;
};

}  // namespace

double add(double x, double y, rounding mode) {
  const volatile double a = x, b = y;
  const rounding_setting setting(mode);
  const volatile double result = a + b;
  return result;
}
double multiply(double x, double y, rounding mode) {
  const volatile double a = x, b = y;
  const rounding_setting setting(mode);
  const volatile double result = a * b;
  return result;
}
double multiply_add(double x, double y, double z, rounding mode) {
  const volatile double a = x, b = y, c = z;
  const rounding_setting setting(mode);
  const volatile double result = std::fma(a, b, c);
  return result;
}
double divide(double x, double y, rounding mode) {
  const volatile double a = x, b = y;
  const rounding_setting setting(mode);
  const volatile double result = a / b;
  return result;
}
double square_root(double x, rounding mode) {
  const volatile double a = x;
  const rounding_setting setting(mode);
  const volatile double result = std::sqrt(a);
  return result;
}

}  // namespace cpu_device
