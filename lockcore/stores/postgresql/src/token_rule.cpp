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

/// How many blocks a new history goes on: one for each timeline that may have given out tokens since `known`, whether
/// they were lost or not. The data of another server may have come at any of its timelines.
std::int64_t blocksSince(const std::optional<std::string>& known, const std::optional<std::string>& present) {
  const auto systemOf = [](const std::optional<std::string>& history) {
    return history ? history->substr(0, history->find('/')) : std::string{};
  };
  const std::int64_t before = known && systemOf(known) == systemOf(present) ? timelineOf(known) : 0;
  return std::clamp<std::int64_t>(timelineOf(present) - before, 1, blocks);
}

}  // namespace

std::int64_t timelineOf(const std::optional<std::string>& history) noexcept {
  if (!history) return 1;
  const std::size_t slash = history->find('/');
  if (slash == std::string::npos) return 1;
  std::int64_t timeline = 1;
  std::from_chars(history->data() + slash + 1, history->data() + history->size(), timeline);
  return std::max<std::int64_t>(timeline, 1);
}

FencingToken floorOf(const std::optional<KnownTokens>& known, const std::optional<std::string>& presentHistory) {
  const std::int64_t block = blockOf(timelineOf(presentHistory));
  if (!known) return tokenFrom(block);
  const bool countsOn = known->history == presentHistory;
  if (countsOn) return {};
  const std::int64_t seen = std::clamp<std::int64_t>(std::max(known->counter, known->copy), 0, greatest);
  const std::int64_t next = ((seen >> blockBits) + blocksSince(known->history, presentHistory)) << blockBits;
  return tokenFrom(std::max(next, block) - 1);
}

}  // namespace tenure::postgresql_store
