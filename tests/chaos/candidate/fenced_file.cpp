#include "fenced_file.hpp"

#include <thread>

#include <fmt/core.h>

namespace tenure::chaos {

FencedFile::FencedFile(const std::string& directory, const std::string& setUp)
    : fenced_{openDatabase(directory + "/fenced.db", setUp)},
      unfenced_{openDatabase(directory + "/unfenced.db", setUp)},
      // Many candidates open it at the same time when the test starts.
      fence_{(SqliteFence::open(fenced_.get(), {.busyTimeout = std::chrono::seconds{20}}).value(),
              SqliteFence::open(fenced_.get(), {.busyTimeout = std::chrono::milliseconds{500}}).value())} {}

Written FencedFile::write(const Leadership& term, const EventLog& events, const std::function<int(sqlite3*)>& work) {
  const auto written = fence_.write(TermStamp::of(term), work);
  if (!written.has_error()) return Written::done;
  const FenceError& error = written.error();
  if (const StaleToken* stale = error.stale()) {
    events.tell("refused",
                fmt::format(",\"token\":{},\"seen\":{}", term.fencingToken().value(), stale->highestSeen.value()));
    term.reportStaleToken(stale->highestSeen);
    return Written::refused;
  }
  events.tell(error.foreign() != nullptr ? "foreign" : "error",
              fmt::format(",\"token\":{},\"message\":{}", term.fencingToken().value(), jsonQuoted(error.message)));
  return error.foreign() != nullptr ? Written::refused : Written::error;
}

void Dawdler::wait() {
  std::uniform_int_distribution<std::int64_t> part{0, std::chrono::nanoseconds{most_}.count()};
  std::this_thread::sleep_for(std::chrono::nanoseconds{part(random_)});  // lint-allow(sleep): the work of the job
}

}  // namespace tenure::chaos
