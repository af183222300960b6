// A service of raw bytes, for answers that no HTTP library would send.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace tenure::test {

class RawService {
 public:
  /// Answers a request whose header it has read; afterwards the connection ends. It stops answering when send() returns
  /// false.
  using Answer = std::function<void(RawService&, boost::asio::ip::tcp::socket&, const std::string& header)>;

  explicit RawService(Answer answer);
  ~RawService();
  RawService(const RawService&) = delete;
  RawService& operator=(const RawService&) = delete;

  [[nodiscard]] unsigned short port() const noexcept { return port_; }
  /// False once the other side has gone.
  [[nodiscard]] static bool send(boost::asio::ip::tcp::socket& socket, const std::string& bytes);
  /// Ends the connection with a RST.
  void reset(boost::asio::ip::tcp::socket& socket);

 private:
  void accept();
  void serve(boost::asio::ip::tcp::socket& socket);

  const Answer answer_;
  boost::asio::io_context io_{};
  boost::asio::ip::tcp::acceptor acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  const unsigned short port_{acceptor_.local_endpoint().port()};
  std::mutex mutex_{};
  bool stopping_{false};  ///< guarded by mutex_, like the next two
  std::list<boost::asio::ip::tcp::socket> sockets_{};
  std::list<std::thread> threads_{};  ///< used by the accepting thread until that has ended
  std::thread acceptThread_{};
};

}  // namespace tenure::test
