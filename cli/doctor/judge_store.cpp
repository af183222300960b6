#include <chrono>
#include <string>

#include <fmt/format.h>

#include "config/src/duration.hpp"
#include "judge.hpp"
#include "latency.hpp"

namespace tenure::cli::doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// `0.042ms`, `3.1ms`, `250ms`: three digits are enough for people.
std::string latencyText(std::chrono::nanoseconds time) {
  const double millis = std::chrono::duration<double, std::milli>(time).count();
  return fmt::format("{:.{}f}ms", millis, millis < 1 ? 3 : millis < 100 ? 1 : 0);
}

std::string withName(const StoreFacts& store, const std::string& text) {
  return text.starts_with(store.name) ? text : store.name + ": " + text;
}

/// Rounded up, because nobody writes 22903ms.
std::string leaseText(milliseconds lease) {
  using std::chrono::seconds;
  const milliseconds step = lease < seconds{1}    ? milliseconds{10}
                            : lease < seconds{10} ? milliseconds{100}
                                                  : seconds{1};
  return durationText((lease + step - milliseconds{1}) / step * step);
}

std::string remedyFor(const StoreFacts& store) {
  if (!store.schemaSql.empty()) {
    return "Let a user who may create tables run what tenure store sql prints for this file.";
  }
  return store.error->permanent ? "Waiting does not help: change the configuration, or what it names."
                                : "The message says what is wrong; docs/troubleshooting.md has more on each message.";
}

bool judgeAnswer(const StoreFacts& store, Report& report) {
  if (!store.error) {
    report.ok("store.answer", store.name + " answers" + (store.writes ? " and is ready." : "."));
    return true;
  }
  report.fault("store.answer", withName(store, store.error->message) + ".", remedyFor(store));
  return false;
}

/// What fits, and for how long. `what`: "reads", "writes".
void judgeLatency(const char* what, const Latencies& latencies, const LeaseTiming& timing, Report& report) {
  const std::string name = fmt::format("store.{}", what);
  const auto summary = summaryOf(latencies);
  if (!summary) {
    return report.fault(name,
                        fmt::format("None of {} {} was answered: {}.", latencies.failed, what, latencies.lastError),
                        "See store.answer, and docs/troubleshooting.md for the message.");
  }
  const nanoseconds most = bearable(timing);
  const auto shortest = shortestLease(summary->most);
  std::string says = fmt::format("{} {}: half took up to {}, 99 % up to {}, the slowest {}", summary->count, what,
                                 latencyText(summary->p50), latencyText(summary->p99), latencyText(summary->most));
  if (shortest) says += fmt::format("; a lease of {} or longer tolerates that", leaseText(*shortest));
  says += fmt::format(". This lease of {} tolerates {}.", durationText(timing.duration()), latencyText(most));
  const std::string longer =
      shortest ? fmt::format("Make lease.duration longer than {}, or the store faster.", leaseText(*shortest))
               : "Make the store faster: no lease tolerates that.";
  if (summary->p99 > most) return report.fault(name, says, longer);
  if (summary->most > most) {
    return report.warning(name, says, longer + " Run the doctor again when the machine and the store are under load.");
  }
  if (latencies.failed > 0) {
    return report.warning(name, fmt::format("{} {} more failed: {}.", says, latencies.failed, latencies.lastError),
                          "Find out why before the lease is shortened; docs/troubleshooting.md has the messages.");
  }
  report.ok(name, says);
}

void judgeWrites(const StoreFacts& store, const LeaseTiming& timing, Report& report) {
  if (!store.writes) {
    return report.notLookedAt(
        "store.writes", "nothing was written; with --write the doctor renews a lease for this test and removes it");
  }
  if (store.hasCollided) {
    return report.notLookedAt("store.writes", "another doctor wrote at the same time; run this one again");
  }
  if (store.writeError) {
    return report.fault("store.writes", withName(store, store.writeError->message) + ".",
                        "A candidate that may not write is never elected: give it the rights, see the store's page.");
  }
  if (!store.leftBehind.empty()) {
    return report.warning("store.writes", "The doctor's record was not removed: " + store.leftBehind + ".",
                          "Candidates need no such right. tenure lock prune removes the record.");
  }
  judgeLatency("writes", *store.writes, timing, report);
}

/// The server alone knows whether it has synchronous standbys, and another one may have taken its place.
void judgeCommits(const StoreFacts& store, Report& report) {
  if (!store.commits) return report.notLookedAt("store.commits", "this store has no such choice");
  const std::string mode = "store." + store.commits->mode;
  if (store.commits->awaitsStandbys) {
    return report.ok("store.commits",
                     mode +
                         ": a write waits for the synchronous standbys that the server has (SHOW "
                         "synchronous_standby_names). If it has none, or another standby is promoted, the last "
                         "terms, started periods and pauses may be lost.");
  }
  report.warning("store.commits",
                 mode +
                     ": a write waits for no standby, so one that is promoted may lack the last terms, begun "
                     "periods and pauses.",
                 "If standbys are promoted, " + store.commits->advice);
}

}  // namespace

void judgeStore(const Facts& facts, Report& report) {
  const StoreFacts& store = facts.store;
  if (!judgeAnswer(store, report)) {
    for (const char* name : {"store.tokens", "store.commits", "store.reads", "store.writes"}) {
      report.notLookedAt(name, "the store did not answer");
    }
    return;
  }
  if (store.tokens.empty()) {
    report.ok("store.tokens", "The record and its fencing counter agree.");
  } else {
    report.warning("store.tokens", store.tokens + ".",
                   "One of them was changed by hand, or an old copy was put back: docs/troubleshooting.md, Fencing.");
  }
  judgeCommits(store, report);
  const LeaseTiming timing = LeaseTiming::from(facts.lease).value();
  judgeLatency("reads", store.reads, timing, report);
  judgeWrites(store, timing, report);
}

}  // namespace tenure::cli::doctor
