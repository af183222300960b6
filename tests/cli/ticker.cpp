// A job for tests that records when it acts: it writes CLOCK_MONOTONIC nanoseconds into a file again and again, about
// one line each half millisecond.
//   ticker FILE [ignore-term] [close-all] [children] [stray]
// ignore-term: SIGTERM does not end it. close-all: it closes the descriptors that it inherited, as sudo, ssh and
// daemons do. children: a child in the group ticks too, into FILE.child. stray: a grandchild in its own session ticks
// too, into FILE.stray.
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

[[noreturn]] void tick(const std::string& file) {
  const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  for (;;) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    char line[64];
    const int length = std::snprintf(line, sizeof line, "%lld\n", now.tv_sec * 1'000'000'000LL + now.tv_nsec);
    if (write(out, line, static_cast<std::size_t>(length)) != length) _exit(1);
    timespec pause{0, 500'000};
    nanosleep(&pause, nullptr);  // the test measures its ticks
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "ignore-term") std::signal(SIGTERM, SIG_IGN);
    if (option == "close-all") close_range(3, ~0U, 0);
    if (option == "children" && fork() == 0) tick(file + ".child");
    if (option == "stray" && fork() == 0) {
      setsid();
      tick(file + ".stray");
    }
  }
  tick(file);
}
