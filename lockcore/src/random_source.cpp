#include <array>
#include <cerrno>
#include <sys/random.h>
#include <system_error>

#include <tenure/lockcore/random_source.hpp>

namespace tenure {
namespace {

constexpr std::array<char, 16> hexDigits{'0', '1', '2', '3', '4', '5', '6', '7',
                                         '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};

std::string hex64(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4U) out[i] = hexDigits[value & 0xFU];
  return out;
}

}  // namespace

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  // Requests of up to 256 bytes are never cut short once the pool is ready; only a signal before that can interrupt.
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return value;
}

std::chrono::nanoseconds uniform(RandomSource& random, std::chrono::nanoseconds bound) {
  if (bound.count() <= 0) return std::chrono::nanoseconds{0};
  // The bias of the remainder is below 2^-20 for bounds under a day: of no account for jitter.
  return std::chrono::nanoseconds{static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(bound.count()))};
}

std::string uuid4(RandomSource& random) {
  const std::uint64_t high = (random.next() & 0xFFFF'FFFF'FFFF'0FFFULL) | 0x4000ULL;
  const std::uint64_t low = (random.next() & 0x3FFF'FFFF'FFFF'FFFFULL) | 0x8000'0000'0000'0000ULL;
  const std::string a = hex64(high);
  const std::string b = hex64(low);
  return a.substr(0, 8) + '-' + a.substr(8, 4) + '-' + a.substr(12, 4) + '-' + b.substr(0, 4) + '-' + b.substr(4);
}

std::string hex128(RandomSource& random) {
  std::string high = hex64(random.next());
  return high + hex64(random.next());
}

}  // namespace tenure
