#include "guard_protocol.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace tenure::cli {
namespace {

constexpr std::size_t mostDescriptors = 5;

/// Room for the descriptors, aligned as the kernel wants it.
union Control {
  cmsghdr header;
  char room[CMSG_SPACE(mostDescriptors * sizeof(int))];
};

}  // namespace

bool sendMessage(int socket, const GuardMessage& message, const JobDescriptors& descriptors) noexcept {
  GuardMessage copy = message;
  iovec body{&copy, sizeof copy};
  Control control{};
  msghdr envelope{};
  envelope.msg_iov = &body;
  envelope.msg_iovlen = 1;
  if (descriptors.leader >= 0) {
    int fds[mostDescriptors] = {descriptors.leader, descriptors.reaper, descriptors.news};
    std::size_t count = 3;
    copy.hasLivenessFile = descriptors.livenessFile >= 0 ? 1 : 0;
    copy.hasCgroup = descriptors.cgroup >= 0 ? 1 : 0;
    if (copy.hasLivenessFile != 0) fds[count++] = descriptors.livenessFile;
    if (copy.hasCgroup != 0) fds[count++] = descriptors.cgroup;
    const std::size_t bytes = count * sizeof(int);
    envelope.msg_control = control.room;
    envelope.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(rights), fds, bytes);
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
    int fds[mostDescriptors] = {-1, -1, -1, -1, -1};
    std::memcpy(fds, CMSG_DATA(rights), std::min(sizeof fds, rights->cmsg_len - CMSG_LEN(0)));
    out.leader.reset(fds[0]);
    out.reaper.reset(fds[1]);
    out.news.reset(fds[2]);
    const int* next = fds + 3;
    if (out.message.hasLivenessFile != 0) out.livenessFile.reset(*next++);
    if (out.message.hasCgroup != 0) out.cgroup.reset(*next);
  }
  return out;
}

}  // namespace tenure::cli
