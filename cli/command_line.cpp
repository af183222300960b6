#include "command_line.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include <tenure/lockcore/version.hpp>

#include "config/src/words.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "options.hpp"
#include "text/exit_codes.hpp"
#include "text/output.hpp"

namespace tenure::cli {
namespace {

using config::closest;
using config::didYouMean;
using config::listed;

using Words = std::vector<std::string>;
using Commands = std::vector<Command>;

/// The words as the user meant them: `-c=FILE` is `--config=FILE`, and `help COMMAND` is `COMMAND --help`.
Words asMeant(Words words) {
  for (std::string& word : words) {
    if (word.starts_with("-c=")) word.replace(0, 2, "--config");
  }
  if (words.empty()) return words;
  const std::string first = words.front();
  if (first == "version") words.front() = "--version";
  if (first == "help" || first == "--help" || first == "-h") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

bool isOption(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// The command's name and those before it: "lock hold" -> {"lock", "hold"}.
Words namesOf(const Command& command) {
  const auto names = wordsOf(command.name);
  return {names.begin(), names.end()};
}

bool isBelow(const Command& one, const Command& above) {
  const std::size_t blank = one.name.rfind(' ');
  return !one.name.empty() && (blank == std::string::npos ? "" : one.name.substr(0, blank)) == above.name;
}

std::vector<const Command*> below(const Commands& all, const Command& above) {
  std::vector<const Command*> found;
  for (const Command& one : all) {
    if (isBelow(one, above)) found.push_back(&one);
  }
  return found;
}

Words namesBelow(const Commands& all, const Command& above) {
  Words names;
  for (const Command* one : below(all, above)) names.push_back(namesOf(*one).back());
  return names;
}

/// The command with most of the first words as its name. The program itself has none.
const Command& namedBy(const Commands& all, const Words& words) {
  const Command* named = nullptr;
  for (const Command& one : all) {
    const Words names = namesOf(one);
    const bool isNamed = names.size() <= words.size() && std::equal(names.begin(), names.end(), words.begin());
    if (isNamed && (named == nullptr || names.size() > namesOf(*named).size())) named = &one;
  }
  return *named;
}

std::string unknownCommand(const Commands& all, const Command& above, const std::string& word) {
  const std::string what = "there is no command " + inQuotes(word);
  for (const Command& one : all) {
    const bool isThis = one.name == word || one.name.ends_with(' ' + word);
    if (isThis && !isBelow(one, above)) return what + "; did you mean tenure " + one.name + "?";
  }
  const Words names = namesBelow(all, above);
  const auto meant = closest(word, names);
  return what + (meant ? didYouMean(meant) : "; the commands are " + listed(names));
}

bool takesJob(const Command& command) {
  if (!command.options) return false;
  CLI::App parser;
  Options::Target target{parser};
  Options options{target};
  command.options(options);
  return target.job != nullptr;
}

/// Names the commands with the same name in front, if one of those takes a job; otherwise all that do.
std::string takesNoJob(const Commands& all, const Command& command) {
  Words near, takers;
  const std::string group = command.name.substr(0, command.name.rfind(' ') + 1);
  for (const Command& one : all) {
    if (!takesJob(one)) continue;
    takers.push_back(one.name);
    if (!group.empty() && one.name.starts_with(group)) near.push_back(namesOf(one).back());
  }
  const Words& those = near.empty() ? takers : near;
  return "only " + listed(those) + (those.size() == 1 ? " takes" : " take") + " a command after --";
}

/// `--comfig`, without the value that may follow after `=`.
std::string unknownOption(const CLI::App& parser, const std::string& word) {
  Words names;
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  return "there is no option " + inQuotes(name) + didYouMean(closest(name, names));
}

std::string unexpected(const Options::Target& target, const Words& words) {
  if (target.job != nullptr && !isOption(words.front())) {
    return inQuotes(words.front()) + " is not expected here; the command to run comes after --, as in: -- " +
           words.front();
  }
  const auto option = std::find_if(words.begin(), words.end(), isOption);
  if (option != words.end()) return unknownOption(target.app, *option);
  return inQuotes(words.front()) + " is one argument too many";
}

/// The options that have to be given and were not.
std::string missing(const CLI::App& parser) {
  Words wanted;
  for (const CLI::Option* option : parser.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string value = option->get_type_name();
    wanted.push_back(option->get_name(option->get_positional()) + (value.empty() ? "" : " " + value));
  }
  return "give " + listed(wanted);
}

/// An option with too few values, or too many.
std::string mismatch(const CLI::App& parser, const CLI::ParseError& fault) {
  for (const CLI::Option* option : parser.get_options()) {
    if (option->count() > 1 && option->get_items_expected_max() == 1) return option->get_name() + " is given twice";
  }
  const std::string said = fault.what();
  return said.substr(0, said.find(':')) + " needs a value after it";
}

std::string faultOf(const Options::Target& target, const CLI::ParseError& fault) {
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr;
  if (lacks || dynamic_cast<const CLI::ExtrasError*>(&fault) != nullptr) {
    const Words words = target.app.remaining();
    return words.empty() ? missing(target.app) : unexpected(target, words);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&fault) != nullptr) return mismatch(target.app, fault);
  return fault.what();
}

/// Fills in what the options of the command are for. The exit code if there is nothing more to do.
std::optional<int> fill(const Command& command, const Options::Target& target, Words words) {
  try {
    std::reverse(words.begin(), words.end());  // CLI11 wants them in this order
    target.app.parse(words);
  } catch (const CLI::Success& success) {
    std::ostringstream text;  // lint-allow(locale): CLI11 writes words
    target.app.exit(success, text, text);
    return say(text.str()) ? exitOk : exitFailed;
  } catch (const CLI::ParseError& fault) {
    return refuse(faultOf(target, fault), command.name);
  }
  for (const Options::Check& check : target.checks) {
    if (const std::string fault = check(); !fault.empty()) return refuse(fault, command.name);
  }
  return std::nullopt;
}

}  // namespace

std::variant<Chosen, int> parse(const std::vector<Command>& all, std::vector<std::string> words) {
  const auto border = std::find(words.begin(), words.end(), "--");
  std::optional<Words> job;
  if (border != words.end()) job.emplace(std::next(border), words.end());
  words.erase(border, words.end());
  words = asMeant(std::move(words));
  const Command& command = namedBy(all, words);
  words.erase(words.begin(), words.begin() + std::ssize(namesOf(command)));
  CLI::App parser;
  Options::Target target{parser};
  Options options{target};
  const Run run = command.options ? command.options(options) : Run{};
  parser.set_help_flag("-h,--help");
  parser.formatter_fn([&](const CLI::App*, const std::string&, CLI::AppFormatMode) {
    return helpOf(command, target, below(all, command));
  });
  if (command.name.empty()) parser.set_version_flag("--version", "tenure " + std::string{version});
  const std::string next = words.empty() ? "" : words.front();
  if (!run && command.name.empty() && next.empty()) {
    complain(std::string{command.ifAlone} + "\n\n" + parser.help());
    return exitUsage;
  }
  if (!run && next.empty()) {
    return refuse(std::string{command.ifAlone} + ": " + listed(namesBelow(all, command), "or"), command.name);
  }
  if (!run && !isOption(next)) return refuse(unknownCommand(all, command, next), command.name);
  if (job && target.job != nullptr) *target.job = *job;
  if (const auto code = fill(command, target, std::move(words))) return *code;
  if (job && target.job == nullptr) return refuse(takesNoJob(all, command), command.name);
  const CLI::Option* json = parser.get_option_no_throw("--json");
  return Chosen{&command, run, json != nullptr && json->count() > 0};
}

int refuse(const std::string& message, std::string_view command) {
  complain(message);
  complain(fmt::format("see: tenure {}{}--help", command, command.empty() ? "" : " "));
  return exitUsage;
}

}  // namespace tenure::cli
