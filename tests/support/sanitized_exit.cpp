// In every program of a build with AddressSanitizer: the threads of the library end before the process does. A client
// that one of its own threads destroyed cannot wait for that thread, and the leak checker does not see what a thread
// holds that is just ending: OpenSSL frees its random generators there.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <unistd.h>

namespace {

bool hasThreadOfTheLibrary() {
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task", gone}) {
    if (task.path().filename() == std::to_string(getpid())) continue;
    std::string name;
    if (std::ifstream{task.path() / "comm"} >> name && name.starts_with("tenure-")) return true;
  }
  return false;
}

void letThreadsEnd() {
  for (int i = 0; i < 200 && hasThreadOfTheLibrary(); ++i) usleep(10'000);  // lint-allow(sleep): the system ends them
}

const int registered = std::atexit(letThreadsEnd);

}  // namespace
