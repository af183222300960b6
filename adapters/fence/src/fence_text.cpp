#include "fence_text.hpp"

#include <charconv>
#include <cstdint>

#include <tenure/lockcore/lease_key.hpp>

#include "lockcore/port/quoted_text.hpp"

namespace tenure {

std::optional<FencingToken> parseFencingToken(std::string_view text) noexcept {
  if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  const FencingToken token{value};
  if (token > maxFencingToken) return std::nullopt;
  return token;
}

FenceError damagedFence(const std::string& where, const std::string& lease, std::string_view stored) {
  return fenceTrouble({ErrorClass::corrupt,
                       where + ": the fence of lease \"" + toString(LeaseKey{lease}) + "\" remembers " +
                           inQuotes(stored) + ", which is no fencing token (1 to " + toString(maxFencingToken) +
                           "); nothing was written. Find out who wrote that, then set it right: tenure fence recover"});
}

}  // namespace tenure
