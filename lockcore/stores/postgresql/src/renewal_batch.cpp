#include "renewal_batch.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

using std::chrono::nanoseconds;

/// The columns of updateTerms.
enum RenewedColumn : std::size_t { renewedName, renewedSort, renewedToken, renewedCounter, renewedColumnCount };

std::map<LeaseKey, const Row*> rowsIn(const JobReply& reply) {
  std::map<LeaseKey, const Row*> rows;
  if (reply.rows.empty()) return rows;
  for (const Row& row : reply.rows.front()) {
    if (row.size() < renewedColumnCount) continue;
    rows.emplace(LeaseKey{row[renewedName].value_or(""), row[renewedSort].value_or("")}, &row);
  }
  return rows;
}

using Leases = std::map<LeaseKey, std::shared_ptr<const RowState>>;

Leases leasesIn(const StoreCore& core, const JobReply& reply) {
  Leases leases;
  if (reply.rows.empty()) return leases;
  for (const Row& row : reply.rows.front()) {
    auto lease = leaseFrom(core.place(), row);
    if (lease.has_error()) continue;
    auto read = std::make_shared<const RowState>(std::move(*lease));
    leases.emplace(read->key, read);
  }
  return leases;
}

/// The row that was read behind the renewal is as it was seen, so it was not when the renewal met it, or somebody had
/// locked it.
stored::SwapOutcome outcomeOfMissed(const StoreCore& core, const Swap& swap, const Leases::mapped_type& now) {
  if (!isAsSeen(swap.change, now->row)) return stored::Differs{now};
  const Call call = core.call(swap.call.text());
  return Rejected{{ErrorClass::transient, call.store + ": " + call.doing +
                                              ": another transaction was at work on the lease's row. If that happens "
                                              "often, look for a transaction that holds it for long (pg_locks)"}};
}

}  // namespace

std::vector<std::optional<stored::SwapOutcome>> outcomesOf(const StoreCore& core, const std::vector<SwapPtr>& batch,
                                                           const JobReply& reply) {
  const auto renewed = rowsIn(reply);
  std::vector<std::optional<stored::SwapOutcome>> outcomes;
  outcomes.reserve(batch.size());
  for (const SwapPtr& swap : batch) {
    const Verdict verdict = verdictOnWrite(core.call(swap->call.text()), reply);
    const auto row = renewed.find(swap->call.key);
    // A row that the statement did not return was not changed, whatever became of the transaction.
    const bool touched = reply.rows.empty() || row != renewed.end();
    if (verdict.fate == Fate::notApplied) {
      outcomes.emplace_back(Rejected{verdict.error});
    } else if (verdict.fate == Fate::unknown && touched) {
      outcomes.emplace_back(Unknown{verdict.error});
    } else if (row != renewed.end()) {
      outcomes.emplace_back(outcomeOfRow(core, *swap, (*row->second)[renewedToken], (*row->second)[renewedCounter]));
    } else {
      outcomes.emplace_back();
    }
  }
  return outcomes;
}

void RenewalBatcher::close() {
  std::deque<SwapPtr> waiting;
  {
    const std::lock_guard lock{mutex_};
    waiting.swap(waiting_);
  }
  for (const SwapPtr& swap : waiting) {
    swap->handler(
        Rejected{errorOf(core_->call(swap->call.text()), JobReply::Cause::transient, "the store was destroyed")});
  }
}

void RenewalBatcher::add(SwapPtr swap) {
  Batch batch;
  bool arms = false;
  {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(swap));
    if (underWay_ == 0 && !pausing_) {
      batch = next();
    } else {
      arms = !std::exchange(alarm_, true);
    }
  }
  if (!batch.empty()) send(std::move(batch));
  if (arms) sendIn(longestWait, alarm_);
}

/// With the lock. The first one that waits, and those that have nearly as much time: a batch ends when the first of
/// them has to be answered.
RenewalBatcher::Batch RenewalBatcher::next() {
  const auto leftOf = [](const SwapPtr& swap) { return std::max(swap->call.deadline.left(), nanoseconds{0}); };
  Batch batch;
  std::deque<SwapPtr> rest;
  const auto first = leftOf(waiting_.front());
  std::set<LeaseKey> leases;
  for (SwapPtr& waiting : waiting_) {
    const auto left = leftOf(waiting);
    const bool fits = batch.empty() || (left * 2 >= first && first * 2 >= left && batch.size() < mostTogether);
    // Of two renewals of one lease, the second has to see what the first has written.
    if (fits && leases.insert(waiting->call.key).second) {
      batch.push_back(std::move(waiting));
    } else {
      rest.push_back(std::move(waiting));
    }
  }
  waiting_ = std::move(rest);
  ++underWay_;
  lastStart_ = core_->scheduler()->now();
  return batch;
}

