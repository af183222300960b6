// The service behind the proxy under test. It keeps every byte that arrives, with the time of arrival. It answers as
// the script says, even in ways that no service should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "connection/reader.hpp"
#include "connection/script.hpp"

namespace tenure::fuzz {

/// A request as it arrived. Times count the pieces that the service has received; 0: not yet.
struct Arrival {
  ReadRequest request{};
  unsigned long long token{0};
  std::size_t firstByte{0};
  std::size_t lastByte{0};  ///< the last of those that have arrived
  std::size_t answered{0};  ///< from then on it may count as done: an answer has begun, or nobody waits for one
};

/// The answers, by their letters:
///   o  200 with a length        c  the same, and closes      k  in chunks, with extension and trailer
///   u  until it closes          s  none                      d  a byte whenever there is nothing else to do
///   e  before the body          r  resets                    f  closes without one
///   h  half of one, and closes  l  two at once               p  a second one when nobody has asked
///   i  100 and 103 before       w  101                       x  no HTTP
///   b  with two framings        t  with a token of its own   n  204 with a body
///   m  304                      H  with a body also to HEAD  z  a stream that does not end
///   A  the script's bytes
/// Only an answer that must not pass for the answer to another request contains `strayMark`.
class Service {
 public:
  Service();
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  [[nodiscard]] unsigned short port() const noexcept { return port_; }
  /// For the next input: drops all state.
  void reset(std::deque<Answer> answers);
  /// Handles what has arrived, and sends the answers that are due. True if there was anything to do.
  bool step();
  /// The sockets on which something may arrive.
  void watch(std::vector<int>& sockets) const;
  /// Sends what needs no request: for the answers d, p and z.
  void drip();
  [[nodiscard]] bool hasToDrip() const;
  /// Stops drip() for good.
  void fallSilent() noexcept { silent_ = true; }

  /// The bytes of each connection, and the requests in them as a strict reader sees them.
  struct Connection {
    int socket{-1};
    std::string bytes{};
    std::vector<Arrival> arrivals{};
    std::size_t readUpTo{0};
    std::string toSend{};  ///< the rest of a slow answer
    bool streams{false};
    bool strays{false};
    bool closesAfter{false};
    bool ended{false};  ///< the proxy has sent its last byte
  };
  [[nodiscard]] const std::vector<std::unique_ptr<Connection>>& connections() const noexcept { return connections_; }
  [[nodiscard]] std::size_t keptBytes() const noexcept { return keptBytes_; }

  static constexpr const char* answersName = "x-tenure-answers";  ///< a field of answers: the target of the request
  static constexpr const char* strayMark = "x-tenure-stray";
  static constexpr const char* forgedHolder = "x-tenure-forged";

 private:
  bool accept();
  bool receive(Connection& connection);
  void read(Connection& connection);
  void begins(const Arrival& later);
  void answer(Connection& connection, Arrival& arrival);
  void send(Connection& connection, const std::string& bytes);
  void end(Connection& connection, bool reset);

  int listener_{-1};
  unsigned short port_{0};
  std::vector<std::unique_ptr<Connection>> connections_{};
  std::deque<Answer> answers_{};
  std::size_t now_{0};
  std::size_t keptBytes_{0};
  bool silent_{false};
};

}  // namespace tenure::fuzz
