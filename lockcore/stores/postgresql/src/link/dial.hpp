// Connects to one server.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "connection_settings.hpp"
#include "pg_handles.hpp"
#include "surroundings.hpp"

namespace tenure::postgresql_store {

struct ConnectFailure {
  std::string text{};
  Complaint complaint{};  ///< the server's, if it was the server that refused
  JobReply::Cause cause{JobReply::Cause::transient};
};

using Connected = std::variant<ConnectionHandle, ConnectFailure>;

class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Done = std::function<void(Connected)>;

  Dial(Surroundings& around, Done done) : around_{around}, done_{std::move(done)} {}
  ~Dial() { wait_->release(); }
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

  /// `done` is called once, never inside this call, and not after the dial's destruction.
  void begin(const Settings& settings);

 private:
  void next(PostgresPollingStatusType wanted);
  void step();
  void finish();
  [[nodiscard]] ConnectFailure failure() const;

  Surroundings& around_;
  Done done_;
  ConnectionHandle connection_{};
  /// After the connection, so that the socket is released first.
  std::unique_ptr<SocketWait> wait_{around_.makeWait()};
  ConnStatusType stage_{CONNECTION_STARTED};
};

}  // namespace tenure::postgresql_store
