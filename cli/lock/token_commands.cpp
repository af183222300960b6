// `tenure lock renew`, `release` and `show`: what is done with a lock token.
#include <iostream>
#include <iterator>
#include <string>

#include <tenure/lockcore/lock_tokens.hpp>

#include "cli/commands.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "lock_arguments.hpp"
#include "lock_store.hpp"
#include "lock_view.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds defaultBudget{10'000};
/// A token is one line. If something else is piped in, the user must be told soon.
constexpr std::size_t mostStdin = LockToken::maxTextBytes + 2;

std::string tokenText(const std::string& target) {
  if (target != "-") return target;
  std::string text;
  for (std::istreambuf_iterator<char> in{std::cin}, end; in != end && text.size() < mostStdin; ++in) text += *in;
  return text;
}

/// A wait of zero is a single attempt, for which a store gets its usual time.
milliseconds budgetOf(const LockArguments& arguments) {
  const milliseconds wait = arguments.wait.value_or(defaultBudget);
  return wait.count() == 0 ? milliseconds{storePatience} : wait;
}

/// The token to act on: the given one, or that of the lock's owner.
LockResult<LockToken> tokenOf(const LockArguments& arguments, LockTokens& tokens, bool toRelease = false) {
  if (arguments.owner.empty()) return LockToken::from(tokenText(arguments.target));
  return tokens.resume({arguments.target, arguments.sort}, arguments.owner,
                       {.lease = arguments.lease, .budget = budgetOf(arguments), .anyHistory = toRelease});
}

int renew(const LockArguments& arguments) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  const std::shared_ptr<LeaseStore> store = lockStore(*config);
  LockTokens tokens{store};
  auto token = tokenOf(arguments, tokens);
  if (token && arguments.owner.empty()) {
    token = tokens.renew(*token, {.lease = arguments.lease, .budget = budgetOf(arguments)});
  }
  if (!token) return failed(arguments, token.error());
  const int code = answerWithToken(arguments, *token);
  if (code != exitOk) complain("the lock was still renewed; resume it by its owner " + token->owner());
  return code;
}

std::string releaseJson(const std::string& lock, const std::string& result) {
  return R"({"lock":)" + jsonString(lock) + R"(,"result":")" + result + "\"}\n";
}

int release(const LockArguments& arguments) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  const std::shared_ptr<LeaseStore> store = lockStore(*config);
  LockTokens tokens{store};
  const auto token = tokenOf(arguments, tokens, true);
  if (!token && token.error().code == LockErrc::notHeld) {  // it was released before
    const std::string& name = arguments.target;
    return answer(arguments.json ? releaseJson(name, "not_held") : "lock " + name + " was no longer held\n");
  }
  if (!token) return failed(arguments, token.error());
  const auto done = tokens.release(*token, budgetOf(arguments));
  const bool lost = done.has_error() && done.error().code == LockErrc::lost;
  if (done.has_error() && !lost) return failed(arguments, done.error());
  const std::string name = "lock " + toString(token->key());
  if (lost) complain(name + " was lost before: another owner has taken it, and that lock was not touched");
  const bool released = done.has_value() && *done == ReleaseResult::released;
  if (arguments.json) {
    const char* result = lost ? "lost" : (released ? "released" : "not_held");
    return answer(releaseJson(token->key().name, result), lost ? exitLost : exitOk);
  }
  return lost ? exitLost : answer(name + (released ? " is released\n" : " was no longer held\n"));
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

int show(const LockArguments& arguments) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  const std::shared_ptr<LeaseStore> store = lockStore(*config);
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
    complain("there is no holder of lock " + toString(key) + "; " + why);
    return arguments.json ? answer(jsonOfNone(key, store->describe(), look->warning), exitNobody) : exitNobody;
  }
  const LeaseRecord& record = *found;
  const int code = record.released ? exitNobody : exitOk;
  if (!arguments.json) return answer(lockTable(key, record, store->describe()), code);
  // A single look cannot tell whether the holder lives.
  const LockState state = record.released ? LockState::released : LockState::held;
  return answer(toJson(LockWatch::Row{key, record, state, {}, look->warning}, store->describe()), code);
}

constexpr const char* waitText = "how long to try if the store does not answer (default 10s)";

void declareRenew(Options& options, LockArguments& to) {
  declareStore(options, to);
  declareToken(options, to).duration("--lease DURATION", to.lease, "how long the lock lasts from now on");
  declareSort(options, to)
      .duration("--wait DURATION", to.wait, waitText)
      .flag("--json", to.json, "one JSON object instead of the token alone");
}

void declareRelease(Options& options, LockArguments& to) {
  declareStore(options, to);
  declareToken(options, to);
  declareSort(options, to).duration("--wait DURATION", to.wait, waitText).flag("--json", to.json, "one JSON object");
}

void declareShow(Options& options, LockArguments& to) {
  declareStore(options, to).text("KEY|TOKEN", to.target, "- reads a token from stdin").needed();
  declareSort(options, to).flag("--json", to.json, "one JSON object").check([&to]() -> std::string {
    return to.target.empty() ? "give the name of the lock, or a lock token" : "";
  });
}

}  // namespace

Command lockRenewCommand() {
  return {
      .name = "lock renew",
      .summary = "start the lease of a lock again; prints the next token",
      .about =
          R"(Prints the next token; the old one is no longer valid. An expired lock cannot be renewed. With --owner no token is
needed: OWNER is the owner's whole text, as "tenure lock show KEY" prints it.)",
      .exits = {{"0", "the next token is on stdout"},
                {"2", "wrong arguments or configuration, or TOKEN is not a token"},
                {"81",
                 "the lock is no longer this token's: expired, released, renewed by another caller with the same "
                 "token, or taken over"},
                {"83", "the store cannot be reached or used"},
                {"86", "it is not known whether the renewal arrived"}},
      .options = optionsOf<LockArguments>(declareRenew, renew),
      .holds = true,
  };
}

Command lockReleaseCommand() {
  return {
      .name = "lock release",
      .summary = "give a lock up",
      .about = "It is not an error to release again. The lock of another owner is never touched.",
      .exits = {{"0", "it is released, or was no longer held"},
                {"2", "wrong arguments or configuration, or TOKEN is not a token"},
                {"81", "another owner had taken it over, or another caller had renewed it with the same token"},
                {"83", "the store cannot be reached or used"},
                {"86", "it is not known whether the release arrived"}},
      .options = optionsOf<LockArguments>(declareRelease, release),
      .holds = true,
  };
}

Command lockShowCommand() {
  return {
      .name = "lock show",
      .summary = "show who holds a lock, or whether a token still does",
      .about =
          R"(Reads the record and changes nothing. The store says whether a token is active. On the machine and boot where the
token was made, the clock says so, too.)",
      .exits = {{"0", "KEY is held; the TOKEN is active"},
                {"2", "wrong arguments or configuration, or TOKEN is not a token"},
                {"81", "the TOKEN is no longer active"},
                {"83", "the store cannot be reached or used"},
                {"84", "KEY has no holder"}},
      .options = optionsOf<LockArguments>(declareShow, show),
  };
}

}  // namespace tenure::cli
