// `tenure lock`: acquire, renew, release, show, hold.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>

#include <tenure/config/duration.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "commands/commands.hpp"
#include "commands/lock_listing.hpp"
#include "exit_codes.hpp"
#include "lock_store.hpp"
#include "lock_view.hpp"
#include "output.hpp"
#include "store_calls.hpp"
#include "supervisor.hpp"

namespace tenure::cli {
namespace {

using Action = LockArguments::Action;
using std::chrono::milliseconds;

constexpr std::string_view tokenPrefix = "tenure-lock:";
constexpr milliseconds defaultBudget{10'000};
/// A token is one line; whoever pipes something else in shall hear it soon.
constexpr std::size_t mostStdin = LockToken::maxTextBytes + 2;

int codeOf(LockTokenTrouble trouble) {
  switch (trouble) {
    case LockTokenTrouble::malformed:
    case LockTokenTrouble::misuse:
      return exitUsage;
    case LockTokenTrouble::held:
      return exitBusy;
    case LockTokenTrouble::timedOut:
    case LockTokenTrouble::unknown:
      return exitNotYet;
    case LockTokenTrouble::expired:
    case LockTokenTrouble::released:
    case LockTokenTrouble::superseded:
    case LockTokenTrouble::lost:
      return exitLost;
    case LockTokenTrouble::store:
      return exitStore;
  }
  return exitFailed;
}

int answer(const std::string& text, int code = exitOk) { return say(text) ? code : exitFailed; }

/// On stderr for people, and with --json on stdout for programs.
int failed(const LockArguments& arguments, const LockTokenError& error) {
  const std::string age = error.holder ? ageText(error.holder->acquiredAtMillis) : std::string{};
  complain(error.message + (age.empty() ? "" : ", " + age));
  return arguments.json ? answer(toJson(error), codeOf(error.trouble)) : codeOf(error.trouble);
}

int tellToken(const LockArguments& arguments, const LockToken& token) {
  return answer(arguments.json ? toJson(token) : token.text() + '\n');
}

std::string tokenText(const std::string& target) {
  if (target != "-") return target;
  std::string text;
  for (std::istreambuf_iterator<char> in{std::cin}, end; in != end && text.size() < mostStdin; ++in) text += *in;
  return text;
}

/// The token to act on: as given, or of the lock's owner.
LockTokenResult<LockToken> tokenOf(const LockArguments& arguments, LockTokens& tokens) {
  if (arguments.owner.empty()) return LockToken::from(tokenText(arguments.target));
  TokenRenewOptions options;
  options.lease = arguments.lease;
  options.budget = arguments.wait.value_or(defaultBudget);
  return tokens.resume({arguments.target, arguments.sort}, arguments.owner, options);
}

/// Makes what is missing. What may pass is left to the acquisition, which waits for as long as the caller wants.
std::optional<StoreError> prepare(LeaseStore& store, const std::optional<milliseconds>& wait) {
  const milliseconds patience = wait ? std::clamp<milliseconds>(*wait, storePatience, schemaPatience) : schemaPatience;
  const StoreStatus ready = ensureSchemaNow(store, patience);
  if (ready.has_value()) return std::nullopt;
  const ErrorClass kind = ready.error().errorClass;
  if (kind == ErrorClass::transient || kind == ErrorClass::throttled) return std::nullopt;
  return ready.error();
}

int acquire(const LockArguments& arguments, const GroupConfig& config, const std::shared_ptr<LeaseStore>& store) {
  if (const auto fault = prepare(*store, arguments.wait)) {
    return failed(arguments, {LockTokenTrouble::store, faultText(*store, *fault)});
  }
  TokenAcquireOptions options;
  options.lease = config.options.lease.duration;
  options.waitFor = arguments.wait;
  options.owner = config.options.candidate.id;
  options.data = arguments.data;
  options.attributes = arguments.attributes;
  LockTokens tokens{store, Logger::toStderr(LogLevel::warn)};
  const auto token = tokens.acquire({arguments.target, arguments.sort}, options);
  if (!token) return failed(arguments, token.error());
  const int code = tellToken(arguments, *token);
  // Nobody has the token, so nobody could renew or release.
  if (code != exitOk && tokens.release(*token).has_value()) complain("the lock is released again");
  return code;
}

int renew(const LockArguments& arguments, const std::shared_ptr<LeaseStore>& store) {
  LockTokens tokens{store};
  auto token = tokenOf(arguments, tokens);
  if (token && arguments.owner.empty()) {
    TokenRenewOptions options;
    options.lease = arguments.lease;
    options.budget = arguments.wait.value_or(defaultBudget);
    token = tokens.renew(*token, options);
  }
  if (!token) return failed(arguments, token.error());
  const int code = tellToken(arguments, *token);
  if (code != exitOk) complain("the lock is renewed all the same; resume it by its owner " + token->owner());
  return code;
}

int release(const LockArguments& arguments, const std::shared_ptr<LeaseStore>& store) {
  LockTokens tokens{store};
  const auto token = tokenOf(arguments, tokens);
  if (!token && token.error().trouble == LockTokenTrouble::released) return exitOk;  // by its owner, idempotent too
  if (!token) return failed(arguments, token.error());
  const auto done = tokens.release(*token, arguments.wait.value_or(defaultBudget));
  if (!done) return failed(arguments, done.error());
  const std::string name = "lock " + toString(token->key());
  const bool lost = *done == TokenRelease::lost;
  if (lost) complain(name + " was lost before: somebody else has taken it, whose lock was not touched");
  const std::string result{toString(*done)};
  const std::string text = name + (*done == TokenRelease::released ? " is released\n" : " was not held any more\n");
  if (arguments.json) {
    return answer(R"({"lock":)" + jsonString(token->key().name) + R"(,"result":")" + result + "\"}\n",
                  lost ? exitLost : exitOk);
  }
  return lost ? exitLost : answer(text);
}

int showToken(const LockArguments& arguments, const std::shared_ptr<LeaseStore>& store) {
  const auto token = LockToken::from(tokenText(arguments.target));
  if (!token) return failed(arguments, token.error());
  const auto view = LockTokens{store}.check(*token);
  if (!view) return failed(arguments, view.error());
  const int code = view->active ? exitOk : exitLost;
  if (!arguments.json) return answer(tokenTable(*token, *view), code);
  std::string json = toJson(*token);
  json.resize(json.rfind('}'));
  json += std::string{R"(,"active":)"} + (view->active ? "true" : "false") + R"(,"why_not":)" +
          (view->why ? "\"" + std::string{toString(*view->why)} + "\"" : "null") + "}\n";
  return answer(json, code);
}

int show(const LockArguments& arguments, const std::shared_ptr<LeaseStore>& store) {
  if (arguments.target == "-" || arguments.target.starts_with(tokenPrefix)) return showToken(arguments, store);
  const LeaseKey key{arguments.target, arguments.sort};
  const ReadOutcome found = readNow(*store, key);
  if (!found) return failed(arguments, {LockTokenTrouble::store, faultText(*store, found.error())});
  if (!*found) {
    complain("nobody holds lock " + toString(key) + "; it has no record");
    return arguments.json ? answer(R"({"lock":)" + jsonString(key.name) + R"(,"state":"none"})" + "\n", exitNobody)
                          : exitNobody;
  }
  const LeaseRecord& record = **found;
  const int code = record.released ? exitNobody : exitOk;
  if (!arguments.json) return answer(lockTable(key, record, store->describe()), code);
  // One look cannot tell whether the holder lives.
  const LockState state = record.released ? LockState::released : LockState::unknown;
  return answer(toJson(LockWatch::Row{key, record, state, {}}, store->describe()), code);
}

/// As `tenure run --once`, in a group that has no file.
int hold(const LockArguments& arguments, const GroupConfig& config, const SignalState& signals) {
  SupervisorOptions options;
  options.command = arguments.command;
  options.once = true;
  options.wait = arguments.wait;
  if (!arguments.store.config.empty()) {
    options.configFile = std::filesystem::absolute(arguments.store.config).string();
  }
  const auto group = makeGroup(config).value();
  const int code = Supervisor{group, options, signals}.run();
  if (code != exitBusy) return code;
  const ReadOutcome found = readNow(*group.store(), group.key());
  if (found && *found && !(*found)->released) {
    const std::string age = ageText((*found)->acquiredAtMillis);
    if (!age.empty()) complain("lock " + toString(group.key()) + " of " + (*found)->holder + ": " + age);
  }
  return code;
}

}  // namespace

int lockCommand(const LockArguments& arguments, const SignalState& signals) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  if (arguments.action == Action::hold) {
    if (!arguments.sort.empty()) {
      complain("hold takes no --sort: the whole table's value is store.sort_key_value");
      return exitUsage;
    }
    return hold(arguments, *config, signals);
  }
  const std::shared_ptr<LeaseStore> store = lockStore(*config);
  switch (arguments.action) {
    case Action::acquire:
      return acquire(arguments, *config, store);
    case Action::renew:
      return renew(arguments, store);
    case Action::release:
      return release(arguments, store);
    case Action::show:
      return show(arguments, store);
    case Action::list:
      return listLocks(arguments, *store);
    case Action::prune:
      return pruneLocks(arguments, *store);
    case Action::hold:
      break;
  }
  return exitFailed;
}

}  // namespace tenure::cli
