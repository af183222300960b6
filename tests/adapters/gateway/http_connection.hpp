// A kept-alive connection of a blocking client.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <tenure/adapters/http_fence.hpp>

namespace tenure::test {

class HttpConnection {
 public:
  /// `from`: the client's own address.
  explicit HttpConnection(unsigned short port, std::string from = "127.0.0.1") : port_{port}, from_{std::move(from)} {}

  /// One attempt, on a new connection if there is no open one.
  [[nodiscard]] FenceResult<HttpReply> send(const HttpCall& call, const HeaderLines& headers);
  /// Sends bytes unchanged.
  bool sendRaw(const std::string& bytes);
  /// The next answer; empty if the connection ended instead.
  [[nodiscard]] std::optional<boost::beast::http::response<boost::beast::http::string_body>> read(bool head = false);
  void close() { socket_.reset(); }
  [[nodiscard]] boost::asio::ip::tcp::socket& socket() { return *socket_; }
  bool connect();

 private:
  unsigned short port_;
  std::string from_;
  boost::asio::io_context io_{};
  std::optional<boost::asio::ip::tcp::socket> socket_{};
  boost::beast::flat_buffer buffer_{};
};

}  // namespace tenure::test
