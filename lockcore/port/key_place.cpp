#include "key_place.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace tenure {

std::string placeOf(const LeaseKey& key) { return std::to_string(key.name.size()) + ':' + key.name + key.sortKey; }

std::optional<LeaseKey> keyAt(const std::string& place) {
  const std::size_t colon = place.find(':');
  std::size_t length = 0;
  const char* const digitsEnd = place.data() + std::min(colon, place.size());
  const auto read = std::from_chars(place.data(), digitsEnd, length);
  if (colon == std::string::npos || read.ec != std::errc{} || read.ptr != digitsEnd) return std::nullopt;
  if (length > place.size() - colon - 1) return std::nullopt;
  return LeaseKey{place.substr(colon + 1, length), place.substr(colon + 1 + length)};
}

}  // namespace tenure
