// The calls that wait for a worker, and which of them comes next.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <tenure/lockcore/store_error.hpp>

#include "busy_wait.hpp"
#include "lockcore/port/lease_store.hpp"
#include "session.hpp"
#include "write_batch.hpp"

namespace tenure::sqlite_store {

/// One call. Exactly one of the functions is called, once, on the worker's thread (or in stop(), if that thread could
/// never be started).
struct Job {
  Deadline deadline;
  std::function<void(Session&, const Deadline&)> run;
  std::function<void(StoreError)> refuse;  ///< its time ran out in the queue, or the store is gone
  /// Not null: a renewal or a release, which may be done together with others that wait. Then `answer` is called
  /// instead of `run`.
  std::shared_ptr<const WriteRequest> batched{};
  std::function<void(Session&, WriteOutcome)> answer{};
};

/// Renewals keep a term alive, and thousands of acquisitions may wait. So, apart from other renewals, a renewal waits
/// for at most one other call and for what follows that call's answer. The other calls do not starve: one of them comes
/// after each batch of renewals. Releases that wait one behind the other count as one call: of thousands of candidates
/// that stop together each is to be released before its lease is over. Within each of the two kinds it is first come,
/// first served. Not thread-safe.
class JobQueue {
 public:
  void push(Job job) { (isRenewal(job) ? renewals_ : others_).push_back(std::move(job)); }
  [[nodiscard]] bool empty() const noexcept { return renewals_.empty() && others_.empty(); }

  /// What is to be done next: as many renewals, or releases, as one transaction takes, or one other call. The
  /// queue must not be empty.
  [[nodiscard]] std::vector<Job> take() {
    const bool renews = !renewals_.empty() && (others_.empty() || !renewedLast_);
    renewedLast_ = renews;
    std::deque<Job>& from = renews ? renewals_ : others_;
    std::vector<Job> jobs;
    do {
      jobs.push_back(std::move(from.front()));
      from.pop_front();
    } while (jobs.back().batched && !from.empty() && from.front().batched && jobs.size() < maxWritesTogether);
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
  [[nodiscard]] static bool isRenewal(const Job& job) noexcept {
    return job.batched && job.batched->purpose == WriteRequest::Purpose::renew;
  }

  std::deque<Job> renewals_{};
  std::deque<Job> others_{};
  bool renewedLast_{false};
};

}  // namespace tenure::sqlite_store
