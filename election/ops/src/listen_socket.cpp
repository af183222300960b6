#include "listen_socket.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string_view>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::ops {
namespace {

struct SystemAddress {
  sockaddr_storage storage{};
  socklen_t length{0};

  [[nodiscard]] sockaddr* raw() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

SystemAddress systemAddress(const ListenAddress& from) {
  SystemAddress out;
  if (from.isUnix()) {
    auto* to = reinterpret_cast<sockaddr_un*>(&out.storage);
    to->sun_family = AF_UNIX;
    std::memcpy(to->sun_path, from.path.c_str(), from.path.size() + 1);
    out.length = sizeof *to;
  } else if (from.host.find(':') != std::string::npos) {
    auto* to = reinterpret_cast<sockaddr_in6*>(&out.storage);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(from.port);
    inet_pton(AF_INET6, from.host.c_str(), &to->sin6_addr);
    out.length = sizeof *to;
  } else {
    auto* to = reinterpret_cast<sockaddr_in*>(&out.storage);
    to->sin_family = AF_INET;
    to->sin_port = htons(from.port);
    inet_pton(AF_INET, from.host.c_str(), &to->sin_addr);
    out.length = sizeof *to;
  }
  return out;
}

AddressFault faultOf(const ListenAddress& address, int error) {
  const std::string where = toString(address);
  switch (error) {
    case EADDRINUSE:
      return {where +
              " is taken: another process listens there (ss -ltnp, or ss -lxp for a Unix socket, shows which); " +
              "give another address, or stop that process"};
    case EACCES:
    case EPERM:
      return {"this user may not listen on " + where +
              (address.isUnix() ? "; it must be able to read and write the directory"
                                : "; ports below 1024 need CAP_NET_BIND_SERVICE, or give a higher one")};
    case EWOULDBLOCK:
      return {"another process holds a lock on the directory of " + where +
              " (flock); stop it, or give another directory"};
    case EADDRNOTAVAIL:
      return {"this machine has no address " + address.host + "; give one that it has, such as 127.0.0.1"};
    case ENOENT:
      return {"cannot listen on " + where + ": its directory does not exist; make it"};
    default:
      return {"cannot listen on " + where + ": " + errnoText(error)};
  }
}

UniqueFd newSocket(int family) {
  occupyStandardDescriptors();
  return UniqueFd{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

/// Held from the look at a socket that is there until its replacement listens. Else two processes could both find it
/// stale, and the later one would remove the other's; and a socket that is bound and does not listen yet looks stale.
/// The kernel gives the lock back at the end of a process. Empty, with `error`: somebody has held it for two seconds,
/// or the directory cannot be opened.
UniqueFd lockDirectoryOf(const std::string& path, int& error) {
  constexpr int tries = 100;
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  UniqueFd out{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  for (int i = 0; out; ++i) {
    if (flock(out.get(), LOCK_EX | LOCK_NB) == 0) return out;
    if (errno != EINTR && (errno != EWOULDBLOCK || i == tries)) break;
    poll(nullptr, 0, 20);
  }
  error = errno;
  return {};
}

/// Nobody has listened on a socket that refuses: the process that made it is gone. 0: the path is free now.
int removeStale(const ListenAddress& address) {
  struct stat found {};
  if (lstat(address.path.c_str(), &found) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(found.st_mode)) return EADDRINUSE;
  int error = 0;
  const UniqueFd probe = connectTo(address, error);
  if (error == ENOENT) return 0;
  if (error == 0 || error == EAGAIN) return EADDRINUSE;
  if (error != ECONNREFUSED) return error;
  return unlink(address.path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

/// The port stays free for others until somebody listens. The error, or 0.
int bindPort(int fd, const ListenAddress& address) {
  SystemAddress to = systemAddress(address);
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return errno;
  return bind(fd, to.raw(), to.length) == 0 ? 0 : errno;
}

AddressFault noSocket(const ListenAddress& address) {
  return {address.path + " exists and is not a socket; give another path, or remove it"};
}

bool isOtherFile(const ListenAddress& address) {
  struct stat found {};
  return address.isUnix() && lstat(address.path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode);
}

/// The error, or 0.
int bindTo(int fd, const ListenAddress& address) {
  constexpr mode_t groupToo = 0660;
  SystemAddress to = systemAddress(address);
  if (!address.isUnix()) {
    const int error = bindPort(fd, address);
    return error != 0 ? error : listen(fd, SOMAXCONN) == 0 ? 0 : errno;
  }
  int error = 0;
  const UniqueFd directory = lockDirectoryOf(address.path, error);
  if (directory) error = removeStale(address);
  if (error != 0) return error;
  // The kernel takes the file's mode from the socket, so at no moment may others connect.
  if (fchmod(fd, groupToo) != 0) return errno;
  if (bind(fd, to.raw(), to.length) != 0) return errno;
  if (chmod(address.path.c_str(), groupToo) != 0) return errno;
  return listen(fd, SOMAXCONN) == 0 ? 0 : errno;
}

std::uint16_t portOf(int fd) {
  SystemAddress own;
  own.length = sizeof own.storage;
  if (getsockname(fd, own.raw(), &own.length) != 0) return 0;
  // The port is at the same place in both kinds of addresses.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&own.storage)->sin_port);
}

}  // namespace

boost::system::result<ListenSocket, AddressFault> ListenSocket::open(ListenAddress address) {
  UniqueFd fd = newSocket(systemAddress(address).storage.ss_family);
  if (!fd) return faultOf(address, errno);
  if (const int error = bindTo(fd.get(), address); error != 0) {
    if (error == EADDRINUSE && isOtherFile(address)) return noSocket(address);
    return faultOf(address, error);
  }
  ListenSocket out{std::move(address), std::move(fd)};
  if (out.address_.isUnix()) {
    struct stat own {};
    if (lstat(out.address_.path.c_str(), &own) == 0) out.device_ = own.st_dev, out.inode_ = own.st_ino;
  } else {
    out.address_.port = portOf(out.fd_.get());
  }
  return out;
}

std::optional<AddressFault> ListenSocket::obstacle(const ListenAddress& address) {
  int error = 0;
  if (!address.isUnix()) {
    const UniqueFd fd = newSocket(systemAddress(address).storage.ss_family);
    error = fd ? bindPort(fd.get(), address) : errno;
  } else if (isOtherFile(address)) {
    return noSocket(address);
  } else if (access(address.path.substr(0, address.path.rfind('/') + 1).c_str(), W_OK | X_OK) != 0) {
    error = errno;
  } else if (connectTo(address, error)) {
    error = error == 0 || error == EAGAIN ? EADDRINUSE : 0;  // what a dead process left is replaced
  }
  return error == 0 ? std::nullopt : std::optional{faultOf(address, error)};
}

ListenSocket::~ListenSocket() {
  if (!fd_ || !address_.isUnix()) return;
  struct stat found {};
  const bool ours = lstat(address_.path.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
  if (ours) unlink(address_.path.c_str());
}

std::string arrivedAt(int connection) {
  SystemAddress own;
  own.length = sizeof own.storage;
  if (getsockname(connection, own.raw(), &own.length) != 0 || own.storage.ss_family == AF_UNIX) return {};
  const bool six = own.storage.ss_family == AF_INET6;
  const void* bytes = six ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&own.storage)->sin6_addr)
                          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&own.storage)->sin_addr);
  char text[INET6_ADDRSTRLEN]{};
  inet_ntop(six ? AF_INET6 : AF_INET, bytes, text, sizeof text);
  constexpr std::string_view mapped = "::ffff:";  // IPv4 on a socket of IPv6
  const std::string_view address{text};
  return std::string{address.starts_with(mapped) ? address.substr(mapped.size()) : address};
}

UniqueFd connectTo(const ListenAddress& address, int& error) noexcept {
  SystemAddress to = systemAddress(address);
  UniqueFd out = newSocket(to.storage.ss_family);
  error = out && connect(out.get(), to.raw(), to.length) == 0 ? 0 : errno;
  return out;
}

int ListenSocket::family() const noexcept {
  if (address_.isUnix()) return AF_UNIX;
  return address_.host.find(':') != std::string::npos ? AF_INET6 : AF_INET;
}

UniqueFd ListenSocket::accept() const noexcept {
  return UniqueFd{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
}

}  // namespace tenure::ops
