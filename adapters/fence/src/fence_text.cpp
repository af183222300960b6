#include "fence_text.hpp"

#include <cstdint>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure {

std::optional<FencingToken> parseFencingToken(std::string_view text) noexcept {
  if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
  const auto value = numberFrom<std::uint64_t>(text);
  if (!value || FencingToken{*value} > maxFencingToken) return std::nullopt;
  return FencingToken{*value};
}

FenceError damagedFence(const std::string& where, const std::string& lease, std::string_view stored) {
  return fenceError({ErrorClass::corrupt,
                     where + ": the fence of lease \"" + toString(LeaseKey{lease}) + "\" remembers " +
                         inQuotes(stored) + ", which is not a fencing token (1 to " + toString(maxFencingToken) +
                         "); nothing was written. Find out who wrote that, then correct it: tenure fence recover"});
}

std::optional<FenceError> FencedTerm::error() const {
  if (!isValid_ || isValid_()) return std::nullopt;
  return termOver(stamp_);
}

void FencedTerm::settle(const FenceError& error) const {
  if (const StaleToken* stale = error.stale(); stale != nullptr && reportStaleToken_) {
    reportStaleToken_(stale->highestSeen);
  }
}

}  // namespace tenure
