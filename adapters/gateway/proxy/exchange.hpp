// One request that was let pass, on its way to the service and back.
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

namespace tenure::gateway {

using RequestParser = http::request_parser<http::buffer_body>;

/// A client's connection as the exchange uses it.
struct Client {
  Stream& stream;
  beast::flat_buffer& buffer;
  const std::string& name;  ///< for the log
};

/// The pass is held until the service has answered completely, whatever happens to the client meanwhile: the service
/// still works on a request that the client has given up. When a later term waits, a request whose body is not complete
/// yet is cut off (the service sees the connection end in the middle of the request). A complete request may end within
/// `Limits::drain`; then the connection to the service is closed.
class Exchange {
 public:
  Exchange(Client client, Shared& shared, FencePass pass);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// `body`: the body, if it was read before; otherwise the rest of the request is still to be read with `parser`. True
  /// if the client's connection can be used for another request.
  [[nodiscard]] Task<bool> run(RequestParser& parser, std::string body, bool keepAlive);

  [[nodiscard]] bool isFenced() const noexcept { return isFenced_; }
  /// Ends the exchange if it has no token, so that only the client that waits for its answer is affected.
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
  void resetAtClose(bool resets);
  void watchClient();
  void clientSpoke();
  [[nodiscard]] Task<bool> sendWhole(Request& request, const std::string& body);
  [[nodiscard]] Task<bool> sendPieces(RequestParser& parser, Request& request, std::size_t first);
  /// Reads the next piece of the client's body into piece_. Returns its length, or nothing if the client did not send
  /// it in time.
  [[nodiscard]] Task<std::optional<std::size_t>> readClient(RequestParser& parser);
  [[nodiscard]] Task<error_code> readHead();
  [[nodiscard]] Task<bool> relay(bool toHttp10);
  [[nodiscard]] Task<bool> relayBody(http::response<http::buffer_body>& response);
  /// Reads the next piece of the service's answer into piece_. Returns its length, or an error.
  [[nodiscard]] Task<std::pair<error_code, std::size_t>> readPiece();
  [[nodiscard]] Task<void> drain();
  [[nodiscard]] Task<bool> endUnsent(std::string_view service);
  [[nodiscard]] Task<bool> answer(const HttpProblem& problem);
  void done(bool reusable);

  Client client_;
  Shared& shared_;
  Upstream& upstream_;
  const Limits& limits_;
  FencePass pass_;
  const bool isFenced_;
  bool mayReuse_{true};  ///< the connection to the service
  ConnectionPtr connection_{};
  http::verb method_{};
  Timer drainTimer_;
  bool readsClient_{false};  ///< waits for the client's body
  bool overtaken_{false};
  bool cutOff_{false};  ///< the drain time is over
  bool writesClient_{false};
  bool requestSent_{false};  ///< the whole of it
  bool clientGone_{false};
  bool keepAlive_{false};  ///< the client's connection, if nothing happens to it
  bool clientBodyLeft_{false};
  error_code badBody_{};  ///< why the client's body cannot be read on, though the client is there
  bool upstreamKeepsAlive_{false};
  bool responded_{false};  ///< the client has received a part of the answer
  std::optional<ResponseParser> response_{};
  std::array<char, pieceBytes> piece_;
  std::shared_ptr<Link> link_;
};

/// Writes a rejection. False if the connection cannot be used any more. `keepAlive`: whether it should stay usable.
[[nodiscard]] Task<bool> writeProblem(Stream& stream, const HttpProblem& problem, bool keepAlive, bool head);

}  // namespace tenure::gateway
