// The parts of a lock token, and what follows from them alone. Pure: clock readings are arguments.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenure/lockcore/lock_tokens.hpp>

#include "lockcore/port/quoted_text.hpp"

namespace tenure {

struct LockTokenParts {
  LeaseKey key;
  std::string owner;
  RecordVersion version;
  std::chrono::milliseconds lease{0};
  FencingToken token;
  std::string clockDomain;  ///< where `sentAt` has a meaning; empty: nowhere
  Instant sentAt{};         ///< before the last acknowledged write was sent
  std::int64_t acquiredAtMillis{0};
  std::string store;

  friend bool operator==(const LockTokenParts&, const LockTokenParts&) = default;
};

/// So that no store has a description that makes the text of a token longer than LockToken::maxTextBytes.
inline constexpr std::size_t mostOfStore = 1'024;

/// The library's own access to the parts of a token.
struct LockTokenAccess {
  [[nodiscard]] static LockToken make(LockTokenParts parts) {
    parts.store.resize(fitting(parts.store, mostOfStore).size());
    return LockToken{std::make_shared<const LockTokenParts>(std::move(parts))};
  }
  [[nodiscard]] static const LockTokenParts& partsOf(const LockToken& token) noexcept { return *token.parts_; }
};

[[nodiscard]] std::string lockTokenText(const LockTokenParts& parts);
[[nodiscard]] LockResult<LockTokenParts> lockTokenFrom(std::string_view text);

/// See LockToken::remaining. If `sentAt` is later than `now` on any clock, it is worthless: zero.
[[nodiscard]] std::optional<std::chrono::nanoseconds> remainingOf(const LockTokenParts& parts,
                                                                  std::string_view clockDomain, const Instant& now);

/// How a record relates to a token.
enum class TokenStanding {
  current,     ///< held, as this token's write left it
  superseded,  ///< the same term, renewed since
  released,    ///< the same term, released
  taken,       ///< held by somebody else
  missing,     ///< there is no record
};
[[nodiscard]] TokenStanding standingOf(const LockTokenParts& parts, const std::optional<LeaseRecord>& record);

/// Identifies the clocks that this process reads: boot and time namespace. Equal texts mean comparable readings. Empty
/// if the system does not tell; then nothing is comparable.
[[nodiscard]] const std::string& clockDomain();

}  // namespace tenure
