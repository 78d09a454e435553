// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "ptx.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

#include "walking.hpp"

namespace rewriter {
namespace {

/// An instruction without a counterpart ends the translation.
struct no_counterpart {
  std::string instruction;
};

using words = std::vector<std::string_view>;

bool has(const words& all, std::string_view word) {
  return std::find(all.begin(), all.end(), word) != all.end();
}
words split(std::string_view text, char separator) {
  words result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// --- types ---------------------------------------------------------------------------------------

/// The type of C++ that `u32` and its like stand for; empty: it is no such word.
std::string type_of(std::string_view word) {
  if (word == "pred") return "bool";
  if (word == "f32") return "float";
  if (word == "f64") return "double";
  if (word.size() < 2 || !is_one_of(word.substr(1), {"8", "16", "32", "64"})) return {};
  const std::string bits(word.substr(1));
  if (word[0] == 's') return "::std::int" + bits + "_t";
  if (word[0] == 'u' || word[0] == 'b') return "::std::uint" + bits + "_t";
  return {};
}

// --- instructions whose result follows from their operands --------------------------------------

struct instruction {
  std::string_view name;      // the words that it starts with
  std::string_view function;  // of cpu_device::ptx
  std::size_t sources;
  std::string_view kinds;  // of its type: u, s, b, f, or p for a predicate
  std::string_view idle;   // words that change nothing here
  int types = 1;
  bool carry_in = false, carry_out = false;
};

// (A result that a GPU only approximates is the exact one, or as near as the C library comes.)
constexpr instruction kInstructions[] = {
    {"mov", "copy", 1, "usbfp", ""},
    {"add", "add", 2, "usf", "rn ftz"},
    {"sub", "subtract", 2, "usf", "rn ftz"},
    {"mul", "multiply", 2, "f", "rn ftz"},
    {"mul.lo", "multiply", 2, "us", ""},
    {"mul.hi", "multiply_high", 2, "us", ""},
    {"mul.wide", "multiply_wide", 2, "us", ""},
    {"mad.lo", "multiply_add", 3, "us", ""},
    {"mad.hi", "multiply_high_add", 3, "us", ""},
    {"mad.wide", "multiply_wide_add", 3, "us", ""},
    {"add.cc", "add_carry", 2, "us", "", 1, false, true},
    {"addc", "add_carry", 2, "us", "", 1, true, false},
    {"addc.cc", "add_carry", 2, "us", "", 1, true, true},
    {"sub.cc", "subtract_borrow", 2, "us", "", 1, false, true},
    {"subc", "subtract_borrow", 2, "us", "", 1, true, false},
    {"subc.cc", "subtract_borrow", 2, "us", "", 1, true, true},
    {"mad.lo.cc", "multiply_add_carry", 3, "us", "", 1, false, true},
    {"mad.hi.cc", "multiply_high_add_carry", 3, "us", "", 1, false, true},
    {"madc.lo", "multiply_add_carry", 3, "us", "", 1, true, false},
    {"madc.hi", "multiply_high_add_carry", 3, "us", "", 1, true, false},
    {"madc.lo.cc", "multiply_add_carry", 3, "us", "", 1, true, true},
    {"madc.hi.cc", "multiply_high_add_carry", 3, "us", "", 1, true, true},
    {"fma", "fused_multiply_add", 3, "f", "rn ftz"},
    {"div", "divide", 2, "usf", "rn full approx ftz"},
    {"rem", "remainder", 2, "us", ""},
    {"min", "minimum", 2, "usf", "ftz"},
    {"max", "maximum", 2, "usf", "ftz"},
    {"abs", "absolute", 1, "sf", "ftz"},
    {"neg", "negate", 1, "sf", "ftz"},
    {"sqrt", "square_root", 1, "f", "rn approx ftz"},
    {"rsqrt", "reciprocal_square_root", 1, "f", "approx ftz"},
    {"rcp", "reciprocal", 1, "f", "rn approx ftz"},
    {"ex2", "power_of_2", 1, "f", "approx ftz"},
    {"lg2", "logarithm_to_2", 1, "f", "approx ftz"},
    {"sin", "sine", 1, "f", "approx ftz"},
    {"cos", "cosine", 1, "f", "approx ftz"},
    {"tanh", "hyperbolic_tangent", 1, "f", "approx"},
    {"and", "bit_and", 2, "bp", ""},
    {"or", "bit_or", 2, "bp", ""},
    {"xor", "bit_xor", 2, "bp", ""},
    {"not", "bit_not", 1, "bp", ""},
    {"shl", "shift_left", 2, "b", ""},
    {"shr", "shift_right", 2, "usb", ""},
    {"shf.l.wrap", "funnel_left_wrap", 3, "b", ""},
    {"shf.l.clamp", "funnel_left_clamp", 3, "b", ""},
    {"shf.r.wrap", "funnel_right_wrap", 3, "b", ""},
    {"shf.r.clamp", "funnel_right_clamp", 3, "b", ""},
    {"bfe", "extract", 3, "us", ""},
    {"bfi", "insert", 4, "b", ""},
    {"brev", "reverse", 1, "b", ""},
    {"popc", "count_ones", 1, "b", ""},
    {"clz", "count_leading_zeros", 1, "b", ""},
    {"bfind", "find_highest", 1, "us", ""},
    {"prmt", "permute", 3, "b", ""},
    {"lop3", "logic", 4, "b", ""},
    {"dp4a", "dot_of_bytes", 3, "us", "", 2},
    {"selp", "select", 3, "usbf", ""},
    {"setp.eq", "equal", 2, "usbf", "ftz"},
    {"setp.ne", "unequal", 2, "usbf", "ftz"},
    {"setp.lt", "less", 2, "usf", "ftz"},
    {"setp.le", "less_or_equal", 2, "usf", "ftz"},
    {"setp.gt", "greater", 2, "usf", "ftz"},
    {"setp.ge", "greater_or_equal", 2, "usf", "ftz"},
    {"redux.sync.add", "reduce_add", 2, "us", ""},
    {"redux.sync.min", "reduce_min", 2, "us", ""},
    {"redux.sync.max", "reduce_max", 2, "us", ""},
    {"redux.sync.and", "reduce_and", 2, "b", ""},
    {"redux.sync.or", "reduce_or", 2, "b", ""},
    {"redux.sync.xor", "reduce_xor", 2, "b", ""},
    {"vote.sync.all", "vote_all", 2, "p", ""},
    {"vote.sync.any", "vote_any", 2, "p", ""},
    {"vote.sync.uni", "vote_uniform", 2, "p", ""},
    {"vote.sync.ballot", "vote_ballot", 2, "b", ""},
    {"match.any.sync", "match_any", 2, "b", ""},
    {"activemask", "active_lanes", 0, "b", ""},
};

/// Those that have no result: the whole name, the function, how many operands at least and at most.
struct action {
  std::string_view name, function;
  std::size_t fewest, most;
};
constexpr action kActions[] = {
    {"bar.sync", "barrier", 1, 2},
    {"bar.sync.aligned", "barrier", 1, 2},
    {"barrier.sync", "barrier", 1, 2},
    {"barrier.sync.aligned", "barrier", 1, 2},
    {"bar.arrive", "barrier_arrive", 2, 2},
    {"bar.arrive.aligned", "barrier_arrive", 2, 2},
    {"barrier.arrive", "barrier_arrive", 2, 2},
    {"barrier.arrive.aligned", "barrier_arrive", 2, 2},
    {"bar.warp.sync", "warp_barrier", 1, 1},
    {"membar.cta", "fence_of_block", 0, 0},
    {"membar.gl", "fence_of_device", 0, 0},
    {"membar.sys", "fence_of_system", 0, 0},
    {"fence.sc.cta", "fence_of_block", 0, 0},
    {"fence.sc.gpu", "fence_of_device", 0, 0},
    {"fence.sc.sys", "fence_of_system", 0, 0},
    {"fence.acq_rel.cta", "fence_of_block", 0, 0},
    {"fence.acq_rel.gpu", "fence_of_device", 0, 0},
    {"fence.acq_rel.sys", "fence_of_system", 0, 0},
    {"nanosleep.u32", "pause", 1, 1},
    {"trap", "trap", 0, 0},
    {"brkpt", "trap", 0, 0},
    {"cp.async.commit_group", "commit_copies", 0, 0},
    {"cp.async.wait_group", "wait_for_copies", 1, 1},
    {"cp.async.wait_all", "wait_for_copies", 0, 0},
};

// --- special registers ---------------------------------------------------------------------------

std::string special_register(std::string_view name) {
  static const std::map<std::string_view, std::string_view> others{
      {"laneid", "::cpu_device::lane_id()"},
      {"warpid", "::cpu_device::ptx::warp_id()"},
      {"nwarpid", "::cpu_device::ptx::warps()"},
      {"smid", "::cpu_device::ptx::multiprocessor()"},
      {"nsmid", "::cpu_device::ptx::multiprocessors()"},
      {"lanemask_eq", "(1U << ::cpu_device::lane_id())"},
      {"lanemask_lt", "((1U << ::cpu_device::lane_id()) - 1)"},
      {"lanemask_le", "((2U << ::cpu_device::lane_id()) - 1)"},
      {"lanemask_ge", "~((1U << ::cpu_device::lane_id()) - 1)"},
      {"lanemask_gt", "~((2U << ::cpu_device::lane_id()) - 1)"},
      {"clock", "::clock64()"},
      {"clock64", "::clock64()"},
      {"globaltimer", "::cpu_device::ptx::nanoseconds()"},
  };
  if (const auto found = others.find(name); found != others.end())
    return std::string(found->second);
  static const std::map<std::string_view, std::string_view> vectors{
      {"tid", "threadIdx"}, {"ntid", "blockDim"}, {"ctaid", "blockIdx"}, {"nctaid", "gridDim"}};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || !is_one_of(name.substr(dot), {".x", ".y", ".z"})) return {};
  const auto found = vectors.find(name.substr(0, dot));
  return found == vectors.end() ? "" : std::string(found->second) + std::string(name.substr(dot));
}

// --- the translator ------------------------------------------------------------------------------

class translator {
 public:
  explicit translator(const ptx_statement& statement) : from_(statement), code_(statement.code) {}

