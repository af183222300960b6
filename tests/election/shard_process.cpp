// One process of a sharded election for sharded_processes_test.py: shard_process GROUP.yaml LEDGER
// For every shard that it leads it continuously writes lines to the ledger, as work without a fence would. A line has
// the shard, token and pid, and the instants (CLOCK_BOOTTIME, nanoseconds) before and after it asked whether it leads.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

#include <tenure/config/load_group.hpp>
#include <tenure/election/sharded_elector.hpp>

namespace {

using namespace std::chrono_literals;

class Work {
 public:
  explicit Work(const char* ledger) : file_{open(ledger, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)} {
    if (file_ < 0) throw std::runtime_error{"the ledger cannot be opened"};
  }

  void begin(const tenure::Shard& shard, const tenure::Leadership& term) {
    const std::lock_guard lock{mutex_};
    terms_.insert_or_assign(shard.index, term);
  }
  /// Once it has returned nothing is written for the shard any more.
  void end(const tenure::Shard& shard) {
    const std::lock_guard lock{mutex_};
    terms_.erase(shard.index);
  }
  void act() {
    const std::lock_guard lock{mutex_};
    std::string lines;
    for (const auto& [shard, term] : terms_) {
      const auto before = tenure::readClock().boottime.count();
      if (!term.leads()) continue;
      const auto after = tenure::readClock().boottime.count();
      lines += std::to_string(shard) + ' ' + toString(term.fencingToken()) + ' ' + std::to_string(getpid()) + ' ' +
               std::to_string(before) + ' ' + std::to_string(after) + '\n';
    }
    // One write for each round, which appends all lines at once.
    if (write(file_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) std::abort();
  }

 private:
  const int file_;
  std::mutex mutex_;
  std::map<std::size_t, tenure::Leadership> terms_;
};

volatile std::sig_atomic_t asked = 0;

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  std::signal(SIGTERM, [](int) { asked = 1; });
  Work work{argv[2]};
  tenure::ShardedElector elector{
      tenure::loadGroup(argv[1]).value(),
      {.onShardElected = [&](const tenure::Shard& shard, const tenure::Leadership& term) { work.begin(shard, term); },
       .onShardRevoked = [&](const tenure::Shard& shard, const tenure::TermEnd&) { work.end(shard); }}};
  elector.start();
  while (asked == 0) {
    work.act();
    std::this_thread::sleep_for(10ms);  // the rate of its work
  }
  return elector.stop() == tenure::ReleaseResult::released ? 0 : 3;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
