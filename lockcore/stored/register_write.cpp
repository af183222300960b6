#include "register_write.hpp"

#include <utility>

namespace tenure::stored {
namespace {

using WritePtr = std::shared_ptr<RegisterWrite>;

/// How often one call meets a state that was changed since it was read. Each time another process has written.
constexpr int mostTries = 8;

void decideFrom(const WritePtr& write, const LoadedLease& seen, int tries);

bool isCorrupt(const WriteOutcome& outcome) {
  const auto* rejected = std::get_if<Rejected>(&outcome);
  return rejected != nullptr && rejected->error.errorClass == ErrorClass::corrupt;
}

void loadAndDecide(const WritePtr& write, int tries) {
  write->core->leases->load(write->call, [write, tries](StoreResult<LoadedLease> loaded) {
    if (loaded.has_value()) return decideFrom(write, *loaded, tries);
    if (write->maybeApplied) return write->handler(Unknown{loaded.error()});
    write->handler(Rejected{loaded.error()});
  });
}

void differs(const WritePtr& write, const Differs& found, int tries) {
  write->maybeApplied = write->maybeApplied || found.maybeApplied;
  if (!found.now) return loadAndDecide(write, tries + 1);
  decideFrom(write, found.now, tries + 1);
}

void swapped(const WritePtr& write, const Change& change, Swapped done, int tries) {
  if (change.isFirst) return decideFrom(write, done.now, tries + 1);
  const LeaseKey& key = write->call.key;
  const auto known = write->core->known.find(key);
  const bool holds = write->call.own || (known && known->own && isSameTerm(*known->lease, *done.now));
  if (holds && isHeld(*done.now)) {
    write->core->known.keep(key, {std::move(done.now), true});
  } else if (isWorthKeeping(*write->core, *done.now)) {
    write->core->known.keep(key, {std::move(done.now), false});
  } else {
    write->core->known.forget(key);
  }
  write->handler(change.applied);
}

void answered(const WritePtr& write, const Change& change, SwapOutcome outcome, int tries) {
  if (auto* done = std::get_if<Swapped>(&outcome)) return swapped(write, change, std::move(*done), tries);
  if (const auto* found = std::get_if<Differs>(&outcome)) return differs(write, *found, tries);
  if (auto* rejected = std::get_if<Rejected>(&outcome)) return write->handler(std::move(*rejected));
  // The counter alone was to be written, and what was asked for never left this process.
  auto& unknown = std::get<Unknown>(outcome);
  if (change.isFirst) return write->handler(Rejected{std::move(unknown.error)});
  write->handler(std::move(unknown));
}

void swap(const WritePtr& write, const LoadedLease& seen, Change change, int tries) {
  auto sent = std::make_shared<const Change>(change);
  write->core->leases->swap(write->call, seen, std::move(change),
                            [write, sent = std::move(sent), tries](SwapOutcome outcome) {
                              answered(write, *sent, std::move(outcome), tries);
                            });
}

void decideFrom(const WritePtr& write, const LoadedLease& seen, int tries) {
  Decision decision = write->decide(*seen);
  auto* change = std::get_if<Change>(&decision);
  if (change != nullptr && tries >= mostTries) {
    // What is expected is still so, which proves that no copy was carried out.
    return write->handler(Rejected{{ErrorClass::transient, write->core->leases->where() + ": " + write->call.text() +
                                                               ": others keep changing it; it is tried again"}});
  }
  if (change != nullptr) return swap(write, seen, std::move(*change), tries);
  auto& outcome = std::get<WriteOutcome>(decision);
  if (write->call.own) write->core->known.forget(write->call.key);
  // Only a record that is understood tells whether a copy was carried out.
  if (write->maybeApplied && isCorrupt(outcome)) return write->handler(Unknown{std::get<Rejected>(outcome).error});
  write->handler(std::move(outcome));
}

}  // namespace

RegisterCore::RegisterCore(RegisterParts& parts)
    : AnswersCalls{std::move(parts.scheduler)},
      leases{std::move(parts.leases)},
      extras{std::move(parts.extras)},
      hints{parts.hints ? std::make_shared<HintWatcher>(std::move(parts.hints), scheduler, std::move(parts.logger),
                                                        leases->where())
                        : nullptr} {}

bool isWorthKeeping(const RegisterCore& core, const StoredLease& lease) {
  constexpr std::size_t most = std::size_t{16} << 10U;  // so that all that are kept are bounded
  return core.extras->keepsReads() && lease.record.has_value() &&
         (!*lease.record || (*lease.record)->record.data.size() <= most);
}

void perform(const std::shared_ptr<RegisterWrite>& write) {
  const auto known = write->core->known.find(write->call.key);
  if (!known) return loadAndDecide(write, 0);
  // What was known may be out of date, so it decides nothing but what to try.
  Decision decision = write->decide(*known->lease);
  auto* change = std::get_if<Change>(&decision);
  if (change == nullptr) return loadAndDecide(write, 0);
  swap(write, known->lease, std::move(*change), 0);
}

}  // namespace tenure::stored
