#include "command_line.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/words.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::cli {
namespace {

using config::closest;
using config::didYouMean;
using config::listed;

/// The command that was typed, as far as it was recognised.
const CLI::App& commandIn(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : commandIn(*parsed.front());
}

bool isOption(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::vector<std::string> optionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// `--comfig`, without the value that may follow after `=`.
std::string unknownOption(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return "there is no option " + inQuotes(name) + didYouMean(closest(name, optionNames(command)));
}

std::vector<std::string> namesIn(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return names;
}

/// The words that no command accepted, in the order in which they were typed.
std::vector<std::string> extras(const CLI::App& app, const std::vector<std::string>& typed) {
  std::vector<std::string> words = app.remaining(true);
  const auto place = [&](const std::string& word) { return std::find(typed.begin(), typed.end(), word); };
  std::sort(words.begin(), words.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return words;
}

/// Whether this command is followed by `--` and the job's command.
bool takesJob(const CLI::App& command) { return command.get_name() == "run" || command.get_name() == "hold"; }

std::string unexpected(const CLI::App& command, const std::vector<std::string>& words) {
  if (takesJob(command) && !isOption(words.front())) {
    return inQuotes(words.front()) + " is not expected here; the command to run comes after --, as in: -- " +
           words.front();
  }
  const auto option = std::find_if(words.begin(), words.end(), isOption);
  if (option != words.end()) return unknownOption(command, *option);
  const std::vector<std::string> commands = namesIn(command);
  if (!commands.empty()) return unknownCommand(words.front(), commands, {});
  return inQuotes(words.front()) + " is one argument too many";
}

std::string missing(const CLI::App& command) {
  std::vector<std::string> wanted;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string value = option->get_type_name();  // including the allowed values
    const std::string name = option->get_name(option->get_positional());
    wanted.push_back(value.empty() ? name : name + " " + value.substr(0, value.find(":UINT")));
  }
  if (!wanted.empty()) return "give " + listed(wanted);
  return "give a command: " + listed(namesIn(command), "or");
}

/// An option with too few values, or too many.
std::string mismatch(const CLI::App& command, const CLI::ParseError& fault) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 1 && option->get_items_expected_max() == 1) return option->get_name() + " is given twice";
  }
  const std::string told = fault.what();
  return told.substr(0, told.find(':')) + " needs a value after it";
}

}  // namespace

void useHelp(CLI::App& app, std::string text) {
  app.set_help_flag("-h,--help");
  app.formatter_fn([text = std::move(text)](const CLI::App*, const std::string&, CLI::AppFormatMode) { return text; });
}

CLI::Validator oneOf(std::vector<std::string> words) {
  return CLI::Validator{[words = std::move(words)](std::string& given) {
                          const bool known = std::find(words.begin(), words.end(), given) != words.end();
                          if (known) return std::string{};
                          const bool number = given.find_first_not_of("0123456789") == std::string::npos;
                          return inQuotes(given) + " is none of " + listed(words) +
                                 (number ? "" : didYouMean(closest(given, words)));
                        },
                        ""};
}

CLI::Validator between(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator{[low, high](std::string& given) {
                          const auto number = numberFrom<std::uint64_t>(given);
                          const bool fits = number && *number >= low && *number <= high;
                          return fits ? std::string{} : fmt::format("Value {} not in range {} to {}", given, low, high);
                        },
                        ""};
}

std::vector<std::string> asMeant(std::vector<std::string> words) {
  for (std::string& word : words) {
    if (word.starts_with("-c=")) word.replace(0, 2, "--config");
  }
  if (words.empty()) return words;
  if (words.front() == "version") words.front() = "--version";
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

std::string faultOf(const CLI::App& app, const CLI::ParseError& fault, const std::vector<std::string>& typed) {
  const CLI::App& command = commandIn(app);
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr;
  if (lacks || dynamic_cast<const CLI::ExtrasError*>(&fault) != nullptr) {
    const std::vector<std::string> words = extras(app, typed);
    return words.empty() ? missing(command) : unexpected(command, words);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&fault) != nullptr) return mismatch(command, fault);
  return fault.what();
}

std::string unknownCommand(const std::string& name, const std::vector<std::string>& commands,
                           const std::vector<std::string>& others) {
  const std::string what = "there is no command " + inQuotes(name);
  const auto elsewhere = std::find_if(others.begin(), others.end(), [&](const std::string& other) {
    return other == name || other.ends_with(' ' + name);
  });
  if (elsewhere != others.end()) return what + "; did you mean tenure " + *elsewhere + "?";
  const auto meant = closest(name, commands);
  return what + (meant ? didYouMean(meant) : "; the commands are " + listed(commands));
}

int refuse(const std::string& message, std::string_view command) {
  complain(message);
  complain(fmt::format("see: tenure {}{}--help", command, command.empty() ? "" : " "));
  return exitUsage;
}

}  // namespace tenure::cli
