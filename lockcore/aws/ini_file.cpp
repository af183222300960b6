#include "ini_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "lockcore/runtime/unique_fd.hpp"
#include "text.hpp"

namespace tenure::aws {
namespace {

constexpr std::size_t mostBytes = 1U << 20U;

StoreError fault(const std::string& path, int line, const std::string& what) {
  return {ErrorClass::credentials, path + ':' + std::to_string(line) + ": " + what};
}

/// A comment in a line begins after white space; a '#' inside a value belongs to the value.
std::string_view withoutComment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool mark = text[i] == '#' || text[i] == ';';
    if (mark && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) return text.substr(0, i);
  }
  return text;
}

std::string sectionName(std::string_view inside) {
  std::string out;
  for (const std::string_view word : split(inside, ' ')) {
    if (trim(word).empty()) continue;
    out.append(out.empty() ? "" : " ").append(trim(word));
  }
  return out;
}

class Parser {
 public:
  explicit Parser(const std::string& path) : path_{path} {}

  StoreResult<IniFile> run(std::string_view text) {
    int number = 0;
    for (const std::string_view line : split(text, '\n')) {
      if (auto wrong = take(line, ++number); !wrong.message.empty()) return wrong;
    }
    return std::move(file_);
  }

 private:
  StoreError take(std::string_view line, int number) {
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') return {};
    if (line.front() == '[') return takeSection(trim(withoutComment(content)), number);
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (indented && value_ != nullptr) return takeNested(content);
    return takeValue(content, number);
  }

  StoreError takeSection(std::string_view content, int number) {
    if (content.back() != ']') return fault(path_, number, "a section begins with [ but has no ] at its end");
    const std::string name = sectionName(content.substr(1, content.size() - 2));
    if (name.empty()) return fault(path_, number, "the section has no name; write [default] or [profile NAME]");
    section_ = &file_[name];
    section_->line = number;
    value_ = nullptr;
    return {};
  }

  StoreError takeValue(std::string_view content, int number) {
    const std::size_t equals = content.find('=');
    if (equals == std::string_view::npos || trim(content.substr(0, equals)).empty()) {
      return fault(path_, number,
                   "neither a [section], nor NAME = VALUE, nor a comment (#); correct or remove the line");
    }
    if (section_ == nullptr)
      return fault(path_, number, "a value before the first [section]; write [default] above it");
    value_ = &section_->values[lower(trim(content.substr(0, equals)))];
    *value_ = {std::string{trim(withoutComment(content.substr(equals + 1)))}, {}, number};
    return {};
  }

  /// Indented lines after an empty value are names and values nested in it. After any other value they would continue
  /// that value, and no value of ours has a continuation.
  StoreError takeNested(std::string_view content) {
    const std::size_t equals = content.find('=');
    if (value_->text.empty() && equals != std::string_view::npos) {
      value_->nested[lower(trim(content.substr(0, equals)))] = trim(withoutComment(content.substr(equals + 1)));
    }
    return {};
  }

  const std::string& path_;
  IniFile file_{};
  IniSection* section_{nullptr};
  IniValue* value_{nullptr};
};

StoreError cannotRead(const std::string& path, int systemErrno) {
  return {ErrorClass::credentials, path + ": " + std::generic_category().message(systemErrno)};
}

/// Non-blocking, so that a pipe without a writer does not block the search.
StoreResult<std::string> readAll(const std::string& path, bool missingIsEmpty) {
  const UniqueFd file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) {
    if (missingIsEmpty && (errno == ENOENT || errno == ENOTDIR)) return std::string{};
    return cannotRead(path, errno);
  }
  std::string out;
  for (;;) {
    const std::size_t had = out.size();
    out.resize(had + 4096);
    const ssize_t got = read(file.get(), out.data() + had, 4096);
    out.resize(had + static_cast<std::size_t>(got < 0 ? 0 : got));
    if (got == 0) return out;
    if (got < 0 && errno != EINTR) return cannotRead(path, errno);
    if (out.size() > mostBytes) return StoreError{ErrorClass::credentials, path + ": longer than 1 MiB; not read"};
  }
}

}  // namespace

StoreResult<IniFile> parseIni(const std::string& path, std::string_view text) { return Parser{path}.run(text); }

StoreResult<IniFile> readIni(const std::string& path) {
  auto text = readAll(path, true);
  if (!text) return text.error();
  return parseIni(path, *text);
}

StoreResult<std::string> readSmallFile(const std::string& path) { return readAll(path, false); }

}  // namespace tenure::aws
