// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "functions.hpp"

#include <algorithm>

namespace rewriter {
namespace {

/// Words of C++ that stand in a declaration and name no type of the program.
bool is_specifier(std::string_view word) {
  return is_one_of(
      word, {"static",       "inline",       "extern",      "const",        "constexpr",
             "consteval",    "volatile",     "constinit",   "friend",       "virtual",
             "typename",     "struct",       "class",       "union",        "enum",
             "register",     "explicit",     "mutable",     "unsigned",     "signed",
             "thread_local", "__inline__",   "__global__",  "__device__",   "__host__",
             "__shared__",   "__constant__", "__managed__", "__restrict__", "__forceinline__",
             "__noinline__", "__inline",     "typedef",     "long",         "short"});
}

/// Follows the declarations of one file: what stands outside of functions.
class reader {
 public:
  reader(declared& all, std::size_t number, const source_file& file)
      : all_(all), number_(number), file_(file), ts_(file.parts.code) {}

  void run() {
    std::size_t start = 0;
    for (std::size_t i = 0; i < ts_.size();) {
      const token& t = ts_[i];
      if (t.is("(") || t.is("[")) {
        i = t.match == kNone || t.match < i ? i + 1 : t.match + 1;
      } else if (t.is("{")) {
        const scope& inner = scope_within(i);
        if (inner.kind == scope_kind::block) {
          if (t.match == kNone) return;  // the rest cannot be read
          i = t.match + 1;
          if (is(ts_, i, ",") || is(ts_, i, "{")) continue;  // members' initialisers
          statement(start, t.match, i - 1);
          start = i;
        } else if (i > start && ts_[i - 1].is("=") && t.match != kNone) {
          i = t.match + 1;  // a member's initialiser
        } else if (inner.kind == scope_kind::type) {
          class_head(start, i);
          start = ++i;
        } else if (names_a_space(start, i) || t.match == kNone) {
          start = ++i;
        } else {
          i = t.match + 1;  // an initialiser
        }
      } else if (t.is(";")) {
        statement(start, i, kNone);
        start = ++i;
      } else if (t.is("}")) {
        start = ++i;
      } else if (t.is(":") && i > start &&
                 is_one_of(ts_[i - 1].text, {"public", "private", "protected"})) {
        start = ++i;
      } else {
        ++i;
      }
    }
  }

 private:
  const scope& scope_within(std::size_t brace) const {
    return brace + 1 < ts_.size() ? file_.scope_of(brace + 1) : file_.scope_of(brace);
  }

  bool names_a_space(std::size_t start, std::size_t brace) const {
    for (std::size_t i = start; i < brace; ++i)
      if (ts_[i].is("namespace") || ts_[i].is("extern")) return true;
    return false;
  }

  void class_head(std::size_t start, std::size_t brace) {
    std::size_t name = kNone;
    for (std::size_t i = start; i < brace; ++i) {
      if (const std::size_t after = skip_attribute(ts_, i); after != i) {
        i = after - 1;
      } else if (ts_[i].is("template") && is(ts_, i + 1, "<")) {
        const std::size_t close = angle_forward(ts_, i + 1);
        if (close != kNone && close < brace) i = close;
      } else if (ts_[i].is(":")) {
        if (name != kNone) base_classes(ts_[name].text, i + 1, brace);
        break;
      } else if (is_identifier(ts_, i) && !is_class_key(ts_[i].text) && !ts_[i].is("final")) {
        name = i;
        if (is(ts_, i + 1, "<")) break;  // a specialisation
      }
    }
    if (name != kNone) ++all_.classes[ts_[name].text];
  }

  void base_classes(std::string_view name, std::size_t begin, std::size_t end) {
    all_.derived.insert(name);
    std::vector<std::string_view>& bases = all_.bases[name];
    for (std::size_t i = begin; i < end; ++i) {
      while (is_one_of(ts_[i].text, {"public", "private", "protected", "virtual"})) ++i;
      const bool word = is_identifier(ts_, i) && (i + 1 == end || is(ts_, i + 1, ","));
      bases.push_back(word ? ts_[i].text : std::string_view());
      while (i < end && !ts_[i].is(",")) ++i;
    }
  }

  /// What a declaration says before its name.
  struct head {
    marks where;
    std::size_t words = 0;  // that name a type, or are macros
    bool templated = false, local = false, friendly = false, external = false;
    bool is_const = false, is_constexpr = false, is_consteval = false, defined_type = false;
  };

