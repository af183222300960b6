// What a server's history says about the next token (invariant I7). The rule of all stores adds the rest: it lies above
// counter, record and the caller's floor (lockcore/stored/decisions.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure::postgresql_store {

/// What is stored of the tokens of a lease, and where.
struct KnownTokens {
  std::int64_t counter{0};
  std::int64_t copy{0};                  ///< the token in the record; 0: there is none
  std::optional<std::string> history{};  ///< in which the counter was last advanced
};

/// What the next token has to be above: a standby that is promoted may lack the last acquisitions, so its tokens must
/// rise above any that the former primary gave out. Each history (`SYSTEM/TIMELINE`) therefore begins a block of 2^40
/// tokens. It lies as many blocks further as timelines have passed, because those between may have given out tokens
/// that were lost, and is at least that of its timeline. Within a history this is none, since tokens count on. `known`
/// is empty where there is no row.
[[nodiscard]] FencingToken floorOf(const std::optional<KnownTokens>& known,
                                   const std::optional<std::string>& presentHistory);

/// The timeline in the name of a history; 1 if there is none.
[[nodiscard]] std::int64_t timelineOf(const std::optional<std::string>& history) noexcept;

}  // namespace tenure::postgresql_store
