// A TLS front for the test's DynamoDB, which has no TLS itself. The test can make its handshakes fail.
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
  /// For https://127.0.0.1. `behind` makes the calls that arrive; signatures are not checked.
  explicit TlsFront(std::shared_ptr<aws::JsonClient> behind);

  [[nodiscard]] std::string endpoint() const { return "https://127.0.0.1:" + std::to_string(server_->port()); }
  [[nodiscard]] std::string caFile() const { return authority_.caFile(); }

  /// Later handshakes are not answered, or answered with such a certificate. Existing connections continue.
  void stallHandshakes() { stalls_ = true; }
  void presentExpired() { server_->present(authority_.issue({"IP:127.0.0.1"}, -2)); }
  void presentWrongName() { server_->present(authority_.issue({"DNS:other.test"})); }
  void presentUntrusted() { server_->present(stranger_.issue({"IP:127.0.0.1"})); }
  void answerHandshakes();

  /// Connections so far, with and without a handshake.
  [[nodiscard]] int accepted() const { return server_->accepted(); }
  /// Connections with a handshake that still exist.
  [[nodiscard]] std::size_t standing() const;
  [[nodiscard]] int served() const noexcept { return served_.load(); }

  /// Ends the connection that was used last; its next request finds it closed.
  void cutLastUsed();
  /// Does not serve the next request, and ends its connection instead.
  void cutNextRequest() { cutNext_ = true; }
  void cutAll();

  /// Requests with this text in them get no answer before answerAll(), which must be called before the end. Set once.
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
  std::set<int> standing_{};    ///< descriptors, which stay open until they are removed from here
  int lastUsed_{-1};
  std::string keeps_{};
  std::condition_variable answersAll_{};
  std::unique_ptr<TestServer> server_{};  // last: its threads use the members above
};

}  // namespace tenure::test
