// Several copies, one ledger: whichever leads appends a line to a plain file, every fifth of a second. A copy that was
// frozen for longer than its lease and wakes up in the middle of an append cannot put a line after its successor's.
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <string>
#include <syncstream>

#include <tenure/adapters/fenced_file.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

namespace {

using namespace std::chrono_literals;

/// The work of one term, on a thread of the library.
void keepLedger(const tenure::Leadership& term, const std::string& path) {
  tenure::FencedFile ledger = tenure::FencedFile::open(path).value();
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock{mutex};
  for (int entry = 1; term.leads(); ++entry) {
    const std::string line = toString(term.fencingToken()) + ' ' + term.holder() + ' ' + std::to_string(entry);
    // To pass the term is enough: a stale token ends the term, and the next token is above what the file has seen.
    const auto written = ledger.append(term, line + '\n');
    if (written) {
      std::osyncstream{std::cout} << "wrote " << line << std::endl;
    } else {
      std::cerr << tenure::FenceError{written.error()}.message << '\n';
    }
    wake.wait_for(lock, term.stopToken(), 200ms, [] { return false; });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument{"usage: fenced_ledger GROUP.yaml LEDGER"};
  tenure::LeaderElector elector{
      tenure::loadGroup(argv[1]).value(),
      {.onElected = [path = std::string{argv[2]}](const tenure::Leadership& term) { keepLedger(term, path); }}};
  elector.start();
  tenure::waitForStopSignal();
  elector.stop();
} catch (const std::exception& error) {
  std::cerr << "fenced_ledger: " << error.what() << '\n';
  return 1;
}
