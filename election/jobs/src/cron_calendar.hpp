// Which local times match the fields of a crontab line. Goes by days and months, not minute by minute.
#pragma once

#include <chrono>
#include <optional>

#include "cron_fields.hpp"

namespace tenure {

/// The latest whole minute that matches and is not after `limit`. Empty if the 41 years before it have none.
[[nodiscard]] std::optional<std::chrono::local_seconds> latestMatch(const CronFields& fields,
                                                                    std::chrono::local_seconds limit);
/// The first whole minute that matches and is not before `limit`. Empty if the 41 years after it have none.
[[nodiscard]] std::optional<std::chrono::local_seconds> firstMatch(const CronFields& fields,
                                                                   std::chrono::local_seconds limit);

}  // namespace tenure
