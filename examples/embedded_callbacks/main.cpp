// The smallest use: several copies of this program run, one of them works.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <syncstream>

#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

namespace {

/// Callbacks come on threads of the library; an osyncstream keeps their lines whole.
std::osyncstream say() { return std::osyncstream{std::cout}; }

/// The work of a leader. It may block for as long as the term lasts. leads() asks the clock, so that work which was
/// frozen knows on waking that its time is over; the stop token ends the waits in between.
void work(const tenure::Leadership& term) {
  say() << "elected, fencing token " << term.fencingToken() << std::endl;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock{mutex};
  while (term.leads()) {
    say() << "working under token " << term.fencingToken() << std::endl;
    wake.wait_for(lock, term.stopToken(), std::chrono::seconds{1}, [] { return false; });
  }
}

void report(const tenure::TermEnd& why) {
  say() << "revoked (" << why.reason << "), fencing token " << why.token << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  const tenure::Group group = tenure::loadGroup(argc > 1 ? argv[1] : "group.yaml").value();

  tenure::LeaderElector elector{group, {.onElected = work, .onRevoked = report}};
  elector.start();
  say() << "candidate " << elector.candidate() << std::endl;

  tenure::waitForStopSignal();
  const tenure::ReleaseResult result = elector.stop();  // tells the work to stop, waits for it, releases the lease
  say() << "stopped (" << result << ")" << std::endl;
} catch (const std::exception& error) {
  std::cerr << "embedded_callbacks: " << error.what() << '\n';
  return 1;
}
