// The connections of a link, and the jobs that wait for one.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connection_attempt.hpp"
#include "session.hpp"

namespace tenure::postgresql_store {

/// Belongs to the link's thread.
class Pool final : public QueuedJobOwner, private Session::Owner {
 public:
  struct Options {
    Settings settings{};
    std::string passwordFile{};
    StatementText text{};
    std::string commitMode{};
    Job warmUp{};  ///< changes nothing; after it, the statements of a hand-over are prepared
  };
  /// Jobs that are not urgent use at most so many connections at once.
  static constexpr std::size_t mostUsual = 4;
  static constexpr std::size_t mostConnections = mostUsual + 1;
  /// Writes among them: transactions of others may hold up writes, so that reads keep a connection.
  static constexpr std::size_t mostWrites = mostUsual - 1;
  /// Jobs wait for so long behind connections that are in use before a further one is made. Most jobs are answered
  /// sooner, and each connection is a process of the server. A job that hangs delays the others by at most this time.
  static constexpr std::chrono::milliseconds furtherAfter{25};
  /// A connection that was not needed for so long is closed, unless it is the last one.
  static constexpr std::chrono::seconds idleTime{30};
  /// A connection that has rested for so long is warmed up.
  static constexpr std::chrono::milliseconds warmUpAfter{50};

  Pool(Surroundings& around, Options options);

  void submit(std::vector<std::unique_ptr<QueuedJob>> queuedJobs);
  /// From now on its connections are ready for a hand-over.
  void keepWarm();

  /// Ends everything. The jobs that were not answered, with their replies.
  [[nodiscard]] std::vector<std::pair<std::unique_ptr<QueuedJob>, JobReply>> closeAll();

  void outOfTime(QueuedJob& queued) override;

 private:
  using Line = std::deque<std::unique_ptr<QueuedJob>>;
  enum Kind : std::size_t { urgent, write, read, kindCount };

  void sessionIsFree(Session& session) override;
  void sessionIsLost(Session& session, bool wasNoPrimary) override;

  [[nodiscard]] static Kind kindOf(const QueuedJob& queued) noexcept;
  void serve();
  [[nodiscard]] Line* servableLine();
  [[nodiscard]] std::shared_ptr<Session> freeSession();
  void openFor(const QueuedJob& waiting);
  [[nodiscard]] std::chrono::nanoseconds connectTime() const;
  void opened(Connected connected);
  void openFailed(ConnectFailure failure);
  void pauseAtMost(std::chrono::nanoseconds length);
  void failWaiting();
  [[nodiscard]] std::unique_ptr<QueuedJob> takeFromLine(const QueuedJob& queued);
  [[nodiscard]] JobReply noConnectionReply(const std::string& why) const;
  void closeIdleSince(std::chrono::nanoseconds moment, std::size_t atLeast);
  void closeSurplus();
  void warmUp();
  void drop(const Session& session);

  Surroundings& around_;
  const Options options_;
  ConnectionAttempt attempt_;
  Timer pause_;    ///< set: no connection is made before it rings
  Timer further_;  ///< a job has waited for long enough behind those that there are
  Timer surplus_;  ///< looks for connections that are not needed
  Timer cold_;     ///< looks for connections to be warmed up
  bool warms_{false};
  std::chrono::nanoseconds pauseEnds_{0};
  std::chrono::nanoseconds nextPause_;
  std::chrono::nanoseconds attemptBegan_{0};
  std::chrono::nanoseconds openedLast_{0};
  std::optional<std::chrono::nanoseconds> allBusySince_{};  ///< jobs wait since then, and no connection was free
  std::optional<ConnectFailure> failure_{};                 ///< of the last attempt to connect
  std::vector<std::shared_ptr<Session>> sessions_{};
  std::array<Line, kindCount> lines_{};  ///< by kind
};

}  // namespace tenure::postgresql_store
