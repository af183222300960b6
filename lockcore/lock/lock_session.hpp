// One acquisition and, if it is won, one term: what a Lock, its client and its driver share.
// lock_session.cpp: what users ask of it. lock_session_waits.cpp: how an acquisition ends before it is won.
// lock_session_notices.cpp: what its driver tells it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <tenure/lockcore/lock.hpp>

#include "lock_line.hpp"
#include "lockcore/driver/candidate_context.hpp"
#include "lockcore/runtime/callback_lane.hpp"
#include "lockcore/runtime/patience.hpp"
#include "lockcore/runtime/stop_signal.hpp"

namespace tenure {

/// A single attempt takes as long as the store takes, but not longer than this.
inline constexpr std::chrono::milliseconds longestLook{5'000};
/// The machine ends a wait by itself and can give a better reason, unless the store or the scheduler prevents it.
inline constexpr std::chrono::milliseconds answerGrace{25};

class LockSession : public std::enable_shared_from_this<LockSession> {
 public:
  using Acquired = std::function<void(LockResult<Lock>)>;
  using Renewed = std::function<void(LockResult<void>)>;
  using Released = std::function<void(ReleaseResult)>;
  /// Called once, on the scheduler, when nothing of the session is under way any more. The session keeps the answer
  /// until it has told its users.
  using Ended = std::function<std::shared_ptr<void>(ReleaseResult, std::shared_ptr<const LeaseMemory>)>;

  struct Request {
    LeaseKey key;
    AcquireOptions options;
    LeaseOptions lease;  ///< the timing was made from it
    LeaseTiming timing;
    std::optional<std::chrono::nanoseconds> longest{};  ///< the caller waits no longer, whatever `options` say
  };

  LockSession(std::shared_ptr<const CandidateContext> common, Request request, std::shared_ptr<CallbackLane> lane,
              Acquired acquired, Ended ended);
  ~LockSession();
  LockSession(const LockSession&) = delete;
  LockSession& operator=(const LockSession&) = delete;

  /// Call it once, before anything else.
  void begin(std::shared_ptr<Scheduler> scheduler, std::shared_ptr<const LeaseMemory> memory,
             std::unique_ptr<RandomSource> random);
  /// Competes as soon as it is first in the line of this process's clients (see lock_line.hpp), or at once if it makes
  /// only a single attempt.
  void start(std::optional<LivenessFile> livenessFile);

  // These end the acquisition before it is decided, also before begin(): with `why`, or with the best known reason.
  void cancel(LockErrc why);
  void expire();
  /// Call it once at most. A stop calls cancel() in the thread that asks for it, also inside this call.
  void cancelOn(std::stop_token stop);
  /// The longest time that the caller waits for an answer; empty: for ever.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> patience() const noexcept;
  /// Has the scheduler call expire() after patience().
  void limit(const std::shared_ptr<Scheduler>& scheduler);
  [[nodiscard]] bool isWanted() const;
  /// The client closes: tells the work to stop, then releases.
  void close();
  /// The scheduler keeps `owner` until this has ended; see LeaseDriver::keep.
  void keep(std::shared_ptr<void> owner, const Patience& patience) { driver_->keep(std::move(owner), patience.left()); }
  /// No notice of the driver comes after it.
  void detach() noexcept { driver_->close(); }

  [[nodiscard]] bool isHere() const noexcept { return common_->mark.isHere(); }
  /// The published state if it belongs to this term and the lock was not given up; else "no term".
  [[nodiscard]] TermState state() const noexcept;
  [[nodiscard]] Instant now() const noexcept { return common_->clock->now(); }
  [[nodiscard]] bool isHeld() const noexcept;
  [[nodiscard]] const LeaseKey& key() const noexcept { return request_.key; }
  [[nodiscard]] const std::string& holder() const noexcept { return common_->candidate; }
  [[nodiscard]] FencingToken token() const noexcept { return FencingToken{token_.load()}; }
  [[nodiscard]] std::stop_token stopToken() const noexcept { return isHere() ? stop_.token() : stop_.tokenInChild(); }
  [[nodiscard]] std::map<std::string, std::string> const& attributes() const noexcept { return payload_->attributes; }
  [[nodiscard]] std::string data() const;
  [[nodiscard]] std::chrono::milliseconds lease() const noexcept;
  [[nodiscard]] std::optional<TermEnd> loss() const;
  /// Whether its end was requested and has not come yet.
  [[nodiscard]] bool isEnding() const;
  /// True where waiting would wait for the caller itself.
  [[nodiscard]] bool isOnScheduler() const { return driver_->isOnScheduler(); }

  void onLost(std::function<void(const TermEnd&)> callback);
  LockResult<void> onExpiring(std::chrono::milliseconds before, std::function<void(std::chrono::nanoseconds)> callback);
  /// `longer`: in place of `options.lease`, by how much its present length grows.
  void renew(RenewOptions options, Renewed done, std::chrono::milliseconds longer = {});
  [[nodiscard]] LeaseTiming timing() const;

  [[nodiscard]] bool share();
  /// One handle is gone. True: it was the last, and the release has begun. `done` may be null.
  bool letGo(const ReleaseOptions& options, Released done);
  [[nodiscard]] std::optional<ReleaseResult> result() const;
  void reportStaleToken(FencingToken seen) { driver_->submit(event::TokenSeen{seen}); }

  [[nodiscard]] LockError error(LockErrc code, const std::string& what) const;
  [[nodiscard]] LockError lostError() const;
  /// Runs `task`, which is user code, on the lane; its exceptions are logged.
  void tell(const char* name, std::function<void()> task) const;

  [[nodiscard]] static Lock handle(std::shared_ptr<LockSession> session) { return Lock{std::move(session)}; }
  /// As Lock::release for the only handle of a term, but without waiting: `done` gets the result, on any thread.
  static void release(Lock& lock, Released done);

 private:
  struct Change {
    std::uint64_t ticket;
    std::optional<std::string> data;
    std::optional<std::chrono::milliseconds> lease;
    Renewed done;
  };
  struct Warning {
    std::chrono::nanoseconds before;
    std::function<void(std::chrono::nanoseconds)> callback;
    bool told{false};
    Scheduler::TimerId timer{};  ///< on the scheduler only: of the next look
  };

  // On the scheduler.
  void take(const LeaseNotice& notice);
  void on(const action::Publish& published);
  void on(const action::Elected& elected);
  void on(const action::Renewed& renewed);
  void on(const action::Recorded& recorded);
  void on(const action::InDoubt& doubt);
  void on(const action::Revoked& revoked);
  void on(const action::LeaderChanged&) {}
  void on(const action::VacancyExpected& /*of an elector*/) {}
  void on(const action::GaveUp& gaveUp);
  void on(const action::Stopped& stopped);
  bool lose(const TermEnd& loss);
  void failChanges(const LockError& error);
  void finishChanges(std::uint64_t upTo, const std::optional<StoreError>& error);
  void fireStop();
  void compete(const std::shared_ptr<const LeaseMemory>& left);
  void watch(const std::shared_ptr<Warning>& warning);
  [[nodiscard]] LockError refusedError(const StoreError& error) const;
  [[nodiscard]] LockError gaveUpError(const action::GaveUp& gaveUp) const;
  void decide(LockResult<Lock> result);
  [[nodiscard]] Acquired abandon(LockErrc why);
  [[nodiscard]] bool withdraw();
  [[nodiscard]] LockError overdue(bool open) const;
  [[nodiscard]] LockError unknownError() const;
  void setLimit(std::chrono::nanoseconds left);
  void dropLimit();
  void log(LogLevel level, const std::string& line, LogEvent event = LogEvent::message,
           std::initializer_list<LogField> fields = {}) const;

  // Constant after begin().
  const std::shared_ptr<const CandidateContext> common_;
  const Request request_;
  const std::shared_ptr<CallbackLane> lane_;
  const Instant madeAt_;
  std::shared_ptr<LeaseDriver> driver_{};
  std::shared_ptr<const TermCell> cell_{};

  // Written once, for Elected, before any handle is made.
  std::atomic<std::uint64_t> token_{0};
  std::shared_ptr<const LeasePayload> payload_{};

  std::shared_ptr<TermWatch> watch_{};              ///< on the scheduler only: from the election to the end
  std::optional<Scheduler::TimerId> limit_{};       ///< on the scheduler only
  std::vector<std::weak_ptr<Warning>> warnings_{};  ///< on the scheduler only; their timers own them
  std::optional<std::stop_callback<std::function<void()>>> cancellation_{};  ///< written by cancelOn(), read by nobody
  std::unique_ptr<const LockError> gaveUp_{};  ///< on the scheduler only: reported when the session has ended

  StopSignal stop_{};
  std::atomic<bool> begun_{false};  ///< there is a driver
  std::atomic<bool> over_{false};   ///< the work was told to stop, or the lock is being given up
  std::atomic<bool> competes_{false};
  std::atomic<bool> letGo_{false};  ///< the lock is being given up: it is not even valid any more
  std::atomic<std::int64_t> leaseMillis_;

  mutable std::mutex mutex_;  ///< guards what follows; never held while user code runs
  Acquired acquired_;         ///< empty once it was called
  Ended ended_;
  std::optional<LockErrc> cancelled_{};
  std::optional<LivenessFile> livenessFile_{};
  std::unique_ptr<PlaceInLine> line_{};  ///< until the end
  int handles_{0};
  LeaseOptions lease_;  ///< as last requested
  LeaseTiming timing_;  ///< made from it
  std::string data_{};
  std::uint64_t lastTicket_{0};
  std::vector<Change> changes_{};
  std::vector<std::function<void(const TermEnd&)>> lostCallbacks_{};
  std::optional<TermEnd> loss_{};
  std::vector<Released> releases_{};
  std::optional<ReleaseResult> result_{};
};

}  // namespace tenure
