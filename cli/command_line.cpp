#include "command_line.hpp"

#include <algorithm>
#include <deque>
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

std::string unknownCommand(const Commands& all, const Command& above, const std::string& word) {
  const std::string what = "there is no command " + inQuotes(word);
  for (const Command& one : all) {
    if (one.name.empty()) continue;
    const bool isThis = one.name == word || one.name.ends_with(' ' + word);
    if (isThis && !isBelow(one, above)) return what + "; did you mean tenure " + one.name + "?";
  }
  const Words names = namesBelow(all, above);
  const auto meant = closest(word, names);
  return what + (meant ? didYouMean(meant) : "; the commands are " + listed(names));
}

/// What `help` was asked about and is not there; empty: there is no such word.
std::string unknownToHelp(const Commands& all, const Words& words) {
  if (words.empty() || words.front() != "help") return {};
  const Command* command = &all.front();
  for (auto word = std::next(words.begin()); word != words.end() && !isOption(*word); ++word) {
    const auto choices = below(all, *command);
    if (choices.empty()) return {};
    const auto next =
        std::find_if(choices.begin(), choices.end(), [&](const Command* one) { return namesOf(*one).back() == *word; });
    if (next == choices.end()) return unknownCommand(all, *command, *word);
    command = *next;
  }
  return {};
}

/// A command with the parser of its words.
struct Level {
  const Command* command;
  Options::Target target;
  Run run{};
};
using Levels = std::deque<Level>;  // the parsers point to what is in them

/// A command and those below it: its options may stand before their names too.
void declare(Levels& levels, const Commands& all, const Command& command, Options::Target target) {
  Level& level = levels.emplace_back(Level{&command, std::move(target)});
  Options options{level.target};
  if (command.options) level.run = command.options(options);
  level.target.app.require_subcommand(0, 1);
  for (const Command* one : below(all, command)) {
    CLI::App* parser = level.target.app.add_subcommand(namesOf(*one).back());
    declare(levels, all, *one, {.app = *parser, .files = level.target.files});
  }
}

/// The command whose name came last.
const Level& namedIn(const Levels& levels) {
  const auto named =
      std::find_if(levels.rbegin(), levels.rend(), [](const Level& one) { return one.target.app.parsed(); });
  return named == levels.rend() ? levels.front() : *named;
}

/// An option before the last name that only the command before that name has; empty: there is none.
std::string misplaced(const Levels& levels, const Level& named) {
  for (const Level& level : levels) {
    if (&level == &named || !level.target.app.parsed()) continue;
    for (const Options::Target::Line& line : level.target.lines) {
      const std::string name = line.option->get_name();
      if (line.option->count() == 0 || line.option->get_positional()) continue;
      if (named.target.app.get_option_no_throw(name) != nullptr) continue;
      return name + " is an option of tenure " + level.command->name + ", not of tenure " + named.command->name;
    }
  }
  return {};
}

