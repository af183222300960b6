// Any bytes as a lease name: the check and the text for people hold for all of them.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/name_text.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const tenure::LeaseKey key{text.substr(0, size / 2), text.substr(size / 2)};
  const bool good = tenure::faultsOf(key).empty();
  if (good && (!tenure::isUtf8(key.name) || key.name.find('\0') != std::string::npos)) std::abort();
  // Nothing may break a line of a log, steer a terminal, or hide from people.
  const auto odd = tenure::firstOddCharacter(tenure::toString(key));
  if (odd && odd->kind != tenure::OddCharacter::Kind::lookAlike) std::abort();
  const bool fits = !tenure::firstOddCharacter(key.name) && !tenure::firstOddCharacter(key.sortKey);
  if (good && !fits) std::abort();
  if (tenure::nameOf(text).size() > text.size()) std::abort();
  return 0;
}
