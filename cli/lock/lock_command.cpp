// `tenure lock`: acquire, renew, release, show, hold.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "cli/commands.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/run/supervisor.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "lock_store.hpp"
#include "lock_view.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

using Action = LockArguments::Action;
using std::chrono::milliseconds;

constexpr milliseconds defaultBudget{10'000};
constexpr milliseconds holderNamedAfter{1'000};
/// A token is one line. If something else is piped in, the user must be told soon.
constexpr std::size_t mostStdin = LockToken::maxTextBytes + 2;

int answer(const std::string& text, int code = exitOk) { return say(text) ? code : exitFailed; }

/// Reports on stderr for people, and with --json on stdout for programs.
int failed(const LockArguments& arguments, const LockError& error) {
  const std::string age = error.holder ? ageText(error.holder->acquiredAtMillis) : std::string{};
  complain(error.message + (age.empty() ? "" : ", " + age));
  return arguments.json ? answer(toJson(error), exitCodeOf(error)) : exitCodeOf(error);
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

/// The token to act on: the given one, or that of the lock's owner.
LockResult<LockToken> tokenOf(const LockArguments& arguments, LockTokens& tokens) {
  if (arguments.owner.empty()) return LockToken::from(tokenText(arguments.target));
  TokenRenewOptions options;
  options.lease = arguments.lease;
  options.budget = arguments.wait.value_or(defaultBudget);
  return tokens.resume({arguments.target, arguments.sort}, arguments.owner, options);
}

/// Creates what is missing. Errors that may pass are left to the acquisition, which waits for as long as the caller
/// wants. The wait bounds both. A wait of zero is a single attempt, for which a store gets its usual time.
std::optional<StoreError> prepare(LeaseStore& store, const std::optional<milliseconds>& wait) {
  const milliseconds look = wait && wait->count() > 0 ? *wait : milliseconds{storePatience};
  const milliseconds patience = wait ? std::min<milliseconds>(look, schemaPatience) : schemaPatience;
  const StoreStatus ready = ensureSchemaNow(store, patience);
  if (ready.has_value()) return std::nullopt;
  const ErrorClass kind = ready.error().errorClass;
  if (kind == ErrorClass::transient || kind == ErrorClass::throttled) return std::nullopt;
  return ready.error();
}

/// What is left of a wait that began at `began`. Never zero, because zero would mean a single attempt.
std::optional<milliseconds> rest(const std::optional<milliseconds>& wait, const Instant& began) {
  if (!wait || wait->count() == 0) return wait;
  const auto left = *wait - elapsedForHolder(began, readClock());
  return std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds{1});
}

/// A user who waits at a terminal wants to know which holder the wait is for.
void nameHolder(LeaseStore& store, const LeaseKey& key) {
  const ReadOutcome found = readNow(store, key, unansweredTime);
  if (!found || !isHeld(*found)) return;
  const LeaseRecord& record = **found;
  complain("waits for lock " + toString(key) + ": " + personOf(record.holder) + " holds it " + withToken(record.token));
}

/// The wait is a bound whatever the store does. A short time more is allowed for taking back an unanswered attempt.
LockResult<LockToken> acquireInTime(LeaseStore& store, LockTokens tokens, const LeaseKey& key,
                                    const TokenAcquireOptions& options) {
  std::promise<LockResult<LockToken>> promise;
  auto answer = promise.get_future();
  std::thread{[tokens = std::move(tokens), key, options, promise = std::move(promise)]() mutable {
    promise.set_value(tokens.acquire(key, options));
  }}.detach();
  const milliseconds wait = options.waitFor.value_or(milliseconds::max());
  const Instant began = readClock();
  if (wait > holderNamedAfter && answer.wait_for(holderNamedAfter) == std::future_status::timeout) {
    nameHolder(store, key);
  }
  if (!options.waitFor) return answer.get();
  const milliseconds whole = wait.count() == 0 ? milliseconds{storePatience} : wait;
  const auto left = whole + unansweredTime - elapsedForHolder(began, readClock());
  if (answer.wait_for(left) == std::future_status::ready) return answer.get();
  return LockError{LockErrc::unknown,
                   "lock " + toString(key) +
                       " was not granted in time, and it is not known whether an attempt arrived, " +
                       "because the store has not answered; if it did, the lock ends with its lease"};
}

int acquire(const LockArguments& arguments, const GroupConfig& config, const std::shared_ptr<LeaseStore>& store) {
  const Instant began = readClock();
  const LeaseKey key{arguments.target, arguments.sort};
  const OptionFaults faults = store->faultsOfPayload(key, arguments.data, arguments.attributes);
  for (const OptionFault& fault : faults) complain(fault.field + ": " + fault.message);
  if (!faults.empty()) return exitUsage;
  if (const auto fault = prepare(*store, arguments.wait)) {
    return failed(arguments, {LockErrc::storeUnavailable, faultText(*store, *fault)});
  }
  TokenAcquireOptions options;
  options.lease = config.options.lease.duration;
  options.waitFor = rest(arguments.wait, began);
  options.owner = config.options.candidate.id;
  options.data = arguments.data;
  options.attributes = arguments.attributes;
  LockTokens tokens{store, Logger::toStderr(LogLevel::warn)};
  const auto token = acquireInTime(*store, tokens, key, options);
  if (!token) {
    const int code = failed(arguments, token.error());
    // The call that has not answered in time is still running.
    if (token.error().code == LockErrc::unknown) exitAtOnce(code);
    return code;
  }
  const int code = tellToken(arguments, *token);
  // The token could not be printed, so nobody could renew or release the lock.
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
  if (!token && token.error().code == LockErrc::notHeld) return exitOk;  // owner released it: idempotent
  if (!token) return failed(arguments, token.error());
  const auto done = tokens.release(*token, arguments.wait.value_or(defaultBudget));
  const bool lost = done.has_error() && done.error().code == LockErrc::lost;
  if (done.has_error() && !lost) return failed(arguments, done.error());
  const std::string name = "lock " + toString(token->key());
  if (lost) complain(name + " was lost before: somebody else has taken it, and that lock was not touched");
  const bool released = done.has_value() && *done == ReleaseResult::released;
  if (arguments.json) {
    const std::string result = lost ? "lost" : (released ? "released" : "not_held");
    return answer(R"({"lock":)" + jsonString(token->key().name) + R"(,"result":")" + result + "\"}\n",
                  lost ? exitLost : exitOk);
  }
  return lost ? exitLost : answer(name + (released ? " is released\n" : " was not held any more\n"));
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
          (view->why ? "\"" + std::string{wordOf(*view->why)} + "\"" : "null") + "}\n";
  return answer(json, code);
}

int show(const LockArguments& arguments, const std::shared_ptr<LeaseStore>& store) {
  if (arguments.target == "-" || arguments.target.starts_with(lockTokenPrefix)) return showToken(arguments, store);
  const LeaseKey key{arguments.target, arguments.sort};
  const StoreResult<LeaseLook> look = lookNow(*store, key);
  if (!look) return failed(arguments, {LockErrc::storeUnavailable, faultText(*store, look.error())});
  const std::optional<LeaseRecord>& found = look->record;
  if (!look->warning.empty()) complain("lock " + toString(key) + ": " + look->warning);
  if (!found || found->vanished) {
    const std::string why = found ? "its record was deleted while it was held, so it is free only after its lease of " +
                                        durationText(found->leaseDuration)
                                  : "it has no record";
    complain("nobody holds lock " + toString(key) + "; " + why);
    return arguments.json ? answer(R"({"lock":)" + jsonString(key.name) + R"(,"state":"none","warning":)" +
                                       jsonStringOrNull(look->warning) + "}\n",
                                   exitNobody)
                          : exitNobody;
  }
  const LeaseRecord& record = *found;
  const int code = record.released ? exitNobody : exitOk;
  if (!arguments.json) return answer(lockTable(key, record, store->describe()), code);
  // A single look cannot tell whether the holder lives.
  const LockState state = record.released ? LockState::released : LockState::held;
  return answer(toJson(LockWatch::Row{key, record, state, {}, look->warning}, store->describe()), code);
}

/// As `tenure run --once`, in a group without a file.
int hold(const LockArguments& arguments, const GroupConfig& config, const SignalState& signals) {
  SupervisorOptions options;
  options.command = arguments.command;
  options.once = true;
  options.wait = arguments.wait;
  options.namesHolder = true;
  if (!arguments.store.config.empty()) {
    options.configFile = std::filesystem::absolute(arguments.store.config).string();
  }
  Supervisor supervisor{config, options, signals};
  const int code = supervisor.run();
  if (code != exitBusy) return code;
  const Group& group = supervisor.group();
  const ReadOutcome found = readNow(*group.store(), group.key(), unansweredTime);  // the wait is over
  if (found && isHeld(*found)) {
    const std::string age = ageText((*found)->acquiredAtMillis);
    if (!age.empty()) complain("lock " + toString(group.key()) + " of " + shown((*found)->holder) + ": " + age);
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