  std::string run() {
    std::string text = "do { ";
    for (std::size_t i = 0; i < from_.operands.size(); ++i) text += bound(i);
    text += "[[maybe_unused]] unsigned cpu_device_carry = 0; ";
    for (blanks(); at_ < code_.size(); blanks()) text += statement();
    if (depth_ != 0) refuse("{");
    return text + "} while (false)";
  }

 private:
  using operand_list = std::vector<std::string_view>;

  [[noreturn]] static void refuse(std::string_view instruction) {
    throw no_counterpart{std::string(instruction)};
  }

  /// An operand has the name of its number: evaluated once, as in an asm statement.
  std::string bound(std::size_t i) const {
    const ptx_operand& o = from_.operands[i];
    const std::string name = "cpu_device_" + std::to_string(i);
    if (i < from_.outputs) return "[[maybe_unused]] auto&& " + name + " = " + o.expression + "; ";
    const bool is_float = o.constraint == "f", is_double = o.constraint == "d";
    if (!is_float && !is_double && !is_one_of(o.constraint, {"r", "l", "h", "n"}))
      refuse("\"" + o.constraint + "\"");
    const std::string type = is_float ? "float " : is_double ? "double " : "auto ";
    return "[[maybe_unused]] const " + type + name + " = " + o.expression + "; ";
  }

