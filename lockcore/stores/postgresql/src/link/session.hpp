// An open connection. It serves one job at a time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job_account.hpp"
#include "surroundings.hpp"

namespace tenure::postgresql_store {

class Session : public std::enable_shared_from_this<Session> {
 public:
  class Owner {
   public:
    /// It can serve the next job.
    virtual void sessionIsFree(Session& session) = 0;
    /// It is closed. `wasNoPrimary`: because the server takes no writes.
    virtual void sessionIsLost(Session& session, bool wasNoPrimary) = 0;

   protected:
    ~Owner() = default;
  };

  Session(Surroundings& around, Owner& owner, ConnectionHandle connection, const StatementText& text,
          std::string commitMode);
  ~Session() { wait_->release(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Once, before everything else.
  void begin();

  [[nodiscard]] bool isFree() const noexcept { return connection_ && !queued_ && !rollingBack_; }
  /// Null: none is under way.
  [[nodiscard]] const QueuedJob* queued() const noexcept { return queued_.get(); }
  [[nodiscard]] std::chrono::nanoseconds freeSince() const noexcept { return freeSince_; }

  /// Looks, without waiting, whether the server has ended the connection meanwhile.
  [[nodiscard]] bool looksAlive();

  /// Whether it has served a job, and not this one, which makes others quick: its statements are prepared then.
  [[nodiscard]] bool wantsWarmUp() const noexcept { return served_ && !warm_ && isFree(); }
  void warmUp(std::unique_ptr<QueuedJob> queued);

  /// Sends the job. Its handler is called when the answer is there, or the connection has ended.
  void run(std::unique_ptr<QueuedJob> queued);

  /// Ends the connection, and tells the job's handler what was seen until now.
  void lose(const std::string& why, bool wasNoPrimary = false);
  /// Ends the connection and calls nobody.
  [[nodiscard]] std::pair<std::unique_ptr<QueuedJob>, JobReply> close(const std::string& why);

 private:
  void listen();
  void readable();
  void drain();
  void dropNotifications();
  void synced();
  [[nodiscard]] bool queue(const Message& message);
  [[nodiscard]] bool queueAll();
  void flush();
  void rollBack();
  void becomeFree();

  Surroundings& around_;
  Owner& owner_;
  const StatementText& text_;
  const std::string commitMode_;
  ConnectionHandle connection_;
  /// After the connection, so that the socket is released first.
  std::unique_ptr<SocketWait> wait_{around_.makeWait()};
  Timer rollBackTime_;
  bool waitsToWrite_{false};
  bool rollingBack_{false};
  bool saidEnd_{false};  ///< the server has said that it ends the connection
  bool served_{false};
  bool warm_{false};
  PreparedStatements statements_{};
  std::chrono::nanoseconds freeSince_{0};

  // Of the job under way.
  std::unique_ptr<QueuedJob> queued_{};
  std::vector<Value> settings_{};
  std::optional<JobAccount> account_{};
};

}  // namespace tenure::postgresql_store
