#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "lock_token_parts.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/option_ranges.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/port/stored_key.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/store_answer.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/runtime/user_code.hpp"
#include "token_acquirer.hpp"
#include "token_write.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The time of one request, so that a lost one is noticed while there is budget left.
constexpr milliseconds tokenCallTimeout{5'000};
constexpr milliseconds firstPause{10};
constexpr milliseconds longestPause{500};

/// A store with the process in which the LockTokens over it were made.
class StoreOfProcess final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }

 private:
  const ProcessMark mark_{};
};

/// In a forked child a thread that does not exist may hold the store's locks, and would have to answer.
std::optional<LockError> inChild(const LeaseStore& store) {
  if (static_cast<const StoreOfProcess&>(store).isHere()) return std::nullopt;
  return LockError{LockErrc::forked, "these LockTokens belong to the parent process; make them here"};
}

/// The faults of an acquisition or renewal, as options have them; the sentences are whole.
LockError misuse(OptionFaults faults) {
  LockError out{LockErrc::invalidOptions, {}};
  for (const OptionFault& fault : faults) out.message += (out.message.empty() ? "" : "; ") + fault.message;
  out.faults = std::move(faults);
  return out;
}

std::optional<OptionFault> faultOfLease(milliseconds lease) {
  if (lease >= minLeaseDuration && lease <= maxLeaseDuration) return std::nullopt;
  return OptionFault{"lease", "the lease is " + std::to_string(lease.count()) + " ms; allowed is 100 ms to 24 h"};
}

/// Everything that is wrong with an acquisition, found before anything is sent.
std::optional<LockError> errorOf(const LeaseKey& key, const std::string& owner, const TokenAcquireOptions& options,
                                 LeaseStore& store) {
  OptionFaults faults;
  for (const std::string& fault : faultsOf(key)) faults.push_back({"key", "the lock's name " + fault});
  if (const auto fault = faultOfCandidateName(owner)) faults.push_back({"owner", "the owner " + *fault});
  if (auto fault = faultOfLease(options.lease)) faults.push_back(*std::move(fault));
  if (options.poll && !LeaseRanges::heartbeat.holds(*options.poll)) {
    faults.push_back(
        {"poll", "the poll is " + std::to_string(options.poll->count()) + " ms; allowed is 10 ms to 24 h"});
  }
  if (options.waitFor && options.waitFor->count() < 0) faults.push_back({"waitFor", "the wait is negative"});
  for (const OptionFault& fault : payloadFaults(store, key, options.data, options.attributes)) {
    faults.push_back({fault.field, "the " + fault.field + ": " + fault.message});
  }
  if (faults.empty()) return std::nullopt;
  return misuse(std::move(faults));
}

/// Drives one TokenWrite within a budget.
std::optional<LockError> drive(LeaseStore& store, const LeaseKey& key, TokenWrite& write, milliseconds longest) {
  const auto budget = saturating::in<nanoseconds>(longest);
  const Instant began = readClock();
  SystemRandom random;
  nanoseconds pause = firstPause;
  for (auto next = TokenWrite::Next::write;;) {
    const Instant now = readClock();
    const nanoseconds left = saturating::difference(budget, elapsedForHolder(began, now));
    if (left <= nanoseconds{0}) return write.giveUp();
    const nanoseconds sure = write.sureFor(clockDomain(), now);
    const bool looks = next == TokenWrite::Next::write && sure <= nanoseconds{0};
    if (looks) next = write.unsure();
    const nanoseconds timeout = std::min<nanoseconds>(left, tokenCallTimeout);
    if (next == TokenWrite::Next::write) {
      WriteRequest request = write.nextWrite(now, wallClockMillisForDisplay());
      next = write.answered(writeAnswer(store, std::move(request), std::min(timeout, sure)));
    } else if (next == TokenWrite::Next::read) {
      next = write.readBack(readAnswer(store, key, timeout));
    }
    if (next == TokenWrite::Next::done) return std::nullopt;
    if (next == TokenWrite::Next::failed) return write.error();
    if (looks && next == TokenWrite::Next::write) continue;  // nothing was refused that has to be waited for
    const nanoseconds rest = std::max(budget - elapsedForHolder(began, readClock()), nanoseconds{0});
    const nanoseconds wait = std::min(jittered(random, pause), rest);
    std::this_thread::sleep_for(wait);  // lint-allow(sleep): a pause between two tries, nothing is waited for
    pause = std::min<nanoseconds>(2 * pause, longestPause);
  }
}

}  // namespace

LockTokens::LockTokens(std::shared_ptr<LeaseStore> store, Logger logger) : logger_{std::move(logger)} {
  if (!store) throw std::invalid_argument{"LockTokens: the store is missing"};
  store_ = std::make_shared<StoreOfProcess>(std::move(store));
}

