// What a leader does in the chaos tests. Both jobs are careless on purpose: they look at the clock, wait, and then
// write without looking again, as most jobs do, and write once more after they were told to stop.
#pragma once

#include <chrono>
#include <string>

#include <tenure/election/leadership.hpp>

#include "event_log.hpp"

namespace tenure::chaos {

struct JobSettings {
  std::string directory;  ///< of the ledgers
  std::string name;       ///< of the candidate
  /// Between looking and writing: the job waits a random time up to this.
  std::chrono::milliseconds step{20};
};

class Job {
 public:
  virtual ~Job() = default;
  /// Returns when the term is over.
  virtual void run(const Leadership& term, const EventLog& events) = 0;
};

/// Appends rows (token, holder) to the table `ledger` in fenced.db through the fence, and to the one in unfenced.db
/// without it.
[[nodiscard]] std::unique_ptr<Job> makeRowJob(const JobSettings& settings);

/// Jepsen's workload for etcd's lock: read a set, wait, write it back with one more element. The same in fenced.db
/// (read and written through the fence) and in unfenced.db. Each acknowledged element is told as an event.
[[nodiscard]] std::unique_ptr<Job> makeSetJob(const JobSettings& settings);

}  // namespace tenure::chaos
