// A store in front of another one that fails on demand, separately for each operation.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure::test {

enum class Operation { read, acquire, renew, release };
inline constexpr std::size_t operationCount = 4;

/// What happens to a call. "Applied" is what the store behind it did, whatever the caller is told.
enum class Fault {
  none,
  fail,         ///< not applied, and the caller knows it: an error for a read, Rejected for a write
  dropRequest,  ///< not applied, and nobody knows: an error for a read, Unknown for a write
  dropReply,    ///< applied, and nobody knows: an error for a read, Unknown for a write
  hang,         ///< applied, and never answered
  hangBefore,   ///< not applied, and never answered
  throwing,     ///< the call throws
  delay,        ///< applied at once, answered after the delay of delayBy()
  throwsLate,   ///< the call throws; a write was applied before
};

/// It also counts calls. Thread-safe. A fault stays until another one is set.
class FaultStore final : public LeaseStore {
 public:
  FaultStore(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Scheduler> scheduler);

  void set(Operation operation, Fault fault);
  void setAll(Fault fault);
  void delayBy(std::chrono::nanoseconds delay);
  /// The error that fail, dropRequest and dropReply return.
  void setError(StoreError error);
  [[nodiscard]] int calls(Operation operation) const;
  [[nodiscard]] int calls() const;
  /// The result of deathNotice(); may throw.
  void setDeathNotice(std::function<std::shared_ptr<DeathNotice>()> maker);
  /// No notifications from now on: candidates depend on their polls.
  void muteWatch() { watchFault_ = Fault::fail; }
  void throwInWatch() { watchFault_ = Fault::throwing; }

  [[nodiscard]] std::string describe() const override { return behind_->describe(); }
  void ensureSchema(CallOptions options, StatusHandler handler) override;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override;
  void list(std::string prefix, CallOptions options, ListHandler handler) override;
  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override;
  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override {
    behind_->remove(key, std::move(version), options, std::move(handler));
  }
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override;
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override;

 private:
  struct Verdict {
    Fault fault;
    StoreError error;
    std::chrono::nanoseconds delay;
  };
  [[nodiscard]] Verdict judge(Operation operation);

  const std::shared_ptr<LeaseStore> behind_;
  const std::shared_ptr<Scheduler> scheduler_;
  std::atomic<Fault> watchFault_{Fault::none};
  mutable std::mutex mutex_;  // guards what follows
  std::array<Fault, operationCount> faults_{};
  std::array<int, operationCount> calls_{};
  std::chrono::nanoseconds delay_{0};
  StoreError error_{ErrorClass::transient, "injected fault"};
  std::function<std::shared_ptr<DeathNotice>()> deathNotice_{};
};

}  // namespace tenure::test
