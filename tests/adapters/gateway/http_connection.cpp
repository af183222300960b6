#include "adapters/gateway/http_connection.hpp"

#include <boost/asio/write.hpp>

namespace tenure::test {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

namespace {

FenceError lost(const char* what, bool maySent) { return fenceError({ErrorClass::transient, what}, maySent); }

std::string textOf(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

bool HttpConnection::connect() {
  if (socket_) return true;
  boost::system::error_code error;
  socket_.emplace(io_, tcp::endpoint{boost::asio::ip::make_address(from_), 0});
  buffer_.clear();
  socket_->connect({boost::asio::ip::address_v4::loopback(), port_}, error);
  if (!error) socket_->set_option(tcp::no_delay{true}, error);
  if (error) socket_.reset();
  return !error;
}

FenceResult<HttpReply> HttpConnection::send(const HttpCall& call, const HeaderLines& headers) {
  if (!connect()) return lost("no connection", false);
  http::request<http::string_body> request{http::string_to_verb(call.method), call.target, 11, call.body};
  request.set(http::field::host, "ledger");
  for (const auto& [name, value] : headers) request.insert(name, value);
  request.prepare_payload();
  boost::system::error_code error;
  http::write(*socket_, request, error);
  if (!error) {
    if (auto response = read(call.method == "HEAD")) {
      HttpReply reply{static_cast<int>(response->result_int()), textOf((*response)[http::field::content_type]),
                      textOf((*response)["Fencing-Token"]), response->body()};
      if (!response->keep_alive()) close();
      return reply;
    }
  }
  close();
  return lost("the connection ended", true);
}

bool HttpConnection::sendRaw(const std::string& bytes) {
  if (!connect()) return false;
  boost::system::error_code error;
  boost::asio::write(*socket_, boost::asio::buffer(bytes), error);
  return !error;
}

std::optional<http::response<http::string_body>> HttpConnection::read(bool head) {
  boost::system::error_code error;
  http::response_parser<http::string_body> parser;
  parser.body_limit(64U << 20U);
  parser.skip(head);
  http::read(*socket_, buffer_, parser, error);
  if (error) return std::nullopt;
  return parser.release();
}

}  // namespace tenure::test
