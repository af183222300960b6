#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "config/test_files.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

GroupConfig loaded(std::string_view text, const VariableSource& variables = {}) {
  auto config = loadGroupConfigFromText(text, "group.yaml", variables);
  if (config) return *config;
  ADD_FAILURE() << toString(config.error());
  return {};
}

std::string messagesOf(std::string_view text, const VariableSource& variables = {}) {
  const auto config = loadGroupConfigFromText(text, "group.yaml", variables);
  return config ? "accepted" : toString(config.error());
}

TEST(LoadGroup, EveryKey) {
  const GroupConfig config = loaded(R"(
group: billing
candidate: { id: web-1, priority: 7 }
lease: { duration: 12s, heartbeat: 3s, clock_margin: 20ms, stop_margin: 1.5s, drain_timeout: 1m, progress_timeout: 30s }
store: { type: sqlite, path: ./billing.db, crash_notice: false }
on_lost: terminate
http: { listen: "[::1]:9200" }
log: { level: debug, format: json }
)");
  GroupConfig expected;
  expected.options.group = "billing";
  expected.options.candidate = {"web-1", 7};
  expected.options.lease = {12s, 3s, 20ms, 1500ms, 60s, 30s};
  expected.options.onLost = OnLost::terminate;
  expected.store = SqliteStoreOptions{"./billing.db", false};
  expected.httpListen = "[::1]:9200";
  expected.logLevel = LogLevel::debug;
  expected.logFormat = LogFormat::json;
  EXPECT_EQ(config, expected);
}

TEST(LoadGroup, ShardsByCountOrByName) {
  const std::string head = "group: g\nstore: { type: memory }\n";
  ShardOptions counted{.count = 64};
  counted.maxLeases = 16;
  counted.listInterval = 250ms;
  EXPECT_EQ(loaded(head + "shards: { count: 64, max_leases: 16, list_interval: 250ms }\n").options.shards, counted);
  const ShardOptions named = loaded(head + "shards: { names: \"eu, us,asia\" }\n").options.shards;
  EXPECT_EQ(named.names, (std::vector<std::string>{"eu", "us", "asia"}));
  const GroupConfig config = loaded(head + "shards: { names: \"eu, us\", max_leases: 1 }\n");
  EXPECT_EQ(loaded(effectiveYaml(config)), config);
  const auto faults = loadGroupConfigFromText(head + "shards: { count: 4, names: \"a,,b\" }\n", "group.yaml");
  ASSERT_FALSE(faults);
  EXPECT_NE(toString(faults.error()).find("group.yaml:3:28: shards.names: has an empty name"), std::string::npos)
      << toString(faults.error());
}

TEST(LoadGroup, WhatIsLeftOutHasTheDefaultsOfTheStructs) {
  GroupConfig expected;
  expected.options.group = "g";
  expected.store = MemoryStoreOptions{};
  EXPECT_EQ(loaded("group: g\nstore: { type: memory }\n"), expected);
  EXPECT_EQ(loaded("group: g\nstore: { type: memory }\nlease: {}\ncandidate: {}\nlog: {}\n"), expected);
  expected.store = SqliteStoreOptions{"x.db", true};
  EXPECT_EQ(loaded("group: g\nstore: { path: x.db, type: sqlite }\n"), expected);
}

TEST(LoadGroup, TextIsTakenAsWritten) {
  for (const std::string text : {"123", "true", "1.50", "0x1F", "2024-01-01", "a b", "\xD0\xBA\xD0\xBB"}) {
    EXPECT_EQ(loaded("group: " + text + "\nstore: { type: memory }\n").options.group, text);
  }
}

TEST(LoadGroup, VariablesAreReplacedInEveryKindOfValue) {
  const std::map<std::string, std::string> values{{"G", "g"}, {"P", "5"}, {"D", "20s"}, {"T", "memory"}, {"L", "warn"}};
  const auto lookUp = [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  };
  const GroupConfig config = loaded(
      "group: \"${G}-${X:-x}\"\ncandidate: { priority: \"${P}\" }\nlease: { duration: \"${D}\" }\n"
      "store: { type: '${T}' }\nlog:\n  level: ${L}\n",
      lookUp);
  EXPECT_EQ(config.options.group, "g-x");
  EXPECT_EQ(config.options.candidate.priority, 5U);
  EXPECT_EQ(config.options.lease.duration, 20s);
  EXPECT_EQ(config.store, StoreConfig{MemoryStoreOptions{}});
  EXPECT_EQ(config.logLevel, LogLevel::warn);
}

