// Locks by token over SQLite files that several handles share as processes do, and a store whose writes fail as
// planned.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "support/polled_store.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {

enum class Mishap { none, lostRequest, lostReply, throttled, denied };

/// Wraps a store: the next writes fail as planned, in order. Thread-safe.
class MishapStore : public PolledStore {
 public:
  using PolledStore::PolledStore;

  void plan(std::deque<Mishap> mishaps) {
    const std::lock_guard lock{mutex_};
    planned_ = std::move(mishaps);
  }
  [[nodiscard]] int writes() const { return writes_; }
  [[nodiscard]] int reads() const { return reads_; }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    ++reads_;
    behind_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    ++writes_;
    switch (next()) {
      case Mishap::none:
        return behind_->write(std::move(request), options, std::move(handler));
      case Mishap::lostReply:
        return behind_->write(std::move(request), options, [handler = std::move(handler)](const WriteOutcome&) {
          handler(Unknown{{ErrorClass::transient, "the reply was lost"}});
        });
      case Mishap::lostRequest:
        return tell(std::move(handler), Unknown{{ErrorClass::transient, "the request was lost"}});
      case Mishap::throttled:
        return tell(std::move(handler), Rejected{{ErrorClass::throttled, "slow down"}});
      case Mishap::denied:
        return tell(std::move(handler), Rejected{{ErrorClass::credentials, "access denied"}});
    }
  }

 protected:
  template <class Handler, class Outcome>
  static void tell(Handler handler, Outcome outcome) {
    sharedScheduler()->post([handler = std::move(handler), outcome = std::move(outcome)] { handler(outcome); });
  }

 private:
  Mishap next() {
    const std::lock_guard lock{mutex_};
    if (planned_.empty()) return Mishap::none;
    const Mishap mishap = planned_.front();
    planned_.pop_front();
    return mishap;
  }

  std::mutex mutex_;
  std::deque<Mishap> planned_;  // guarded by mutex_
  std::atomic<int> writes_{0}, reads_{0};
};

class LockTokensTest : public ::testing::Test {
 protected:
  /// Another handle for the same file, as another process would have.
  [[nodiscard]] std::shared_ptr<LeaseStore> open() const { return makeSqliteStore({directory_.file("locks.db")}); }

  static TokenAcquireOptions lease(std::chrono::milliseconds duration, std::string owner = "tester") {
    TokenAcquireOptions options;
    options.lease = duration;
    options.owner = std::move(owner);
    options.waitFor = std::chrono::milliseconds{0};
    return options;
  }
  /// For short leases. Their calls have so little time that a busy machine needs several.
  static TokenAcquireOptions patient(std::chrono::milliseconds duration, std::string owner = "tester") {
    TokenAcquireOptions options = lease(duration, std::move(owner));
    options.waitFor = std::chrono::seconds{60};
    return options;
  }
  [[nodiscard]] LeaseRecord record(const LeaseKey& key) const {
    std::promise<ReadOutcome> answer;
    store_->read(key, {std::chrono::seconds{10}}, [&](ReadOutcome outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get().value().value();
  }

  TempDir directory_;
  std::shared_ptr<MishapStore> store_{std::make_shared<MishapStore>(open())};
  LockTokens tokens_{store_};
  const LeaseKey key_{"customer/Moe"};
};

template <class T>
LockErrc codeOf(const LockResult<T>& result) {
  EXPECT_TRUE(result.has_error());
  return result.has_error() ? result.error().code : LockErrc::closed;
}

/// Why it is `lost`; empty for all else.
template <class T>
std::optional<RevokeReason> reasonOf(const LockResult<T>& result) {
  return codeOf(result) == LockErrc::lost ? result.error().reason : std::nullopt;
}

}  // namespace tenure::test
