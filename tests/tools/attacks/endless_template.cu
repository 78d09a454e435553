// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: keeps the compiler busy
// stopped by: limits on the compiler
// base: solution
// state: does not compile
// points: 0

template <unsigned n>
struct endless {
  static constexpr unsigned value = endless<n + 1>::value;
};
unsigned never = endless<0>::value;
