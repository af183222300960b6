// One LeaseDriver on a manual scheduler and a store with faults, and the notices that it gave its owner.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/machine_harness.hpp"
#include "lockcore/store_world.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {

/// The lease is tenSecondLease() unless stated. Work ends as soon as it is told to, unless the test wants something
/// else.
class DriverWorld : public StoreWorld {
 public:
  explicit DriverWorld(std::uint64_t seed = 1, const LeaseOptions& lease = tenSecondLease()) {
    LeaseDriver::Options options{MachineOptions{key, selfName, LeaseTiming::from(lease).value()}};
    options.logger = Logger{LogLevel::trace, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
    options.onNotice = [this](const LeaseNotice& notice) { take(notice); };
    driver = std::make_unique<LeaseDriver>(std::move(options), store, scheduler, std::make_unique<SeededRandom>(seed));
  }

  void start() { driver->submit(event::Start{}); }
  void pass(std::chrono::nanoseconds d) { scheduler->advance(d); }
  [[nodiscard]] bool leads() const { return driver->term()->load().leadsAt(scheduler->now()); }
  [[nodiscard]] std::optional<LeaseRecord> stored() { return StoreWorld::stored(key); }

  /// Puts a record of another candidate, which is dead, into the store.
  void putOther(bool released = false) {
    LeaseRecord record = othersRecord();
    record.livenessFile = LivenessFile{"beacon-1", "boot", 1, 2};
    store->writeNow({key, WriteRequest::Purpose::acquire, {}, record, FencingToken{4}});
    if (!released) return;
    LeaseRecord gone = record;
    gone.version = RecordVersion{"gone-1"};
    store->writeNow({key, WriteRequest::Purpose::release, {record.version}, gone, FencingToken{}});
  }

  const LeaseKey key{"lease"};
  std::vector<std::string> lines;
  std::vector<std::string> notices;  // as describe() returns them
  std::vector<FencingToken> tokens;  // one for each Elected
  std::vector<action::Revoked> revocations;
  std::vector<ReleaseResult> stops;
  bool workEndsAtOnce{true};
  std::function<void(const LeaseNotice&)> onNotice{};
  std::unique_ptr<LeaseDriver> driver;

 private:
  void take(const LeaseNotice& notice) {
    std::visit([this](const auto& n) { notices.push_back(describe({n})); }, notice);
    if (const auto* elected = std::get_if<action::Elected>(&notice)) tokens.push_back(elected->token);
    if (const auto* revoked = std::get_if<action::Revoked>(&notice)) {
      revocations.push_back(*revoked);
      if (workEndsAtOnce) driver->submit(event::WorkEnded{});
    }
    if (const auto* stopped = std::get_if<action::Stopped>(&notice)) stops.push_back(stopped->result);
    if (onNotice) onNotice(notice);
  }
};

}  // namespace tenure::test
