#include "bare_post.hpp"

#include <memory>
#include <stdexcept>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace tenure::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using std::chrono::nanoseconds;

http::request<http::string_body> parsed(const std::string& bytes) {
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  beast::error_code error;
  parser.put(asio::buffer(bytes), error);
  if (error || !parser.is_done()) throw std::runtime_error("the recorded request cannot be read: " + error.message());
  return parser.release();
}

class Poster {
 public:
  Poster(const std::string& request, std::uint16_t port, nanoseconds gap, nanoseconds span)
      : request_{parsed(request)}, gap_{gap}, span_{span} {
    constexpr int connectionCount = 8;
    for (int i = 0; i < connectionCount; ++i) {
      connections_.push_back(std::make_unique<Connection>(io_));
      connections_.back()->stream.connect(tcp::endpoint{asio::ip::address_v4::loopback(), port});
      connections_.back()->stream.socket().set_option(tcp::no_delay{true});
      idle_.push_back(connections_.back().get());
    }
  }

  std::int64_t run() {
    timer_.expires_after(nanoseconds{0});
    start_ = due_ = timer_.expiry();
    next();
    io_.run();
    return replies_;
  }

 private:
  struct Connection {
    explicit Connection(asio::io_context& io) : stream{io} {}
    beast::tcp_stream stream;
    beast::flat_buffer buffer{};
    http::response<http::string_body> reply{};
  };

  /// One timer for each post, as in a client that does not save wake-ups.
  void next() {
    due_ += gap_;
    if (due_ - start_ > span_) return;
    timer_.expires_at(due_);
    timer_.async_wait([this](beast::error_code) {
      post();
      next();
    });
  }

  void post() {
    if (idle_.empty()) {
      ++waiting_;
      return;
    }
    Connection& connection = *idle_.back();
    idle_.pop_back();
    http::async_write(connection.stream, request_, [this, &connection](beast::error_code error, std::size_t) {
      if (error) throw beast::system_error{error};
      connection.reply = {};
      http::async_read(connection.stream, connection.buffer, connection.reply,
                       [this, &connection](beast::error_code failed, std::size_t) {
                         if (failed) throw beast::system_error{failed};
                         ++replies_;
                         idle_.push_back(&connection);
                         if (waiting_ == 0) return;
                         --waiting_;
                         post();
                       });
    });
  }

  const http::request<http::string_body> request_;
  const nanoseconds gap_;
  const nanoseconds span_;
  asio::io_context io_{1};
  asio::steady_timer timer_{io_};
  asio::steady_timer::time_point start_{};
  asio::steady_timer::time_point due_{};
  std::vector<std::unique_ptr<Connection>> connections_{};
  std::vector<Connection*> idle_{};
  int waiting_{0};
  std::int64_t replies_{0};
};

}  // namespace

std::int64_t postBarely(const std::string& request, std::uint16_t port, int perPeriod, std::chrono::milliseconds period,
                        std::chrono::milliseconds span) {
  return Poster{request, port, nanoseconds{period} / perPeriod, span}.run();
}

}  // namespace tenure::bench
