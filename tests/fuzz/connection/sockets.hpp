// Sockets of loopback that never block.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::fuzz {

struct Listening {
  int socket;
  unsigned short port;
};

[[nodiscard]] Listening listenOnLoopback();
[[nodiscard]] int connectTo(unsigned short port);
/// Whether there is anything to receive or to accept on one of them. One call, as most of the time there is nothing.
[[nodiscard]] bool isAnyReady(const std::vector<int>& sockets);
/// -1: nobody waits.
[[nodiscard]] int acceptFrom(int listener);

/// How many bytes were taken; 0 also if the other side has gone.
std::size_t sendSome(int socket, std::string_view bytes);
/// Appends what is there. `ended`: and nothing follows.
[[nodiscard]] bool receiveSome(int socket, std::string& into, bool& ended);
/// Whether the other side takes nothing any more; costs it a byte.
[[nodiscard]] bool hasGone(int socket);
/// `reset`: the other side gets an error instead of an end.
void closeSocket(int socket, bool reset);

}  // namespace tenure::fuzz
