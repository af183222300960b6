#include "test_server.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "lockcore/runtime/thread.hpp"

namespace tenure::test {
namespace {

int newSocket(bool v6, bool blocking = true) {
  const int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0);
  if (fd < 0) throw std::runtime_error("no socket");
  return fd;
}

std::uint16_t bindLoopback(int fd, bool v6, std::uint16_t port = 0) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  four.sin_port = six.sin6_port = htons(port);
  auto* address = v6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  socklen_t size = v6 ? sizeof six : sizeof four;
  if (bind(fd, address, size) != 0 || getsockname(fd, address, &size) != 0) throw std::runtime_error("no port");
  return ntohs(v6 ? six.sin6_port : four.sin_port);
}

}  // namespace

std::string Peer::readSome() {
  if (!rest_.empty()) return std::exchange(rest_, {});
  char room[16384];
  for (;;) {
    const auto count = tls_ ? SSL_read(tls_.get(), room, sizeof room) : recv(fd_, room, sizeof room, 0);
    if (count < 0 && !tls_ && errno == EINTR) continue;
    return count > 0 ? std::string(room, static_cast<std::size_t>(count)) : std::string{};
  }
}

std::string Peer::readRequest() {
  std::string all;
  std::size_t whole = std::string::npos;
  while (all.size() < whole) {
    const std::string more = readSome();
    if (more.empty()) return {};
    all += more;
    const auto end = all.find("\r\n\r\n");
    if (end == std::string::npos || whole != std::string::npos) continue;
    const auto length = all.find("Content-Length: ");
    whole = end + 4 + (length < end ? std::stoul(all.substr(length + 16)) : 0);
  }
  rest_ = all.substr(whole);
  return all.substr(0, whole);
}

bool Peer::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                            : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Peer::reply(std::string_view body) {
  return write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body});
}

bool Peer::startTls() {
  tls_.reset(SSL_new(server_.context().get()), SSL_free);
  SSL_set_fd(tls_.get(), fd_);
  const bool done = SSL_accept(tls_.get()) == 1;
  ERR_clear_error();
  return done;
}

bool Peer::resumed() const { return SSL_session_reused(tls_.get()) == 1; }

std::string Peer::serverName() const {
  const char* name = SSL_get_servername(tls_.get(), TLSEXT_NAMETYPE_host_name);
  return name != nullptr ? name : "";
}

void Peer::sayFarewell() {
  if (tls_) SSL_shutdown(tls_.get());
}

void Peer::close() {
  sayFarewell();
  shutdown(fd_, SHUT_RDWR);
}

void Peer::reset() {
  const linger none{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  const std::lock_guard lock{server_.mutex_};
  std::erase(server_.open_, fd_);
  ::close(std::exchange(fd_, -1));
}

void Peer::waitForEnd() {
  while (!readSome().empty()) {
  }
}

Peer::~Peer() {
  if (fd_ < 0) return;
  const std::lock_guard lock{server_.mutex_};
  std::erase(server_.open_, fd_);
  ::close(fd_);
}

void echo(Peer& peer) {
  for (;;) {
    const std::string request = peer.readRequest();
    if (request.empty() || !peer.reply(request.substr(request.find("\r\n\r\n") + 4))) return;
  }
}

void tunnel(Peer& peer, std::uint16_t port) {
  const int fd = newSocket(false);
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server.sin_port = htons(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0)
    throw std::runtime_error("no server");
  char room[16384];
  for (bool goesOn = true; goesOn;) {
    pollfd ends[2] = {{peer.fd(), POLLIN, 0}, {fd, POLLIN, 0}};
    if (poll(ends, 2, -1) < 0) continue;
    if (ends[0].revents != 0) {
      const std::string some = peer.readSome();
      goesOn = !some.empty() && send(fd, some.data(), some.size(), MSG_NOSIGNAL) > 0;
    }
    if (goesOn && ends[1].revents != 0) {
      const auto count = recv(fd, room, sizeof room, 0);
      goesOn = count > 0 && peer.write({room, static_cast<std::size_t>(count)});
    }
  }
  ::close(fd);
}

TestServer::TestServer(Script script, Options options) : script_{std::move(script)}, options_{std::move(options)} {
  if (options_.identity) context_ = contextWith(*options_.identity);
  listener_ = newSocket(options_.v6);
  port_ = bindLoopback(listener_, options_.v6, options_.port);
  if (listen(listener_, 256) != 0) throw std::runtime_error("no listener");
  acceptor_ = detail::startThread("test-accept", [this] { acceptAll(); });
}

std::shared_ptr<SSL_CTX> TestServer::contextWith(const Identity& identity) const {
  std::shared_ptr<SSL_CTX> made{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  SSL_CTX_set_security_level(made.get(), 0);  // otherwise OpenSSL 3 speaks no TLS 1.1
  SSL_CTX_set_min_proto_version(made.get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(made.get(), options_.newestTls);
  SSL_CTX_use_certificate(made.get(), identity.certificate.get());
  SSL_CTX_use_PrivateKey(made.get(), identity.key.get());
  if (!options_.clientCa.empty()) {
    SSL_CTX_load_verify_file(made.get(), options_.clientCa.c_str());
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    static constexpr unsigned char id[] = "test";  // sessions with certificates are resumed only with one
    SSL_CTX_set_session_id_context(made.get(), id, sizeof id);
  }
  return made;
}

std::shared_ptr<SSL_CTX> TestServer::context() {
  const std::lock_guard lock{mutex_};
  return context_;
}

void TestServer::present(const Identity& identity) {
  auto made = contextWith(identity);  // with its own ticket keys
  const std::lock_guard lock{mutex_};
  context_ = std::move(made);
}

void TestServer::acceptAll() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0) return;
    const std::lock_guard lock{mutex_};
    if (ending_.load()) {
      ::close(fd);
      return;
    }
    open_.push_back(fd);
    const int number = ++accepted_;
    threads_.push_back(detail::startThread("test-peer", [this, fd, number] {
      Peer peer{*this, fd, number};
      if (options_.identity && !options_.scriptStartsTls && !peer.startTls()) return;
      script_(peer);
    }));
  }
}

void TestServer::refuseConnections() const { shutdown(listener_, SHUT_RDWR); }

std::size_t TestServer::open() {
  const std::lock_guard lock{mutex_};
  return open_.size();
}

TestServer::~TestServer() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

std::uint16_t closedPort() {
  return bindLoopback(newSocket(false), false);  // it stays bound, so that nobody else listens there
}

SilentPort::SilentPort() : fds_{newSocket(false)}, port_{bindLoopback(fds_.front(), false)} {
  listen(fds_.front(), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port_);
  for (int i = 0; i < 16; ++i) {
    const int fd = newSocket(false, false);
    fds_.push_back(fd);
    // Not blocking: poll() shows whether it succeeds.
    [[maybe_unused]] const int underWay = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd waits{fd, POLLOUT, 0};
    if (poll(&waits, 1, 100) == 0) return;  // this one hangs, and so will the next one
  }
  throw std::runtime_error("the queue of a listener does not fill");
}

SilentPort::~SilentPort() {
  for (const int fd : fds_) ::close(fd);
}

}  // namespace tenure::test
