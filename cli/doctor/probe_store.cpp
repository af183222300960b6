#include <exception>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>

#include "cli/group/store_calls.hpp"
#include "cli/text/lease_view.hpp"
#include "config/src/store_types.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "probe.hpp"

namespace tenure::cli::doctor {
namespace {

using std::chrono::nanoseconds;

/// Calls `once` until one of the limits is reached. It gives the error of a call that failed.
template <class Call>
Latencies measured(const ProbeOptions& options, const Call& once) {
  Latencies latencies;
  const Instant begun = readClock();
  for (std::size_t call = 0; call < options.calls; ++call) {
    const Instant sent = readClock();
    if (call > 0 && elapsedForHolder(begun, sent) > options.time) break;
    const std::optional<StoreError> error = once();
    if (!error) {
      latencies.answered.push_back(elapsedForHolder(sent, readClock()));
    } else {
      ++latencies.failed;
      latencies.lastError = error->message;
    }
  }
  return latencies;
}

std::optional<StoreError> errorOf(const WriteOutcome& outcome) {
  if (std::holds_alternative<Applied>(outcome)) return std::nullopt;
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return rejected->error;
  if (const auto* unknown = std::get_if<Unknown>(&outcome)) return unknown->error;
  return StoreError{ErrorClass::transient, std::string{"another doctor has the lease "} + doctorLease +
                                               "; run this one again when that one is done"};
}

/// Somebody who holds the lease `tenure-doctor` for a moment, as a leader holds the group's.
class ProbeLease {
 public:
  ProbeLease(LeaseStore& store, std::chrono::milliseconds lease) : store_{store} {
    record_.holder = newCandidate(doctorLease, random_);
    record_.leaseDuration = lease;
  }

  /// Also from a doctor that was killed: nobody leads by its lease.
  std::optional<StoreError> acquire() {
    ReadOutcome found = readNow(store_, key_);
    if (!found) return found.error();
    if (isHeld(*found) && nameOf((*found)->holder) != doctorLease) {
      return StoreError{ErrorClass::misconfigured,
                        std::string{"the lease "} + doctorLease + " is in use by " + personOf((*found)->holder) +
                            "; give it another name, or let tenure lock prune remove it if it is dead"};
    }
    if (*found) expected_ = {(*found)->version};
    return write(WriteRequest::Purpose::acquire);
  }
  std::optional<StoreError> renew() { return write(WriteRequest::Purpose::renew); }
  std::optional<StoreError> remove() { return write(WriteRequest::Purpose::release); }
  [[nodiscard]] bool hasCollided() const noexcept { return collided_; }

 private:
  std::optional<StoreError> write(WriteRequest::Purpose purpose) {
    WriteRequest request{.key = key_, .purpose = purpose, .expected = expected_, .record = record_};
    request.record.version = RecordVersion{uuid4(random_)};
    request.record.token = token_;
    request.record.renewedAtMillis = wallClockMillisForDisplay();
    request.record.acquiredAtMillis = request.record.renewedAtMillis;
    request.record.released = request.removes = purpose == WriteRequest::Purpose::release;
    const RecordVersion next = request.record.version;
    const WriteOutcome outcome = writeNow(store_, std::move(request));
    if (const auto* applied = std::get_if<Applied>(&outcome)) {
      token_ = applied->token;
      expected_ = {next};
    } else if (std::holds_alternative<Unknown>(outcome)) {
      expected_.push_back(next);
    }
    collided_ = collided_ || std::holds_alternative<Conflict>(outcome);
    return errorOf(outcome);
  }

  LeaseStore& store_;
  SystemRandom random_;
  const LeaseKey key_{doctorLease};
  LeaseRecord record_{};
  std::vector<RecordVersion> expected_{};
  FencingToken token_{};
  bool collided_{false};
};

void probeWrites(LeaseStore& store, const GroupConfig& config, const ProbeOptions& options, StoreFacts& facts) {
  facts.writes.emplace();
  ProbeLease lease{store, config.options.lease.duration};
  facts.writeError = lease.acquire();
  if (!facts.writeError) {
    facts.writes = measured(options, [&] { return lease.renew(); });
    if (const auto left = lease.remove()) facts.leftBehind = left->message;
  }
  facts.hasCollided = lease.hasCollided();
}

}  // namespace

StoreFacts probeStore(const GroupConfig& config, const LeaseOfGroup& lease, const ProbeOptions& options) {
  StoreFacts facts;
  LeaseStore& store = *lease.store;
  const config::StoreType& type = config::typeOf(config.store);
  facts.type = type.name;
  if (type.commits) facts.commits = type.commits(config.store);
  if (options.writes) {
    if (const StoreStatus ready = ensureSchemaNow(store); !ready) facts.error = ready.error();
  }
  if (!facts.error) {
    const StoreResult<LeaseLook> look = lookNow(store, lease.key);
    if (look) {
      facts.tokens = look->warning;
    } else {
      facts.error = look.error();
    }
  }
  facts.name = store.describe();  // now that the store knows its server
  if (facts.error) {
    if (facts.error->lacksSchema && type.schemaSql) facts.schemaSql = type.schemaSql(config.store, {});
    return facts;
  }
  facts.reads = measured(options, [&]() -> std::optional<StoreError> {
    const ReadOutcome answer = readNow(store, lease.key);
    return answer ? std::nullopt : std::optional{answer.error()};
  });
  if (options.writes) probeWrites(store, config, options, facts);
  return facts;
}

std::optional<ServerFacts> askServer(const StoreConfig& store) {
  const auto& ask = config::typeOf(store).server;
  if (!ask) return std::nullopt;
  try {
    return ask(store);
  } catch (const std::exception& fault) {
    return ServerFacts{.whyNot = fault.what()};
  }
}

}  // namespace tenure::cli::doctor
