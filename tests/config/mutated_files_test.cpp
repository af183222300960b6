// For any content of a file, loading ends with a config or with faults and their places, never in an exception or a
// crash.
#include <random>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "config/src/config_keys.hpp"

namespace tenure {
namespace {

std::optional<std::string> variable(const std::string& name) {
  return name.size() % 2 == 0 ? std::nullopt : std::optional<std::string>{"10s"};
}

/// A few random changes: parts are removed, inserted or doubled, bytes are replaced, the end is cut off.
std::string mutated(std::string text, std::mt19937_64& random) {
  static const std::vector<std::string> pieces{"{",  "}",  "[",        "]",    ": ",   "\n",   "  ", "- ",    "\"",
                                               "'",  "#",  "&a ",      "*a",   "!!x ", "|",    ">",  "?",     "${",
                                               "}",  "$",  "~",        "%",    "@",    "`",    ",",  "---\n", "...\n",
                                               "\t", "\\", "\xC3\xA9", "\xFF", "<<: ", "null", "\r"};
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(20));
        break;
      case 1:
        text.insert(at, pieces[below(pieces.size())]);
        break;
      case 2:
        text[at] = static_cast<char>(below(256));
        break;
      case 3:
        text.insert(below(text.size()), text.substr(at, below(60)));
        break;
      default:
        text.resize(std::max<std::size_t>(at, text.size() / 2));
    }
  }
  return text;
}

void expectSoundConfig(const GroupConfig& config, const std::string& text) {
  ASSERT_TRUE(faultsOf(config).empty()) << text;
  const auto again = loadGroupConfigFromText(effectiveYaml(config), "dump", {});
  ASSERT_TRUE(again) << text << "\n" << effectiveYaml(config) << toString(again.error());
  ASSERT_EQ(*again, config) << text;
}

void expectSoundFaults(const ConfigFaults& faults, const std::string& text) {
  ASSERT_FALSE(faults.empty()) << text;
  for (const ConfigFault& fault : faults) {
    ASSERT_FALSE(fault.message.empty()) << text;
    ASSERT_TRUE(fault.line > 0 && fault.column > 0) << fault << "\n" << text;
  }
}

TEST(MutatedFiles, AreLoadedOrRefusedWithPlaces) {
  const std::vector<std::string> seeds{
      sampleGroupYaml(), referenceYaml(),
      "group: \"${G:-g}\"\nstore: { type: sqlite, path: 'x.db' }\nlease: { duration: 1m30s, heartbeat: 1.5s }\n",
      "group: g\nstore: { type: memory }\njobs:\n  nightly: { schedule: \"0 3 * * MON\", late_by: \"${AB}\" }\n"
      "  \"a $.b\":\n    per: 24h\n    guarantee: at_least_once\n    most_attempts: 3\n"};
  std::mt19937_64 random{20240607};
  int accepted = 0;
  int refused = 0;
  for (std::size_t i = 0; i < 6'000; ++i) {
    const std::string text = mutated(seeds[i % seeds.size()], random);
    const auto config = loadGroupConfigFromText(text, "mutated.yaml", variable);
    config ? ++accepted : ++refused;
    if (config) {
      expectSoundConfig(*config, text);
    } else {
      expectSoundFaults(config.error(), text);
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1'000);
}

}  // namespace
}  // namespace tenure
