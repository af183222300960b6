// What a command of the program is: its file says its name, its options with their help, and what it does. Help,
// completion, man pages and proposals for a misspelt word follow from the list of commands (commands.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/process/signals.hpp"

namespace tenure::cli {

/// Puts a given value where it belongs. What is wrong with it, or empty.
using Take = std::function<std::string(const std::string& text)>;

/// What makes up for the group's file: while `instead` is not empty the command does without one. `orGive` names that
/// option for who gave neither.
struct OtherWay {
  const std::string* instead{};
  const char* orGive{""};
};

/// The options of one command, declared in the order in which help shows them.
class Options {
 public:
  /// A test of what was given, after all of it is known: what is wrong, or empty.
  using Check = std::function<std::string()>;
  struct Target;

  explicit Options(Target& target) : target_{target} {}

  /// `spec`: "--wait DURATION", "-c, --config FILE", "--json", or the name of an argument such as "FILE". Help has the
  /// words of `about` below one another; a line of it begins a new one.
  Options& flag(const std::string& spec, bool& to, const std::string& about);
  Options& value(const std::string& spec, const Take& take, const std::string& about);
  Options& values(const std::string& spec, const Take& takeEach, const std::string& about);
  Options& text(const std::string& spec, std::string& to, const std::string& about);
  /// A text that is not empty; `what` it is, for the message: "name", "text".
  Options& given(const std::string& spec, std::string& to, const std::string& about, const char* what = "text");
  Options& path(const std::string& spec, std::string& to, const std::string& about);
  Options& oneOf(const std::string& spec, std::string& to, std::vector<std::string> words, const std::string& about);
  Options& number(const std::string& spec, std::uint64_t& to, std::uint64_t low, std::uint64_t high,
                  const std::string& about);
  Options& duration(const std::string& spec, std::optional<std::chrono::milliseconds>& to, const std::string& about);
  /// At least a millisecond, unless zero has a meaning.
  Options& duration(const std::string& spec, std::chrono::milliseconds& to, const std::string& about,
                    bool mayBeZero = false);

  /// Of the option before. Without it CLI11 refuses the words; a check does; help does not show it here.
  Options& required();
  Options& needed();
  Options& hidden();

  /// The group's file: by --config, as FILE where the command takes an argument for it, or by TENURE_CONFIG.
  Options& groupFile(std::string& to, bool asArgument = true, OtherWay other = {},
                     const std::string& about = "the group's YAML file (or set TENURE_CONFIG)");

  /// The words after `--`. `example`: a command line with them, for who gave none.
  Options& job(std::vector<std::string>& to, const std::string& example);

  Options& check(Check check);

 private:
  Target& target_;
};

/// The exit code of the program. It reports its errors on stderr.
using Run = std::function<int(const SignalState& signals)>;

struct ExitLine {
  std::string code;
  std::string meaning;
};

struct Command {
  std::string name;     ///< as typed after `tenure`: "status", "lock hold"; empty: the program itself
  std::string summary;  ///< one line
  /// Help shows the words of a paragraph below one another, and a line that begins with a blank as it is.
  std::string about{};
  std::string more{};             ///< after the options
  std::vector<ExitLine> exits{};  ///< beside 2, which has one meaning for all but a few
  std::vector<std::string> examples{};
  /// Declares the options and says what to do with them. Empty: a name before other commands.
  std::function<Run(Options&)> options{};
  std::string_view ifAlone{"give a command"};  ///< said where a command has to follow and none does
  /// It holds a lease or a lock, or is about to: what it does must not depend on whether its output is read.
  bool holds{false};
};

/// The options of a command whose values are one struct: they live as long as what runs with them.
template <class Values>
[[nodiscard]] std::function<Run(Options&)> optionsOf(void (*declare)(Options&, Values&),
                                                     int (*execute)(const Values&, const SignalState&)) {
  return [declare, execute](Options& options) -> Run {
    const auto values = std::make_shared<Values>();
    declare(options, *values);
    return [values, execute](const SignalState& signals) { return execute(*values, signals); };
  };
}

template <class Values>
[[nodiscard]] std::function<Run(Options&)> optionsOf(void (*declare)(Options&, Values&),
                                                     int (*execute)(const Values&)) {
  return [declare, execute](Options& options) -> Run {
    const auto values = std::make_shared<Values>();
    declare(options, *values);
    return [values, execute](const SignalState&) { return execute(*values); };
  };
}

}  // namespace tenure::cli
