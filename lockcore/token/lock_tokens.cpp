#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/store_checks.hpp>

#include "lock_token_parts.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "store_answer.hpp"
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

LockTokenError misuse(std::string message) { return {LockTokenTrouble::misuse, std::move(message)}; }

std::optional<LockTokenError> refusalOfLease(milliseconds lease) {
  if (lease >= minLeaseDuration && lease <= maxLeaseDuration) return std::nullopt;
  return misuse("the lease is " + std::to_string(lease.count()) + " ms; allowed is 100 ms to 24 h");
}

/// Everything that is wrong with an acquisition, found before anything is sent.
std::optional<LockTokenError> refusalOf(const LeaseKey& key, const std::string& owner,
                                        const TokenAcquireOptions& options, const LeaseStore& store) {
  std::vector<std::string> faults;
  for (const std::string& fault : faultsOf(key)) faults.push_back("the lock's name " + fault);
  if (const auto fault = faultOfCandidateName(owner)) faults.push_back("the owner " + *fault);
  if (const auto fault = refusalOfLease(options.lease)) faults.push_back(fault->message);
  if (options.waitFor && options.waitFor->count() < 0) faults.emplace_back("the wait is negative");
  for (const OptionFault& fault : store.faultsOfPayload(key, options.data, options.attributes)) {
    faults.push_back("the " + fault.key + ": " + fault.message);
  }
  if (faults.empty()) return std::nullopt;
  std::string all = faults.front();
  for (std::size_t i = 1; i < faults.size(); ++i) all += "; " + faults[i];
  return misuse(std::move(all));
}

/// Drives one TokenWrite within a budget.
std::optional<LockTokenError> drive(LeaseStore& store, const LeaseKey& key, TokenWrite& write, nanoseconds budget) {
  const Instant began = readClock();
  SystemRandom random;
  nanoseconds pause = firstPause;
  for (auto next = TokenWrite::Next::write;;) {
    const nanoseconds left = budget - elapsedForHolder(began, readClock());
    if (left <= nanoseconds{0}) return write.giveUp();
    const nanoseconds timeout = std::min<nanoseconds>(left, tokenCallTimeout);
    if (next == TokenWrite::Next::write) {
      next = write.answered(writeAnswer(store, write.nextWrite(readClock(), wallClockMillisForDisplay()), timeout));
    } else {
      next = write.readBack(readAnswer(store, key, timeout));
    }
    if (next == TokenWrite::Next::done) return std::nullopt;
    if (next == TokenWrite::Next::failed) return write.error();
    const nanoseconds rest = std::max(budget - elapsedForHolder(began, readClock()), nanoseconds{0});
    const nanoseconds wait = std::min(pause / 2 + uniform(random, pause / 2), rest);
    std::this_thread::sleep_for(wait);  // lint-allow(sleep): a pause between two tries, nothing is waited for
    pause = std::min<nanoseconds>(2 * pause, longestPause);
  }
}

}  // namespace

std::string_view toString(TokenRelease release) noexcept {
  switch (release) {
    case TokenRelease::released:
      return "released";
    case TokenRelease::notHeld:
      return "not_held";
    case TokenRelease::lost:
      return "lost";
  }
  return "invalid";
}

std::ostream& operator<<(std::ostream& out, TokenRelease release) { return out << toString(release); }

LockTokens::LockTokens(std::shared_ptr<LeaseStore> store, Logger logger)
    : store_{std::move(store)}, logger_{std::move(logger)} {
  if (!store_) throw std::invalid_argument{"LockTokens: the store is missing"};
}

