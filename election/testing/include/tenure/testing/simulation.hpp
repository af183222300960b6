// Elections over a store in virtual time, under faults that a seed chooses.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tenure/lockcore/export.hpp>

namespace tenure {
class LeaseStore;
}

namespace tenure::test {

struct SimulationOptions {
  /// Chooses what happens and when. A store that answers the same requests in the same way makes the same run again.
  std::uint64_t seed{1};
  unsigned candidates{3};  ///< processes that compete, 1..50
  /// How long there are faults, in leases of virtual time, 1..1'000'000, and 10 years at most.
  unsigned leases{200};
  std::chrono::milliseconds lease{3000};  ///< as LeaseOptions::duration
  std::string leaseName{"simulation"};    ///< no other process may use this lease meanwhile
  /// How long the store may really take for one call, 1 ms .. 1 h. It gets nine tenths of that as
  /// CallOptions::timeout.
  std::chrono::milliseconds patience{10'000};
};

struct SimulationReport {
  /// The violation, with its virtual time; the run ended there. Empty: there was none.
  std::string violation{};
  std::vector<std::string> lastEvents{};  ///< the last 40 before that, in order
  std::uint64_t terms{0};                 ///< as often as onElected was called
  std::uint64_t requests{0};              ///< calls of the store
  std::uint64_t lost{0};                  ///< requests or answers that did not arrive
  std::uint64_t late{0};                  ///< writes, or copies of them, that were carried out after a time-out
  std::uint64_t freezes{0}, crashes{0}, cuts{0};
  /// From the end of the faults until there was a leader.
  std::chrono::milliseconds healedIn{0};
};

/// Whole electors compete over the store; their clocks are moved by the simulation, and differ in rate. Between them
/// and the store, requests and answers are slow, lost, and carried out long after the caller gave up. Processes freeze,
/// crash, step down, stop, are replaced, and are cut off from the store. Then the faults end.
///
/// Violations are:
/// - two terms that lead or are valid at once, each judged by the clock of its process;
/// - a term whose fencing token is not higher than every earlier one;
/// - an answer that a register with conditional writes could not give to requests that come one at a time: an old
///   record, another one than was written, or a write that was carried out although another version was stored;
/// - there is no leader 8 leases after the last fault, or the leader changes after that;
/// - a call that the store does not answer within `patience`, answers inside the call or twice, or that throws.
///
/// `open` makes the store object of a new process; it may return the same one each time. The store may be a real one
/// with its own threads and server: time stops until it has answered. Its watches and death notices are not
/// used.
///
/// Throws std::invalid_argument for options out of range, and where `open` gives no store. Runs on the caller's thread.
/// With the store in memory, tens of thousands of leases of virtual time take a minute.
[[nodiscard]] TENURE_API SimulationReport simulate(const std::function<std::shared_ptr<LeaseStore>()>& open,
                                                   const SimulationOptions& options = {});

}  // namespace tenure::test
