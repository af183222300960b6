// Whole connections of `tenure fence proxy`: text that clients send in any order and cut anywhere, and the answers of a
// service. The bytes that the service and the clients got are judged. connection/script.hpp has the grammar,
// connection/judge.cpp and connection/world.cpp have the promises.
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

/// Files for a fence's memory, one for each input; in memory and not on a disk, where that is possible.
class Memory {
 public:
  Memory() {
    const bool shm = access("/dev/shm", W_OK) == 0;
    std::string pattern = (shm ? "/dev/shm" : std::filesystem::temp_directory_path().string()) + "/tenure-fuzz-XXXXXX";
    fuzz::require(mkdtemp(pattern.data()) != nullptr, "there is a place for files");
    directory_ = pattern;
    fuzz::FreshFence{directory_ + "/empty.db", false, false}.fence->close();
  }
  ~Memory() { std::filesystem::remove_all(directory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// The database of a fence that has seen no token: copying it is faster than creating its tables.
  [[nodiscard]] std::string fresh() const {
    const std::string file = directory_ + "/fence.db";
    std::filesystem::copy_file(directory_ + "/empty.db", file, std::filesystem::copy_options::overwrite_existing);
    return file;
  }

 private:
  std::string directory_;
};

/// For people who examine an input: TENURE_FUZZ_SHOW=1.
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
  if (input.find("x-tenure-") != std::string_view::npos) return 0;  // the judge's marks must not be in the input
  fuzz::Script script = fuzz::parseScript(input);
  fuzz::FreshFence fence{memory.fresh(), script.withKeys, script.refusesWithoutToken};
  {
    fuzz::World world{script, *fence.fence, [&] { return fence.isStoring(); }, service, listening};
    world.play(script);
    world.runOut();
    show(world, service);
    fuzz::judge(script, service, world.talks());
    world.serveOneMore(script.signatures);
    fence.fence->close();
  }
  service.reset({});
  fuzz::resetClock();  // the program that runs the target reads the clock too
  fuzz::require(fuzz::residentBytes() < (64U << 20U), "64 MiB are enough");
  return 0;
}
