#include "client.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>

#include "listen_socket.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/patience.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::ops {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t mostBytes = 4U << 20U;

bool await(int fd, short what, const Patience& patience) {
  pollfd entry{fd, what, 0};
  const auto left = std::chrono::ceil<milliseconds>(patience.left()).count();
  return poll(&entry, 1, static_cast<int>(left)) == 1;
}

/// An errno; 0: everything was sent.
int sendAll(int fd, std::string_view text, const Patience& patience) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return errno;
    if (sent < 0 && !await(fd, POLLOUT, patience)) return ETIMEDOUT;
  }
  return 0;
}

/// An errno; 0: the peer has ended its answer.
int readAll(int fd, std::string& to, const Patience& patience) {
  char piece[8192];
  for (;;) {
    const ssize_t got = recv(fd, piece, sizeof piece, 0);
    if (got == 0) return 0;
    if (got > 0) to.append(piece, static_cast<std::size_t>(got));
    if (to.size() > mostBytes) return EMSGSIZE;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return errno;
    if (got < 0 && !await(fd, POLLIN, patience)) return ETIMEDOUT;
  }
}

AskFault unreachable(const ListenAddress& address, int error) {
  const std::string where = toString(address);
  if (error == ECONNREFUSED || error == ENOENT) {
    return {"nothing listens on " + where + "; start the copy there with tenure run --http " + where +
            ", or with http.listen in its file"};
  }
  if (error == EACCES) return {"this user may not connect to " + where + "; its group or its user may"};
  if (error == ETIMEDOUT) return {where + " has not answered in time"};
  return {"cannot ask " + where + ": " + errnoText(error)};
}

boost::system::result<std::string, AskFault> bodyOf(const std::string& answer, const ListenAddress& address) {
  const std::string where = toString(address);
  const std::size_t end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || end == std::string::npos) {
    return AskFault{"what listens on " + where + " is not tenure's listener: its answer is not HTTP"};
  }
  if (answer.substr(8, 5) != " 200 ") {
    const std::string_view line = std::string_view{answer}.substr(0, answer.find("\r\n"));
    return AskFault{where + " answers " + inQuotes(line.substr(std::min<std::size_t>(9, line.size()))) +
                    "; is it a listener of tenure (tenure run --http)?"};
  }
  return boost::system::result<std::string, AskFault>{boost::system::in_place_value, answer, end + 4};
}

}  // namespace

void throw_exception_from_error(const AskFault& fault, const boost::source_location& /*where*/) {
  throw std::runtime_error(fault.message);
}

boost::system::result<std::string, AskFault> askListener(const std::string& listen, const std::string& target,
                                                         milliseconds patience) {
  const auto address = parseListen(listen);
  if (!address) return AskFault{address.error().message};
  const Patience whole{patience};
  int error = 0;
  const UniqueFd fd = connectTo(*address, error);
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    error = ETIMEDOUT;
    if (await(fd.get(), POLLOUT, whole)) getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  const std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  std::string answer;
  if (error == 0) error = sendAll(fd.get(), request, whole);
  if (error == 0) error = readAll(fd.get(), answer, whole);
  if (error != 0) return unreachable(*address, error);
  return bodyOf(answer, *address);
}

}  // namespace tenure::ops
