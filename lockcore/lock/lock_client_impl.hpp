// The inside of LockClient: which keys it holds, and what it remembers of the others. lock_client_impl.cpp: the
// client's start and end, and its acquisitions. lock_client_preparation.cpp: what the first acquisitions wait for.
// lock_client.cpp: the user's calls. lock_reads.cpp: the calls that only read.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/lock.hpp>
#include <tenure/lockcore/lock_client.hpp>

#include "lock_session.hpp"
#include "lockcore/lease/lease_machine.hpp"
#include "lockcore/runtime/callback_lane.hpp"
#include "lockcore/runtime/patience.hpp"

namespace tenure {

/// Bounded: the oldest entry is dropped first. The only cost of forgetting a key is that the wait for it begins again.
/// Not thread-safe.
class LockMemories {
 public:
  using Memory = std::shared_ptr<const LeaseMemory>;

  explicit LockMemories(std::size_t most) : most_{most} {}

  /// Null if there is none. The entry is removed.
  [[nodiscard]] Memory take(const LeaseKey& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    Memory memory = std::move(found->second.memory);
    erase(found);
    return memory;
  }

  void put(const LeaseKey& key, Memory memory) {
    if (const auto old = entries_.find(key); old != entries_.end()) erase(old);
    if (most_ == 0 || !memory) return;
    if (entries_.size() >= most_) erase(entries_.find(order_.front()));
    order_.push_back(key);
    entries_.emplace(key, Entry{std::move(memory), std::prev(order_.end())});
  }

 private:
  struct Entry {
    Memory memory;
    std::list<LeaseKey>::iterator place;
  };
  using Entries = std::unordered_map<LeaseKey, Entry>;

  void erase(Entries::iterator entry) {
    order_.erase(entry->second.place);
    entries_.erase(entry);
  }

  const std::size_t most_;
  Entries entries_{};
  std::list<LeaseKey> order_{};
};

/// Each callback lane, or observer, is known for as long as its owner or a callback of it is there. Not thread-safe.
template <class T>
class WeakList {
 public:
  void add(const std::shared_ptr<T>& added) {
    if (list_.size() >= cleanAt_) {  // each time after as many more as were left: that costs little for each
      std::erase_if(list_, [](const std::weak_ptr<T>& one) { return one.expired(); });
      cleanAt_ = std::max<std::size_t>(16, 2 * list_.size());
    }
    list_.emplace_back(added);
  }

  [[nodiscard]] std::vector<std::shared_ptr<T>> all() const {
    std::vector<std::shared_ptr<T>> all;
    for (const std::weak_ptr<T>& one : list_) {
      if (auto there = one.lock()) all.push_back(std::move(there));
    }
    return all;
  }

 private:
  std::vector<std::weak_ptr<T>> list_{};
  std::size_t cleanAt_{16};
};

/// The options of an acquisition, checked.
struct CheckedAcquire {
  LeaseOptions lease;
  LeaseTiming timing;
};

// Checks of options (lock_checks.cpp) are complete: all faults are reported together, before anything is done.

/// An empty `candidate` must have been filled in before.
[[nodiscard]] OptionFaults faultsOf(const LockClientOptions& options);

/// `client`: its timing fills in what the call leaves unset. `store`: the store that is to keep the lock.
[[nodiscard]] boost::system::result<CheckedAcquire, OptionFaults> checked(const LeaseKey& key,
                                                                          const AcquireOptions& options,
                                                                          const LeaseOptions& client,
                                                                          LeaseStore& store);

class LockClient::Impl : public std::enable_shared_from_this<Impl> {
 public:
  [[nodiscard]] static std::shared_ptr<Impl> make(std::shared_ptr<LeaseStore> store, LockClientOptions options,
                                                  Runtime runtime);
  Impl(LockClientOptions options, std::shared_ptr<const CandidateContext> common, std::shared_ptr<Scheduler> scheduler,
       std::unique_ptr<RandomSource> random);

