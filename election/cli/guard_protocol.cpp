#include "guard_protocol.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace tenure::cli {
namespace {

/// Room for one descriptor, aligned as the kernel wants it.
union Control {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

}  // namespace

bool sendMessage(int socket, const GuardMessage& message, int pidfd) noexcept {
  GuardMessage copy = message;
  iovec body{&copy, sizeof copy};
  Control control{};
  msghdr envelope{};
  envelope.msg_iov = &body;
  envelope.msg_iovlen = 1;
  if (pidfd >= 0) {
    envelope.msg_control = control.room;
    envelope.msg_controllen = sizeof control.room;
    cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof pidfd);
    std::memcpy(CMSG_DATA(rights), &pidfd, sizeof pidfd);
  }
  return sendmsg(socket, &envelope, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof copy);
}

std::optional<ReceivedMessage> receiveMessage(int socket, bool& closed) noexcept {
  ReceivedMessage out;
  iovec body{&out.message, sizeof out.message};
  Control control{};
  msghdr envelope{};
  envelope.msg_iov = &body;
  envelope.msg_iovlen = 1;
  envelope.msg_control = control.room;
  envelope.msg_controllen = sizeof control.room;
  const ssize_t got = recvmsg(socket, &envelope, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  closed = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (got != static_cast<ssize_t>(sizeof out.message)) return std::nullopt;
  const cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    out.pidfd.reset(fd);
  }
  return out;
}

}  // namespace tenure::cli
