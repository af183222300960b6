// What a leader does in the chaos tests. Both jobs are careless on purpose, as most jobs are: they check whether they
// lead, wait, and then write without checking again. They write once more after they were told to stop.
#pragma once

#include <chrono>
#include <string>

#include <tenure/election/leadership.hpp>

#include "event_log.hpp"

namespace tenure::chaos {

struct JobSettings {
  std::string directory;  ///< where the ledgers are
  std::string name;       ///< of the candidate
  /// The job waits for a random time up to this between checking and writing.
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

/// Jepsen's workload for etcd's lock: read a set, wait, and write it back with one more element. It does the same in
/// fenced.db (read and written through the fence) and in unfenced.db. Each acknowledged element is reported as an
/// event.
[[nodiscard]] std::unique_ptr<Job> makeSetJob(const JobSettings& settings);

}  // namespace tenure::chaos
