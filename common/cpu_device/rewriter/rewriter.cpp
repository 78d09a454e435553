// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "rewriter.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include "editor.hpp"
#include "source_file.hpp"
#include "spaces.hpp"
#include "walking.hpp"

namespace rewriter {
namespace {

namespace fs = std::filesystem;

std::string finished(std::string_view source, const std::vector<edit>& edits,
                     const std::string& file) {
  std::string text = apply(source, edits);
  if (text.substr(0, 3) == kByteOrderMark) text.erase(0, 3);
  return marker(file) + text;
}

/// What was found in each file, and what is found between them, in the order of lines.
std::vector<problem> all_problems(std::vector<problem> found, const std::vector<listed_file>& files,
                                  bool relaxed_constexpr) {
  std::map<std::string, std::size_t> order;
  for (const listed_file& one : files) order.emplace(one.name, order.size());
  for (problem& p : check_spaces(files, relaxed_constexpr)) found.push_back(std::move(p));
  std::stable_sort(found.begin(), found.end(), [&](const problem& a, const problem& b) {
    return std::tuple(order[a.file], a.line) < std::tuple(order[b.file], b.line);
  });
  return found;
}

// ---- Files --------------------------------------------------------------------------------------

// A token takes several times the memory of its text, and no source that anybody wrote comes near.
constexpr std::uintmax_t kLargestFile = 16u << 20;
constexpr int kDeepestInclude = 200;  // as compilers have it

/// What a path is that is no file: reading a FIFO would never end.
std::string kind_of(const fs::path& path) {
  std::error_code unknown;
  switch (fs::status(path, unknown).type()) {
    case fs::file_type::directory:
      return "is a folder";
    case fs::file_type::fifo:
      return "is a FIFO";
    case fs::file_type::socket:
      return "is a socket";
    case fs::file_type::character:
    case fs::file_type::block:
      return "is a device";
    default:
      return "is not there";
  }
}

std::string read_file(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown))
    throw std::runtime_error(path.string() + " cannot be read: it " + kind_of(path));
  std::ifstream in(path, std::ios::binary);
  std::string text;
  char part[1 << 16];
  while (in && text.size() <= kLargestFile) {
    in.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad() || !(in.eof() || in.good()) || !in.is_open())
    throw std::runtime_error(path.string() + " cannot be read");
  if (text.size() > kLargestFile)
    throw std::runtime_error(path.string() +
                             " is larger than 16 MiB: is it a source? Large tables "
                             "belong in a file that the program reads");
  return text;
}

/// Replaces a file only when the new one is whole.
void write_file(const fs::path& path, const std::string& text) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  const fs::path part = path.string() + ".part" + std::to_string(getpid());
  {
    std::ofstream out(part, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw std::runtime_error(path.string() + " cannot be written");
    }
  }
  fs::rename(part, path);
}

