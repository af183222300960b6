// Part of every program of a build with AddressSanitizer: it makes the threads of the library end before the process
// does. If one of a client's own threads destroyed it, it cannot wait for that thread. The leak checker does not see
// what an ending thread holds: OpenSSL frees its random generators there, until its own exit handler has run.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <unistd.h>

/// Null in programs without OpenSSL.
extern "C" [[gnu::weak]] int OPENSSL_init_crypto(std::uint64_t options, const void* settings);

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

/// The condition must be seen three times in a row: if a thread ends during the listing, those after it are missing.
void letThreadsEnd() {
  int without = 0;
  for (int i = 0; i < 200 && without < 3; ++i) {
    without = hasThreadOfTheLibrary() ? 0 : without + 1;
    usleep(5'000);  // lint-allow(sleep): the system ends them
  }
}

/// The handler that is registered last runs first. Without any option OpenSSL would consider its initialisation done.
int registerBehindOpenSsl() {
  constexpr std::uint64_t loadCryptoStrings = 2;
  if (OPENSSL_init_crypto != nullptr) OPENSSL_init_crypto(loadCryptoStrings, nullptr);
  return std::atexit(letThreadsEnd);
}

const int registered = registerBehindOpenSsl();

}  // namespace
