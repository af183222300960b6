#include "variables.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "lockcore/port/host_name.hpp"
#include "words.hpp"

namespace tenure::config {
namespace {

constexpr std::string_view forms = "allowed are ${NAME}, ${NAME:-default} and $$ for a dollar sign";

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool isName(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::all_of(text.begin(), text.end(), isNameCharacter);
}

/// systemd sets each of them to all directories of its kind, with colons between (systemd.exec(5)); the first is meant.
bool isListOfSystemd(std::string_view name) {
  constexpr std::array kinds{"RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY",
                             "CONFIGURATION_DIRECTORY"};
  return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
}

class Expander {
 public:
  Expander(std::string_view text, const VariableSource& variables) : text_{text}, variables_{variables} {}

  Expansion run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '$') {
        out_.text += text_[at_++];
      } else {
        dollar();
      }
    }
    return std::move(out_);
  }

 private:
  void dollar() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("$$")) {
      out_.text += '$';
      at_ += 2;
    } else if (!rest.starts_with("${")) {
      fault("a single $ has no meaning; " + std::string{forms});
      ++at_;
    } else if (const std::size_t end = rest.find('}'); end == std::string_view::npos) {
      fault(inQuotes(rest) + " has no closing brace; " + std::string{forms});
      at_ = text_.size();
    } else {
      variable(rest.substr(2, end - 2));
      at_ += end + 1;
    }
  }

  void variable(std::string_view inside) {
    const std::size_t colon = inside.find(":-");
    const std::string name{inside.substr(0, colon)};
    if (!isName(name))
      return fault(inQuotes("${" + std::string{inside} + "}") + " names no variable; " + std::string{forms});
    std::optional<std::string> value = variables_ ? variables_(name) : std::nullopt;
    if (value && isListOfSystemd(name)) value->resize(std::min(value->find(':'), value->size()));
    if (colon == std::string_view::npos) {
      if (!value) return fault("the variable " + name + " is not set; set it, or give a default: ${" + name + ":-...}");
      out_.text += *value;
      return;
    }
    const std::string_view fallback = inside.substr(colon + 2);
    if (fallback.find('$') != std::string_view::npos) {
      return fault("the default of " + name + " holds a $; it is taken as it is and cannot hold another variable");
    }
    // As in a shell, `:-` covers a variable that is set but empty.
    out_.text += value && !value->empty() ? *value : std::string{fallback};
  }

  void fault(std::string message) { out_.faults.push_back({at_, std::move(message)}); }

  std::string_view text_;
  const VariableSource& variables_;
  std::size_t at_{0};
  Expansion out_;
};

}  // namespace

Expansion expandVariables(std::string_view text, const VariableSource& variables) {
  return Expander{text, variables}.run();
}

}  // namespace tenure::config

namespace tenure {

VariableSource environmentVariables() {
  return [](const std::string& name) -> std::optional<std::string> {
    // Unsafe only together with setenv; the contract of this function forbids that to the caller.
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value != nullptr) return std::string{value};
    if (name == "HOSTNAME") return hostName();  // Bash has it as a variable, but does not export it
    return std::nullopt;
  };
}

}  // namespace tenure
