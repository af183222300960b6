// A table of DynamoDB in memory, as a process of its own. So the bench measures only what the client costs.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "lockcore/port/lease_store.hpp"

namespace tenure::bench {

/// Answers each call after `delay`, as tests/aws/fake_table.hpp does; a copy of the first UpdateItem call as that one
/// was; `GET /count` with the number of UpdateItem calls, `GET /first` with the bytes of the first one, and everything
/// else with an empty object. It ends with the object.
class StubServer {
 public:
  explicit StubServer(std::chrono::milliseconds delay);
  ~StubServer();
  StubServer(const StubServer&) = delete;
  StubServer& operator=(const StubServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return running_.port; }
  /// `http://127.0.0.1:port`
  [[nodiscard]] std::string endpoint() const;
  /// A store on this server, with credentials of its own.
  [[nodiscard]] std::shared_ptr<LeaseStore> store() const;
  /// The number of UpdateItem calls that it has received.
  [[nodiscard]] std::int64_t updates() const;
  /// All bytes of the first UpdateItem call.
  [[nodiscard]] std::string firstUpdate() const;

 private:
  struct Running {
    pid_t process;
    int lifeline;  ///< the server ends when its other end reads to the end
    std::uint16_t port;
  };
  explicit StubServer(Running running) : running_{running} {}
  [[nodiscard]] static Running start(std::chrono::milliseconds delay);

  const Running running_;
};

/// The server's own process: `tenure-bench stub-server DELAY_MS`. Prints its port as a line; ends when stdin does.
int runStubServer(const std::vector<std::string>& arguments);

}  // namespace tenure::bench
