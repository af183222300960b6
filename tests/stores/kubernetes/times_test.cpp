// Times as the server takes them, and what a holder writes as renewTime.
#include <gtest/gtest.h>

#include "lockcore/stores/kubernetes/src/micro_time.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t aTime = 1'795'680'318'123'456;  // 2026-11-26T08:05:18.123456Z

TEST(KubernetesTimes, areWrittenWithSixDigitsInUtc) {
  EXPECT_EQ(microTime(aTime), "2026-11-26T08:05:18.123456Z");
  EXPECT_EQ(microTime(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(microTime(1), "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(microTime(951'782'400'000'000), "2000-02-29T00:00:00.000000Z");
  EXPECT_EQ(microTime(latestMicros), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(microTime(std::numeric_limits<std::int64_t>::max()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(microTime(std::numeric_limits<std::int64_t>::min()), "1970-01-01T00:00:00.000000Z");
}

TEST(KubernetesTimes, areReadAsOthersWriteThem) {
  for (const std::int64_t time : {std::int64_t{0}, std::int64_t{1}, aTime, latestMicros}) {
    EXPECT_EQ(microsFrom(microTime(time)), time);
  }
  EXPECT_EQ(microsFrom("2026-11-26T08:05:18Z"), aTime - 123'456);
  EXPECT_EQ(microsFrom("2026-11-26T08:05:18.1Z"), aTime - 23'456);
  EXPECT_EQ(microsFrom("2026-11-26T08:05:18.123456789Z"), aTime);
  EXPECT_EQ(microsFrom("2026-11-26T10:05:18.123456+02:00"), aTime);
  EXPECT_EQ(microsFrom("2026-11-25T23:35:18.123456-08:30"), aTime);
  for (const char* text :
       {"", "now", "2026-11-26", "2026-11-26T08:05:18.123456", "2026-11-26T08:05:18.Z", "2026-11-26 08:05:18Z",
        "2026-13-26T08:05:18Z", "2026-02-29T08:05:18Z", "2026-11-26T24:05:18Z", "2026-11-26T08:60:18Z",
        "2026-11-26T08:05:60Z", "0000-00-00T00:00:00Z", "1969-12-31T23:59:59Z", "12345-01-01T00:00:00Z",
        "2026-11-26T08:05:18Zx", "2026-11-26T08:05:18+02", "-026-11-26T08:05:18Z", "2026-11-26T08:05:18.1.2Z"}) {
    EXPECT_EQ(microsFrom(text), std::nullopt) << text;
  }
}

Instant after(std::chrono::nanoseconds time) { return Instant{1h + time, 2h + time, 3h + time}; }

TEST(KubernetesRenewTime, runsAsElapsedTimeDoes) {
  const RenewClock clock{aTime, after(0s)};
  EXPECT_EQ(nextRenewMicros(aTime, clock, after(500ms), 1), aTime + 500'000) << "whatever the wall clock says";
  EXPECT_EQ(nextRenewMicros(aTime, clock, after(25h), 1), aTime + 25 * 3'600'000'000LL);
  Instant suspended = after(2s);
  suspended.boottime += 60s;
  EXPECT_EQ(nextRenewMicros(aTime, clock, suspended, 1), aTime + 62'000'000) << "the time of a suspend counts";
}

TEST(KubernetesRenewTime, neverStandsStill) {
  const RenewClock clock{aTime, after(0s)};
  EXPECT_EQ(nextRenewMicros(aTime + 700'000, clock, after(500ms), 1), aTime + 700'001) << "somebody set it ahead";
}

/// client-go sees whole seconds alone.
TEST(KubernetesRenewTime, withoutTheClockOfTheTermASecondIsAddedAtLeast) {
  EXPECT_EQ(nextRenewMicros(aTime, std::nullopt, after(0s), aTime / 1000 + 5'000), (aTime / 1000 + 5'000) * 1000);
  EXPECT_EQ(nextRenewMicros(aTime, std::nullopt, after(0s), aTime / 1000), aTime + 1'000'000);
  EXPECT_EQ(nextRenewMicros(aTime, std::nullopt, after(0s), 0), aTime + 1'000'000) << "a wall clock that was set back";
}

TEST(KubernetesRenewTime, staysWithinWhatTheServerTakes) {
  EXPECT_EQ(nextRenewMicros(std::nullopt, std::nullopt, after(0s), aTime / 1000), aTime / 1000 * 1000);
  EXPECT_EQ(nextRenewMicros(std::nullopt, std::nullopt, after(0s), std::numeric_limits<std::int64_t>::min()), 0);
  EXPECT_LE(nextRenewMicros(std::nullopt, std::nullopt, after(0s), std::numeric_limits<std::int64_t>::max()),
            latestMicros);
  EXPECT_EQ(nextRenewMicros(latestMicros, std::nullopt, after(0s), 0), latestMicros);
}

}  // namespace
}  // namespace tenure::kubernetes_store
