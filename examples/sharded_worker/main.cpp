// Work that is split into shards: every copy of this program works on its share of them, no two on the same one.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <syncstream>

#include <tenure/config/load_group.hpp>
#include <tenure/election/sharded_elector.hpp>

namespace {

/// Callbacks come on threads of the library; an osyncstream keeps their lines whole.
std::osyncstream say() { return std::osyncstream{std::cout}; }

/// The work on one shard, on its own thread for as long as the term lasts. What it writes elsewhere carries the
/// fencing token of the shard.
void work(const tenure::Shard& shard, const tenure::Leadership& term) {
  say() << "shard " << shard.name << " with token " << term.fencingToken() << std::endl;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock{mutex};
  while (term.leads()) {
    // ... one step of the work ...
    wake.wait_for(lock, term.stopToken(), std::chrono::seconds{1}, [] { return false; });
  }
}

void report(const tenure::Shard& shard, const tenure::TermEnd& why) {
  say() << "shard " << shard.name << " is over (" << why.reason << ")" << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  const tenure::Group group = tenure::loadGroup(argc > 1 ? argv[1] : "group.yaml").value();

  tenure::ShardedElector elector{group, {.onShardElected = work, .onShardRevoked = report}};
  elector.start();
  say() << "candidate " << elector.candidate() << std::endl;

  tenure::waitForStopSignal();
  const tenure::ReleaseResult result = elector.stop();  // all shards at the same time, each after its work has ended
  say() << "stopped (" << result << ")" << std::endl;
} catch (const std::exception& error) {
  std::cerr << "sharded_worker: " << error.what() << '\n';
  return 1;
}
