// Any bytes as a crontab line: an accepted one has occurrences in order, and each is in the period that it begins.
#include <chrono>
#include <cstdint>
#include <string>

#include <tenure/jobs/schedule.hpp>

#include "fuzz_support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tenure::fuzz::require;
  const std::string text(data, data + size);
  for (const char* zone : {"UTC", "Europe/Berlin"}) {
    const auto schedule = tenure::Schedule::cron(text, zone);
    if (!schedule) {
      const tenure::OptionFaults faults = schedule.error();
      for (const auto& fault : faults) tenure::fuzz::requireTellable(fault.message);
      return 0;
    }
    std::chrono::sys_seconds at{std::chrono::seconds{1'795'000'000}};
    require(schedule->latestAt(at) <= at, "a period has begun");
    for (int i = 0; i < 20; ++i) {
      const std::chrono::sys_seconds next = schedule->after(at);
      require(next > at, "the next period is a later one");
      require(schedule->latestAt(next) == next, "a period begins with its occurrence");
      require(schedule->latestAt(next - std::chrono::seconds{1}) < next, "and not before it");
      require(schedule->after(schedule->latestAt(next - std::chrono::seconds{1})) == next, "nothing lies between two");
      at = next;
    }
  }
  return 0;
}
