// The stage of the elector tests: one store, one manual clock, and callbacks that run when the test says so.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenure/election/leader_elector.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "support/eventually.hpp"
#include "support/fault_store.hpp"

namespace tenure::test {

inline constexpr Eventually eventually{std::chrono::seconds{30}};

/// Records the calls of an elector's listener, one line for each call. Thread-safe.
class Record {
 public:
  /// Lines: `elected 1`, `revoked 1 stopped`, `in doubt`, `renewed 1`, `renewed 1 after doubt`, `leader a 1`,
  /// `nobody leads`. The listener must not outlive this.
  [[nodiscard]] Listener terms();    ///< onElected, onRevoked
  [[nodiscard]] Listener notices();  ///< the other three

  void add(std::string line);
  [[nodiscard]] std::vector<std::string> lines() const;
  [[nodiscard]] int count(const std::string& prefix) const;
  /// Of the last onElected and onRevoked; there must have been one.
  [[nodiscard]] Leadership term() const;
  [[nodiscard]] TermEnd why() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_{};
  std::optional<Leadership> term_{};
  std::optional<TermEnd> why_{};
};

class Stage;

/// Destroys an elector while its stage continues to run, because the destructor waits for both the scheduler and the
/// executor.
struct PumpedDelete {
  Stage* stage;
  void operator()(LeaderElector* elector) const;
};

struct Candidate {
  std::shared_ptr<FaultStore> store;
  std::shared_ptr<Record> record;
  std::unique_ptr<LeaderElector, PumpedDelete> elector;

  LeaderElector* operator->() const { return elector.get(); }
};

using Adjust = std::function<void(GroupOptions&)>;

/// Lease 3 s, heartbeat 1 s, guard 4 ms, stop margin 300 ms: it leads for 2,696 ms and is valid for 2,996 ms, counted
/// from the sending of the last successful write.
class Stage : public ManualRuntime {
 public:
  Stage();
  ~Stage();

  /// A candidate with its own store faults, a Record of its terms, and callbacks on the stage's executor. Not started.
  [[nodiscard]] Candidate candidate(const std::string& name, const Adjust& adjust = {});
  /// The same, started and leading.
  [[nodiscard]] Candidate leader(const std::string& name, const Adjust& adjust = {});
  /// The same with a listener of the test.
  [[nodiscard]] Candidate candidateWith(const std::string& name, Listener listener, const Adjust& adjust = {});
  /// The same with callbacks on the library's own threads.
  [[nodiscard]] Candidate threaded(const std::string& name, Listener listener, const Adjust& adjust = {});
  [[nodiscard]] Group group(const std::string& name, std::shared_ptr<LeaseStore> store, const Adjust& adjust = {});
  [[nodiscard]] Runtime runtime();

  ReleaseResult stop(const Candidate& candidate, std::chrono::nanoseconds perRound = {});

  /// The record in the real store, to which no fault applies.
  [[nodiscard]] std::optional<LeaseRecord> stored();
  /// A foreign writer takes the lease, whatever is there.
  void usurp(const std::string& holder);

  [[nodiscard]] bool logged(const std::string& part) const;
  /// What was logged as an event, in logfmt, in order.
  [[nodiscard]] std::vector<std::string> events() const;

  const std::shared_ptr<LeaseStore> memory;
  const LeaseKey key{"stage"};

 private:
  Candidate make(const std::string& name, Listener listener, const Adjust& adjust, Runtime where);

  struct LogLines {
    std::mutex mutex;
    std::vector<std::string> lines{};
    std::vector<std::string> events{};
  };
  std::shared_ptr<LogLines> log_{std::make_shared<LogLines>()};
  std::uint64_t seed_{0};
};

}  // namespace tenure::test
