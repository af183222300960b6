// One request that may pass, on its way to the service and back.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenure/adapters/http_fence.hpp>

#include "forwarding.hpp"
#include "io.hpp"
#include "shared.hpp"

namespace tenure::cli::fence_proxy {

using RequestParser = http::request_parser<http::buffer_body>;

/// A client's connection as the exchange uses it.
struct Client {
  Stream& stream;
  beast::flat_buffer& buffer;
  const std::string& name;  ///< for the log
};

/// The pass is held until the service has answered in full, whatever becomes of the client meanwhile: a request that
/// the client has given up is still one that the service is at work on. When a later term waits, a request whose body
/// is not complete yet is cut (the service sees half a request that ends), a complete one may end within
/// `Limits::drain`; then the service's connection is closed.
class Exchange {
 public:
  Exchange(Client client, Shared& shared, FencePass pass);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// `body`: read before, if it was; else the rest of the request is still to be read with `parser`. True if the
  /// client's connection is good for another request.
  [[nodiscard]] Task<bool> run(RequestParser& parser, std::string body, bool keepAlive);

  [[nodiscard]] bool isFenced() const noexcept { return isFenced_; }
  /// Ends it, if it holds nobody up but who waits for its answer.
  void endIfUnfenced();

 private:
  using Request = http::request<http::buffer_body>;
  using ResponseParser = http::response_parser<http::buffer_body>;
  struct Link;

  [[nodiscard]] Request toForward(RequestParser& parser, const std::string& body);
  void watchPass();
  void overtaken();
  void cutOff();
  void cutOffAfter(std::chrono::milliseconds time);
  void watchClient();
  void clientSpoke();
  [[nodiscard]] Task<bool> sendWhole(Request& request, const std::string& body);
  [[nodiscard]] Task<bool> sendPieces(RequestParser& parser, Request& request, std::size_t first);
  /// The next piece of the client's body is in piece_: its length, or nothing if the client did not bring it in time.
  [[nodiscard]] Task<std::optional<std::size_t>> readClient(RequestParser& parser);
  [[nodiscard]] Task<error_code> readHead();
  [[nodiscard]] Task<bool> relay(bool toHttp10, bool keepAlive);
  [[nodiscard]] Task<bool> relayBody(http::response<http::buffer_body>& response);
  /// The next piece of the service's answer is in piece_: its length, or an error.
  [[nodiscard]] Task<std::pair<error_code, std::size_t>> readPiece();
  [[nodiscard]] Task<void> drain();
  [[nodiscard]] Task<bool> answer(const HttpRefusal& refusal);
  void done(bool reusable);

  Client client_;
  Shared& shared_;
  Upstream& upstream_;
  const Limits& limits_;
  FencePass pass_;
  const bool isFenced_;
  bool mayReuse_{true};  ///< the service's connection
  ConnectionPtr connection_{};
  http::verb method_{};
  Timer drainTimer_;
  bool readsClient_{false};  ///< waits for the client's body
  bool overtaken_{false};
  bool cutOff_{false};  ///< the drain's time is over
  bool writesClient_{false};
  bool requestSent_{false};  ///< the whole of it
  bool clientGone_{false};
  bool clientBodyLeft_{false};
  bool upstreamKeepsAlive_{false};
  bool responded_{false};  ///< the client has a part of the answer
  std::optional<ResponseParser> response_{};
  std::array<char, pieceBytes> piece_;
  std::shared_ptr<Link> link_;
};

/// Writes a refusal. False if the connection cannot be used any more. `keepAlive`: and it should be.
[[nodiscard]] Task<bool> writeRefusal(Stream& stream, const HttpRefusal& refusal, bool keepAlive, bool head);

}  // namespace tenure::cli::fence_proxy
