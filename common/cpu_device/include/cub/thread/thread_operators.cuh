// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Operators. CUB 3 has left most of them to the standard library's names; older code uses these.
#pragma once

#include <cub/util_type.cuh>

namespace cub {

struct Equality {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a == b;
  }
};
struct Inequality {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a != b;
  }
};
struct Sum {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a + b;
  }
};
struct Difference {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a - b;
  }
};
struct Max {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
/// Of two (offset, value) pairs the one with the larger value; of equal ones the earlier.
struct ArgMax {
  template <class T, class Offset>
  KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a,
                                     const KeyValuePair<Offset, T>& b) const {
    return a.value < b.value || (!(b.value < a.value) && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class T, class Offset>
  KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a,
                                     const KeyValuePair<Offset, T>& b) const {
    return b.value < a.value || (!(a.value < b.value) && b.key < a.key) ? b : a;
  }
};
template <class To>
struct CastOp {
  template <class From>
  To operator()(From&& from) const {
    return static_cast<To>(from);
  }
};
template <class Op>
class SwizzleScanOp {
 public:
  explicit SwizzleScanOp(Op op) : op_(op) {}
  template <class T>
  T operator()(const T& a, const T& b) {
    return op_(b, a);
  }

 private:
  Op op_;
};

}  // namespace cub
