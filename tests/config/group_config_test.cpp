#include <gtest/gtest.h>

#include <tenure/config/group_config.hpp>
#include <tenure/config/load_group.hpp>

#include "config/src/config_keys.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

GroupConfig full() {
  GroupConfig config;
  config.options.group = "billing ${not a variable} \"quoted\" # no comment";
  config.options.candidate = {"web: 1 \xC3\xA9", 7, CandidateMode::observe, "[::1]:8080"};
  config.options.lease = {12s, 3s, 20ms, 1500ms, 60s, 30s};
  config.options.onLost = OnLost::terminate;
  config.store = SqliteStoreOptions{"/var/lib/a b/$x.db", false};
  config.logLevel = LogLevel::off;
  return config;
}

GroupConfig minimal() {
  GroupConfig config;
  config.options.group = "g";
  config.store = MemoryStoreOptions{};
  return config;
}

TEST(GroupConfig, EffectiveYamlLoadsAsTheSameConfig) {
  GroupConfig sqlite = minimal();
  sqlite.store = SqliteStoreOptions{"./x.db", true};
  for (const GroupConfig& config : {full(), minimal(), sqlite}) {
    const std::string text = effectiveYaml(config);
    const auto again = loadGroupConfigFromText(text, "dump", {});
    ASSERT_TRUE(again) << toString(again.error()) << "\n" << text;
    EXPECT_EQ(*again, config) << text;
    EXPECT_EQ(effectiveYaml(*again), text);
  }
}

TEST(GroupConfig, EffectiveYamlSaysWhatUnsetValuesComeOutAs) {
  EXPECT_EQ(effectiveYaml(minimal()),
            "group: g\n"
            "candidate:\n"
            "  # id: the host name  (default)\n"
            "  priority: 0\n"
            "  mode: compete\n"
            "  # address: off  (default)\n"
            "  # reclaim_after: off  (default)\n"
            "lease:\n"
            "  duration: 10s\n"
            "  # heartbeat: 3333ms  (default: a third of lease.duration)\n"
            "  # guard: 11ms  (default: 0.1 % of lease.duration and 1ms)\n"
            "  # stop_margin: 1s  (default: a tenth of lease.duration)\n"
            "  # drain_timeout: 10s  (default: lease.duration)\n"
            "  # progress_timeout: off  (default)\n"
            "shards:\n"
            "  count: 0\n"
            "  # names: off  (default)\n"
            "  # max_leases: off  (default)\n"
            "  # list_interval: 500ms  (default: lease.heartbeat, at most 500ms)\n"
            "store:\n"
            "  type: memory\n"
            "on_lost: callback\n"
            "log:\n"
            "  level: info\n");
}

TEST(GroupConfig, EffectiveYamlNamesEveryKeyThatApplies) {
  for (const GroupConfig& config : {full(), minimal()}) {
    const bool sqlite = std::holds_alternative<SqliteStoreOptions>(config.store);
    const std::string text = effectiveYaml(config);
    for (const ConfigKey& key : configKeys()) {
      const bool applies = key.storeType.empty() || (key.storeType == "sqlite" && sqlite);
      const std::string name = key.path.substr(key.path.find('.') + 1);
      EXPECT_EQ(text.find(name + ": ") != std::string::npos, applies) << key.path;
    }
  }
}

TEST(GroupConfig, EffectiveYamlOfAnIncompleteConfigSaysWhatIsMissing) {
  const std::string text = effectiveYaml(GroupConfig{});
  EXPECT_NE(text.find("# group: missing\n"), std::string::npos);
  EXPECT_NE(text.find("  # path: missing\n"), std::string::npos);
}

TEST(GroupConfig, EveryFieldCountsForEquality) {
  EXPECT_EQ(full(), full());
  const auto differs = [](auto change) {
    GroupConfig other = full();
    change(other);
    return !(other == full());
  };
  EXPECT_TRUE(differs([](GroupConfig& c) { c.options.group = "x"; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.options.candidate.id = "x"; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.options.candidate.mode = CandidateMode::compete; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.options.candidate.address.clear(); }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.options.lease.heartbeat.reset(); }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.options.onLost = OnLost::callback; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.store = MemoryStoreOptions{}; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.logLevel = LogLevel::info; }));
}

TEST(GroupConfig, FaultsOfAPlainStructAreAllToldAndNothingIsMade) {
  GroupConfig config;  // no group, no path
  config.options.candidate.priority = 51;
  config.options.lease.heartbeat = 9s;
  std::vector<std::string> fields;
  for (const OptionFault& fault : faultsOf(config)) fields.push_back(fault.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"group", "candidate.priority", "lease.heartbeat", "store.path"}));
  const auto group = makeGroup(config);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error(), faultsOf(config));
}

TEST(GroupConfig, MakesTheGroupWithTheGivenLogger) {
  std::vector<std::string> lines;
  const Logger logger{LogLevel::warn, [&](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  const auto group = makeGroup(minimal(), logger);
  ASSERT_TRUE(group);
  group->logger().log(LogLevel::warn, "hello");
  EXPECT_EQ(lines, std::vector<std::string>{"hello"});
}

TEST(GroupConfig, EachStoreIsAnObjectOfItsOwn) {
  const auto first = makeStore(MemoryStoreOptions{});
  const auto second = makeStore(MemoryStoreOptions{});
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace tenure
