#include "ini_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "text.hpp"

namespace tenure::aws {
namespace {

constexpr std::size_t mostBytes = 1U << 20U;
constexpr const char* inherited = "DEFAULT";  ///< configparser's own section; AWS's is "default"

/// Python's white space, each of which is one column.
constexpr std::array<std::string_view, 29> blanks{" ",
                                                  "\t",
                                                  "\r",
                                                  "\n",
                                                  "\v",
                                                  "\f",
                                                  "\x1c",
                                                  "\x1d",
                                                  "\x1e",
                                                  "\x1f",
                                                  "\xc2\x85",
                                                  "\xc2\xa0",
                                                  "\xe1\x9a\x80",
                                                  "\xe2\x80\x80",
                                                  "\xe2\x80\x81",
                                                  "\xe2\x80\x82",
                                                  "\xe2\x80\x83",
                                                  "\xe2\x80\x84",
                                                  "\xe2\x80\x85",
                                                  "\xe2\x80\x86",
                                                  "\xe2\x80\x87",
                                                  "\xe2\x80\x88",
                                                  "\xe2\x80\x89",
                                                  "\xe2\x80\x8a",
                                                  "\xe2\x80\xa8",
                                                  "\xe2\x80\xa9",
                                                  "\xe2\x80\xaf",
                                                  "\xe2\x81\x9f",
                                                  "\xe3\x80\x80"};

std::size_t takeIndent(std::string_view& line) {
  for (std::size_t columns = 0;; ++columns) {
    const auto* blank = std::find_if(blanks.begin(), blanks.end(), [&](auto one) { return line.starts_with(one); });
    if (blank == blanks.end()) return columns;
    line.remove_prefix(blank->size());
  }
}

std::string_view strip(std::string_view text) {
  takeIndent(text);
  for (;;) {
    const auto* blank = std::find_if(blanks.begin(), blanks.end(), [&](auto one) { return text.ends_with(one); });
    if (blank == blanks.end()) return text;
    text.remove_suffix(blank->size());
  }
}

class Parser {
 public:
  explicit Parser(const std::string& path) : path_{path} {}

  IniFile run(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find_first_of("\r\n");
      ++line_;
      take(text.substr(0, end));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    }
    for (auto& [name, section] : file_) finish(section);
    spread();
    return std::move(file_);
  }

 private:
  void take(std::string_view line) {
    const std::size_t indent = takeIndent(line);
    const std::string_view content = strip(line);
    if (content.empty()) {
      if (value_ != nullptr) value_->text += '\n';  // a value may go on after an empty line
      return;
    }
    if (content.front() == '#' || content.front() == ';') return;
    if (value_ != nullptr && indent > indent_) {
      value_->text.append("\n").append(content);
      return;
    }
    indent_ = indent;
    value_ = nullptr;
    if (content.front() == '[' && takeSection(content)) return;
    takeValue(content);
  }

  /// False: it is none, and may be a value.
  bool takeSection(std::string_view content) {
    const std::size_t end = content.rfind(']');
    const bool open = end == std::string_view::npos;
    const std::string name{strip(content.substr(1, open ? end : end - 1))};
    if (name.empty() || (open && content.find_first_of("=:") != std::string_view::npos)) return false;
    section_ = &file_[name];
    if (section_->line == 0) section_->line = line_;
    if (open) fault("a section begins with [ but has no ]");
    return true;
  }

  void takeValue(std::string_view content) {
    if (section_ == nullptr) {
      section_ = &file_["default"];
      section_->line = line_;
      fault("a line before the first [section]; write [default] above it");
    }
    const std::size_t delimiter = content.find_first_of("=:");
    const std::string name = lowered(strip(content.substr(0, delimiter)));
    if (delimiter == std::string_view::npos || name.empty()) {
      return fault(content.front() == '['
                       ? "the section has no name; write [default] or [profile NAME]"
                       : "neither a [section], nor NAME = VALUE, nor a comment (#); correct or remove the line");
    }
    value_ = &section_->values[name];
    *value_ = {std::string{strip(content.substr(delimiter + 1))}, line_};
  }

  void fault(const char* what) {
    if (section_->fault.empty()) section_->fault = path_ + ':' + std::to_string(line_) + ": " + what;
  }

  static void finish(IniSection& section) {
    for (auto& [name, value] : section.values) {
      while (!value.text.empty() && value.text.back() == '\n') value.text.pop_back();
    }
  }

  void spread() {
    const auto common = file_.extract(inherited);
    if (common.empty()) return;
    for (auto& [name, section] : file_) {
      section.values.insert(common.mapped().values.begin(), common.mapped().values.end());
      if (section.fault.empty()) section.fault = common.mapped().fault;
    }
  }

  const std::string& path_;
  IniFile file_{};
  IniSection* section_{nullptr};
  IniValue* value_{nullptr};  ///< the one that an indented line continues
  std::size_t indent_{0};     ///< of the last line that was no continuation
  int line_{0};
};

StoreError cannotRead(const std::string& path, int systemErrno) {
  return {ErrorClass::credentials, path + ": " + errnoText(systemErrno)};
}

}  // namespace

IniFile parseIni(const std::string& path, std::string_view text) { return Parser{path}.run(text); }

StoreResult<std::map<std::string, std::string>> nestedIn(const IniValue& value) {
  const auto wrong = [](const char* what) { return StoreError{ErrorClass::misconfigured, what, true}; };
  if (!value.text.starts_with('\n')) return wrong("must be followed by indented lines, such as endpoint_url = URL");
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(std::string_view{value.text}.substr(1), '\n')) {
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return wrong("has an indented line without =");
    out[lowered(strip(line.substr(0, equals)))] = strip(line.substr(equals + 1));
  }
  return out;
}

/// Non-blocking, so that a pipe without a writer does not block the search.
StoreResult<std::string> readSmallFile(const std::string& path, int& systemErrno) {
  systemErrno = 0;
  const UniqueFd file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) return cannotRead(path, systemErrno = errno);
  std::string out;
  for (;;) {
    const std::size_t had = out.size();
    out.resize(had + 4096);
    const ssize_t got = read(file.get(), out.data() + had, 4096);
    out.resize(had + static_cast<std::size_t>(got < 0 ? 0 : got));
    if (got == 0) return out;
    if (got < 0 && errno != EINTR) return cannotRead(path, systemErrno = errno);
    if (out.size() > mostBytes) return StoreError{ErrorClass::credentials, path + ": longer than 1 MiB; not read"};
  }
}

StoreResult<std::string> readSmallFile(const std::string& path) {
  int systemErrno = 0;
  return readSmallFile(path, systemErrno);
}

}  // namespace tenure::aws
