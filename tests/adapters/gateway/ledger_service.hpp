// An HTTP service that knows nothing about fences: it appends what is posted, in the order of arrival.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http.hpp>

namespace tenure::test {

class LedgerService {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  /// Called before it appends; may block, and may change the answer.
  using Hook = std::function<void(const Request&, Response&)>;

  explicit LedgerService(Hook hook = {});
  ~LedgerService();
  LedgerService(const LedgerService&) = delete;
  LedgerService& operator=(const LedgerService&) = delete;

  [[nodiscard]] unsigned short port() const noexcept { return port_; }
  /// The bodies of all POSTs that were answered, or would have been.
  [[nodiscard]] std::vector<std::string> bodies() const;
  /// All requests that arrived completely.
  [[nodiscard]] std::vector<Request> requests() const;

 private:
  void accept();
  void serve(boost::asio::ip::tcp::socket& socket);

  Hook hook_;
  boost::asio::io_context io_{};
  boost::asio::ip::tcp::acceptor acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  unsigned short port_{acceptor_.local_endpoint().port()};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_{};
  std::vector<std::string> bodies_{};
  std::vector<Request> requests_{};
  std::list<boost::asio::ip::tcp::socket> sockets_{};
  std::vector<std::thread> threads_{};
  std::thread acceptThread_{};
};

}  // namespace tenure::test
