#include "adapters/gateway/ledger_service.hpp"

#include <sys/socket.h>

#include <boost/beast/core/flat_buffer.hpp>

namespace tenure::test {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

LedgerService::LedgerService(Hook hook) : hook_{std::move(hook)}, acceptThread_{[this] { accept(); }} {}

LedgerService::~LedgerService() {
  stopping_ = true;
  ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
  acceptThread_.join();
  {
    const std::lock_guard lock{mutex_};
    for (auto& socket : sockets_) ::shutdown(socket.native_handle(), SHUT_RDWR);
  }
  for (auto& thread : threads_) thread.join();
}

std::vector<std::string> LedgerService::bodies() const {
  const std::lock_guard lock{mutex_};
  return bodies_;
}

std::vector<LedgerService::Request> LedgerService::requests() const {
  const std::lock_guard lock{mutex_};
  return requests_;
}

void LedgerService::accept() {
  while (!stopping_) {
    boost::system::error_code error;
    tcp::socket socket = acceptor_.accept(error);
    if (error) continue;
    const std::lock_guard lock{mutex_};
    socket.set_option(tcp::no_delay{true}, error);
    sockets_.push_back(std::move(socket));
    threads_.emplace_back([this, &own = sockets_.back()] { serve(own); });
  }
}

void LedgerService::serve(tcp::socket& socket) {
  boost::beast::flat_buffer buffer;
  for (;;) {
    boost::system::error_code error;
    http::request_parser<http::string_body> parser;
    parser.body_limit(64U << 20U);
    http::read(socket, buffer, parser, error);
    if (error) break;
    const Request request = parser.release();
    Response response{http::status::ok, 11};
    response.keep_alive(request.keep_alive());
    if (hook_) hook_(request, response);
    {
      const std::lock_guard lock{mutex_};
      requests_.push_back(request);
      if (request.method() == http::verb::post) bodies_.push_back(request.body());
    }
    if (response.body().empty()) response.body() = request.body();
    response.prepare_payload();
    if (request.method() == http::verb::head) response.body().clear();
    http::write(socket, response, error);
    if (error || !response.keep_alive()) break;
  }
  boost::system::error_code ignored;
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

}  // namespace tenure::test
