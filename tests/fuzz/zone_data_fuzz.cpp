// Any bytes as a time-zone file: what an accepted one says of an instant is one stretch, and each follows the one
// before.
#include <cstdint>
#include <string_view>

#include "fuzz_support.hpp"
#include "jobs/src/zone_data.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using std::chrono::seconds;
  using std::chrono::sys_seconds;
  using tenure::fuzz::require;
  const auto zone = tenure::ZoneData::in({reinterpret_cast<const char*>(data), size});
  if (!zone) {
    tenure::fuzz::requireTellable(zone.error().why);
    return 0;
  }
  constexpr sys_seconds last{seconds{8'000'000'000}};
  for (sys_seconds at{seconds{-4'000'000'000}}; at < last; at += seconds{400'000'000}) {
    for (int next = 0; next < 4 && at < last; ++next) {
      const tenure::ZoneStretch here = zone->at(at);
      require(here.begin <= at && at < here.end, "an instant lies in its stretch");
      require(zone->at(here.end - seconds{1}).offset == here.offset, "a stretch has one offset");
      require(zone->instantOf(here.local(at)) <= at, "the first instant of a local time is not after another one");
      at = here.end;
    }
  }
  return 0;
}