  /// Reads the words of [i, end) that stand before a declarator. Returns where it stopped: at `(`,
  /// `=`, `[`, `{`, `,` or the end.
  std::size_t read_head(std::size_t& i, std::size_t end, head& h) const {
    for (; i < end; ++i) {
      const token& t = ts_[i];
      if (t.is("template") && is(ts_, i + 1, "<")) {
        const std::size_t close = angle_forward(ts_, i + 1);
        if (close == kNone || close >= end) return kNone;
        h.templated = h.templated || close != i + 2;
        i = close;
      } else if (t.is("requires")) {
        return kNone;  // where it ends takes a parser
      } else if (t.is("operator")) {
        return i;
      } else if (const std::size_t after = skip_attribute(ts_, i); after != i) {
        if (t.is("decltype")) ++h.words;
        i = after - 1;
      } else if (t.kind == token_kind::identifier) {
        read_word(i, h);
      } else if (t.is("<") && i > 0 && is_identifier(ts_, i - 1)) {
        const std::size_t close = angle_forward(ts_, i);
        if (close == kNone || close >= end) return kNone;
        i = close;
      } else if (t.is("::")) {
        if (h.words > 0 && i > 0 && (is_identifier(ts_, i - 1) || ts_[i - 1].is(">"))) --h.words;
      } else if (t.kind != token_kind::string && !t.is("*") && !t.is("&") && !t.is("&&") &&
                 !t.is("~")) {
        return i;
      }
    }
    return end;
  }

  void read_word(std::size_t i, head& h) const {
    const std::string_view word = ts_[i].text;
    h.where.global = h.where.global || word == "__global__";
    h.where.device = h.where.device || word == "__device__" || word == "__constant__" ||
                     word == "__managed__" || word == "__shared__";
    h.where.host = h.where.host || word == "__host__";
    h.local = h.local || is_one_of(word, {"static", "inline", "constexpr", "__inline__", "__inline",
                                          "__forceinline__"});
    h.friendly = h.friendly || word == "friend";
    h.external = h.external || word == "extern";
    h.is_const = h.is_const || word == "const";
    h.is_constexpr = h.is_constexpr || word == "constexpr";
    h.is_consteval = h.is_consteval || word == "consteval";
    if (is_specifier(word)) return;
    if (const auto known = all_.marking_macros.find(word); known != all_.marking_macros.end()) {
      h.where.global = h.where.global || known->second.global;
      h.where.device = h.where.device || known->second.device;
      h.where.host = h.where.host || known->second.host;
    } else if (all_.macros.count(word) == 0) {  // else a type, or nothing
      ++h.words;
    }
  }

  /// A declaration outside of functions, with its body's braces if it has one.
  void statement(std::size_t begin, std::size_t end, std::size_t body_end) {
    if (begin >= end) return;
    const std::size_t limit = body_end == kNone ? end : ts_[body_end].match;
    const bool in_class = file_.scope_of(begin).kind == scope_kind::type;
    if (ts_[begin].is("using")) {
      if (is(ts_, begin + 1, "namespace") && end > begin + 2)
        all_.used_spaces.insert(flat(ts_, begin + 2, end) + "::");
      else if (is(ts_, begin + 2, "=") && is_identifier(ts_, begin + 1))
        ++all_.classes[ts_[begin + 1].text];
      else if (!in_class)
        all_.used_names.insert(flat(ts_, begin + 1, end));
      return;
    }
    if (ts_[begin].is("typedef")) {
      if (is_identifier(ts_, end - 1)) ++all_.classes[ts_[end - 1].text];
      return;
    }
    if (is_one_of(ts_[begin].text, {"static_assert", "namespace", "concept"})) return;
    if (ts_[begin].is("template") && !is(ts_, begin + 1, "<")) {  // an explicit instantiation
      mention(begin, end);
      return;
    }
    head h;
    std::size_t i = begin;
    const std::size_t at = read_head(i, limit, h);
    if (at == kNone) return mention(begin, limit);
    if (at < limit && (ts_[at].is("(") || ts_[at].is("operator"))) {
      if (read_function(begin, at, limit, body_end, h, in_class)) return;
      const bool value = at + 1 < limit && ts_[at + 1].kind == token_kind::number;
      if (value && body_end == kNone && !in_class) return read_variable(at, end, h, false);
      mention(begin, limit);
    } else if (body_end == kNone) {
      read_variable(at, end, h, in_class);
    } else if (at < limit && ts_[at].is("=")) {  // a lambda with a name
      read_variable(at, at, h, in_class);
    }
  }

