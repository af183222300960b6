// Parses the command line of `tenure lock`, which has commands of its own.
#include "lock_arguments.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/help_texts.hpp"
#include "cli/text/environment.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "config/src/words.hpp"
#include "lock_store.hpp"

namespace tenure::cli {
namespace {

using Action = LockArguments::Action;

struct Named {
  const char* name;
  Action action;
  const char* help;
};

const std::array<Named, 7>& lockCommands() {
  static const std::array<Named, 7> all{{{"acquire", Action::acquire, help::lockAcquire},
                                         {"renew", Action::renew, help::lockRenew},
                                         {"release", Action::release, help::lockRelease},
                                         {"hold", Action::hold, help::lockHold},
                                         {"show", Action::show, help::lockShow},
                                         {"list", Action::list, help::lockList},
                                         {"prune", Action::prune, help::lockPrune}}};
  return all;
}

int refuseLock(const std::string& message, const std::string& command) {
  return refuse(message, command.empty() ? "lock" : "lock " + command);
}

/// CLI11 keeps pointers into it.
class LockParser {
 public:
  LockParser() {
    app_.require_subcommand(1);
    std::string text = help::lock;
    constexpr std::string_view stores = "@STORES@";
    useHelp(app_, text.replace(text.find(stores), stores.size(), lockStoresUsage()));
    for (const Named& command : lockCommands()) add(command);
  }
  LockParser(const LockParser&) = delete;
  LockParser& operator=(const LockParser&) = delete;

  std::variant<LockArguments, int> parse(std::vector<std::string> words,
                                         const std::optional<std::vector<std::string>>& command);

 private:
  void add(const Named& named) {
    CLI::App* command = app_.add_subcommand(named.name);
    useHelp(*command, named.help);
    addStore(command);
    const Action action = named.action;
    const auto is = [action](std::initializer_list<Action> those) {
      return std::find(those.begin(), those.end(), action) != those.end();
    };
    addText(command,
            is({Action::list, Action::prune})                    ? "PREFIX"
            : is({Action::renew, Action::release, Action::show}) ? "TARGET"
                                                                 : "KEY",
            parsed_.target);
    if (!is({Action::list, Action::prune})) addText(command, "--sort", parsed_.sort);
    if (is({Action::acquire, Action::renew, Action::release, Action::hold})) {
      addDuration(command, "--wait", parsed_.wait);
      addText(command, "--owner", parsed_.owner);
    }
    if (is({Action::acquire, Action::renew, Action::hold})) addDuration(command, "--lease", parsed_.lease);
    if (action == Action::hold) addDuration(command, "--heartbeat", parsed_.heartbeat);
    if (action == Action::acquire) addPayload(command);
    if (action == Action::list) addDuration(command, "--watch", parsed_.watch);
    if (action == Action::prune) {
      addDuration(command, "--abandoned", parsed_.abandoned);
      command->add_flag("--yes", parsed_.yes);
    }
    if (action != Action::hold) command->add_flag("--json", parsed_.json);
    command->callback([this, action] { parsed_.action = action; });
  }

  void addStore(CLI::App* command) {
    LockStoreArguments& store = parsed_.store;
    command->add_option("-c,--config", store.config);
    addText(command, "--store", store.store);
    for (const config::StoreType* type : lockStores()) {
      for (const config::KeySpec* key : keysWithWords(*type)) {
        // Stores may have an option in common; the subcommands share the values.
        if (command->get_option_no_throw(optionOf(*key)) != nullptr) continue;
        addText(command, optionOf(*key), store.values[key->key.path]);
      }
    }
  }

  void addPayload(CLI::App* command) {
    addText(command, "--data", parsed_.data);
    command
        ->add_option_function<std::vector<std::string>>(
            "--attribute",
            [this](const std::vector<std::string>& all) {
              for (const std::string& text : all) {
                const std::size_t equals = text.find('=');
                if (equals == 0 || equals == std::string::npos) {
                  throw CLI::ValidationError("--attribute", "\"" + text + "\" is not an attribute; write NAME=VALUE");
                }
                if (!parsed_.attributes.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
                  throw CLI::ValidationError("--attribute", "\"" + text.substr(0, equals) + "\" is given twice");
                }
              }
            })
        ->allow_extra_args(false);
  }

