// Calls to a store for tests: blocking, or started now and checked later; every answer is counted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/port/extended_store.hpp"

namespace tenure::contract {

/// How long a test waits for something that must happen, on any loaded machine.
inline constexpr std::chrono::seconds patience{30};

/// For people who read a failed test.
[[nodiscard]] std::string describe(const LeaseRecord& record);
[[nodiscard]] std::string describe(const WriteOutcome& outcome);

/// One call, as seen by its handler.
class Call {
 public:
  explicit Call(std::string what) : what_{std::move(what)} {}
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] const std::string& what() const noexcept { return what_; }
  [[nodiscard]] std::size_t answers() const;
  [[nodiscard]] bool answeredInline() const noexcept { return inline_; }
  /// False if there was no answer by `patience`.
  [[nodiscard]] bool waitAnswered() const;

  /// The calling thread is inside the call between these two.
  void enter() noexcept { caller_ = std::this_thread::get_id(); }
  void leave() noexcept { caller_ = std::thread::id{}; }

 protected:
  /// `keepFirst` is called under the lock, for the first answer only.
  void countAnswer(const std::function<void()>& keepFirst);

 private:
  const std::string what_;
  std::atomic<std::thread::id> caller_{};
  std::atomic<bool> inline_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable answered_;
  std::size_t answers_{0};  // guarded by mutex_
};

template <class Outcome>
class Reply final : public Call {
 public:
  using Call::Call;

  /// Waits for the answer; throws, which fails the test, if none comes.
  [[nodiscard]] Outcome get() const {
    if (!waitAnswered()) throw std::runtime_error{what() + " was not answered"};
    return *outcome_;
  }
  void answer(Outcome outcome) {
    countAnswer([&] { outcome_.emplace(std::move(outcome)); });
  }

 private:
  std::optional<Outcome> outcome_;  // constant after the first answer
};

template <class Outcome>
using Pending = std::shared_ptr<const Reply<Outcome>>;

/// Every call of a test. Thread-safe.
class CallLedger {
 public:
  void add(std::shared_ptr<const Call> call);
  /// Waits until each call is answered. Returns one line for each call that was answered never, twice or inline.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Call>> calls_;
};

/// One handle on a store. Thread-safe like the store; copies share the handle.
class StoreCalls {
 public:
  StoreCalls(std::shared_ptr<LeaseStore> store, std::shared_ptr<CallLedger> ledger)
      : store_{extended(std::move(store))}, ledger_{std::move(ledger)} {}

  using Timeout = std::chrono::nanoseconds;
  [[nodiscard]] Pending<StoreStatus> startEnsureSchema(Timeout timeout = patience) const;
  [[nodiscard]] Pending<ReadOutcome> startRead(const LeaseKey& key, Timeout timeout = patience) const;
  [[nodiscard]] Pending<WriteOutcome> startWrite(WriteRequest request, Timeout timeout = patience) const;
  [[nodiscard]] Pending<ListOutcome> startList(std::string prefix, Timeout timeout = patience) const;
  [[nodiscard]] Pending<ListOutcome> startListName(std::string name, Timeout timeout = patience) const;
  [[nodiscard]] Pending<PageOutcome> startListPage(std::string prefix, std::string from,
                                                   Timeout timeout = patience) const;
  [[nodiscard]] Pending<WriteOutcome> startStepDown(const LeaseKey& key, StepDownRequest request,
                                                    Timeout timeout = patience) const;

  [[nodiscard]] Pending<WriteOutcome> startRemove(const LeaseKey& key, RecordVersion version,
                                                  Timeout timeout = patience) const;

  /// The blocking forms throw, which fails the test, if the store returns an error instead of an answer.
  void ensureSchema() const;
  [[nodiscard]] std::optional<LeaseRecord> read(const LeaseKey& key) const;
  /// The record, which must exist.
  [[nodiscard]] LeaseRecord record(const LeaseKey& key) const;
  [[nodiscard]] WriteOutcome write(WriteRequest request) const { return startWrite(std::move(request))->get(); }
  /// A write, which must be applied.
  Applied apply(WriteRequest request) const;
  [[nodiscard]] std::vector<ListedLease> list(const std::string& prefix) const;
  /// The pages, in the order in which they come.
  [[nodiscard]] std::vector<ListPage> listPages(const std::string& prefix) const;
  [[nodiscard]] std::vector<ListedLease> listName(const std::string& name) const;
  [[nodiscard]] std::vector<LeaseKey> listKeys(const std::string& prefix) const;
  [[nodiscard]] WriteOutcome requestStepDown(const LeaseKey& key, FencingToken token, Successor successor = {}) const;

  [[nodiscard]] WriteOutcome remove(const LeaseKey& key, RecordVersion version) const {
    return startRemove(key, std::move(version))->get();
  }

  [[nodiscard]] StoredTokens tokens(const LeaseKey& key) const;
  [[nodiscard]] WriteOutcome setTokens(const LeaseKey& key, const StoredTokens& expected, std::uint64_t token) const;

  [[nodiscard]] ExtendedStore& raw() const noexcept { return *store_; }
  /// Releases the handle; calls that are under way stay in the ledger.
  void drop() noexcept { store_.reset(); }

 private:
  template <class Outcome, class Start>
  Pending<Outcome> start(std::string what, const Start& call) const;

  std::shared_ptr<ExtendedStore> store_;
  std::shared_ptr<CallLedger> ledger_;
};

/// A version that no other call returns, in this process or in another one that lives. Thread-safe.
[[nodiscard]] RecordVersion newVersion();

/// A record as a live holder writes it, with a new version and every field set except data and attributes.
[[nodiscard]] LeaseRecord recordOf(std::string holder);

/// `expected` empty: only if there is no record.
[[nodiscard]] WriteRequest acquire(LeaseKey key, std::string holder, std::vector<RecordVersion> expected = {});
[[nodiscard]] WriteRequest renew(LeaseKey key, std::string holder, std::vector<RecordVersion> expected);
[[nodiscard]] WriteRequest release(LeaseKey key, std::string holder, std::vector<RecordVersion> expected);

/// True if the outcome is a conflict that reports no other state than `current`.
[[nodiscard]] testing::AssertionResult isConflictWith(const WriteOutcome& outcome,
                                                      const std::optional<LeaseRecord>& current);
[[nodiscard]] testing::AssertionResult sameRecord(const LeaseRecord& actual, const LeaseRecord& expected);

}  // namespace tenure::contract