  void mention(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (is_identifier(ts_, i)) all_.mentioned.insert(ts_[i].text);
  }

  bool read_function(std::size_t begin, std::size_t at, std::size_t limit, std::size_t body_end,
                     const head& h, bool in_class) {
    function f{};
    f.file = number_;
    f.begin = begin;
    std::size_t open = at;
    std::size_t words = h.words;
    if (ts_[at].is("operator")) {
      f.at = at;
      f.name = "operator";
      open = at + 1;
      if (is(ts_, open, "(") && is(ts_, open + 1, ")")) {
        f.name += "()";
        open += 2;
      } else {
        const bool converts = is_identifier(ts_, open);
        while (open < limit && !ts_[open].is("(")) {
          if (!converts) f.name += ts_[open].text;
          ++open;
        }
        if (converts) f.name += " conversion";
      }
      if (!is(ts_, open, "(") || open >= limit) return false;
    } else {
      f.at = at - 1;
      if (at == begin || ts_[f.at].is(">") || !is_identifier(ts_, f.at)) return false;
      if (is(ts_, at + 1, "*") || is(ts_, at + 1, "&")) return false;  // a function pointer
      f.name = std::string(ts_[f.at].text);
      if (words > 0) --words;  // the name
    }
    const std::size_t close = match_forward(ts_, open);
    if (close == kNone || close > limit) return false;
    std::size_t before = f.at;  // what the name belongs to
    if (before > begin && ts_[before - 1].is("~")) {
      f.name = '~' + f.name;
      --before;
    }
    std::uint32_t scope_number = file_.places[f.at];
    if (before > begin && ts_[before - 1].is("::")) {
      std::size_t owner = before - 2;
      if (owner < ts_.size() && ts_[owner].is(">")) {
        const std::size_t angle = angle_back(ts_, owner);
        if (angle == kNone || angle == 0) return false;
        owner = angle - 1;
      }
      if (owner >= ts_.size() || !is_identifier(ts_, owner)) return false;
      f.owner = ts_[owner].text;
    } else if (in_class && !h.friendly) {
      f.owner = class_name(scope_number);
      f.when_used = true;
    }
    const bool special = f.owner.size() != 0 && (f.name == f.owner || f.name[0] == '~');
    if (!special && f.name != "operator conversion" && words == 0 && !returns_a_word(begin, f.at))
      return false;  // a macro's use
    if (!are_parameters(open, close)) return false;
    // A second word that is no type is a macro that this program does not define.
    f.where = h.where;
    f.where.unknown = words > 1;
    f.space = space_of(file_, scope_number);
    f.parameters = open;
    f.is_constexpr = h.is_constexpr;
    f.is_consteval = h.is_consteval;
    f.templated = h.templated || in_template(scope_number);
    f.when_used = f.when_used || h.local || h.friendly || anonymous(scope_number);
    f.uncertain = ts_[f.at].uncertain;
    count_parameters(open, close, f);
    for (std::size_t i = close + 1; i < limit; ++i) {
      if (ts_[i].is("=") && (is(ts_, i + 1, "default") || is(ts_, i + 1, "delete")))
        f.defaulted = true;
      if (ts_[i].is(":")) break;
    }
    if (body_end != kNone) f.body = ts_[body_end].match;
    all_.functions.push_back(std::move(f));
    return true;
  }

  /// `unsigned f()`: a word that is no name of a type, and yet one.
  bool returns_a_word(std::size_t begin, std::size_t at) const {
    for (std::size_t i = begin; i < at; ++i)
      if (is_one_of(ts_[i].text, {"unsigned", "signed", "long", "short"}) ||
          all_.macros.count(ts_[i].text) != 0)
        return true;
    return false;
  }

  std::string_view class_name(std::uint32_t number) const {
    const scope& s = file_.scopes[number];
    std::string_view name;
    for (std::size_t i = s.header; i < s.brace; ++i) {
      if (const std::size_t after = skip_attribute(ts_, i); after != i) {
        i = after - 1;
      } else if (ts_[i].is("template") && is(ts_, i + 1, "<")) {
        const std::size_t close = angle_forward(ts_, i + 1);
        if (close != kNone && close < s.brace) i = close;
      } else if (ts_[i].is(":")) {
        break;
      } else if (is_identifier(ts_, i) && !is_class_key(ts_[i].text) && !ts_[i].is("final")) {
        name = ts_[i].text;
        if (is(ts_, i + 1, "<")) break;
      }
    }
    return name;
  }