  static void addText(CLI::App* command, const std::string& name, std::string& value) {
    command->add_option(name, value);
  }

  static void addDuration(CLI::App* command, const std::string& name, std::optional<std::chrono::milliseconds>& value) {
    command->add_option_function<std::string>(name, [name, &value](const std::string& text) {
      const auto duration = parseDuration(text);
      if (!duration) throw CLI::ValidationError(name, duration.error().message);
      value = *duration;
    });
  }

  [[nodiscard]] std::optional<std::string> missing() const;

  CLI::App app_{"", "tenure lock"};
  LockArguments parsed_{};
};

/// What is missing or does not fit, in plain words.
std::optional<std::string> LockParser::missing() const {
  const bool byOwner = !parsed_.owner.empty();
  switch (parsed_.action) {
    case Action::acquire:
    case Action::hold:
      if (parsed_.target.empty()) return "give the name of the lock";
      break;
    case Action::renew:
    case Action::release:
      if (parsed_.target.empty()) {
        return byOwner ? "give the name of the lock beside --owner"
                       : "give the lock token (- reads it from stdin), or set TENURE_LOCK_TOKEN";
      }
      if (!byOwner && parsed_.target != "-" && !parsed_.target.starts_with(lockTokenPrefix)) {
        return inQuotes(parsed_.target) +
               " is not a lock token: give the one that tenure lock acquire printed (- reads it from stdin), or the "
               "lock's name with --owner OWNER";
      }
      break;
    case Action::show:
      if (parsed_.target.empty()) return "give the name of the lock, or a lock token";
      break;
    case Action::list:
    case Action::prune:
      break;
  }
  if (parsed_.action == Action::hold && !parsed_.command.empty() && parsed_.command.front().empty()) {
    return "the command after -- is empty";
  }
  if (parsed_.action == Action::hold && parsed_.command.empty())
    return "give the command to run after --, as in: tenure lock hold nightly --path locks.db -- ./job";
  return std::nullopt;
}

std::variant<LockArguments, int> LockParser::parse(std::vector<std::string> words,
                                                   const std::optional<std::vector<std::string>>& command) {
  const std::string first = words.empty() ? "" : words.front();
  std::vector<std::string> names;
  for (const Named& one : lockCommands()) names.emplace_back(one.name);
  const bool known = std::find(names.begin(), names.end(), first) != names.end();
  if (first.empty()) return refuseLock("give what to do with the lock: " + config::listed(names, "or"), "");
  if (!known && first.front() != '-') {
    return refuseLock(unknownCommand(first, names, {"run", "status", "check", "init", "resign", "pause", "resume"}),
                      "");
  }
  const std::vector<std::string> typed = words;
  try {
    std::reverse(words.begin(), words.end());  // CLI11 wants them in this order
    app_.parse(words);
  } catch (const CLI::Success& wish) {
    std::ostringstream text;  // lint-allow(locale): CLI11 writes words
    app_.exit(wish, text, text);
    return say(text.str()) ? exitOk : exitFailed;
  } catch (const CLI::ParseError& fault) {
    return refuseLock(faultOf(app_, fault, typed), known ? first : "");
  }
  if (command) parsed_.command = *command;
  parsed_.store = withEnvironment(std::move(parsed_.store));
  const bool takesToken = parsed_.action == Action::renew || parsed_.action == Action::release;
  if (takesToken && parsed_.target.empty() && parsed_.owner.empty()) {
    parsed_.target = environmentText("TENURE_LOCK_TOKEN");
  }
  if (const auto fault = missing()) return refuseLock(*fault, first);
  if (command && parsed_.action != Action::hold) return refuseLock("only hold takes a command after --", first);
  return parsed_;
}

}  // namespace

std::variant<LockArguments, int> parseLockArguments(std::vector<std::string> words,
                                                    const std::optional<std::vector<std::string>>& command) {
  LockParser parser;
  return parser.parse(std::move(words), command);
}

}  // namespace tenure::cli
