// A candidate behind a foreign holder. It learns when the heartbeats of that holder come, and reads once for each, just
// after it. So it takes over soon after the holder's lease is over.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

LeaseOptions twoSecondLease() {
  LeaseOptions options;
  options.duration = 2s;
  options.heartbeat = 500ms;
  return options;
}

/// Writes a new version every `period`, the first one `phase` after the start, and stops after `beats` versions.
struct ForeignHolder {
  Instant start;
  nanoseconds period;
  nanoseconds phase;
  int beats;

  [[nodiscard]] int written(const Instant& now) const {
    const nanoseconds since = elapsedForHolder(start, now) - phase;
    return since < 0ns ? 0 : std::min(beats, static_cast<int>(since / period) + 1);
  }
  [[nodiscard]] Instant lastBeat() const { return start + (phase + (beats - 1) * period); }
  /// As Java's client and others with that layout write it: without a token.
  [[nodiscard]] LeaseRecord record(const Instant& now) const {
    LeaseRecord record = othersRecord("beat-" + std::to_string(written(now)), 0, 2s);
    record.holder = "java";
    return record;
  }
};

struct Takeover {
  nanoseconds excess;  ///< beyond the lease, counted from the last heartbeat
  int looks;           ///< during the last 20 heartbeats
};

Takeover takeOverFrom(nanoseconds period, nanoseconds phase) {
  MachineHarness m{twoSecondLease()};
  const ForeignHolder holder{m.now, period, phase, 30};
  const Instant settled = holder.start + (phase + 10 * period);
  int looks = 0;
  for (std::string did = m.step(event::Start{}); did.find("acquire") == std::string::npos;) {
    const bool counts = elapsedForHolder(settled, m.now) > 0ns && elapsedForHolder(m.now, holder.lastBeat()) > 0ns;
    if (did.find("read") == std::string::npos) {
      did = m.toWakeup();
      continue;
    }
    looks += counts ? 1 : 0;
    m.now = m.now + 3ms;  // the round trip
    did = m.answerRead(holder.record(m.now));
  }
  return {elapsedForHolder(holder.lastBeat(), m.now) - 2s, looks};
}

TEST(ForeignHeartbeats, areSeenWhileTheyAreFreshInWhateverPhaseTheyCome) {
  for (const nanoseconds period : {500ms, 501ms, 507ms}) {
    int looks = 0;
    int holders = 0;
    for (nanoseconds phase = 5ms; phase < period; phase += 23ms) {
      const Takeover seen = takeOverFrom(period, phase);
      EXPECT_GE(seen.excess, 0ns);
      EXPECT_LE(seen.excess, 60ms) << "period " << period / 1ms << " ms, phase " << phase / 1ms << " ms";
      looks += seen.looks;
      ++holders;
    }
    EXPECT_LE(looks, holders * 19 * 5 / 4) << "one look for each heartbeat, and for some a second one";
  }
}

}  // namespace
}  // namespace tenure::test
