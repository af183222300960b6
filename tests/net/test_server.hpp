// A server on loopback that follows a script exactly, byte for byte; each connection has its own thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test_certificates.hpp"

namespace tenure::test {

class TestServer;

/// The server's end of one connection. Calls block; they fail when the server ends.
class Peer {
 public:
  Peer(TestServer& server, int fd, int number) : server_{server}, fd_{fd}, number_{number} {}
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Head and body (by Content-Length); empty if the client has disconnected.
  [[nodiscard]] std::string readRequest();
  /// At least one byte; empty at the end.
  [[nodiscard]] std::string readSome();
  bool write(std::string_view bytes);
  /// Status 200 with this body; false if the client has disconnected.
  bool reply(std::string_view body);
  bool startTls();
  /// Ends the stream in order, for TLS with its close notification.
  void close();
  /// Ends the TLS stream and leaves the TCP stream open.
  void sayFarewell();
  /// Ends the connection with a RST.
  void reset();
  /// Blocks until the client has ended the connection or the server ends.
  void waitForEnd();

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool resumed() const;
  /// The name that the client sent ahead of the handshake.
  [[nodiscard]] std::string serverName() const;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  TestServer& server_;
  int fd_;
  int number_;
  std::shared_ptr<SSL> tls_{};
  std::string rest_{};
};

using Script = std::function<void(Peer&)>;

/// Serves until the client disconnects: each request is answered with its own body.
void echo(Peer& peer);

/// Carries bytes between the client and this port on 127.0.0.1 until one of them ends, as a proxy does after CONNECT.
void tunnel(Peer& peer, std::uint16_t port);

class TestServer {
 public:
  struct Options {
    bool v6{false};
    std::optional<Identity> identity{};  ///< with one: TLS from the start
    int newestTls{TLS1_3_VERSION};
    bool scriptStartsTls{false};
    std::string clientCa{};  ///< a file: clients must have a certificate of this authority
    std::uint16_t port{0};   ///< 0: any
  };
  explicit TestServer(Script script) : TestServer{std::move(script), Options{}} {}
  TestServer(Script script, Options options);
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] int accepted() const noexcept { return accepted_.load(); }
  [[nodiscard]] std::shared_ptr<SSL_CTX> context();
  /// The certificate for later handshakes; sessions of earlier ones are not resumed.
  void present(const Identity& identity);
  /// From now on; those that are open stay.
  void refuseConnections() const;
  /// The number of open connections at this moment.
  [[nodiscard]] std::size_t open();

 private:
  void acceptAll();
  [[nodiscard]] std::shared_ptr<SSL_CTX> contextWith(const Identity& identity) const;

  Script script_;
  Options options_;
  std::shared_ptr<SSL_CTX> context_{};
  int listener_{-1};
  std::uint16_t port_{0};
  std::atomic<int> accepted_{0};
  std::atomic<bool> ending_{false};
  std::mutex mutex_{};
  std::vector<int> open_{};
  std::vector<std::thread> threads_{};
  std::thread acceptor_{};

  friend class Peer;
};

/// A port on 127.0.0.1 on which nobody listens.
[[nodiscard]] std::uint16_t closedPort();

/// A listener whose queue is full, so that further connections hang.
class SilentPort {
 public:
  SilentPort();
  ~SilentPort();
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  std::vector<int> fds_{};
  std::uint16_t port_{0};
};

}  // namespace tenure::test
