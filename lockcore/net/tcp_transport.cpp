#include <array>
#include <cerrno>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "transport.hpp"

namespace tenure::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;  // no type-erased executor to pay for

tcp::endpoint endpointOf(const IpAddress& address, std::uint16_t port) {
  if (address.v6) return {asio::ip::address_v6{address.bytes, address.scope}, port};
  asio::ip::address_v4::bytes_type bytes{};
  std::copy_n(address.bytes.begin(), bytes.size(), bytes.begin());
  return {asio::ip::address_v4{bytes}, port};
}

// Available since Linux 6.15; linux/tcp.h of the system that compiles this may be older.
constexpr int rtoMaxMs = 44;
constexpr int rtoMinUs = 45;

/// Only one small request at a time is on its way, and its sender has little time. So data that a line lost is sent
/// again after 50 ms (the system's rule is 200 ms; peers delay an acknowledgement by 40 ms), and at constant intervals
/// instead of ever longer ones. Where the system lacks this option it keeps its own intervals.
void sendAgainSoon(int fd) {
  const auto set = [fd](int option, int value) {
    static_cast<void>(setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value));
  };
  set(TCP_THIN_LINEAR_TIMEOUTS, 1);
  set(rtoMinUs, 50'000);
  set(rtoMaxMs, 1'000);
}

/// The buffer for what was just read; one for all wires of the loop.
using Room = std::array<char, 16384>;

class TcpWire final : public Wire, public std::enable_shared_from_this<TcpWire> {
 public:
  TcpWire(asio::io_context& loop, Room& room, WireListener& listener)
      : listener_{&listener}, room_{room}, socket_{loop} {}

  void open(const IpAddress& address, std::uint16_t port) {
    const tcp::endpoint endpoint = endpointOf(address, port);
    error_code ec = makeSocket(endpoint);
    if (ec) {
      asio::post(socket_.get_executor(), [self = shared_from_this(), ec] { self->end(ec); });
      return;
    }
    socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& failure) {
      if (self->listener_ == nullptr) return;
      if (failure) return self->end(failure);
      self->open_ = true;
      self->listener_->onOpen();
      self->read();
    });
  }

  void write(std::string_view bytes) override {
    if (listener_ == nullptr || broken_) return;
    if (queue_.empty()) bytes.remove_prefix(sendNow(bytes));
    if (bytes.empty() || broken_) return;
    queue_.append(bytes);
    if (!sending_) sendLater();
  }

  std::uint64_t taken() const noexcept override { return taken_; }
  bool sending() const noexcept override { return !queue_.empty(); }

  Peek peek(std::string& bytes) override {
    if (listener_ == nullptr || broken_) return Peek::end;
    char room[4096];
    const ssize_t count = receive(room, sizeof room);
    if (count > 0) {
      bytes.append(room, static_cast<std::size_t>(count));
      return Peek::bytes;
    }
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Peek::nothing : Peek::end;
  }

  void close() noexcept override {
    listener_ = nullptr;
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  /// Made directly, because Asio makes sockets that a child process inherits.
  error_code makeSocket(const tcp::endpoint& endpoint) {
    occupyStandardDescriptors();
    const int fd = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return {errno, boost::system::system_category()};
    error_code ec;
    socket_.assign(endpoint.protocol(), fd, ec);
    if (ec) {
      ::close(fd);
      return ec;
    }
    socket_.set_option(tcp::no_delay{true}, ec);
    sendAgainSoon(fd);
    return {};
  }

  /// Waits first and then reads directly: bytes that Asio had read but not delivered yet would be invisible to
  /// peek().
  void read() {
    if (listener_ == nullptr) return;
    socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& ec) {
      if (self->listener_ == nullptr) return;
      if (ec) return self->end(ec);
      const ssize_t count = self->receive(self->room_.data(), self->room_.size());
      if (count > 0) {
        self->listener_->onBytes({self->room_.data(), static_cast<std::size_t>(count)});
      } else if (count == 0) {
        return self->end(asio::error::eof);
      } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
        return self->end({errno, boost::system::system_category()});
      }
      self->read();
    });
  }

  ssize_t receive(char* room, std::size_t size) {
    for (;;) {
      const ssize_t count = recv(socket_.native_handle(), room, size, MSG_DONTWAIT);
      if (count >= 0 || errno != EINTR) return count;
    }
  }

  std::size_t sendNow(std::string_view bytes) {
    for (;;) {
      const ssize_t count = send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) {
        taken_ += static_cast<std::uint64_t>(count);
        return static_cast<std::size_t>(count);
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) breakOff();
      return 0;
    }
  }

  void sendLater() {
    sending_ = true;
    socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code& ec) {
      self->sending_ = false;
      if (self->listener_ == nullptr || ec) return;
      self->queue_.erase(0, self->sendNow(self->queue_));
      if (!self->queue_.empty() && !self->broken_) self->sendLater();
    });
  }

  /// The read under way still receives what the peer sent before (it may be an answer), then it meets the end.
  void breakOff() noexcept {
    broken_ = true;
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  void end(const error_code& ec) {
    if (listener_ == nullptr) return;
    WireListener& listener = *std::exchange(listener_, nullptr);
    error_code ignored;
    socket_.close(ignored);
    listener.onEnd(open_ && ec == asio::error::eof ? std::string{} : errnoText(ec));
  }

  WireListener* listener_;
  Room& room_;
  Socket socket_;
  bool open_{false};
  bool broken_{false};
  bool sending_{false};
  std::uint64_t taken_{0};
  std::string queue_{};
};

class TcpDialer final : public Dialer {
 public:
  explicit TcpDialer(asio::io_context& loop) : loop_{loop} {}

  std::shared_ptr<Wire> dial(const IpAddress& address, std::uint16_t port, WireListener& listener) override {
    auto wire = std::make_shared<TcpWire>(loop_, room_, listener);
    wire->open(address, port);
    return wire;
  }

 private:
  asio::io_context& loop_;
  Room room_{};
};

}  // namespace

std::unique_ptr<Dialer> makeTcpDialer(asio::io_context& loop) { return std::make_unique<TcpDialer>(loop); }

}  // namespace tenure::net
