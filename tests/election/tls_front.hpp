// TLS in front of the test's DynamoDB, which has none; its handshakes can be made to go wrong.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "lockcore/aws/json_client.hpp"
#include "net/test_server.hpp"

namespace tenure::test {

class TlsFront {
 public:
  /// For https://127.0.0.1. `behind`: makes the calls that arrive; signatures are not looked at.
  explicit TlsFront(std::shared_ptr<aws::JsonClient> behind);

  [[nodiscard]] std::string endpoint() const { return "https://127.0.0.1:" + std::to_string(server_->port()); }
  [[nodiscard]] std::string caFile() const { return authority_.caFile(); }

  /// Handshakes from now on: not answered; or with such a certificate. Connections that stand go on.
  void stallHandshakes() { stalls_ = true; }
  void presentExpired() { server_->present(authority_.issue({"IP:127.0.0.1"}, -2)); }
  void presentWrongName() { server_->present(authority_.issue({"DNS:other.test"})); }
  void presentUntrusted() { server_->present(stranger_.issue({"IP:127.0.0.1"})); }
  void answerHandshakes();

  /// Connections that have come so far, with and without a handshake.
  [[nodiscard]] int accepted() const { return server_->accepted(); }
  /// Connections with a handshake that still stand.
  [[nodiscard]] std::size_t standing() const;
  [[nodiscard]] int served() const noexcept { return served_.load(); }

  /// Ends the standing connection that served last; its next request finds it closed.
  void cutLastUsed();
  /// The next request is not served, and its connection ended instead.
  void cutNextRequest() { cutNext_ = true; }
  void cutAll();

  /// Requests with this text in them are not answered before answerAll(), which must come before the end. Set once.
  void keepWaiting(std::string text);
  void answerAll();
  [[nodiscard]] int kept() const noexcept { return kept_.load(); }

 private:
  void serve(Peer& peer);
  [[nodiscard]] std::string answer(const std::string& request);

  const std::shared_ptr<aws::JsonClient> behind_;
  const TestAuthority authority_{};
  const TestAuthority stranger_{};
  std::atomic<bool> stalls_{false};
  std::atomic<bool> cutNext_{false};
  std::atomic<int> served_{0};
  std::atomic<int> kept_{0};
  mutable std::mutex mutex_{};  // guards what follows
  std::set<int> standing_{};    ///< descriptors, which stay open until they are out of here
  int lastUsed_{-1};
  std::string keeps_{};
  std::condition_variable answersAll_{};
  std::unique_ptr<TestServer> server_{};  // last: its threads use what is above
};

}  // namespace tenure::test
