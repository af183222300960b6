// In every program of a build with AddressSanitizer: the other threads of a process end before it does. A client that
// one of its own threads destroyed cannot wait for that thread. OpenSSL frees what it keeps for a thread when that
// ends, but not after its own end, and a leak checker counts what is left of the thread that lost this race.
#include <cstdint>
#include <cstdlib>
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

namespace {

int threads() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  int count = -2;  // "." and ".."
  while (readdir(tasks) != nullptr) ++count;
  closedir(tasks);
  return count;
}

void letThreadsEnd() {
  for (int i = 0; i < 200 && threads() > 1; ++i) usleep(10'000);  // lint-allow(sleep): the system ends them
}

struct Registered {
  Registered() {
    // What is registered later is called earlier: it has to come after OpenSSL's own, which its first use registers.
    using Initialise = int (*)(std::uint64_t, const void*);
    const auto initialise = reinterpret_cast<Initialise>(dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto"));
    if (initialise != nullptr) initialise(0, nullptr);
    std::atexit(letThreadsEnd);
  }
} const registered;

}  // namespace
