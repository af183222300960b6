#include "adapters/gateway/faulty_service.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tenure::test {

using boost::asio::ip::tcp;

std::string postOf(const std::string& target, int token, const std::string& body) {
  return "POST " + target + " HTTP/1.1\r\nHost: h\r\nFencing-Token: billing=" + std::to_string(token) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::ostream& operator<<(std::ostream& out, const Fault& one) { return out << one.name; }

/// The requests of one connection, one after the other.
class FaultyService::Requests {
 public:
  Requests(tcp::socket& socket, std::string read) : socket_{socket}, buffer_{std::move(read)} {}

  std::optional<std::string> nextHead() {
    boost::system::error_code error;
    boost::asio::read_until(socket_, boost::asio::dynamic_buffer(buffer_), "\r\n\r\n", error);
    if (error) return std::nullopt;
    return take(buffer_.find("\r\n\r\n") + 4);
  }
  void skipBody(const std::string& head) {
    constexpr std::string_view name = "Content-Length: ";
    const std::size_t at = head.find(name);
    const std::size_t length = at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
    boost::system::error_code error;
    const std::size_t missing = length - std::min(length, buffer_.size());
    boost::asio::read(socket_, boost::asio::dynamic_buffer(buffer_), boost::asio::transfer_exactly(missing), error);
    (void)take(std::min(length, buffer_.size()));
  }
  void waitForEnd() {
    boost::system::error_code error;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(buffer_), error);
  }

 private:
  std::string take(std::size_t bytes) {
    std::string out = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
    return out;
  }

  tcp::socket& socket_;
  std::string buffer_;
};

FaultyService::FaultyService(Fault fault)
    : fault_{std::move(fault)}, service_{[this](RawService&, tcp::socket& socket, const std::string& read) {
        serve(socket, read);
      }} {}

void FaultyService::serve(tcp::socket& socket, const std::string& read) {
  Requests requests{socket, read};
  while (const auto head = requests.nextHead()) {
    const bool isFaulty = head->find(" /fault ") != std::string::npos;
    if (!isFaulty || fault_.then != Then::early) requests.skipBody(*head);
    if (!isFaulty && !RawService::send(socket, ok)) return;
    if (isFaulty && !fail(socket, requests)) return;
  }
}

/// False if the connection ends.
bool FaultyService::fail(tcp::socket& socket, Requests& requests) {
  (void)RawService::send(socket, fault_.answer);
  come_.set_value();
  switch (fault_.then) {
    case Then::keeps:
      return true;
    case Then::closes:
    case Then::early:
      return false;
    case Then::stalls:
      requests.waitForEnd();
      return false;
    case Then::resets:
      service_.reset(socket);
      return false;
    case Then::repeats:
      for (; taken_ < flood && RawService::send(socket, fault_.more);) taken_ += fault_.more.size();
      return false;
    case Then::drips:
      for (const char byte : fault_.more) {
        boost::asio::steady_timer pause{socket.get_executor(), std::chrono::milliseconds{50}};
        pause.wait();  // the pause is what is tested
        if (!RawService::send(socket, std::string(1, byte))) return false;
      }
      return true;
  }
  return false;
}

}  // namespace tenure::test
