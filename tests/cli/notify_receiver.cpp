#include "cli/notify_receiver.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>

namespace tenure::test {

NotifyReceiver::NotifyReceiver(const std::string& address)
    : socket_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)} {
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  std::memcpy(own.sun_path, address.data(), std::min(address.size(), sizeof own.sun_path));
  if (address.front() == '@') own.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const int on = 1;
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), length) != 0 ||
      setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    throw std::runtime_error("cannot listen at " + address);
  }
}

std::vector<Notification> NotifyReceiver::take() {
  std::vector<Notification> news;
  for (;;) {
    char lines[4096];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec into{lines, sizeof lines};
    msghdr message{};
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(socket_.get(), &message, 0);
    if (size < 0) break;
    Notification one{{lines, static_cast<std::size_t>(size)}, 0};
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr && header->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
      one.sender = sender.pid;
    }
    news.push_back(one);
    all_.push_back(std::move(one));
  }
  return news;
}

bool NotifyReceiver::got(const std::string& line, milliseconds bound) {
  return eventually(
      [&] {
        static_cast<void>(take());
        return ('\n' + text()).find('\n' + line + '\n') != std::string::npos;
      },
      bound);
}

std::string NotifyReceiver::text() const {
  std::string out;
  for (const Notification& one : all_) out += one.lines;
  return out;
}

}  // namespace tenure::test
