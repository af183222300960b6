// A store in front of another one that fails on demand: an operation until it may work again, or one call by its
// number.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/extended_store.hpp"

namespace tenure::test {

enum class Operation { read, acquire, renew, release };
inline constexpr std::size_t operationCount = 4;

/// The fault of one call. A read has no conflict and no "unknown": for a read these are errors.
enum class Fault {
  none,
  throws,          ///< the call throws std::runtime_error; nothing was applied
  throwsOddly,     ///< the call throws something that is not a std::exception
  throwsApplied,   ///< the same as throws, but a write was applied before
  rejected,        ///< an error; nothing was applied
  unknownApplied,  ///< applied, but the store cannot tell
  unknownLost,     ///< not applied, and the store cannot tell
  conflict,        ///< a conflict that shows the record, though the condition held
  conflictHidden,  ///< the same without the record
  neverApplied,    ///< applied and never answered
  neverLost,       ///< lost and never answered
  answeredTwice,
  answeredLate,  ///< applied at once, answered 20 s later, or after the delay of delayBy()
};

/// It also counts calls. Thread-safe, apart from the functions that a test may set.
class FaultStore final : public ForwardingStore {
 public:
  FaultStore(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Scheduler> scheduler)
      : ForwardingStore{std::move(behind)}, scheduler_{std::move(scheduler)} {}

  /// The fault stays until another one is set.
  void set(Operation operation, Fault fault);
  void setAll(Fault fault);
  /// The fault of one call, whatever is set. Calls are counted from 1, reads and writes together.
  void failAt(std::size_t call, Fault fault, ErrorClass errorClass = ErrorClass::transient);
  void delayBy(std::chrono::nanoseconds delay);
  /// The error of faults that are set.
  void setError(StoreError error);
  /// From now on every other renewal is applied but gets no definite answer, and conflicts do not show the record.
  void beLossy();
  [[nodiscard]] std::size_t calls(Operation operation) const;
  [[nodiscard]] std::size_t calls() const;

  // These act as soon as the store behind does. No fault applies to them, and nobody hears the answer.
  void writeNow(WriteRequest request) {
    behind_->write(std::move(request), {}, [](const WriteOutcome&) {});
  }
  void requestStepDownNow(const LeaseKey& key, FencingToken token) {
    behind_->requestStepDown(key, {token}, {}, [](const WriteOutcome&) {});
  }

  // Watches and death notices (proofs of a process's death by the kernel), as the test defines them; else those of the
  // store behind.
  std::function<std::shared_ptr<void>(std::function<void()>)> onWatch{};
  std::function<std::shared_ptr<DeathNotice>()> onDeathNotice{};
  /// Called when a holder asks to be notified of a loss: it has won, and nobody was told so yet.
  std::function<void()> onWatchLoss{};
  // Called before the answer of the store behind.
  std::function<void()> onDescribe{};
  std::function<void()> onFaultsOfPayload{};

  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override;

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override;
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override;
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override;
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override;

 private:
  struct Verdict {
    Fault fault;
    StoreError error;
    std::chrono::nanoseconds delay;
    bool hidesConflicts, losesAnswer;  // of a lossy store
  };
  [[nodiscard]] Verdict judge(Operation operation);
  [[nodiscard]] std::size_t allCalls() const;
  template <class Outcome>
  [[nodiscard]] std::function<void(Outcome)> onAnswer(const Verdict& verdict,
                                                      std::function<void(Outcome)> handler) const;

  const std::shared_ptr<Scheduler> scheduler_;
  mutable std::mutex mutex_;  // guards what follows
  std::array<Fault, operationCount> faults_{};
  std::array<std::size_t, operationCount> calls_{};
  std::map<std::size_t, std::pair<Fault, ErrorClass>> plan_{};
  std::chrono::nanoseconds delay_{std::chrono::seconds{20}};
  StoreError error_{ErrorClass::transient, "injected fault"};
  std::size_t renewals_{0};  // of a lossy store
  bool lossy_{false};
};

}  // namespace tenure::test
