// Any bytes as AWS's shared files, as the JSON of a credential source, or as a time: no fault quotes what may be a key.
#include <algorithm>

#include "fuzz_support.hpp"
#include "lockcore/aws/ini_file.hpp"
#include "lockcore/aws/text.hpp"

namespace {

using namespace tenure::aws;
using tenure::fuzz::require;

bool isLower(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

void readsIni(std::string_view text) {
  const IniFile file = parseIni("shared", text);
  const auto lines = std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r') + 1;
  for (const auto& [name, section] : file) {
    if (!section.fault.empty()) tenure::fuzz::requireTellable(section.fault);
    require(section.fault.size() < 200, "a fault of a shared file quotes nothing of it");
    require(section.line >= 1 && section.line <= lines, "a section has a line of the file");
    for (const auto& [key, value] : section.values) {
      require(!key.empty() && isLower(key), "names are in lower case");
      require(value.line >= section.line || value.line >= 1, "a value has a line of the file");
      require(value.text.size() <= text.size(), "a value is a part of the file");
      if (const auto nested = nestedIn(value)) {
        for (const auto& [inner, one] : *nested) require(isLower(inner), "names in a value are in lower case");
      }
    }
  }
}

void readsTimes(const std::string& text) {
  if (const auto time = parseIsoTime(text)) {
    const std::string printed = amzDate(*time);
    require(printed.size() == 16 && printed.back() == 'Z', "a time that was read can be printed");
  }
  if (const auto date = parseHttpDate(text))
    require(amzDate(*date).size() == 16, "a date that was read can be printed");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  readsIni(text);
  readsTimes(text.substr(0, 64));
  return 0;
}
