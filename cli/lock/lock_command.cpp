// `tenure lock`, and its command that takes a lock and prints the token.
#include <algorithm>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "cli/commands.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "lock_arguments.hpp"
#include "lock_store.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

/// A wait that is longer than this names the holder that it is for.
constexpr milliseconds holderNamedAfter{1'000};

/// How long a wait may take. A wait of zero is a single attempt, for which a store gets its usual time.
milliseconds boundOf(milliseconds wait) { return wait.count() == 0 ? milliseconds{storePatience} : wait; }

/// Creates what is missing in the store. Errors that may pass are left to the acquisition, which tries for as long as
/// the caller wants. The caller's wait bounds the two together: the acquisition gets what is left of it.
std::optional<StoreError> prepare(LeaseStore& store, const std::optional<milliseconds>& wait) {
  const milliseconds patience = wait ? std::min<milliseconds>(boundOf(*wait), schemaPatience) : schemaPatience;
  const StoreStatus ready = ensureSchemaNow(store, patience);
  if (ready.has_value()) return std::nullopt;
  const ErrorClass kind = ready.error().errorClass;
  if (kind == ErrorClass::transient || kind == ErrorClass::throttled) return std::nullopt;
  return ready.error();
}

/// What is left of a wait that began at `began`. Never zero, because zero would mean a single attempt.
std::optional<milliseconds> restOf(const std::optional<milliseconds>& wait, const Instant& began) {
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

/// The wait is a bound whatever the store does, so the acquisition has a thread that is left behind if it does not
/// answer in time: the thread owns all that it uses. A short time more is allowed for taking back an unanswered
/// attempt.
LockResult<LockToken> acquireInTime(LeaseStore& store, LockTokens tokens, const LeaseKey& key,
                                    const TokenAcquireOptions& options) {
  std::promise<LockResult<LockToken>> promise;
  auto answer = promise.get_future();
  std::thread{[tokens = std::move(tokens), key, options, promise = std::move(promise)]() mutable {
    // The store is let go of before the answer: closing it here could go on while the process ends.
    LockResult<LockToken> token = LockTokens{std::move(tokens)}.acquire(key, options);
    promise.set_value(std::move(token));
  }}.detach();
  const milliseconds wait = options.waitFor.value_or(milliseconds::max());
  const Instant began = readClock();
  if (wait > holderNamedAfter && answer.wait_for(holderNamedAfter) == std::future_status::timeout) {
    nameHolder(store, key);
  }
  if (!options.waitFor) return answer.get();
  const auto left = boundOf(wait) + unansweredTime - elapsedForHolder(began, readClock());
  if (answer.wait_for(left) == std::future_status::ready) return answer.get();
  return LockError{LockErrc::unknown,
                   "lock " + toString(key) +
                       " was not granted in time, and it is not known whether an attempt arrived, " +
                       "because the store has not answered; if it did, the lock ends with its lease"};
}

int acquire(const LockArguments& arguments) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  const std::shared_ptr<LeaseStore> store = lockStore(*config);
  const Instant began = readClock();
  const LeaseKey key{arguments.target, arguments.sort};
  const OptionFaults faults = extended(store)->faultsOfPayload(key, arguments.data, arguments.attributes);
  for (const OptionFault& fault : faults) complain(fault.field + ": " + fault.message);
  if (!faults.empty()) return exitUsage;
  if (const auto fault = prepare(*store, arguments.wait)) {
    return failed(arguments, {LockErrc::storeUnavailable, faultText(*store, *fault)});
  }
  const TokenAcquireOptions options{.lease = config->options.lease.duration,
                                    .waitFor = restOf(arguments.wait, began),
                                    .owner = config->options.candidate.id,
                                    .data = arguments.data,
                                    .attributes = arguments.attributes};
  LockTokens tokens{store, Logger::toStderr(LogLevel::warn)};
  const auto token = acquireInTime(*store, tokens, key, options);
  if (!token) {
    const int code = failed(arguments, token.error());
    // The thread of acquireInTime() may still run, so nothing that it might use is destroyed.
    if (token.error().code == LockErrc::unknown) exitAtOnce(code);
    return code;
  }
  const int code = answerWithToken(arguments, *token);
  // The token could not be printed, so nobody could renew or release the lock.
  if (code != exitOk && tokens.release(*token).has_value()) complain("the lock is released again");
  return code;
}

std::string takeAttribute(const std::string& text, LockArguments& to) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return "\"" + text + "\" is not an attribute; write NAME=VALUE";
  const std::string name = text.substr(0, equals);
  return to.attributes.emplace(name, text.substr(equals + 1)).second ? "" : "\"" + name + "\" is given twice";
}

void declareAcquire(Options& options, LockArguments& to) {
  declareStore(options, to);
  declareKey(options, to)
      .duration("--wait DURATION", to.wait, "how long to wait; 0s: try once (default: no limit)")
      .duration("--lease DURATION", to.lease, "how long it lasts (default 30s, or as the file says)")
      .text("--owner NAME", to.owner, "a name for people (default: the host's)")
      .text("--data TEXT", to.data, "a text that is stored in the lock's record")
      .values(
          "--attribute NAME=VALUE", [&to](const std::string& text) { return takeAttribute(text, to); },
          "stored there, too; may be given several times");
  declareSort(options, to).flag("--json", to.json, "one JSON object instead of the token alone");
}

}  // namespace

Command lockCommand() {
  return {
      .name = "lock",
      .summary = "hold a lock while a command runs, or from one command to the next",
      .more =
          "The store, an option of each command:\n  -c, --config FILE    that of a group's YAML file (or set "
          "TENURE_CONFIG)\n" +
          lockStoresUsage() +
          "  or in the environment: TENURE_LOCK_STORE, TENURE_LOCK_PATH, TENURE_LOCK_TABLE,\n"
          "  TENURE_LOCK_REGION, TENURE_LOCK_ENDPOINT, TENURE_LOCK_PROFILE, ...",
      .exits = {{"0", "done"},
                {"2", "wrong arguments, or no such token"},
                {"81", "the lock was lost"},
                {"82", "another owner holds it"},
                {"83", "the store cannot be used"},
                {"84", "it has no holder"},
                {"85", "timed out"},
                {"86", "it is not known whether a write arrived"}},
      .examples = {"token=$(tenure lock acquire nightly --path locks.db --lease 10m) || exit",
                   R"(./first && token=$(tenure lock renew "$token" --path locks.db) && ./second)",
                   R"(tenure lock release "$token" --path locks.db)"},
      .ifAlone = "say what to do with the lock",
  };
}

Command lockAcquireCommand() {
  return {
      .name = "lock acquire",
      .summary = "acquire a lock and print its token, valid for its lease",
      .about =
          R"(Prints one word, the token, for renew, release and show. Nothing renews the lock automatically: it is valid for its
lease, whatever happens to this process. The lock of a dead holder is free only after its whole lease was watched without a
renewal, so give a --wait longer than that lease. If a caller is killed before it has stored the token: "tenure lock
show KEY" shows the owner, and "tenure lock renew KEY --owner OWNER" resumes the lock. Or wait for the lease to end.)",
      .exits = {{"0", "the token is on stdout"},
                {"82", "another owner holds the lock; stderr names it"},
                {"83", "the store cannot be reached or used"},
                {"85", "timed out, and no other owner was seen holding it"},
                {"86", "timed out, and it is not known whether a write arrived"}},
      .examples = {"tenure lock acquire nightly --path locks.db --lease 10m --wait 0s"},
      .options = optionsOf<LockArguments>(declareAcquire, acquire),
      .holds = true,
  };
}

}  // namespace tenure::cli
