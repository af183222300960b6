// Whole connections of `tenure fence proxy`: what clients send in any order and cut anywhere, and what a service
// answers, judged by the bytes that the service and the clients got. The grammar is in connection/script.hpp, the
// promises are in connection/judge.cpp and connection/world.cpp.
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include "connection/judge.hpp"
#include "connection/memory_use.hpp"
#include "connection/moved_clock.hpp"
#include "connection/world.hpp"
#include "fuzz_support.hpp"

namespace {

namespace fuzz = tenure::fuzz;

/// Files for a fence's memory, one for each input; not on a disk where there is such a place.
class Memory {
 public:
  Memory() {
    const bool shm = access("/dev/shm", W_OK) == 0;
    std::string pattern = (shm ? "/dev/shm" : std::filesystem::temp_directory_path().string()) + "/tenure-fuzz-XXXXXX";
    fuzz::require(mkdtemp(pattern.data()) != nullptr, "there is a place for files");
    directory_ = pattern;
    fuzz::FreshFence{directory_ + "/empty.db", false, false}.fence->close(true);
  }
  ~Memory() { std::filesystem::remove_all(directory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// As a fence leaves it that has seen no token: to copy it is quicker than to have its tables made.
  [[nodiscard]] std::string fresh() const {
    const std::string file = directory_ + "/fence.db";
    std::filesystem::copy_file(directory_ + "/empty.db", file, std::filesystem::copy_options::overwrite_existing);
    return file;
  }

 private:
  std::string directory_;
};

/// For people who look into an input: TENURE_FUZZ_SHOW=1.
void show(const fuzz::World& world, const fuzz::Service& service) {
  static const bool wanted = std::getenv("TENURE_FUZZ_SHOW") != nullptr;
  if (!wanted) return;
  for (const fuzz::Talk& talk : world.talks()) {
    std::fprintf(stderr, "--- a client sent\n%s\n--- and got\n%s\n", talk.sent.c_str(), talk.got.c_str());
  }
  for (const auto& connection : service.connections()) {
    std::fprintf(stderr, "=== the service got\n%s\n", connection->bytes.c_str());
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Memory memory;
  static fuzz::Service service;
  static const fuzz::Listening listening = fuzz::listenOnLoopback();
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  if (input.find("x-tenure-") != std::string_view::npos) return 0;  // the marks of the judge are not to be written
  fuzz::Script script = fuzz::parseScript(input);
  fuzz::FreshFence fence{memory.fresh(), script.withKeys, script.refusesWithoutToken};
  {
    fuzz::World world{script, *fence.fence, [&] { return fence.isStoring(); }, service, listening};
    world.play(script);
    world.runOut();
    show(world, service);
    fuzz::judge(script, service, world.talks());
    world.serveOneMore(script.signatures);
    fence.fence->close(true);
  }
  service.reset({});
  fuzz::resetClock();  // whoever runs the target has a clock of his own to watch
  fuzz::require(fuzz::residentBytes() < (64U << 20U), "64 MiB are enough");
  return 0;
}
