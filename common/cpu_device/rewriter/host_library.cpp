// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "host_library.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "walking.hpp"

namespace rewriter {
namespace {

constexpr std::string_view kLoop = "write the loop yourself, or call it on the host";
constexpr std::string_view kArray = "use a plain array, in registers or in `__shared__` memory";
constexpr std::string_view kPlain = "use plain variables or a struct of your own";
constexpr std::string_view kPrintf = "use printf(), which works in kernels";
constexpr std::string_view kHost = "do this on the host";
constexpr std::string_view kMemory = "copy in a loop, or with memcpy(), which works in kernels";
constexpr std::string_view kAlone = "use atomicCAS() and the like, or cuda::atomic_ref";
constexpr std::string_view kRandom = "use cuRAND's device functions (curand_kernel.h)";
constexpr std::string_view kBits = "CUDA has its own: __popc(), __clz(), __ffs(), __float_as_int()";
constexpr std::string_view kRuntime = "the host calls the CUDA runtime, before or after the launch";

using table = std::unordered_map<std::string_view, library_name>;

table make_std() {
  table all;
  const auto add_all = [&](library_kind kind, std::string_view advice, bool is_constexpr,
                           std::initializer_list<std::string_view> names, bool is_common = false) {
    for (const std::string_view name : names)
      all.emplace(name, library_name{kind, advice, is_constexpr, is_common});
  };
  const auto add = [&](library_kind kind, std::string_view advice,
                       std::initializer_list<std::string_view> names) {
    add_all(kind, advice, false, names);
  };
  const auto add_constexpr = [&](library_kind kind, std::string_view advice,
                                 std::initializer_list<std::string_view> names) {
    add_all(kind, advice, true, names);
  };
  add_constexpr(library_kind::function, "without `std::` it is CUDA's own, which works in kernels",
                {"max", "min"});
  add_constexpr(library_kind::function, "swap them with a third variable", {"swap", "exchange"});
  add_constexpr(library_kind::function, "write it as min() of max(), both without `std::`",
                {"clamp"});
  add_constexpr(library_kind::function, kLoop,
                {"sort",          "partial_sort", "nth_element",   "fill",        "fill_n",
                 "copy",          "copy_n",       "copy_if",       "transform",   "accumulate",
                 "inner_product", "iota",         "for_each",      "find",        "find_if",
                 "count",         "count_if",     "min_element",   "max_element", "all_of",
                 "any_of",        "none_of",      "reverse",       "rotate",      "unique",
                 "lower_bound",   "upper_bound",  "binary_search", "equal",       "partial_sum",
                 "swap_ranges",   "is_sorted",    "generate",      "gcd",         "lcm",
                 "midpoint",      "lerp",         "minmax",        "distance",    "advance",
                 "begin",         "end",          "cbegin",        "cend"});
  add(library_kind::function, kLoop, {"stable_sort", "reduce", "inclusive_scan", "exclusive_scan"});
  add_constexpr(library_kind::function, kBits,
                {"popcount", "countl_zero", "countr_zero", "bit_cast", "bit_ceil", "bit_floor",
                 "rotl", "rotr", "has_single_bit"});
  add_constexpr(library_kind::function, kPlain,
                {"make_pair", "make_tuple", "tie", "make_optional"});
  add(library_kind::function, kPlain, {"make_unique", "make_shared"});
  add(library_kind::function, kPrintf, {"to_string", "puts", "putchar", "fprintf", "sprintf"});
  add(library_kind::function, kHost, {"stoi", "stof", "stod", "getline", "exit", "abort"});
  add_constexpr(library_kind::function, "sizeof(a) / sizeof(a[0]) works in kernels", {"size"});
  add_constexpr(library_kind::function, "the operator `&` takes an address", {"addressof"});
  add_constexpr(library_kind::function, "write a reference to const", {"as_const"});
  add(library_kind::function, "use / and %", {"div", "ldiv"});
  add(library_kind::function, kRandom, {"rand", "srand"});
  add(library_kind::function, kMemory, {"memmove"});
  add(library_kind::function, "isnan(), isinf() and isfinite() work in kernels", {"fpclassify"});
  add(library_kind::function, kHost,
      {"async",          "to_chars",      "from_chars",    "beta",          "riemann_zeta",
       "expint",         "hermite",       "laguerre",      "legendre",      "assoc_laguerre",
       "assoc_legendre", "comp_ellint_1", "comp_ellint_2", "comp_ellint_3", "ellint_1",
       "ellint_2",       "ellint_3",      "cyl_bessel_i",  "cyl_bessel_j",  "cyl_bessel_k",
       "cyl_neumann",    "sph_bessel",    "sph_legendre",  "sph_neumann"});
  add(library_kind::object, kPrintf, {"cout", "cerr", "clog", "cin", "endl"});
  add(library_kind::object, "`new` gives a null pointer in kernels if there is no memory",
      {"nothrow"});
  add(library_kind::type, kArray,
      {"vector", "string", "list", "deque", "map", "set", "unordered_map", "unordered_set", "queue",
       "stack", "priority_queue"});
  add_constexpr(library_kind::type, kPlain, {"tuple", "pair", "optional", "variant", "bitset"});
  add_constexpr(library_kind::type, kAlone, {"atomic"});
  add(library_kind::type, kPlain, {"any", "function", "unique_ptr", "shared_ptr"});
  add(library_kind::type, kPrintf, {"ostringstream", "stringstream", "ofstream", "ifstream"});
  add(library_kind::type, kAlone, {"mutex", "lock_guard", "unique_lock", "scoped_lock", "thread"});
  add_constexpr(library_kind::functor, "write the operator itself",
                {"plus", "minus", "multiplies", "divides", "modulus", "negate", "less", "greater",
                 "less_equal", "greater_equal", "equal_to", "not_equal_to"});
  add(library_kind::functor, "write the operator itself", {"hash"});
  const auto add_common = [&](library_kind kind, std::string_view advice,
                              std::initializer_list<std::string_view> names) {
    add_all(kind, advice, true, names, true);
  };
  add_common(library_kind::function, kLoop,
             {"next",
              "prev",
              "remove",
              "remove_if",
              "replace",
              "replace_if",
              "search",
              "merge",
              "partition",
              "mismatch",
              "find_if_not",
              "adjacent_find",
              "equal_range",
              "minmax_element",
              "generate_n",
              "adjacent_difference",
              "set_union",
              "set_difference",
              "set_intersection",
              "includes",
              "is_permutation",
              "stable_partition",
              "shuffle",
              "transform_reduce",
              "push_heap",
              "pop_heap",
              "make_heap",
              "sort_heap",
              "rbegin",
              "rend",
              "crbegin",
              "crend"});
  add_common(library_kind::function, kPlain,
             {"get", "get_if", "visit", "holds_alternative", "apply", "tuple_cat",
              "forward_as_tuple", "make_from_tuple"});
  add_common(library_kind::function, "call the function itself", {"invoke", "bind"});
  add_common(library_kind::function, kArray, {"data", "empty", "ssize"});
  add_common(library_kind::function, "use cuComplex.h or cuda::std::complex",
             {"conj", "polar", "arg", "proj"});
  add_common(library_kind::type, kArray,
             {"multimap", "multiset", "forward_list", "unordered_multimap", "unordered_multiset",
              "wstring"});
  add_common(
      library_kind::type, kHost,
      {"condition_variable", "promise", "future", "shared_mutex", "recursive_mutex", "weak_ptr"});
  add_common(library_kind::type, kPrintf, {"istringstream", "fstream"});
  add(library_kind::type, kRandom,
      {"mt19937", "mt19937_64", "default_random_engine", "random_device",
       "uniform_real_distribution", "uniform_int_distribution", "normal_distribution"});
  return all;
}

std::unordered_map<std::string_view, std::string_view> make_functions() {
  std::unordered_map<std::string_view, std::string_view> all;
  const auto add = [&](std::string_view advice, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) all.emplace(name, advice);
  };
  add(kRandom, {"rand", "srand", "drand48", "random"});
  add(kPrintf, {"fprintf", "sprintf", "snprintf", "puts", "putchar", "fputs", "perror"});
  add(kMemory, {"memmove"});
  add(kLoop,
      {"memcmp", "memchr", "strlen", "strcpy", "strncpy", "strcmp", "strncmp", "strcat", "strchr",
       "strrchr", "strstr", "strtol", "strtoul", "strtod", "atoi", "atof", "qsort", "bsearch"});
  add("compare with the characters yourself: c >= '0' && c <= '9'",
      {"isalnum", "isalpha", "isdigit", "isxdigit", "islower", "isupper", "isspace", "ispunct",
       "tolower", "toupper"});
  add("use / and %", {"ldiv", "lldiv"});
  add(kHost, {"exit",   "abort",  "getenv",       "time",   "fopen",   "fclose", "fread",  "fwrite",
              "fflush", "scanf",  "fscanf",       "sscanf", "getchar", "fgets",  "system", "sleep",
              "usleep", "getpid", "gettimeofday", "calloc", "realloc", "setjmp", "longjmp"});
  add(kRuntime, {"cudaMemcpy", "cudaMemset", "cudaDeviceSynchronize", "cudaEventCreate",
                 "cudaMemcpyToSymbol", "cudaMemcpyFromSymbol", "cudaMallocManaged",
                 "cudaMallocHost", "cudaHostAlloc", "cudaFreeHost", "cudaSetDevice",
                 "cudaStreamCreate", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaFree",
                 "cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorString"});
  return all;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

std::optional<library_name> host_only_std(std::string_view name) {
  static const table all = make_std();
  const auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  return found->second;
}

std::string_view host_only_function(std::string_view name) {
  static const std::unordered_map<std::string_view, std::string_view> all = make_functions();
  const auto found = all.find(name);
  if (found == all.end() && starts_with(name, "cublas")) return kRuntime;
  return found == all.end() ? std::string_view() : found->second;
}

bool is_math_function(std::string_view name) {
  return is_one_of(name,
                   {"abs",   "fabs",  "min",   "max",   "sqrt",  "cbrt",  "pow",   "exp",
                    "exp2",  "log",   "log2",  "log10", "sin",   "cos",   "tan",   "asin",
                    "acos",  "atan",  "atan2", "sinh",  "cosh",  "tanh",  "ceil",  "floor",
                    "round", "trunc", "fmod",  "fma",   "hypot", "isnan", "isinf", "isfinite"});
}

bool is_group_function(std::string_view name) {
  return is_one_of(name, {"this_thread_block", "this_grid", "this_cluster", "coalesced_threads"});
}

bool is_device_function(std::string_view name) {
  if (starts_with(name, "atomic")) {
    std::string_view rest = name.substr(6);
    for (const std::string_view scope : {"_block", "_system"})
      if (rest.size() > scope.size() && rest.substr(rest.size() - scope.size()) == scope)
        rest.remove_suffix(scope.size());
    return is_one_of(rest,
                     {"Add", "Sub", "Exch", "Min", "Max", "Inc", "Dec", "CAS", "And", "Or", "Xor"});
  }
  return is_one_of(name, {"__syncthreads",
                          "__syncthreads_count",
                          "__syncthreads_and",
                          "__syncthreads_or",
                          "__syncwarp",
                          "__threadfence",
                          "__threadfence_block",
                          "__threadfence_system",
                          "__shfl_sync",
                          "__shfl_up_sync",
                          "__shfl_down_sync",
                          "__shfl_xor_sync",
                          "__ballot_sync",
                          "__any_sync",
                          "__all_sync",
                          "__activemask",
                          "__ldg",
                          "clock64",
                          "__expf",
                          "__logf",
                          "__sinf",
                          "__cosf",
                          "__powf",
                          "__popc",
                          "__clz",
                          "__ffs",
                          "__brev",
                          "__saturatef",
                          "__int_as_float",
                          "__float_as_int",
                          "__nanosleep",
                          "__trap",
                          "__fmul_rn",
                          "__fadd_rn",
                          "__fdividef"});
}

}  // namespace rewriter
