// A service that answers one target as no service should, and all others correctly.
#pragma once

#include <atomic>
#include <future>
#include <iosfwd>
#include <optional>
#include <string>

#include "adapters/gateway/raw_service.hpp"

namespace tenure::test {

/// Many times the size of any buffer of the proxy, or of the two sockets.
inline constexpr std::size_t flood = 48U << 20U;

/// A POST with this token; its Content-Length is that of the body.
[[nodiscard]] std::string postOf(const std::string& target, int token, const std::string& body = "x");

enum class Then {
  keeps,    ///< waits for the next request
  closes,   ///< closes the connection in good order
  resets,   ///< resets the connection
  stalls,   ///< sends nothing more, and keeps the connection
  repeats,  ///< repeats `more` for as long as anybody takes it
  drips,    ///< sends `more` byte by byte with 50 ms between them, and waits for the next request
  early,    ///< does all this before it has read the body, and closes
};

struct Fault {
  const char* name;
  std::string answer;
  Then then{Then::closes};
  unsigned status{502};  ///< for the client; 0: its connection ends during the answer, or without one
  std::string body{};    ///< expected with status 200
  std::string more{};
  std::string request{postOf("/fault", 5)};
};

std::ostream& operator<<(std::ostream& out, const Fault& one);

class FaultyService {
 public:
  explicit FaultyService(Fault fault);

  [[nodiscard]] unsigned short port() const noexcept { return service_.port(); }
  /// How many bytes of `more` were taken.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  /// Waits until the faulty request has come.
  void waitForFault() { come_.get_future().wait(); }

  static constexpr const char* ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

 private:
  class Requests;

  void serve(boost::asio::ip::tcp::socket& socket, const std::string& read);
  [[nodiscard]] bool fail(boost::asio::ip::tcp::socket& socket, Requests& requests);

  const Fault fault_;
  std::atomic<std::size_t> taken_{0};
  std::promise<void> come_{};
  RawService service_;
};

}  // namespace tenure::test