fs::path clean(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

/// The input or one of its headers.
struct unit {
  unit(fs::path where, std::string content)
      : path(std::move(where)), name(path.string()), text(std::move(content)), file(text) {}

  fs::path path;  // absolute
  std::string name;
  std::string text;
  source_file file;
  fs::path copy;  // where a rewritten one goes, under the output's folder
  bool copied = false;
  bool pasted = false;  // included in the middle of a function or a class
  std::vector<edit> edits;
  std::vector<std::pair<token, unit*>>
      includes;  // the file name in quotes or brackets, and its file
};

/// The file name of an #include, with its quotes or brackets. Empty where a macro stands for it.
token included_name(const directive& d, std::string_view source) {
  if (d.name != "include" || d.dead || d.tokens.empty()) return {};
  token name = d.tokens.front();
  if (name.kind == token_kind::string) return name.text[0] == '"' ? name : token{};
  if (!name.is("<")) return {};
  const std::size_t close = source.find_first_of(">\n", name.begin);
  if (close == std::string_view::npos || source[close] == '\n') return {};
  name.text = source.substr(name.begin, close + 1 - name.begin);
  return name;
}

/// The input with all headers that it includes and that were found.
class project {
 public:
  explicit project(const request& wanted)
      : wanted_(wanted), out_dir_(clean(wanted.output).parent_path()) {}

  std::vector<problem> run() {
    unit* const main = load(wanted_.input, clean(wanted_.output).filename());
    std::vector<problem> problems = rewrite_all();
    if (!problems.empty()) return problems;
    for (const auto& u : units_) {
      std::error_code missing;
      if (fs::equivalent(out_dir_ / u->copy, u->path, missing))
        throw std::runtime_error("the output must not stand in the folder of the source: " +
                                 u->name);
    }
    main->copied = true;
    spread_copies();
    for (const auto& u : units_)
      if (u.get() != main) write_header(*u);
    if (!wanted_.depfile.empty()) write_file(wanted_.depfile, dependencies());
    write_file(wanted_.output, emitted(*main));
    return {};
  }

 private:
  unit* load(const fs::path& path, const fs::path& copy, int depth = 0) {
    if (depth > kDeepestInclude)
      throw std::runtime_error(path.string() + " is included by more than " +
                               std::to_string(kDeepestInclude) + " headers in each other");
    const fs::path identity = fs::weakly_canonical(path);
    if (const auto known = by_identity_.find(identity); known != by_identity_.end())
      return known->second;
    units_.push_back(std::make_unique<unit>(clean(path), read_file(path)));
    unit* const u = units_.back().get();
    by_identity_[identity] = u;
    u->copy = unused_name(copy);
    for (const directive& d : u->file.parts.directives) {
      const token name = included_name(d, u->text);
      if (name.text.size() < 3) continue;
      const fs::path spelled = name.text.substr(1, name.text.size() - 2);
      if (const std::optional<fs::path> found = find(*u, spelled, name.text[0] == '"')) {
        unit* const header = load(*found, u->copy.parent_path() / spelled, depth + 1);
        u->includes.emplace_back(name, header);
        if (d.position < u->file.places.size() &&
            u->file.scope_of(d.position).kind != scope_kind::outer)
          header->pasted = true;
      }
    }
    return u;
  }

  std::optional<fs::path> find(const unit& from, const fs::path& spelled, bool quoted) const {
    if (const fs::path beside = from.path.parent_path() / spelled; quoted && is_file(from, beside))
      return beside;
    for (const fs::path& dir : wanted_.include_dirs)
      if (const fs::path candidate = dir / spelled; is_file(from, candidate)) return candidate;
    return std::nullopt;
  }

  /// The compiler would open whatever is there, and might wait for it forever.
  static bool is_file(const unit& from, const fs::path& candidate) {
    std::error_code missing;
    const fs::file_status status = fs::status(candidate, missing);
    if (!fs::exists(status) || fs::is_directory(status)) return false;
    if (!fs::is_regular_file(status))
      throw std::runtime_error(candidate.string() + ", which " + from.name +
                               " includes, cannot be read: it " + kind_of(candidate));
    return true;
  }

  /// A place under the output's folder that no other file has.
  fs::path unused_name(const fs::path& wanted) {
    fs::path inside;
    for (const fs::path& part : wanted.lexically_normal().relative_path())
      inside /= part == ".." ? fs::path("up") : part;
    fs::path name = inside;
    for (int i = 2; !names_taken_.insert(name).second; ++i)
      name = inside.parent_path() / (std::to_string(i) + "_" + inside.filename().string());
    return name;
  }

  std::vector<problem> rewrite_all() {
    kernel_names names;
    for (const auto& u : units_) collect_kernels(u->file, names);
    for (const auto& u : units_) collect_ordinary(u->file, names);
    std::vector<problem> problems;
    std::vector<listed_file> files;
    for (const auto& u : units_) {
      findings found = examine(u->file, names, u->name, wanted_.whole_program, u->pasted);
      u->edits = std::move(found.edits);
      u->copied = !u->edits.empty();
      problems.insert(problems.end(), found.problems.begin(), found.problems.end());
      if (!u->pasted) files.push_back({&u->file, u->name});
    }
    return all_problems(std::move(problems), files, wanted_.relaxed_constexpr);
  }

  /// A header that includes a rewritten one must be rewritten to find it.
  void spread_copies() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& u : units_)
        for (const auto& [name, header] : u->includes)
          if (header->copied && !u->copied) u->copied = changed = true;
    }
  }

  std::string emitted(const unit& u) const {
    std::vector<edit> edits = u.edits;
    const fs::path folder = u.copy.parent_path();
    for (const auto& [name, header] : u.includes) {
      const fs::path spelled = name.text.substr(1, name.text.size() - 2);
      std::string now = spelled.string();
      if (header->copied) {
        if (name.text[0] != '"' || (folder / spelled).lexically_normal() != header->copy)
          now = header->copy.lexically_relative(folder.empty() ? "." : folder).string();
      } else if (name.text[0] == '"' &&
                 u.path.parent_path() != units_.front()->path.parent_path()) {
        now = header->path.string();  // the compiler looks only beside the input
      }
      if (now != spelled.string() || (header->copied && name.text[0] == '<'))
        edits.push_back({name.begin, name.end(), '"' + now + '"'});
    }
    return finished(u.text, edits, u.name);
  }

  void write_header(const unit& u) const {
    const fs::path copy = out_dir_ / u.copy;
    std::error_code missing;
    const bool there = fs::is_regular_file(copy, missing);
    if (u.copied) {
      const std::string text = emitted(u);
      if (!there || read_file(copy) != text) write_file(copy, text);
    } else if (there && read_file(copy).substr(0, marker(u.name).size()) == marker(u.name)) {
      fs::remove(copy);
    }
  }

  std::string dependencies() const {
    const auto escaped = [](const std::string& path) {
      std::string result;
      for (const char c : path) {
        if (c == ' ' || c == '#') result += '\\';
        if (c == '$') result += '$';
        result += c;
      }
      return result;
    };
    std::string text = escaped(wanted_.output.string()) + ":";
    for (const auto& u : units_) text += " \\\n  " + escaped(u->name);
    return text + "\n";
  }

  const request& wanted_;
  const fs::path out_dir_;
  std::vector<std::unique_ptr<unit>> units_;  // the input first
  std::map<fs::path, unit*> by_identity_;
  std::set<fs::path> names_taken_;
};

}  // namespace

rewritten rewrite(std::string_view source, const std::string& file, bool whole_program,
                  bool relaxed_constexpr) {
  source_file parsed(source);
  kernel_names names;
  collect_kernels(parsed, names);
  collect_ordinary(parsed, names);
  findings found = examine(parsed, names, file, whole_program);
  return {finished(source, found.edits, file), !found.edits.empty(),
          all_problems(std::move(found.problems), {{&parsed, file}}, relaxed_constexpr)};
}

void print_tokens(const fs::path& file, std::ostream& out) {
  const std::string text = read_file(file);
  for (const token& t : cut(text).code) {
    static constexpr std::string_view kKinds[] = {"identifier", "number", "string", "character",
                                                  "punctuation"};
    out << kKinds[static_cast<std::size_t>(t.kind)] << ' ' << t.begin << ' ' << t.text.size() << ' '
        << t.line << '\n';
  }
}

std::vector<problem> rewrite_files(const request& wanted) { return project(wanted).run(); }

}  // namespace rewriter