  bool in_template(std::uint32_t number) const {
    for (; number != 0; number = file_.scopes[number].parent) {
      const scope& s = file_.scopes[number];
      if (s.kind == scope_kind::type && is(ts_, s.header, "template")) return true;
    }
    return false;
  }

  bool anonymous(std::uint32_t number) const {
    for (; number != 0; number = file_.scopes[number].parent) {
      const scope& s = file_.scopes[number];
      if (s.kind == scope_kind::outer && s.own.empty() && s.brace > 0 &&
          ts_[s.brace - 1].is("namespace"))
        return true;
    }
    return false;
  }

  /// `int x(3);` declares a variable.
  bool are_parameters(std::size_t open, std::size_t close) const {
    if (close == open + 1) return true;
    const token& first = ts_[open + 1];
    return first.kind == token_kind::identifier || first.is("::") || first.is("[") || first.is(".");
  }

  void count_parameters(std::size_t open, std::size_t close, function& f) const {
    if (close == open + 1 || (close == open + 2 && ts_[open + 1].is("void"))) return;
    bool optional = false;
    f.least = f.most = 1;
    std::size_t needed = 1;
    const auto end_one = [&] {
      if (!optional) f.least = needed;
    };
    for (std::size_t i = open + 1; i < close; ++i) {
      if (opens(ts_[i])) {
        i = std::min(match_forward(ts_, i), close);
      } else if (ts_[i].is("<") && is_identifier(ts_, i - 1)) {
        if (const std::size_t last = angle_forward(ts_, i); last != kNone && last < close) i = last;
      } else if (ts_[i].is("=")) {
        if (!optional) f.least = needed - 1;
        optional = true;
      } else if (ts_[i].is(",")) {
        end_one();
        ++needed;
        if (f.most != kNone) ++f.most;
      } else if (ts_[i].is(".")) {  // a pack, or an ellipsis
        if (!optional) f.least = needed - 1;
        optional = true;
        f.most = kNone;
      }
    }
    end_one();
  }

  void read_variable(std::size_t at, std::size_t end, const head& h, bool in_class) {
    // `extern "C"` and the like have been read as words; the name is the last of them.
    std::size_t name = at - 1;
    if (at == 0 || name >= ts_.size() || !is_identifier(ts_, name)) return mention(at, end);
    mention(at, end);
    if (in_class) {
      all_.members.insert(ts_[name].text);
      for (std::size_t i = at; i + 1 < end; ++i)
        if (ts_[i].is(",") && is_identifier(ts_, i + 1)) all_.members.insert(ts_[i + 1].text);
      return read_member(name, h);
    }
    if (h.words < 1 + (has_basic_type(at, name) ? 0u : 1u) || h.templated ||
        file_.scope_of(name).kind != scope_kind::outer)
      return;
    if (name > 0 && ts_[name - 1].is("::")) return;  // a member's definition
    std::size_t begin = name;                        // of the words before it
    bool reference = false, pointer = false, const_pointer = false;
    while (begin > 0 && !is_one_of(ts_[begin - 1].text, {";", "{", "}"})) {
      --begin;
      reference = reference || ts_[begin].is("&") || ts_[begin].is("&&");
      if (ts_[begin].is("*") && !pointer) {
        pointer = true;
        for (std::size_t i = begin; i < name; ++i)
          const_pointer = const_pointer || ts_[i].is("const");
      }
    }
    if (reference) return;
    variable v{};
    v.file = number_;
    // A texture reference of old is no variable in a sense that could be copied to the device.
    const bool texture = is(ts_, begin, "texture") || is(ts_, begin + 1, "texture");
    v.on_device = h.where.on_device() || h.words > 2 || texture;
    for (std::size_t i = begin; i < name; ++i) v.constant = v.constant || ts_[i].is("__constant__");
    v.uncertain = ts_[name].uncertain;
    v.space = space_of(file_, file_.places[name]);
    for (std::size_t i = name; i < end;) {  // the declarators
      if (!is_identifier(ts_, i)) break;
      v.at = i;
      const bool array = is(ts_, i + 1, "[");
      v.scalar = !array && !pointer;
      const bool fixed = pointer ? const_pointer || h.is_constexpr : h.is_const || h.is_constexpr;
      v.immutable = fixed && !array;
      all_.variables.emplace(ts_[i].text, v);
      while (i < end && !ts_[i].is(",")) {
        const std::size_t close = match_forward(ts_, i);
        i = close == kNone || close > end ? i + 1 : close + 1;
      }
      ++i;
      pointer = false;
      while (i < end && ts_[i].is("*")) {
        pointer = true;
        const_pointer = false;
        ++i;
      }
    }
  }

