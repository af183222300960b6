// Any bytes as a lease name: the check and the text for people hold for all of them.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_key.hpp>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const tenure::LeaseKey key{text.substr(0, size / 2), text.substr(size / 2)};
  const bool good = tenure::faultsOf(key).empty();
  if (good && (!tenure::isUtf8(key.name) || key.name.find('\0') != std::string::npos)) std::abort();
  for (const char c : tenure::toString(key)) {
    if (static_cast<unsigned char>(c) < 0x20) std::abort();  // nothing may break a line of a log
  }
  if (tenure::nameOf(text).size() > text.size()) std::abort();
  return 0;
}
