// The least that a heartbeat can cost: the same signed bytes, posted with nothing but Boost.Beast.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure::bench {

/// Posts `request` (a whole HTTP request) to 127.0.0.1:`port` over kept-alive connections, for `span`: `perPeriod`
/// times in each `period`, evenly spread, with a timer for each. Returns how many replies came.
std::int64_t postBarely(const std::string& request, std::uint16_t port, int perPeriod, std::chrono::milliseconds period,
                        std::chrono::milliseconds span);

}  // namespace tenure::bench
