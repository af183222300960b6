// A guard that stops itself before each of its answers and guards nothing; the test wakes it.
#include <csignal>
#include <cstdlib>
#include <poll.h>

#include "cli/run/guard_protocol.hpp"

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int control = std::atoi(argv[2]);
  for (bool closed = false; !closed;) {
    pollfd entry{control, POLLIN, 0};
    poll(&entry, 1, -1);
    const auto received = tenure::cli::receiveMessage(control, closed);
    if (!received || received->message.kind != tenure::cli::GuardMessage::Kind::watch) continue;
    std::raise(SIGSTOP);
    tenure::cli::GuardMessage answer = received->message;
    answer.kind = tenure::cli::GuardMessage::Kind::watched;
    tenure::cli::sendMessage(control, answer);
  }
  return 0;
}