TEST(LoadGroup, VariablesCannotAddStructure) {
  const std::string_view text = "group: ${G}\nstore: { type: memory }\n";
  const auto variable = [](const std::string& value) {
    return [value](const std::string&) { return std::optional{value}; };
  };
  const GroupConfig config = loaded(text, variable("{g, on_lost: terminate}"));
  EXPECT_EQ(config.options.group, "{g, on_lost: terminate}");
  EXPECT_EQ(config.options.onLost, OnLost::callback);
  // A line break is a character of the name, where it is not allowed.
  EXPECT_NE(messagesOf(text, variable("g\non_lost: terminate")).find("holds U+000A LINE FEED as character 2"),
            std::string::npos);
}

TEST(LoadGroup, VariableThatIsNotTextIsRefusedWithThePlace) {
  const auto variables = [](const std::string&) { return std::optional<std::string>{"\xFF"}; };
  EXPECT_EQ(messagesOf("group: ${G}\nstore: { type: memory }\n", variables),
            "group.yaml:1:8: group: the lease name or sort key is not UTF-8 text");
  EXPECT_EQ(messagesOf("group: g\nstore:\n  type: sqlite\n  path: ${P}\n", variables),
            "group.yaml:4:9: store.path: \"\\xff\" is not UTF-8 text");
}

TEST(LoadGroup, FaultsComeInTheOrderOfTheFile) {
  EXPECT_EQ(
      messagesOf("zeta: 1\nstore: { path: '', type: sqlite }\nlease: { clock_margin: 1, duration: 2 }\ngroup: ''\n"),
      "group.yaml:1:1: zeta: is not a known key; allowed here are group, candidate, lease, shards, store, "
      "on_lost, http, log, routing, hooks and jobs\n"
      "group.yaml:2:16: store.path: is empty; allowed is the path of a file\n"
      "group.yaml:3:24: lease.clock_margin: \"1\" has no unit; give one, such as 1ms or 1s; allowed is 0s to 12h\n"
      "group.yaml:3:37: lease.duration: \"2\" has no unit; give one, such as 2ms or 2s; allowed is 100ms to 24h\n"
      "group.yaml:4:8: group: is empty; allowed is 1 to 2048 bytes");
}

TEST(LoadGroup, ColumnsCountCharacters) {
  EXPECT_EQ(messagesOf("group: g\r\nstore: { type: memory }\r\ncandidate: { id: \"\xD0\xBA\xD0\xBB\", prio: 1 }\r\n"),
            "group.yaml:3:24: candidate.prio: is not a known key; allowed here are id, priority, mode, address, "
            "reclaim_after, ready, ready_every and on_unready");
  EXPECT_EQ(messagesOf("\xEF\xBB\xBFzeta: g\ngroup: g\nstore: { type: memory }\n").substr(0, 16), "group.yaml:1:1: ");
}

/// `cd current && tenure run --config group.yaml`: the kernel's name of the directory would hide the link, and the link
/// must be refused when the file is opened.
TEST(LoadGroup, RelativeStorePathKeepsALinkByWhichTheProcessWasStarted) {
  const test::TempDir directory;
  fs::create_directory(directory.file("r1"));
  fs::create_directory_symlink(directory.file("r1"), directory.file("current"));
  test::writeFile(directory.file("r1/group.yaml"), "group: g\nstore: { type: sqlite, path: ./x.db }\n");
  const fs::path before = fs::current_path();
  const char* const named = std::getenv("PWD");
  const std::string pwd = named == nullptr ? "" : named;
  fs::current_path(directory.file("current"));
  setenv("PWD", directory.file("current").c_str(), 1);
  const auto config = loadGroupConfig("group.yaml");
  setenv("PWD", "/", 1);
  const auto elsewhere = loadGroupConfig("group.yaml");
  fs::current_path(before);
  setenv("PWD", pwd.c_str(), 1);
  ASSERT_TRUE(config && elsewhere);
  EXPECT_EQ(std::get<SqliteStoreOptions>(config->store).path, directory.file("current/x.db"));
  EXPECT_EQ(std::get<SqliteStoreOptions>(elsewhere->store).path, fs::canonical(directory.file("r1")) / "x.db")
      << "PWD counts only where it names this directory";
}