  void blanks() {
    for (; at_ < code_.size(); ++at_) {
      if (code_.compare(at_, 2, "//") == 0) {
        at_ = std::min(code_.find('\n', at_), code_.size());
        if (at_ == code_.size()) return;
      } else if (code_.compare(at_, 2, "/*") == 0) {
        const std::size_t end = code_.find("*/", at_ + 2);
        if (end == std::string::npos) refuse("/*");
        at_ = end + 1;
      } else if (std::isspace(static_cast<unsigned char>(code_[at_])) == 0 && code_[at_] != ';') {
        return;
      }
    }
  }

  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':' ||
           c == '%' || c == '$';
  }
  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < code_.size() && in_word(code_[at_])) ++at_;
    return std::string_view(code_).substr(begin, at_ - begin);
  }

  std::string statement() {
    if (code_[at_] == '{') {
      ++at_, ++depth_;
      return "{ ";
    }
    if (code_[at_] == '}') {
      if (depth_-- == 0) refuse("}");
      ++at_;
      return "} ";
    }
    std::string guard;
    if (code_[at_] == '@') {
      ++at_;
      const bool negated = at_ < code_.size() && code_[at_] == '!';
      if (negated) ++at_;
      guard = std::string("if (") + (negated ? "!" : "") + value(word()) + ") ";
      blanks();
    }
    const std::string_view mnemonic = word();
    if (mnemonic.empty() || mnemonic.back() == ':')
      refuse(mnemonic.empty() ? std::string_view(code_).substr(at_, 1) : mnemonic);
    if (mnemonic == ".reg") {
      blanks();
      const std::string_view type = word();
      return declared(type, rest());
    }
    return guard + translated(mnemonic, rest()) + "; ";
  }

  /// What stands behind the mnemonic, up to the semicolon, cut at commas that are in no brackets.
  operand_list rest() {
    const std::size_t end = std::min(code_.find(';', at_), code_.size());
    operand_list result;
    int depth = 0;
    std::size_t begin = at_;
    const auto add = [&](std::size_t to) {
      const std::string_view one = trimmed(std::string_view(code_).substr(begin, to - begin));
      if (!one.empty()) result.push_back(one);
      begin = to + 1;
    };
    for (; at_ < end; ++at_) {
      if (code_[at_] == '[' || code_[at_] == '{') ++depth;
      if (code_[at_] == ']' || code_[at_] == '}') {
        if (depth == 0) break;  // the last instruction in braces may lack its semicolon
        --depth;
      }
      if (code_[at_] == ',' && depth == 0) add(at_);
    }
    add(at_);
    return result;
  }

  /// `.reg .u32 a, b;`
  std::string declared(std::string_view type, const operand_list& names) {
    const std::string of_cpp = type_of(type.substr(std::min<std::size_t>(1, type.size())));
    if (of_cpp.empty() || names.empty()) refuse(".reg " + std::string(type));
    std::string text;
    for (const std::string_view name : names) {
      if (name.find('<') != std::string_view::npos) refuse(".reg " + std::string(name));
      registers_[std::string(name)] = "cpu_device_r" + std::to_string(registers_.size());
      text += "[[maybe_unused]] " + of_cpp + " " + registers_[std::string(name)] + "{}; ";
    }
    return text;
  }

  // --- operands ---

  /// Operand `number` of the statement.
  std::string operand(std::size_t number) const {
    if (number >= from_.operands.size()) refuse("%" + std::to_string(number));
    return "cpu_device_" + std::to_string(number);
  }

  /// A register, a special register, an operand of the statement or a number.
  std::string value(std::string_view text) const {
    if (text.empty()) refuse("an operand that is missing");
    const auto known = registers_.find(std::string(text));
    if (known != registers_.end()) return known->second;
    if (text[0] == '!') return "!" + value(text.substr(1));
    if (text[0] == '%') {
      const std::string_view name = text.substr(1);
      if (!name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
            return std::isdigit(static_cast<unsigned char>(c)) != 0;
          }))
        return operand(static_cast<std::size_t>(std::stoul(std::string(name))));
      std::string special = special_register(name);
      if (special.empty()) refuse(text);
      return special;
    }
    return number(text);
  }

  static std::string number(std::string_view text) {
    const std::string_view digits = text.substr(text[0] == '-' ? 1 : 0);
    const std::string_view hexadecimal = digits.substr(std::min<std::size_t>(2, digits.size()));
    const auto is_hex = [](std::string_view all) {
      return std::all_of(all.begin(), all.end(),
                         [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
    };
    if (is_one_of(digits.substr(0, 2), {"0f", "0F"}) && hexadecimal.size() == 8 &&
        is_hex(hexadecimal))
      return "::std::bit_cast<float>(0x" + std::string(hexadecimal) + "U)";
    if (is_one_of(digits.substr(0, 2), {"0d", "0D"}) && hexadecimal.size() == 16 &&
        is_hex(hexadecimal))
      return "::std::bit_cast<double>(0x" + std::string(hexadecimal) + "ULL)";
    std::string_view bare = digits;
    if (!bare.empty() && bare.back() == 'U') bare.remove_suffix(1);
    const bool whole = is_one_of(bare.substr(0, 2), {"0x", "0X"})
                           ? bare.size() > 2 && is_hex(bare.substr(2))
                           : !bare.empty() && std::all_of(bare.begin(), bare.end(), [](char c) {
                               return std::isdigit(static_cast<unsigned char>(c)) != 0;
                             });
    if (!whole) refuse(text);
    return text[0] == '-' ? "(-" + std::string(bare) + "LL)" : std::string(bare) + "LL";
  }

  /// `[%1 + 16]`: a pointer to a T.
  std::string address(std::string_view text, const std::string& type, bool shared) const {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') refuse(text);
    std::string_view inside = text.substr(1, text.size() - 2);
    std::string offset = "0";
    if (const std::size_t plus = inside.find_last_of("+"); plus != std::string_view::npos) {
      offset = value(trimmed(inside.substr(plus + 1)));
      inside = inside.substr(0, plus);
    }
    return std::string("::cpu_device::ptx::") + (shared ? "shared_address<" : "address<") + type +
           ">(" + value(trimmed(inside)) + ", " + offset + ")";
  }

  /// `{%0, %1}`, or a single operand.
  static operand_list members(std::string_view text) {
    if (text.empty() || text.front() != '{' || text.back() != '}') return {text};
    operand_list result = split(text.substr(1, text.size() - 2), ',');
    for (std::string_view& one : result) one = trimmed(one);
    return result;
  }

  std::string put(std::string_view to, const std::string& what) const {
    if (to == "_") return "static_cast<void>(" + what + ")";
    return "::cpu_device::ptx::put(" + value(to) + ", " + what + ")";
  }

  static std::string call(std::string_view function, std::string_view types,
                          const std::vector<std::string>& arguments) {
    std::string text = "::cpu_device::ptx::" + std::string(function);
    if (!types.empty()) text += "<" + std::string(types) + ">";
    text += "(";
    for (std::size_t i = 0; i < arguments.size(); ++i) text += (i > 0 ? ", " : "") + arguments[i];
    return text + ")";
  }

  // --- instructions ---

  std::string translated(std::string_view mnemonic, const operand_list& operands) {
    const words parts = split(mnemonic, '.');
    if (parts.empty()) refuse(mnemonic);
    const std::string_view first = parts[0];
    const auto need = [&](bool fits) {
      if (!fits) refuse(mnemonic);
    };
    for (const action& a : kActions) {
      if (a.name != mnemonic) continue;
      need(operands.size() >= a.fewest && operands.size() <= a.most);
      std::vector<std::string> arguments;
      for (const std::string_view o : operands) arguments.push_back(value(o));
      return call(a.function, "", arguments);
    }
    if (first == "ld" || first == "ldu" || first == "st") return access(mnemonic, parts, operands);
    if (first == "atom" || first == "red") return atomic(mnemonic, parts, operands);
    if (first == "prefetch" || first == "prefetchu") {
      need(operands.size() == 1);
      return "static_cast<void>(" + address(operands[0], "char", false) + ")";
    }
    if (first == "cp" && has(parts, "async") && has(parts, "shared") && has(parts, "global")) {
      need(operands.size() == 3 || operands.size() == 4);
      std::vector<std::string> arguments{address(operands[0], "char", true),
                                         address(operands[1], "char", false)};
      for (std::size_t i = 2; i < operands.size(); ++i) arguments.push_back(value(operands[i]));
      return call("copy_async", "", arguments);
    }
    if (first == "cvta") {
      need(operands.size() == 2 && has(parts, "u64"));
      const std::string from = value(operands[1]);
      if (!has(parts, "shared")) return put(operands[0], call("copy", "::std::uint64_t", {from}));
      return put(operands[0], call(has(parts, "to") ? "to_shared" : "from_shared", "", {from}));
    }
    if (first == "cvt") return conversion(mnemonic, parts, operands);
    if (first == "shfl") return shuffle(mnemonic, parts, operands);
    if (first == "mov" && operands.size() == 2) {
      const operand_list to = members(operands[0]), from = members(operands[1]);
      if (to.size() == 2 && from.size() == 1)
        return call("unpack", type_of(parts.back()), {value(to[0]), value(to[1]), value(from[0])});
      if (to.size() == 1 && from.size() == 2)
        return put(to[0], call("pack", type_of(parts.back()), {value(from[0]), value(from[1])}));
      need(to.size() == 1 && from.size() == 1);
    }
    return computation(mnemonic, operands);
  }

  std::string computation(std::string_view mnemonic, const operand_list& operands) {
    const instruction* found = nullptr;
    for (const instruction& one : kInstructions) {
      const bool begins = mnemonic.substr(0, one.name.size()) == one.name &&
                          mnemonic.size() > one.name.size() && mnemonic[one.name.size()] == '.';
      if (begins && (found == nullptr || one.name.size() > found->name.size())) found = &one;
    }
    if (found == nullptr || operands.size() != found->sources + 1) refuse(mnemonic);
    const words idle = split(found->idle, ' ');
    std::string types;
    int count = 0;
    for (const std::string_view word : split(mnemonic.substr(found->name.size()), '.')) {
      if (has(idle, word)) continue;
      const std::string type = type_of(word);
      if (type.empty() || found->kinds.find(word[0]) == std::string_view::npos) refuse(mnemonic);
      types += (count++ > 0 ? ", " : "") + type;
    }
    if (count != found->types) refuse(mnemonic);
    std::vector<std::string> arguments;
    if (found->carry_in || found->carry_out) {
      // What an earlier statement has left is not known: the compiler may have moved it.
      if (found->carry_in && !carry_known_) refuse(mnemonic);
      carry_known_ = carry_known_ || found->carry_out;
      types += std::string(", ") + (found->carry_in ? "true" : "false") + ", " +
               (found->carry_out ? "true" : "false");
      arguments.emplace_back("cpu_device_carry");
    }
    for (std::size_t i = 1; i < operands.size(); ++i) arguments.push_back(value(operands[i]));
    return put(operands[0], call(found->function, types, arguments));
  }

  /// How a scope is called in CUDA C++.
  static std::string scope_of(const words& parts) {
    return std::string("::cuda::thread_scope_") + (has(parts, "cta")   ? "block"
                                                   : has(parts, "sys") ? "system"
                                                                       : "device");
  }

  std::string access(std::string_view mnemonic, const words& parts, const operand_list& operands) {
    static constexpr std::string_view kIdle[] = {"weak", "global", "const", "local", "ca",
                                                 "cg",   "cs",     "lu",    "cv",    "nc",
                                                 "wb",   "wt",     "gpu",   "cta",   "sys"};
    const bool stores = parts[0] == "st",
               shared = has(parts, "shared") || has(parts, "shared::cta");
    const bool ordered = has(parts, "relaxed") || has(parts, stores ? "release" : "acquire");
    const std::string type = type_of(parts.back());
    if (operands.size() != 2 || type.empty() || type == "bool") refuse(mnemonic);
    for (std::size_t i = 1; i + 1 < parts.size(); ++i)
      if (std::find(std::begin(kIdle), std::end(kIdle), parts[i]) == std::end(kIdle) &&
          !is_one_of(parts[i], {"shared", "shared::cta", "volatile", "v2", "v4", "relaxed"}) &&
          parts[i] != (stores ? "release" : "acquire") && parts[i].substr(0, 4) != "L1::" &&
          parts[i].substr(0, 4) != "L2::")
        refuse(mnemonic);
    const operand_list values = members(operands[stores ? 1 : 0]);
    const std::size_t wanted = has(parts, "v2") ? 2 : has(parts, "v4") ? 4 : 1;
    if (values.size() != wanted || (wanted > 1 && (ordered || has(parts, "volatile"))))
      refuse(mnemonic);
    std::vector<std::string> arguments{address(operands[stores ? 0 : 1], type, shared)};
    if (wanted > 1 || stores)
      for (const std::string_view one : values) arguments.push_back(value(one));
    if (wanted > 1) return call(stores ? "store_vector" : "load_vector", type, arguments);
    std::string types = type;
    std::string function = stores ? "store" : "load";
    if (ordered) {
      function += "_ordered";
      types += std::string(", ::std::memory_order_") +
               (has(parts, "relaxed") ? "relaxed"
                : stores              ? "release"
                                      : "acquire") +
               ", " + scope_of(parts);
    } else if (has(parts, "volatile") || has(parts, "cv")) {  // read anew
      function += "_volatile";
    }
    return stores ? call(function, types, arguments)
                  : put(operands[0], call(function, types, arguments));
  }

  std::string atomic(std::string_view mnemonic, const words& parts, const operand_list& operands) {
    const bool has_result = parts[0] == "atom", shared = has(parts, "shared");
    const std::string type = type_of(parts.back());
    std::string_view operation;
    std::string order = "relaxed";
    for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
      if (is_one_of(parts[i],
                    {"add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec"}))
        operation = parts[i];
      else if (is_one_of(parts[i], {"relaxed", "acquire", "release", "acq_rel"}))
        order = std::string(parts[i]);
      else if (!is_one_of(parts[i], {"global", "shared", "shared::cta", "cta", "gpu", "sys"}))
        refuse(mnemonic);
    }
    const std::size_t sources = operation == "cas" ? 2 : 1;
    if (operation.empty() || type.empty() ||
        operands.size() != sources + 1 + (has_result ? 1 : 0) || (!has_result && sources == 2))
      refuse(mnemonic);
    const std::size_t at = has_result ? 1 : 0;
    std::vector<std::string> arguments{address(operands[at], type, shared)};
    for (std::size_t i = at + 1; i < operands.size(); ++i) arguments.push_back(value(operands[i]));
    const std::string done =
        call("atomic_" + std::string(operation),
             type + ", ::std::memory_order_" + order + ", " + scope_of(parts), arguments);
    return has_result ? put(operands[0], done) : "static_cast<void>(" + done + ")";
  }

  std::string conversion(std::string_view mnemonic, const words& parts,
                         const operand_list& operands) {
    if (operands.size() != 2 || parts.size() < 3) refuse(mnemonic);
    const std::string to = type_of(parts[parts.size() - 2]), from = type_of(parts.back());
    std::string rounding = "nearest";
    for (std::size_t i = 1; i + 2 < parts.size(); ++i) {
      if (is_one_of(parts[i], {"rni", "rn"}))
        rounding = "nearest";
      else if (parts[i] == "rzi")
        rounding = "to_zero";
      else if (parts[i] == "rmi")
        rounding = "down";
      else if (parts[i] == "rpi")
        rounding = "up";
      else if (parts[i] != "ftz")
        refuse(mnemonic);
    }
    const bool rounds_to_whole =
        has(parts, "rni") || has(parts, "rzi") || has(parts, "rmi") || has(parts, "rpi");
    if (to.empty() || from.empty() || to == "bool" || from == "bool") refuse(mnemonic);
    return put(operands[0], call("convert",
                                 to + ", " + from + ", ::cpu_device::ptx::rounding::" + rounding +
                                     ", " + (rounds_to_whole ? "true" : "false"),
                                 {value(operands[1])}));
  }

  std::string shuffle(std::string_view mnemonic, const words& parts, const operand_list& operands) {
    if (operands.size() != 5 || parts.size() != 4 || parts[1] != "sync" || parts[3] != "b32" ||
        !is_one_of(parts[2], {"idx", "up", "down", "bfly"}))
      refuse(mnemonic);
    const words to = split(operands[0], '|');  // the value, and whether the lane was in range
    if (to.empty() || to.size() > 2) refuse(mnemonic);
    std::vector<std::string> arguments;
    for (std::size_t i = 1; i < 5; ++i) arguments.push_back(value(operands[i]));
    arguments.push_back(to.size() == 2 ? "&" + value(to[1]) : "nullptr");
    return put(to[0], call("shuffle_" + std::string(parts[2]), "", arguments));
  }

  const ptx_statement& from_;
  std::string code_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool carry_known_ = false;
  std::map<std::string, std::string> registers_;  // and how they are called in C++
};

}  // namespace

ptx_translation translate(const ptx_statement& statement) {
  try {
    return {translator(statement).run(), ""};
  } catch (const no_counterpart& one) {
    return {"", one.instruction};
  }
}

bool looks_like_ptx(std::string_view text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] != '.' || !is_one_of(text.substr(i + 1, 1), {"u", "s", "b", "f"})) continue;
    if (text[i + 2] == '8' || is_one_of(text.substr(i + 2, 2), {"16", "32", "64"})) return true;
  }
  return false;
}

}  // namespace rewriter
