// Sockets on loopback that never block.
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
/// Whether there is anything to receive or to accept on one of them. One call for all, because usually there is
/// nothing.
[[nodiscard]] bool isAnyReady(const std::vector<int>& sockets);
/// -1: no connection is waiting.
[[nodiscard]] int acceptFrom(int listener);

/// How many bytes were taken; 0 also if the other side has gone.
std::size_t sendSome(int socket, std::string_view bytes);
/// Appends the bytes that have arrived. `ended`: nothing follows them.
[[nodiscard]] bool receiveSome(int socket, std::string& into, bool& ended);
/// Whether the other side accepts nothing any more. The check sends it a byte.
[[nodiscard]] bool hasGone(int socket);
/// `reset`: the other side gets an error instead of a regular end.
void closeSocket(int socket, bool reset);

}  // namespace tenure::fuzz