void RenewalBatcher::send(Batch batch) {
  if (batch.size() == 1) return sendAlone(batch.front());
  const auto shortest = std::min_element(batch.begin(), batch.end(), [](const SwapPtr& a, const SwapPtr& b) {
    return a->call.deadline.left() < b->call.deadline.left();
  });
  std::vector<const RowChange*> changes;
  for (const SwapPtr& swap : batch) changes.push_back(&swap->change);
  const Deadline deadline = (*shortest)->call.deadline;
  StoreCore::run(core_, Jobs::renewals(changes), deadline,
                 [self = shared_from_this(), batch = std::move(batch), deadline](const JobReply& reply) {
                   self->answered();
                   auto outcomes = outcomesOf(*self->core_, batch, reply);
                   Batch refused;
                   for (std::size_t i = 0; i < outcomes.size(); ++i) {
                     if (!outcomes[i]) refused.push_back(batch[i]);
                   }
                   if (!refused.empty()) judgeByRows(self->core_, std::move(refused), deadline);
                   for (std::size_t i = 0; i < outcomes.size(); ++i) {
                     if (outcomes[i]) batch[i]->handler(std::move(*outcomes[i]));
                   }
                 });
}

/// The statement for one costs the server half as much.
void RenewalBatcher::sendAlone(const SwapPtr& swap) {
  auto alone = std::make_shared<Swap>(*swap);
  alone->handler = [self = shared_from_this(), swap](stored::SwapOutcome outcome) {
    self->answered();
    swap->handler(std::move(outcome));
  };
  perform(core_, alone);
}

/// The rows say why renewals were not carried out: one look for all, also where a cut has left many in doubt.
void RenewalBatcher::judgeByRows(const CorePtr& core, Batch refused, const Deadline& deadline) {
  std::vector<LeaseKey> keys;
  for (const SwapPtr& swap : refused) keys.push_back(swap->call.key);
  StoreCore::run(core, Jobs::read(keys), deadline, [core, refused = std::move(refused)](const JobReply& reply) {
    const auto found = leasesIn(*core, reply);
    for (const SwapPtr& swap : refused) {
      if (auto fault = faultOfRead(core->call(swap->call.text()), reply)) {
        swap->handler(Rejected{std::move(*fault)});
      } else {
        const auto row = found.find(swap->call.key);
        swap->handler(row == found.end() ? stored::Differs{} : outcomeOfMissed(*core, *swap, row->second));
      }
    }
  });
}

/// What waits follows at once, or when the pace allows it.
void RenewalBatcher::answered() {
  Batch batch;
  nanoseconds pause{0};
  {
    const std::lock_guard lock{mutex_};
    --underWay_;
    if (underWay_ > 0 || pausing_ || waiting_.empty()) return;
    pause = pace - elapsedForChallenger(lastStart_, core_->scheduler()->now());
    if (pause <= nanoseconds{0}) {
      batch = next();
    } else {
      pausing_ = true;
    }
  }
  if (!batch.empty()) return send(std::move(batch));
  sendIn(pause, pausing_);
}

/// Sends all that waits after `delay`, and clears `flag`, which is a member.
void RenewalBatcher::sendIn(nanoseconds delay, bool& flag) {
  // A timer keeps nothing alive. Where it would be missed, the destructor answers.
  core_->scheduler()->post([weak = weak_from_this(), delay, &flag] {
    const auto here = weak.lock();
    if (!here) return;
    here->core_->scheduler()->schedule(delay, [weak, &flag] {
      if (const auto self = weak.lock()) self->sendWaiting(flag);
    });
  });
}

void RenewalBatcher::sendWaiting(bool& flag) {
  std::vector<Batch> batches;
  {
    const std::lock_guard lock{mutex_};
    flag = false;
    while (!waiting_.empty()) batches.push_back(next());
  }
  for (Batch& batch : batches) send(std::move(batch));
}

}  // namespace tenure::postgresql_store
