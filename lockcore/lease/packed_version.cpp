#include "packed_version.hpp"

namespace tenure {
namespace {

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::optional<PackedVersion> packed(const RecordVersion& version) {
  PackedVersion bits{};
  std::size_t digits = 0;
  for (const char c : version.text()) {
    if (c == '-') continue;
    const int value = hexValue(c);
    if (value < 0 || digits == 32) return std::nullopt;
    std::uint64_t& half = bits[digits++ / 16];
    half = half << 4U | static_cast<std::uint64_t>(value);
  }
  if (digits != 32 || bits == PackedVersion{}) return std::nullopt;
  return bits;
}

}  // namespace tenure
