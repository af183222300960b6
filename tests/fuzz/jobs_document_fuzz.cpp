// Any bytes as the ledgers of jobs: an accepted text is written the same way again, and what it says can be worked
// with; a refused one gets a message.
#include <cstdint>
#include <string>

#include "fuzz_support.hpp"
#include "jobs/src/jobs_document.hpp"

namespace {

using tenure::fuzz::require;

/// A term after all that the ledger knows may decide, begin and end, and the ledger stays one.
void work(tenure::JobRuns runs) {
  static const tenure::Schedule hourly = tenure::Schedule::every(std::chrono::hours{1}).value();
  const tenure::FencingToken token = tenure::maxFencingToken;
  const std::chrono::sys_seconds now{std::chrono::seconds{1'795'000'000}};
  const auto decided = runs.decide(now, hourly, {.missed = tenure::Missed::all}, token);
  if (const auto* run = std::get_if<tenure::BeginRun>(&decided)) {
    require(!runs.contains(run->period), "at most once: no begun period is begun again");
    require(runs.begin(*run, {token, "host", now}, hourly), "what was decided may begin");
    require(runs.contains(run->period), "a begun period is noted");
    require(runs.end({token, tenure::RunOutcome::succeeded, 0}), "what was begun may end");
  }
  require(!tenure::JobRuns::faultOf(runs.history()), "a ledger stays one");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto read = tenure::jobsDocumentFrom(text);
  if (!read) {
    tenure::fuzz::requireTellable(read.error().message);
    return 0;
  }
  require(tenure::textOf(*read) == text, "a document has one spelling");
  for (const auto& [name, runs] : read->jobs) work(runs);
  return 0;
}
