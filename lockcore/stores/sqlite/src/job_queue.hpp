// The calls that wait for a worker, and which of them comes next.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "busy_wait.hpp"
#include "renewal_batch.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

/// One call. Exactly one of the functions is called, once, on the worker's thread (or in stop(), if that thread could
/// never be started).
struct Job {
  Deadline deadline;
  std::function<void(Session&, const Deadline&)> run;
  std::function<void(StoreError)> refuse;  ///< its time ran out in the queue, or the store is gone
  /// Not null: a renewal, which may be done together with other waiting renewals. Then `answer` is called instead of
  /// `run`.
  std::shared_ptr<const WriteRequest> renewal{};
  std::function<void(Session&, WriteOutcome)> answer{};
};

/// Renewals keep a term alive, and thousands of acquisitions may wait. So, apart from other renewals, a renewal waits
/// for at most one other call and for what follows that call's answer. The other calls do not starve: one of them comes
/// after each batch of renewals. Within each of the two kinds it is first come, first served. Not thread-safe.
class JobQueue {
 public:
  void push(Job job) { (job.renewal ? renewals_ : others_).push_back(std::move(job)); }
  [[nodiscard]] bool empty() const noexcept { return renewals_.empty() && others_.empty(); }

  /// What is to be done next: as many renewals as one transaction takes, or one other call. The queue must not be
  /// empty.
  [[nodiscard]] std::vector<Job> take() {
    const bool renews = !renewals_.empty() && (others_.empty() || !renewedLast_);
    renewedLast_ = renews;
    std::deque<Job>& from = renews ? renewals_ : others_;
    std::vector<Job> jobs;
    do {
      jobs.push_back(std::move(from.front()));
      from.pop_front();
    } while (renews && !from.empty() && jobs.size() < maxRenewalsTogether);
    return jobs;
  }

  [[nodiscard]] std::vector<Job> takeAll() {
    std::vector<Job> jobs;
    while (!empty()) {
      for (Job& job : take()) jobs.push_back(std::move(job));
    }
    return jobs;
  }

 private:
  std::deque<Job> renewals_{};
  std::deque<Job> others_{};
  bool renewedLast_{false};
};

}  // namespace tenure::sqlite_store
