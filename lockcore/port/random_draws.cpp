#include "random_draws.hpp"

#include <array>
#include <cstdint>

namespace tenure {
namespace {

constexpr std::array<char, 16> nameDigits{'0', '1', '2', '3', '4', '5', '6', '7',
                                          '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};

void writeHex(std::uint64_t value, char* digits16) noexcept {
  for (std::size_t i = 16; i-- > 0; value >>= 4U) digits16[i] = nameDigits[value & 0xFU];
}

}  // namespace

std::chrono::nanoseconds uniform(RandomSource& random, std::chrono::nanoseconds bound) {
  if (bound.count() <= 0) return std::chrono::nanoseconds{0};
  // The bias of the remainder is below 2^-20 for bounds under a day, which does not matter for jitter.
  return std::chrono::nanoseconds{static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(bound.count()))};
}

std::chrono::nanoseconds jittered(RandomSource& random, std::chrono::nanoseconds wait) {
  return wait / 2 + uniform(random, wait / 2);
}

std::string uuid4(RandomSource& random) {
  const std::uint64_t high = (random.next() & 0xFFFF'FFFF'FFFF'0FFFULL) | 0x4000ULL;
  const std::uint64_t low = (random.next() & 0x3FFF'FFFF'FFFF'FFFFULL) | 0x8000'0000'0000'0000ULL;
  std::array<char, 32> digits{};
  writeHex(high, digits.data());
  writeHex(low, digits.data() + 16);
  std::string out;
  out.reserve(36);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    out += digits.at(i);
  }
  return out;
}

std::string hex128(RandomSource& random) {
  std::string out(32, '0');
  writeHex(random.next(), out.data());
  writeHex(random.next(), out.data() + 16);
  return out;
}

std::string newCandidate(const std::string& name, RandomSource& random) { return name + '#' + hex128(random); }

}  // namespace tenure
