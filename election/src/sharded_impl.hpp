// The inside of ShardedElector. sharded_impl.cpp: start, stop and destruction. sharded_looks.cpp: what each listing
// shows, and what follows from it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include <tenure/election/sharded_elector.hpp>

#include "elector_impl.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "scheduler_link.hpp"
#include "shard_balance.hpp"
#include "shard_watch.hpp"
#include "shards_board.hpp"

namespace tenure {

class ShardedElector::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Group group, ShardListener listener, Runtime runtime, std::shared_ptr<Scheduler> scheduler);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start();
  void requestStop(StopDone done = {});
  ReleaseResult stop();
  /// The user's handle is destroyed.
  void abandon();

  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }
  [[nodiscard]] bool owns(std::size_t shard) const;
  [[nodiscard]] std::vector<OwnedShard> owned() const;
  [[nodiscard]] ShardedStatus status() const;
  [[nodiscard]] const std::string& candidate() const noexcept { return candidate_; }
  [[nodiscard]] ShardsView view();

 private:
  enum class Phase { fresh, started, stopping };
  using Elector = ElectorImpl;

  /// One lease that this candidate competes for or leads, with the elector for it. If the lease is taken
  /// again, it gets a new one, but only after all callbacks of the old one have returned.
  struct Candidacy {
    enum class State {
      contested,  ///< competing, or trying to win it back
      led,
      ending,  ///< to be given up, or no longer competed for
    };
    std::shared_ptr<Elector> elector{};
    State state{State::contested};
    bool clears{false};                     ///< an abandoned slot, which is taken only to release it
    std::uint64_t won{0};                   ///< its number in the order of wins
    std::optional<ReleaseResult> result{};  ///< set once it has ended
  };
  using CandidacyPtr = std::shared_ptr<Candidacy>;

  [[nodiscard]] Group groupOf(const std::string& part) const;
  [[nodiscard]] Listener listenerOf(std::size_t shard) const;
  [[nodiscard]] bool isInside() const;
  [[nodiscard]] bool awaitEnd(const Patience& patience);
  [[nodiscard]] std::vector<CandidacyPtr> candidacies() const;

  // On the scheduler.
  [[nodiscard]] CandidacyPtr competeFor(const std::string& part, Listener listener, std::string data);
  void noticed(const CandidacyPtr& candidacy, const LeaseNotice& notice);
  void end(Candidacy& candidacy, const std::string& why = {});
  void beginStop();
  void checkEnded();
  void answerStops(std::optional<ReleaseResult> orElse = {});
  void letGo();
  void keep();
  void look();
  void list();
  void listed(std::uint64_t listing, const ListOutcome& outcome);
  void lookFailed(const StoreError& error);
  void act(const Instant& now);
  void keepSlot(const Instant& now);
  void clearSlots(const Instant& now);
  [[nodiscard]] CandidacyPtr competeForSlot(std::size_t number);
  void followLivenessFiles(const Instant& now);
  void follow(DeathNotice& notice, const std::string& livenessFile, const LeaseRecord& record);
  void publish(const Instant& now, const ShardPicture& picture);
  void sweep();
  [[nodiscard]] OwnShards own(const Instant& now);
  void log(LogLevel level, const std::string& line) const { logger_.log(level, toString(group_.key()) + ": " + line); }

  // Constant after construction.
  const ProcessMark mark_{};
  const Group group_;
  const Logger logger_;
  const std::vector<std::string> names_;
  const std::shared_ptr<const ShardListener> listener_;
  const Executor executor_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<SchedulerLink> link_;
  const std::shared_ptr<RandomSource> random_;  ///< used only on the scheduler, once the construction is done
  const std::string candidate_;
  const std::chrono::nanoseconds interval_;
  // Kept even while there is no candidacy, so that no thread has to be started on the scheduler: those of the pools and
  // the watchdog's.
  const std::shared_ptr<const CandidateContext> context_;
  const std::shared_ptr<CallbackLane> stopLane_;  ///< for those who wait for the stop

  const std::shared_ptr<ShardsView::Board> board_{std::make_shared<ShardsView::Board>(group_.name())};
  std::atomic<bool> isViewed_{false};

  // Used on the scheduler only.
  ShardWatch watch_;
  ShardBalance balance_;
  std::uint64_t listing_{0};
  std::optional<Instant> listingSince_{};  ///< a listing is under way
  std::size_t slotNumber_{0};
  std::uint64_t wins_{0};
  std::map<std::size_t, Instant> avoided_{};                 ///< shards that were given up on request, and when
  std::map<std::string, std::shared_ptr<void>> followed_{};  ///< liveness files
  bool watched_{false};                                      ///< a listing has succeeded since the last one that failed

  // Changed on the scheduler under the lock, so tasks of the scheduler read it without the lock. The lock is never held
  // while anything else is called.
  mutable std::mutex mutex_;
  std::condition_variable ended_{};
  std::map<std::size_t, CandidacyPtr> candidacies_{};  ///< by shard
  CandidacyPtr slot_{};                                ///< shows others that this candidate is present
  std::vector<CandidacyPtr> left_{};  ///< slots that are being released, also those cleared for dead members
  std::vector<std::string> members_{};
  std::size_t unowned_{0};
  std::optional<Instant> listedAt_{};
  std::optional<StoreError> lastError_{};
  Phase phase_{Phase::fresh};  ///< changed by any thread
  std::optional<ReleaseResult> result_{};
  bool answering_{false};  ///< who waits for the result is not in stopLane_ yet
  std::vector<StopDone> stopWaits_{};
  bool abandoned_{false};  ///< the handle was destroyed where nothing may wait
};

}  // namespace tenure
