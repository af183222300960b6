#include <charconv>
#include <cstdint>

#include <tenure/adapters/fence_text.hpp>
#include <tenure/lockcore/store_checks.hpp>

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

}  // namespace tenure