LockResult<LockToken> LockTokens::acquire(const LeaseKey& key, const TokenAcquireOptions& options) {
  if (auto forked = inChild(*store_)) return *std::move(forked);
  const std::string name = options.owner.empty() ? hostNameAsCandidate() : options.owner;
  if (auto refused = errorOf(key, name, options, *store_)) return *std::move(refused);
  SystemRandom random;
  MachineOptions machine{key, newCandidate(name, random), LeaseTiming::from({.duration = options.lease}).value()};
  machine.data = options.data;
  machine.attributes = options.attributes;
  machine.poll = options.poll;
  machine.displayClock = []() noexcept { return wallClockMillisForDisplay(); };
  const auto won = std::make_shared<TokenAcquirer>(store_, machine, options.waitFor, logger_)->run();
  if (!won) return won.error();
  return LockTokenAccess::make({key, machine.holder, won->version, options.lease, won->term.token, clockDomain(),
                                won->term.anchor, won->acquiredAtMillis, nameOfStore(*store_)});
}

LockResult<LockToken> LockTokens::renew(const LockToken& token, const TokenRenewOptions& options) {
  if (auto forked = inChild(*store_)) return *std::move(forked);
  const milliseconds lease = options.lease.value_or(token.lease());
  if (auto fault = faultOfLease(lease)) return misuse({*std::move(fault)});
  if (const auto left = token.remaining(); left && left->count() == 0) return expiredError(token.key());
  SystemRandom random;
  TokenWrite write{LockTokenAccess::partsOf(token), TokenWrite::Kind::renew, lease, random, options.anyHistory};
  if (auto error = drive(*store_, token.key(), write, options.budget)) return *std::move(error);
  LockTokenParts parts = write.landed();
  parts.clockDomain = clockDomain();
  parts.store = nameOfStore(*store_);
  LockToken renewed = LockTokenAccess::make(std::move(parts));
  if (renewed.remaining() == nanoseconds{0}) return expiredError(token.key());  // the answer came too late
  return renewed;
}

LockResult<ReleaseResult> LockTokens::release(const LockToken& token, milliseconds budget) {
  if (auto forked = inChild(*store_)) return *std::move(forked);
  SystemRandom random;
  TokenWrite write{LockTokenAccess::partsOf(token), TokenWrite::Kind::release, token.lease(), random};
  if (auto error = drive(*store_, token.key(), write, budget)) return *std::move(error);
  return write.release();
}

LockResult<TokenView> LockTokens::check(const LockToken& token) {
  if (auto forked = inChild(*store_)) return *std::move(forked);
  const ReadOutcome found = readAnswer(*store_, token.key(), tokenCallTimeout);
  if (!found) return storeFailure(found.error());
  TokenView view;
  view.remaining = token.remaining();
  if (*found && !(*found)->released && !(*found)->vanished) view.holder = holderIn(**found);
  const TokenStanding standing = standingOf(LockTokenAccess::partsOf(token), *found);
  if (standing != TokenStanding::current) {
    view.why = powerless(LockTokenAccess::partsOf(token), standing, *found);
  } else if (view.remaining && view.remaining->count() == 0) {
    view.why = expiredError(token.key());
  } else if (!view.remaining && (*found)->inherited) {
    view.why = inheritedError(token.key());
  }
  view.active = !view.why;
  return view;
}

LockResult<bool> LockTokens::isActive(const LockToken& token) {
  const auto view = check(token);
  if (!view) return view.error();
  return view->active;
}

LockResult<LockToken> LockTokens::resume(const LeaseKey& key, const std::string& owner,
                                         const TokenRenewOptions& options) {
  if (auto forked = inChild(*store_)) return *std::move(forked);
  if (const auto faults = faultsOfStored(key); !faults.empty()) {
    return misuse({{"key", "the lock's name " + faults.front()}});
  }
  if (options.budget <= milliseconds{0}) return unsentError(key, "renewal");
  const Instant began = readClock();
  const ReadOutcome found = readAnswer(*store_, key, std::min<milliseconds>(options.budget, tokenCallTimeout));
  if (!found) return storeFailure(found.error());
  const std::string name = "lock " + toString(key);
  if (!*found || (*found)->released || (*found)->vanished) {
    return LockError{LockErrc::notHeld, name + " has no holder; acquire it again"};
  }
  const LeaseRecord& record = **found;
  if (record.holder != owner) {
    const HolderInfo holder = holderIn(record);
    return lostError(RevokeReason::lost, name + " " + holderText(holder) + ", not by " + shown(owner, mostOfHolder),
                     holder);
  }
  TokenRenewOptions rest = options;
  rest.budget -= std::chrono::ceil<milliseconds>(elapsedForHolder(began, readClock()));
  // It is not known here when that was written, so no clock may judge it: what renew() reads first decides.
  return renew(LockTokenAccess::make({key,
                                      owner,
                                      record.version,
                                      record.leaseDuration,
                                      record.token,
                                      {},
                                      {},
                                      record.acquiredAtMillis,
                                      nameOfStore(*store_)}),
               rest);
}

}  // namespace tenure