TEST(LoadGroup, RelativeStorePathStartsAtTheDirectoryOfTheFile) {
  const test::TempDir directory;
  fs::create_directory(directory.file("etc"));
  const auto pathIn = [&](const std::string& path) {
    test::writeFile(directory.file("etc/group.yaml"), "group: g\nstore: { type: sqlite, path: " + path + " }\n");
    const auto config = loadGroupConfig(directory.file("etc/group.yaml"));
    return config ? std::get<SqliteStoreOptions>(config->store).path : toString(config.error());
  };
  EXPECT_EQ(pathIn("./x.db"), directory.file("etc/x.db"));
  EXPECT_EQ(pathIn("x.db"), directory.file("etc/x.db"));
  // Not shortened: the meaning of `..` is known when the file is opened, and a link before it is refused there.
  EXPECT_EQ(pathIn("../var/x.db"), directory.file("etc/../var/x.db"));
  EXPECT_EQ(pathIn("/var/lib/x.db"), "/var/lib/x.db");
}

TEST(LoadGroup, RelativeFileGivesAnAbsoluteStorePath) {
  const test::TempDir directory;
  test::writeFile(directory.file("group.yaml"), "group: g\nstore: { type: sqlite, path: x.db }\n");
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  const auto config = loadGroupConfig("group.yaml");
  const fs::path expected = fs::current_path() / "x.db";
  fs::current_path(before);
  ASSERT_TRUE(config);
  EXPECT_EQ(std::get<SqliteStoreOptions>(config->store).path, expected.string());
}

/// A shell whose directory was deleted (a release that was replaced) still names the file by its whole path.
TEST(LoadGroup, AWholePathNeedsNoWorkingDirectory) {
  const test::TempDir directory;
  test::writeFile(directory.file("group.yaml"), "group: g\nstore: { type: sqlite, path: x.db }\n");
  fs::create_directory(directory.file("gone"));
  const fs::path before = fs::current_path();
  fs::current_path(directory.file("gone"));
  fs::remove(directory.file("gone"));
  const auto config = loadGroupConfig(directory.file("group.yaml"));
  fs::current_path(before);
  ASSERT_TRUE(config) << toString(config.error());
  EXPECT_EQ(std::get<SqliteStoreOptions>(config->store).path, directory.file("x.db"));
}

TEST(LoadGroup, StorePathOfATextStaysAsItIs) {
  const GroupConfig config = loaded("group: g\nstore: { type: sqlite, path: ./x.db }\n");
  EXPECT_EQ(std::get<SqliteStoreOptions>(config.store).path, "./x.db");
}

TEST(LoadGroup, GivesAGroupAndTouchesNothing) {
  const test::TempDir directory;
  test::writeFile(directory.file("group.yaml"),
                  "group: g\nlease: { duration: 4s }\nstore: { type: sqlite, path: x.db }\n");
  const auto group = loadGroup(directory.file("group.yaml"));
  ASSERT_TRUE(group) << toString(group.error());
  EXPECT_EQ(group->name(), "g");
  EXPECT_EQ(group->timing().duration(), 4s);
  ASSERT_NE(group->store(), nullptr);
  EXPECT_EQ(std::distance(fs::directory_iterator{directory.path()}, fs::directory_iterator{}), 1);
}

TEST(LoadGroup, GroupFromText) {
  const auto group = loadGroupFromText("group: g\nstore: { type: memory }\nlog: { level: off }\n", "text", {});
  ASSERT_TRUE(group);
  EXPECT_FALSE(group->logger().wants(LogLevel::error));
  EXPECT_EQ(group->store()->describe().substr(0, 6), "memory");
  const auto wrong = loadGroupFromText("group: g\n", "text", {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(toString(wrong.error()),
            "text:1:1: store: is missing; give it, such as store: { type: sqlite, path: ./tenure.db }");
}

TEST(LoadGroup, ValueThrowsWithAllFaults) {
  try {
    static_cast<void>(loadGroupFromText("zeta: g\n", "text", {}).value());
    FAIL() << "no exception";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(),
                 "text:1:1: zeta: is not a known key; allowed here are group, candidate, lease, shards, store, "
                 "on_lost, http, log, routing, hooks and jobs\n"
                 "text:1:1: group: is missing; give it, such as group: billing-scheduler\n"
                 "text:1:1: store: is missing; give it, such as store: { type: sqlite, path: ./tenure.db }");
  }
}

}  // namespace
}  // namespace tenure
