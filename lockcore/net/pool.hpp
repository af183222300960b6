// Internal: the connections to one origin and the calls that wait for one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call.hpp"
#include "connection.hpp"
#include "proxy.hpp"

namespace tenure::net {

/// Belongs to the client's thread. Calls are served in order of arrival, on the connection that was used last.
///
/// If a request may be repeated, several connections can carry a copy. The first answer is the answer of the call; the
/// other connections are late then. A connection is also late if its call's time is over. TCP may still deliver what a
/// late connection carries. So it stays open for a while, and is used again once the reply was read and dropped.
class Pool final : public CallKeeper, public ConnectionOwner, public Alarm {
 public:
  Pool(const Surroundings& around, const Origin& origin);
  ~Pool() override;

  void submit(std::unique_ptr<Call> call);
  void keepReady(std::size_t connections);
  /// The last answer was not one of the service.
  void doubt();

  /// Returns all calls unanswered and closes all connections.
  [[nodiscard]] std::vector<std::unique_ptr<Call>> closeAll();

 private:
  void due(Call& call) override;
  void opened(Connection& connection) override;
  void openFailed(Connection& connection, const HttpError& error) override;
  void answered(Connection& connection, HttpOutcome outcome) override;
  void lost(Connection& connection) override;
  void onAlarm() override { dialWhatIsMissing(); }

  [[nodiscard]] std::optional<HttpError> errorOf(const Call& call) const;
  void expire(Call& call);
  void serve(std::unique_ptr<Call> call, Connection& connection);
  void repeat(Call& call);
  [[nodiscard]] std::chrono::nanoseconds nextDue(const Call& call) const;
  [[nodiscard]] std::unique_ptr<Call> takeCarried(Call& call);
  void letGo(const std::vector<Connection*>& carriers);
  [[nodiscard]] std::size_t late() const;
  [[nodiscard]] Connection* takeIdle();
  [[nodiscard]] std::unique_ptr<Call> takeWaiting(CallList::iterator place);
  void serveOrRest(Connection& connection);
  void dialWhatIsMissing();
  void pauseAhead();
  void dial(std::chrono::nanoseconds deadline);
  [[nodiscard]] std::size_t missing() const;
  void drop(Connection& connection);
  [[nodiscard]] std::string whatCallsWaitFor() const;

  const Surroundings& around_;
  const Route route_;
  std::vector<std::shared_ptr<Connection>> all_{};
  std::vector<Connection*> opening_{};
  std::vector<Connection*> idle_{};  ///< the most recently used one is at the end
  CallList waiting_{};
  CallList carried_{};
  std::chrono::nanoseconds quickest_{0};  ///< time of recent quick answers; zero: none yet
  int silent_{0};                         ///< calls since the last answer that came in time
  std::uint64_t calls_{0};
  std::size_t wanted_{0};  ///< connections to keep ready
  std::chrono::nanoseconds lastCall_{0};
  std::chrono::milliseconds pause_;        ///< before connections are opened ahead again, after a failure
  std::optional<IpAddress> answeredBy_{};  ///< the last answer came from there
  std::string lastFailure_{};              ///< since the last connection that was opened
};

}  // namespace tenure::net