LockTokenResult<LockToken> LockTokens::acquire(const LeaseKey& key, const TokenAcquireOptions& options) {
  const std::string name = options.owner.empty() ? hostNameAsCandidate() : options.owner;
  if (auto refused = refusalOf(key, name, options, *store_)) return *std::move(refused);
  SystemRandom random;
  MachineOptions machine{key, CandidateId::make(name, random).text(),
                         LeaseTiming::from({.duration = options.lease}).value()};
  machine.data = options.data;
  machine.attributes = options.attributes;
  machine.displayClock = []() noexcept { return wallClockMillisForDisplay(); };
  const auto won = std::make_shared<TokenAcquirer>(store_, machine, options.waitFor, logger_)->run();
  if (!won) return won.error();
  return LockTokenAccess::make({key, machine.holder, won->version, options.lease, won->term.token, clockDomain(),
                                won->term.anchor, won->acquiredAtMillis, store_->describe()});
}

LockTokenResult<LockToken> LockTokens::renew(const LockToken& token, const TokenRenewOptions& options) {
  const milliseconds lease = options.lease.value_or(token.lease());
  if (auto refused = refusalOfLease(lease)) return *std::move(refused);
  if (const auto left = token.remaining(); left && left->count() == 0) {
    return LockTokenError{
        LockTokenTrouble::expired,
        "the lease of lock " + toString(token.key()) + " is over, and an expired lock never revives; acquire it anew"};
  }
  SystemRandom random;
  TokenWrite write{LockTokenAccess::partsOf(token), TokenWrite::Kind::renew, lease, random};
  if (auto error = drive(*store_, token.key(), write, options.budget)) return *std::move(error);
  LockTokenParts parts = write.landed();
  parts.clockDomain = clockDomain();
  parts.store = store_->describe();
  return LockTokenAccess::make(std::move(parts));
}

LockTokenResult<TokenRelease> LockTokens::release(const LockToken& token, milliseconds budget) {
  SystemRandom random;
  TokenWrite write{LockTokenAccess::partsOf(token), TokenWrite::Kind::release, token.lease(), random};
  if (auto error = drive(*store_, token.key(), write, budget)) return *std::move(error);
  return write.release();
}

LockTokenResult<TokenView> LockTokens::check(const LockToken& token) {
  const ReadOutcome found = readAnswer(*store_, token.key(), tokenCallTimeout);
  if (!found) return storeTrouble(found.error());
  TokenView view;
  view.remaining = token.remaining();
  if (*found && !(*found)->released && !(*found)->vanished) view.holder = holderIn(**found);
  const TokenStanding standing = standingOf(LockTokenAccess::partsOf(token), *found);
  if (standing != TokenStanding::current) {
    view.why = powerless(LockTokenAccess::partsOf(token), standing, *found).trouble;
  } else if (view.remaining && view.remaining->count() == 0) {
    view.why = LockTokenTrouble::expired;
  }
  view.active = !view.why;
  return view;
}

LockTokenResult<bool> LockTokens::isActive(const LockToken& token) {
  const auto view = check(token);
  if (!view) return view.error();
  return view->active;
}

LockTokenResult<LockToken> LockTokens::resume(const LeaseKey& key, const std::string& owner,
                                              const TokenRenewOptions& options) {
  if (const auto faults = faultsOf(key); !faults.empty()) return misuse("the lock's name " + faults.front());
  const ReadOutcome found = readAnswer(*store_, key, std::min<milliseconds>(options.budget, tokenCallTimeout));
  if (!found) return storeTrouble(found.error());
  const std::string name = "lock " + toString(key);
  if (!*found || (*found)->released || (*found)->vanished) {
    return LockTokenError{LockTokenTrouble::released, "nobody holds " + name + "; acquire it anew"};
  }
  const LeaseRecord& record = **found;
  if (record.holder != owner) {
    const HolderInfo holder = holderIn(record);
    return LockTokenError{LockTokenTrouble::lost, name + " " + holderText(holder) + ", not by " + owner, holder};
  }
  // It is not known here when that was written, so no clock may judge it: the store's condition decides.
  return renew(LockTokenAccess::make({key,
                                      owner,
                                      record.version,
                                      record.leaseDuration,
                                      record.token,
                                      {},
                                      {},
                                      record.acquiredAtMillis,
                                      store_->describe()}),
               options);
}

}  // namespace tenure