  /// A variable of a class: the first that a declaration names.
  void read_member(std::size_t name, const head& h) {
    if (h.templated || in_template(file_.places[name]) || ts_[name].uncertain) return;
    const std::string_view owner = class_name(file_.places[name]);
    bool plain = true, is_static = false;
    std::size_t begin = name;
    for (; begin > 0 && !is_one_of(ts_[begin - 1].text, {";", "{", "}", ":"}); --begin) {
      plain = plain && is_identifier(ts_, begin - 1);
      is_static = is_static || ts_[begin - 1].is("static");
    }
    const bool array = is(ts_, name + 1, "[");
    if (is_static && plain && !h.where.on_device() && h.words <= 2)
      all_.static_members.emplace(
          ts_[name].text, static_member{owner, number_, name, h.is_const || h.is_constexpr, array});
    if (!is_static && plain && !array && name > begin && h.words <= 2)
      all_.member_types[{owner, ts_[name].text}] = ts_[name - 1].text;
  }

  bool has_basic_type(std::size_t end, std::size_t name) const {
    for (std::size_t i = name; i-- > 0 && !is_one_of(ts_[i].text, {";", "{", "}"});)
      if (is_one_of(ts_[i].text, {"unsigned", "signed", "long", "short"})) return true;
    return end == 0;
  }

  declared& all_;
  const std::size_t number_;
  const source_file& file_;
  const tokens& ts_;
};

void read_macros(declared& all, const source_file& file) {
  for (const directive& d : file.parts.directives) {
    if (d.name != "define" || d.dead || d.macro.empty()) continue;
    all.macros.insert(d.macro);
    for (const token& t : d.tokens) {
      if (t.kind == token_kind::identifier) all.mentioned.insert(t.text);
      if (t.is("__global__")) all.marking_macros[d.macro].global = true;
      if (t.is("__device__")) all.marking_macros[d.macro].device = true;
      if (t.is("__host__")) all.marking_macros[d.macro].host = true;
    }
  }
}

/// Macros that stand for macros with marks have them, too.
void spread_marks(declared& all, const std::vector<const source_file*>& files) {
  for (int round = 0; round < 4; ++round)  // deeper than anybody nests them
    for (const source_file* file : files)
      for (const directive& d : file->parts.directives) {
        if (d.name != "define" || d.dead) continue;
        for (const token& t : d.tokens) {
          const auto known = all.marking_macros.find(t.text);
          if (known == all.marking_macros.end() || t.text == d.macro) continue;
          const marks from = known->second;
          marks& to = all.marking_macros[d.macro];
          to.global = to.global || from.global;
          to.device = to.device || from.device;
          to.host = to.host || from.host;
        }
      }
}

}  // namespace

declared read_declared(const std::vector<const source_file*>& files) {
  declared all;
  for (const source_file* file : files) read_macros(all, *file);
  spread_marks(all, files);
  for (std::size_t i = 0; i < files.size(); ++i) reader(all, i, *files[i]).run();
  for (function& f : all.functions) {
    if (f.owner.empty() || all.classes.count(f.owner) != 0) continue;
    f.space += std::string(f.owner) + "::";  // `void n::f()`, where n is a namespace
    f.owner = {};
  }
  for (std::size_t i = 0; i < all.functions.size(); ++i)
    all.by_name.emplace(all.functions[i].name, i);
  return all;
}

std::string space_of(const source_file& file, std::uint32_t number) {
  std::string result;
  for (; number != 0; number = file.scopes[number].parent) {
    const scope& s = file.scopes[number];
    if (s.kind == scope_kind::outer && !s.own.empty()) result = std::string(s.own) + "::" + result;
  }
  return result;
}

std::size_t count_arguments(const tokens& ts, std::size_t open) {
  const std::size_t close = match_forward(ts, open);
  if (close == kNone || close == open + 1) return 0;
  std::size_t count = 1;
  for (std::size_t i = open + 1; i < close; ++i) {
    if (opens(ts[i])) {
      i = match_forward(ts, i);
    } else if (ts[i].is("<") && is_identifier(ts, i - 1)) {
      // Two arguments may compare: a < b, c > d. Then the count is one too low.
      if (const std::size_t last = angle_forward(ts, i); last != kNone && last < close) i = last;
    } else if (ts[i].is(",")) {
      ++count;
    } else if (ts[i].is(".") && is(ts, i + 1, ".")) {
      return kNone;
    }
  }
  return count;
}

}  // namespace rewriter
