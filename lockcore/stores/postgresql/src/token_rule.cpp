#include "token_rule.hpp"

#include <algorithm>
#include <charconv>

namespace tenure::postgresql_store {
namespace {

constexpr unsigned blockBits = 40;
constexpr std::int64_t blocks = std::int64_t{1} << (53U - blockBits);
constexpr auto greatest = static_cast<std::int64_t>(maxFencingToken.value());

FencingToken tokenFrom(std::int64_t value) { return FencingToken{static_cast<std::uint64_t>(value)}; }

/// The last token before the block of this timeline. Above all tokens if there is no such block.
std::int64_t blockOf(std::int64_t timeline) { return std::min(timeline - 1, blocks) << blockBits; }

}  // namespace

std::int64_t timelineOf(const std::optional<std::string>& history) noexcept {
  if (!history) return 1;
  const std::size_t slash = history->find('/');
  if (slash == std::string::npos) return 1;
  std::int64_t timeline = 1;
  std::from_chars(history->data() + slash + 1, history->data() + history->size(), timeline);
  return std::max<std::int64_t>(timeline, 1);
}

TokenPlan planToken(const std::optional<KnownTokens>& known, FencingToken floor,
                    const std::optional<std::string>& presentHistory) {
  const std::int64_t block = blockOf(timelineOf(presentHistory));
  const auto asked = static_cast<std::int64_t>(std::min(floor, maxFencingToken).value());
  if (!known) return {tokenFrom(std::max(asked, block) + 1), tokenFrom(block + 1)};
  const bool countsOn = known->history == presentHistory;
  const auto after = [&](std::int64_t token) {
    return tokenFrom(countsOn ? token + 1 : std::max(((token >> blockBits) + 1) << blockBits, block));
  };
  const std::int64_t seen = std::clamp<std::int64_t>(std::max(known->counter, known->copy), 0, greatest);
  return {after(std::max(seen, asked)), after(seen)};
}

}  // namespace tenure::postgresql_store
