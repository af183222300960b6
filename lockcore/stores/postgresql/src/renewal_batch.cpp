#include "renewal_batch.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "calls.hpp"

namespace tenure::postgresql_store {
namespace {

using std::chrono::nanoseconds;

/// The columns of renewLeases.
enum RenewedColumn : std::size_t { renewedName, renewedSort, renewedToken, renewedAsked, renewedColumnCount };

/// What was committed.
using Applieds = std::map<LeaseKey, WriteOutcome>;
using Leases = std::map<LeaseKey, StoredLease>;

Applieds renewedIn(const StoreCore& core, const JobReply& reply) {
  Applieds renewed;
  if (reply.rows.empty()) return renewed;
  for (const Row& row : reply.rows.front()) {
    if (row.size() < renewedColumnCount) continue;
    const auto token = tokenFrom(row[renewedToken]);
    const LeaseKey key{row[renewedName].value_or(""), row[renewedSort].value_or("")};
    if (token) {
      renewed.emplace(key, Applied{*token, row[renewedAsked] == "t"});
    } else {
      renewed.emplace(key, Unknown{errorOfToken(core.call("renewing lease " + toString(key)))});
    }
  }
  return renewed;
}

/// Empty: it was not answered.
std::optional<Leases> foundIn(const StoreCore& core, const JobReply& reply) {
  if (reply.rows.empty()) return std::nullopt;
  Leases leases;
  for (const Row& row : reply.rows.front()) {
    auto lease = leaseFrom(core.place(), row);
    if (lease.has_value()) leases.emplace(lease->key, std::move(*lease));
  }
  return leases;
}

std::optional<StoredLease> rowOf(const LeaseKey& key, const std::optional<Leases>& found) {
  if (!found) return std::nullopt;
  const auto stored = found->find(key);
  return stored != found->end() ? stored->second : StoredLease{};
}

}  // namespace

std::vector<std::optional<WriteOutcome>> outcomesOf(const StoreCore& core,
                                                    const std::vector<const WriteRequest*>& requests,
                                                    const JobReply& reply) {
  const auto renewed = renewedIn(core, reply);
  std::vector<std::optional<WriteOutcome>> outcomes;
  outcomes.reserve(requests.size());
  for (const WriteRequest* request : requests) {
    const Verdict verdict = verdictOnWrite(core.call("renewing lease " + toString(request->key)), reply);
    const auto applied = renewed.find(request->key);
    // A row that the statement did not return was not changed, whatever became of the transaction.
    const bool touched = reply.rows.empty() || applied != renewed.end();
    if (verdict.fate == Fate::notApplied) {
      outcomes.emplace_back(Rejected{verdict.error});
    } else if (verdict.fate == Fate::unknown && touched) {
      outcomes.emplace_back(Unknown{verdict.error});
    } else if (verdict.fate == Fate::committed && applied != renewed.end()) {
      outcomes.emplace_back(applied->second);
    } else {
      outcomes.emplace_back();
    }
  }
  return outcomes;
}

RenewalBatcher::~RenewalBatcher() {
  for (Waiting& waiting : waiting_) {
    const Call call = core_->call("renewing lease " + toString(waiting.request.key));
    waiting.handler(Rejected{errorOf(call, JobReply::Cause::transient, "the store was destroyed")});
  }
}

void RenewalBatcher::add(WriteRequest request, const Deadline& deadline, WriteHandler handler) {
  Batch batch;
  bool arms = false;
  {
    const std::lock_guard lock{mutex_};
    waiting_.push_back({std::move(request), deadline, std::move(handler)});
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
  const auto leftOf = [](const Waiting& waiting) { return std::max(waiting.deadline.left(), nanoseconds{0}); };
  Batch batch;
  std::deque<Waiting> rest;
  const auto first = leftOf(waiting_.front());
  std::set<LeaseKey> leases;
  for (Waiting& waiting : waiting_) {
    const auto left = leftOf(waiting);
    const bool fits = batch.empty() || (left * 2 >= first && first * 2 >= left && batch.size() < mostTogether);
    // Of two renewals of one lease, the second has to see what the first has written.
    if (fits && leases.insert(waiting.request.key).second) {
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
  if (batch.size() == 1) return sendAlone(std::move(batch.front()));
  const auto shared = std::make_shared<Batch>(std::move(batch));
  const auto shortest = std::min_element(shared->begin(), shared->end(), [](const Waiting& a, const Waiting& b) {
    return a.deadline.left() < b.deadline.left();
  });
  std::vector<const WriteRequest*> requests;
  for (const Waiting& waiting : *shared) requests.push_back(&waiting.request);
  StoreCore::run(core_, Jobs::renewals(requests), shortest->deadline,
                 [self = shared_from_this(), shared, requests, deadline = shortest->deadline](const JobReply& reply) {
                   self->answered();
                   auto outcomes = outcomesOf(*self->core_, requests, reply);
                   Batch refused;
                   for (std::size_t i = 0; i < outcomes.size(); ++i) {
                     if (!outcomes[i]) refused.push_back(std::move((*shared)[i]));
                   }
                   if (!refused.empty()) judgeByRows(self->core_, std::move(refused), deadline);
                   for (std::size_t i = 0; i < outcomes.size(); ++i) {
                     if (outcomes[i]) (*shared)[i].handler(std::move(*outcomes[i]));
                   }
                 });
}

/// The statement for one costs the server half as much.
void RenewalBatcher::sendAlone(Waiting one) {
  writeLease(core_, std::move(one.request), one.deadline,
             [self = shared_from_this(), handler = std::move(one.handler)](WriteOutcome outcome) {
               self->answered();
               handler(std::move(outcome));
             });
}

/// The rows say why renewals were refused.
void RenewalBatcher::judgeByRows(const CorePtr& core, Batch refused, const Deadline& deadline) {
  std::vector<LeaseKey> keys;
  for (const Waiting& waiting : refused) keys.push_back(waiting.request.key);
  StoreCore::run(core, Jobs::read(keys), deadline,
                 [core, refused = std::make_shared<Batch>(std::move(refused))](const JobReply& reply) {
                   const auto found = foundIn(*core, reply);
                   for (Waiting& one : *refused) {
                     const Call call = core->call("renewing lease " + toString(one.request.key));
                     one.handler(outcomeOfRefused(call, expectationOf(one.request), rowOf(one.request.key, found)));
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
