// Internal: FNV-1a of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv). The same text gives the same number in each
// process, release and machine. It is no protection against somebody who looks for two texts with one number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_record.hpp>

#include "ascii_text.hpp"

namespace tenure {

inline constexpr std::uint64_t fnv1aStart = 0xCBF29CE484222325;

[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = fnv1aStart) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

/// 32 hex digits, for texts of which no two may meet by chance.
[[nodiscard]] inline std::string fnv1aTwice(std::string_view text) {
  return hexOf(fnv1a(text), 16) + hexOf(fnv1a(text, 0x9E3779B97F4A7C15), 16);
}

/// 16 hex digits. Names hold no NUL, so ("ab", "c") and ("a", "bc") differ. Two keys may have the same digits.
[[nodiscard]] inline std::string fnv1aOf(const LeaseKey& key) {
  return hexOf(fnv1a(key.sortKey, fnv1a({"\0", 1}, fnv1a(key.name))), 16);
}

}  // namespace tenure