/// Names the commands with the same name in front, if one of those takes a job; otherwise all that do.
std::string takesNoJob(const Levels& levels, const Command& command) {
  Words near, takers;
  const std::string group = command.name.substr(0, command.name.rfind(' ') + 1);
  for (const Level& one : levels) {
    if (one.target.job == nullptr) continue;
    takers.push_back(one.command->name);
    if (!group.empty() && takers.back().starts_with(group)) near.push_back(namesOf(*one.command).back());
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

/// The command that is asked for and not there, or the words that are not expected; empty: there are none.
std::string unexpected(const Levels& levels, const Commands& all) {
  for (const Level& level : levels) {
    const Words words = level.target.app.remaining();
    if (words.empty()) continue;
    const std::string& word = words.front();
    if (!isOption(word) && !level.run) return unknownCommand(all, *level.command, word);
    if (!isOption(word) && level.target.job != nullptr) {
      return inQuotes(word) + " is not expected here; the command to run comes after --, as in: -- " + word;
    }
    const auto option = std::find_if(words.begin(), words.end(), isOption);
    return option == words.end() ? inQuotes(word) + " is one argument too many"
                                 : unknownOption(level.target.app, *option);
  }
  return {};
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
std::string mismatch(const Levels& levels, const CLI::ParseError& fault) {
  for (const Level& level : levels) {
    for (const CLI::Option* option : level.target.app.get_options()) {
      if (option->count() > 1 && option->get_items_expected_max() == 1) return option->get_name() + " is given twice";
    }
  }
  const std::string said = fault.what();
  if (said.ends_with("flag override")) return "--" + said.substr(0, said.find(' ')) + " takes no value";
  return said.substr(0, said.find(':')) + " needs a value after it";
}

std::string faultOf(const Levels& levels, const Commands& all, const CLI::ParseError& fault) {
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr;
  if (lacks || dynamic_cast<const CLI::ExtrasError*>(&fault) != nullptr) {
    const std::string found = unexpected(levels, all);
    return found.empty() ? missing(namedIn(levels).target.app) : found;
  }
  return dynamic_cast<const CLI::ArgumentMismatch*>(&fault) != nullptr ? mismatch(levels, fault) : fault.what();
}

/// Fills in what the options are for. The exit code if there is nothing more to do.
std::optional<int> fill(const Levels& levels, const Commands& all, Words words) {
  CLI::App& parser = levels.front().target.app;
  try {
    std::reverse(words.begin(), words.end());  // CLI11 wants them in this order
    parser.parse(words);
  } catch (const CLI::Success& success) {
    const Level& named = namedIn(levels);
    const Words rest = named.target.app.remaining();
    if (!named.run && !rest.empty() && !isOption(rest.front())) {
      return refuse(unknownCommand(all, *named.command, rest.front()), named.command->name);
    }
    std::ostringstream text;  // lint-allow(locale): CLI11 writes words
    parser.exit(success, text, text);
    return say(text.str()) ? exitOk : exitFailed;
  } catch (const CLI::ParseError& fault) {
    return refuse(faultOf(levels, all, fault), namedIn(levels).command->name);
  }
  return std::nullopt;
}

}  // namespace

std::variant<Chosen, int> parse(const std::vector<Command>& all, std::vector<std::string> words) {
  const auto border = std::find(words.begin(), words.end(), "--");
  std::optional<Words> job;
  if (border != words.end()) job.emplace(std::next(border), words.end());
  words.erase(border, words.end());
  const Words json{"--json", "--json=true", "--json="};  // of a flag's values CLI11 refuses all but these
  if (std::find_first_of(words.begin(), words.end(), json.begin(), json.end()) != words.end()) keepErrors();
  CLI::App parser;
  Levels levels;
  parser.set_help_flag("-h,--help");
  parser.set_version_flag("--version", "tenure " + std::string{version});
  parser.formatter_fn([&](const CLI::App* app, const std::string&, CLI::AppFormatMode) {
    const auto one = std::find_if(levels.begin(), levels.end(), [&](const Level& of) { return &of.target.app == app; });
    return helpOf(*one->command, one->target, below(all, *one->command));
  });
  declare(levels, all, all.front(), {.app = parser});
  if (const std::string fault = unknownToHelp(all, words); !fault.empty()) return refuse(fault, {});
  if (const auto code = fill(levels, all, asMeant(std::move(words)))) return *code;
  const Level& named = namedIn(levels);
  const auto& [command, target, run] = named;
  if (!run && command->name.empty()) return complain(std::string{command->ifAlone} + "\n\n" + parser.help()), exitUsage;
  if (!run) {
    return refuse(std::string{command->ifAlone} + ": " + listed(namesBelow(all, *command), "or"), command->name);
  }
  if (const std::string fault = misplaced(levels, named); !fault.empty()) return refuse(fault, command->name);
  if (job && target.job != nullptr) *target.job = *job;
  for (const Options::Check& check : target.checks) {
    if (const std::string fault = check(); !fault.empty()) return refuse(fault, command->name);
  }
  if (job && target.job == nullptr) return refuse(takesNoJob(levels, *command), command->name);
  return Chosen{command, run};
}

int refuse(const std::string& message, std::string_view command) {
  complain(message);
  complain(fmt::format("see: tenure {}{}--help", command, command.empty() ? "" : " "));
  return exitUsage;
}

}  // namespace tenure::cli
