// Internal: a request whose reply is delivered line by line, on a connection of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "connection.hpp"
#include "line_splitter.hpp"
#include "lockcore/runtime/call_permit.hpp"
#include "proxy.hpp"

namespace tenure::net {

/// Shared by the stream and the user's handle, which may be destroyed on any thread at any time.
struct StreamListener {
  StreamHandlers handlers;
  CallPermit permit{};
};

/// Belongs to the client's thread, and to whoever gets the call of `over`.
class Stream final : public ConnectionOwner, public Alarm {
 public:
  struct Ask {
    Origin origin;
    HttpRequest request;
    StreamLimits limits;
    std::shared_ptr<StreamListener> listener;
  };

  /// `over` is called once, when the stream needs nothing any more. It must not destroy the stream inside the call.
  Stream(const Surroundings& around, Ask ask, std::function<void()> over);
  ~Stream() override;

  void open();
  /// The handle is gone: nobody listens any more.
  void drop();
  /// The client is being destroyed.
  void cancel();

 private:
  void opened(Connection& connection) override;
  void openFailed(Connection& connection, const HttpError& error) override;
  void arrived(Connection& connection, std::string_view part) override;
  void answered(Connection& connection, HttpOutcome outcome) override;
  void lost(Connection& connection) override;
  void onAlarm() override;

  [[nodiscard]] bool give(std::string_view line);
  void setAlarm();
  void fail(HttpError::Kind kind, const std::string& why);
  void end(HttpOutcome outcome);

  const Surroundings& around_;
  const Ask ask_;
  const Route route_;
  std::function<void()> over_;
  std::shared_ptr<Connection> connection_{};
  LineSplitter lines_;
  std::chrono::nanoseconds start_{0};
  std::chrono::nanoseconds lastPart_{0};
  bool accepted_{false};
  bool doubted_{false};  ///< it seems silent
  bool ended_{false};
};

}  // namespace tenure::net
