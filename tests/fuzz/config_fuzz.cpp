// Any bytes as a group file: it loads, or is refused with faults whose places are in the text; nothing else is touched.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/config/load_group.hpp>

#include "config/src/duration.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void loadsOrSaysWhy(std::string_view text) {
  const auto loaded = tenure::loadGroupConfigFromText(
      text, "fuzz.yaml", [](const std::string&) { return std::optional<std::string>{"value"}; });
  if (loaded) {
    // An accepted config is accepted again in its printed form, and means the same.
    const auto again = tenure::loadGroupConfigFromText(tenure::effectiveYaml(*loaded), "again.yaml");
    require(again.has_value() && *again == *loaded);
    return;
  }
  const tenure::ConfigFaults faults = loaded.error();
  require(!faults.empty());
  const auto lines = std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r') + 1;
  for (const tenure::ConfigFault& fault : faults) {
    require(fault.line >= 0 && fault.line <= lines + 1 && fault.column >= 0 && !fault.message.empty());
  }
}

void readsBackDurations(std::string_view text) {
  const auto value = tenure::parseDuration(text);
  if (value) require(*tenure::parseDuration(tenure::durationText(*value)) == *value);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  loadsOrSaysWhy(text);
  readsBackDurations(text);
  return 0;
}
