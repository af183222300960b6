// The program of a writer process, and main() of a contract test.
#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <sstream>
#include <sys/prctl.h>
#include <unistd.h>

#include <tenure/lockcore/clock.hpp>

#include "adapters/contract/writer_process.hpp"

namespace tenure::contract {
namespace {

/// A refused writer makes a few more attempts, as work that does not stop would, before it is elected again.
constexpr std::uint64_t writesOfATerm = 7;

std::string told(const FenceResult<void>& result) {
  if (result.has_value()) return "accepted";
  const FenceError error = result.error();
  if (const StaleToken* stale = error.stale(); stale != nullptr) {
    return "stale " + toString(stale->mine) + ' ' + toString(stale->highestSeen);
  }
  if (const ForeignTerm* foreign = error.foreign(); foreign != nullptr) {
    return "foreign " + toString(foreign->token) + ' ' + foreign->holder;
  }
  return "error " + error.message;
}

/// False for an answer that a correct fence never gives a writer with tokens of its own.
bool counted(const FenceResult<void>& result, FencingToken mine, RaceBoard& board) {
  if (result.has_value()) {
    ++board.accepted;
    return true;
  }
  const FenceError error = result.error();
  if (const StaleToken* stale = error.stale(); stale != nullptr) {
    ++board.stale;
    return stale->mine == mine && stale->highestSeen > mine;
  }
  ++board.errors;
  return error.writeError() != nullptr && (error.writeError()->error.errorClass == ErrorClass::transient ||
                                           error.writeError()->error.errorClass == ErrorClass::throttled);
}

/// A race shows nothing if hardly anything was accepted: while the writer of a later term waits for a slow disk, the
/// others are refused as fast as they try. It also shows nothing if one writer had ended before the other began. Then
/// it continues, for a limited time.
bool goesOn(RaceBoard& board) {
  const std::uint64_t attempts = board.attempts++;
  const bool saysNothing = board.accepted <= board.limit / 20 || board.stale == 0;
  return attempts < board.limit || (saysNothing && attempts < 20 * board.limit);
}

int race(FenceHandle& handle, const std::string& holder, const std::string& boardFile, const std::string& acksFile) {
  const SharedBoard board{boardFile};
  const int acks = ::open(acksFile.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  TermStamp stamp{contractLease, {}, holder};
  for (std::uint64_t write = 0; goesOn(*board); ++write) {
    if (write % writesOfATerm == 0) stamp.token = FencingToken{++board->lastToken};
    const std::string entry = holder + '-' + std::to_string(write);
    const auto result = handle.write(stamp, entry, {});
    if (!counted(result, stamp.token, *board)) {
      std::cerr << entry << " with token " << stamp.token << ": " << told(result) << '\n';
      return 1;
    }
    const std::string line = entry + '\n';  // one write(2): a killed process leaves only whole lines
    if (result && ::write(acks, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 1;
  }
  return 0;
}

/// Stops this process, as a long pause at this place would. Returns when it is woken.
void stopHere() { raise(SIGSTOP); }

std::string obeyOnce(FenceHandle& handle, const TermStamp& stamp, const std::string& entry, const std::string& pause) {
  if (pause == "no") return told(handle.write(stamp, entry, {}));
  if (pause == "inside") return told(handle.write(stamp, entry, [] { stopHere(); }));
  // The client's own check, as good as it can be: it asks the fence itself, and the answer is right at that moment.
  const auto seen = handle.highestSeen(stamp.lease);
  if (seen.has_error()) return "error " + FenceError{seen.error()}.message;
  if (const auto error = termError(stamp, *seen)) return "error refused too early: " + error->message;
  stopHere();
  if (pause == "before") return told(handle.write(stamp, entry, {}));
  return handle.writeBare(stamp, entry) ? "accepted" : "error of the bare write";
}

int obey(FenceHandle& handle, const std::string& holder) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words{line};
    std::uint64_t token = 0;
    std::string entry;
    std::string pause;
    words >> token >> entry >> pause;
    std::string answer = obeyOnce(handle, {contractLease, FencingToken{token}, holder}, entry, pause);
    for (char& c : answer) c = c == '\n' ? ' ' : c;
    std::cout << answer << std::endl;
  }
  return 0;
}

/// Other writers may keep a resource busy for longer than a handle waits.
std::unique_ptr<FenceHandle> openPatiently(const FenceUnderTest& fence, const std::string& address) {
  for (const Instant start = readClock();;) {
    try {
      return fence.open(address);
    } catch (const std::exception&) {
      if (elapsedForChallenger(start, readClock()) > std::chrono::seconds{30}) throw;
    }
  }
}

}  // namespace

std::optional<int> runWriter(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5 || arguments[0] != "--fence-writer") return std::nullopt;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // if a test is killed, its writers end too
  try {
    const auto handle = openPatiently(registeredFence(arguments[1]), arguments[2]);
    const std::string& holder = arguments[3];
    return arguments[4] == "race" ? race(*handle, holder, arguments.at(5), arguments.at(6)) : obey(*handle, holder);
  } catch (const std::exception& error) {
    std::cerr << "a writer: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace tenure::contract

int main(int argc, char** argv) {
  if (const auto code = tenure::contract::runWriter({argv + 1, argv + argc})) return *code;
  std::signal(SIGPIPE, SIG_IGN);  // a missing answer shows that a writer has ended
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