  using SessionPtr = std::shared_ptr<LockSession>;
  /// `acquired` may be called inside this call. Null: it was called, and there is nothing to cancel.
  SessionPtr acquire(const LeaseKey& key, AcquireOptions options, LockSession::Acquired acquired,
                     std::optional<std::chrono::nanoseconds> longest = {});
  /// The same, and waits for the result. A stop of `cancel` cancels it.
  [[nodiscard]] LockResult<Lock> acquireNow(const LeaseKey& key, AcquireOptions options,
                                            std::optional<std::chrono::nanoseconds> longest = {},
                                            std::stop_token cancel = {});
  /// One after the other. `sorted`: in the order that all programs share.
  [[nodiscard]] LockResult<std::vector<Lock>> acquireEach(const std::vector<LeaseKey>& sorted,
                                                          const AcquireOptions& options);
  [[nodiscard]] LockSession::Acquired onLane(std::function<void(LockResult<Lock>)> done);
  /// Why the calling thread must not wait; empty if it may.
  [[nodiscard]] std::optional<LockError> whyNotWait(const LeaseKey& key) const;

  [[nodiscard]] bool holds(const LeaseKey& key) const;
  [[nodiscard]] std::vector<LeaseKey> held() const;
  CloseReport close();
  /// The user's handle is destroyed.
  void abandon();

  [[nodiscard]] bool isHere() const noexcept { return common_->mark.isHere(); }
  [[nodiscard]] const CandidateContext& common() const noexcept { return *common_; }
  [[nodiscard]] const LockClientOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::shared_ptr<Scheduler> scheduler() const;

  /// One read of the store; waits for the answer.
  [[nodiscard]] LockResult<LeaseView> peek(const LeaseKey& key) const;
  [[nodiscard]] LockResult<std::vector<LeaseView>> list(const std::string& prefix) const;
  [[nodiscard]] LockResult<void> scan(const std::string& prefix,
                                      const std::function<bool(const LeaseView&)>& each) const;
  [[nodiscard]] LockResult<LeaseObserver> observe(const LeaseKey& key, LeaseObserver::Callback changed);

 private:
  class SharedRandom;

  [[nodiscard]] std::unique_ptr<RandomSource> randomness() const;
  void endObservers();
  void prepare();
  void livenessFileFound(std::optional<LivenessFile> livenessFile);
  void askSchema();
  void schemaAnswered(const StoreStatus& status);
  void startIfPrepared();
  [[nodiscard]] SessionPtr make(LockSession::Request request, LockSession::Acquired acquired);
  void begin(const SessionPtr& session);
  [[nodiscard]] SessionPtr takeWaiting(const LeaseKey& key);
  [[nodiscard]] std::shared_ptr<void> ended(const LeaseKey& key, ReleaseResult result,
                                            std::shared_ptr<const LeaseMemory> memory);
  void left();
  [[nodiscard]] std::vector<SessionPtr> sessions() const;
  [[nodiscard]] std::vector<SessionPtr> beginClose();
  [[nodiscard]] Patience patienceFor(const std::vector<SessionPtr>& all) const;
  CloseReport awaitEnds(const std::vector<SessionPtr>& all, const Patience& patience);
  [[nodiscard]] std::vector<std::shared_ptr<CallbackLane>> lanes() const;
  /// In a callback of the client, and on its scheduler.
  [[nodiscard]] bool mustNotBlock() const;

  // Constant after construction.
  const LockClientOptions options_;
  const std::shared_ptr<const CandidateContext> common_;
  const std::shared_ptr<SharedRandom> random_;

  mutable std::mutex mutex_;  ///< guards what follows; never held while user code runs
  std::condition_variable allEnded_{};
  std::shared_ptr<Scheduler> scheduler_;  ///< null once the user's handle is gone
  bool closed_{false};
  std::map<LeaseKey, SessionPtr> sessions_{};
  int leaving_{0};  ///< sessions that have ended and are still telling their users
  WeakList<CallbackLane> lanes_{};
  WeakList<LeaseObserver::Impl> observers_{};
  std::map<LeaseKey, std::deque<SessionPtr>> waiting_{};  ///< sessions that wait for a release of the same key
  std::map<LeaseKey, ReleaseResult> endings_{};           ///< results since close() began
  LockMemories memories_;
  enum class Schema { unasked, asked, good, bad } schema_{Schema::unasked};
  bool prepared_{false};  ///< the first schema check was answered, and the search for a liveness file is over
  bool livenessFileKnown_{false};
  std::optional<LivenessFile> livenessFile_{};
  std::vector<SessionPtr> unprepared_{};  ///< to be started after the preparation
};

}  // namespace tenure
