// A store that works, except where the test injects a fault.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "support/manual_scheduler.hpp"

namespace tenure::test {

/// The fault of one call. A read has no conflict and no "unknown": for a read these are errors.
enum class Fault {
  none,
  throws,          ///< the call throws std::runtime_error; nothing was applied
  throwsOddly,     ///< the call throws something that is not a std::exception
  throwsApplied,   ///< the same as throws, but a write was applied before
  rejected,        ///< an error of the given class; nothing was applied
  unknownApplied,  ///< applied, but the store cannot tell
  unknownLost,     ///< not applied, and the store cannot tell
  conflict,        ///< a conflict that shows the record, though the condition held
  conflictHidden,  ///< the same without the record
  neverApplied,    ///< applied and never answered
  neverLost,       ///< lost and never answered
  answeredTwice,
  answeredLate,  ///< answered two leases late
};

/// A memory store whose answers run on the test's scheduler. Calls are counted from 1, reads and writes together.
class FaultStore final : public LeaseStore {
 public:
  explicit FaultStore(std::shared_ptr<ManualScheduler> scheduler);

  void failAt(std::size_t call, Fault fault, ErrorClass errorClass = ErrorClass::transient);
  /// From now on every other renewal is applied but gets no definite answer, and conflicts do not show the record.
  void beLossy() noexcept { lossy_ = true; }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::size_t reads() const noexcept { return reads_; }

  // These act at once, and no fault applies to them.
  [[nodiscard]] ReadOutcome readNow(const LeaseKey& key);
  WriteOutcome writeNow(const WriteRequest& request);
  WriteOutcome requestStepDownNow(const LeaseKey& key, FencingToken token);

  // Watches and death notices (proofs of a process's death by the kernel), as the test defines them.
  std::function<std::shared_ptr<void>(std::function<void()>)> onWatch{};
  std::function<std::shared_ptr<DeathNotice>()> onDeathNotice{};
  /// Called when a holder asks to be notified of a loss: it has won, and nobody was told so yet.
  std::function<void()> onWatchLoss{};

  [[nodiscard]] std::string describe() const override { return "memory with faults"; }
  void ensureSchema(CallOptions options, StatusHandler handler) override;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override;
  void list(std::string prefix, CallOptions options, ListHandler handler) override;
  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override;
  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override;
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override;
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override;
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override;

 private:
  struct Planned {
    Fault fault;
    ErrorClass errorClass;
  };
  [[nodiscard]] std::optional<Planned> next();
  template <class Outcome>
  void answer(Fault fault, std::function<void(Outcome)> handler, Outcome outcome);

  std::recursive_mutex mutex_;  ///< held during each call: lock clients read from the user's thread
  std::shared_ptr<ManualScheduler> scheduler_;
  std::shared_ptr<ManualScheduler> side_{std::make_shared<ManualScheduler>()};  // the inner store's own
  std::shared_ptr<LeaseStore> inner_;
  std::map<std::size_t, Planned> plan_;
  std::size_t calls_{0};
  std::size_t reads_{0};
  std::size_t renewals_{0};
  bool lossy_{false};
};

}  // namespace tenure::test
