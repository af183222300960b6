#include <algorithm>

#include <gtest/gtest.h>

#include <tenure/config/group_config.hpp>
#include <tenure/config/load_group.hpp>

#include "config/src/config_keys.hpp"
#include "config/src/store_types.hpp"

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
  config.logFormat = LogFormat::logfmt;
  config.httpListen = "127.0.0.1:9200";
  return config;
}

GroupConfig minimal() {
  GroupConfig config;
  config.options.group = "g";
  config.store = MemoryStoreOptions{};
  return config;
}

/// An observer has no jobs, so `full` has none.
GroupConfig withJobs() {
  GroupConfig config = minimal();
  config.hooks = {.onElected = "./a up $X",
                  .onRenewed = "./a: \"renew\"",
                  .onRevoked = "#",
                  .ready = "./a ready",
                  .readyEvery = 7s,
                  .timeout = 99s};
  const JobPolicy policy{Guarantee::atLeastOnce, Missed::skip, 90s, 3, 4, 0ms};
  config.jobs = {
      {.name = "z: ${HOME} \"x\"",
       .schedule = "0 3 * * MON",
       .timeZone = "Europe/Berlin",
       .policy = policy,
       .overlap = Overlap::replace},
      {.name = "a", .per = 24h},
      {.name = "*", .schedule = "@daily"},
  };
  return config;
}

TEST(GroupConfig, EffectiveYamlLoadsAsTheSameConfig) {
  GroupConfig sqlite = minimal();
  sqlite.store = SqliteStoreOptions{"./x.db", true};
  // Characters that a file may hold only as their escapes: U+2019, U+201E, U+2013, a tab, U+1F3F4 with U+E0067.
  GroupConfig odd = minimal();
  odd.store = SqliteStoreOptions{"./it\xE2\x80\x99s\\.db", true};
  odd.hooks.onElected = "echo \xE2\x80\x9E\"$a\" \xE2\x80\x93\t\x01\x7F \xF0\x9F\x8F\xB4\xF3\xA0\x81\xA7";
  for (const GroupConfig& config : {full(), minimal(), sqlite, withJobs(), odd}) {
    const std::string text = effectiveYaml(config);
    const auto again = loadGroupConfigFromText(text, "dump", {});
    ASSERT_TRUE(again) << toString(again.error()) << "\n" << text;
    EXPECT_EQ(*again, config) << text;
    EXPECT_EQ(effectiveYaml(*again), text);
  }
}

/// A variable of a command may be a secret. Loaded again, the text gives the same command.
TEST(GroupConfig, EffectiveYamlShowsHooksAsTheFileHasThem) {
  const auto variables = [](const std::string& name) -> std::optional<std::string> {
    return name == "TOKEN" ? std::optional<std::string>{"s3cret: \"$\""} : std::nullopt;
  };
  for (const std::string written : {"curl -H 'X-Token: ${TOKEN}' http://127.0.0.1/", "a ${TOKEN} $$HOME ${NONE:-x}",
                                    "\\\"${TOKEN}\\\" # b", "$$TOKEN"}) {
    const std::string file =
        "group: g\nstore: { type: memory }\nhooks: { on_elected: \"" + written + "\", on_revoked: 'plain: x' }\n";
    const auto config = loadGroupConfigFromText(file, "a.yaml", variables);
    ASSERT_TRUE(config) << toString(config.error());
    const std::string effective = effectiveYaml(*config);
    EXPECT_EQ(effective.find("s3cret"), std::string::npos) << effective;
    EXPECT_NE(effective.find("on_revoked: \"plain: x\""), std::string::npos) << effective;
    const auto again = loadGroupConfigFromText(effective, "b.yaml", variables);
    ASSERT_TRUE(again) << toString(again.error()) << effective;
    EXPECT_EQ(again->hooks.onElected, config->hooks.onElected);
    EXPECT_EQ(*again, *config);
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
            "  # ready: off  (default)\n"
            "  ready_every: 5s\n"
            "  on_unready: keep\n"
            "lease:\n"
            "  duration: 10s\n"
            "  # heartbeat: 3333ms  (default: a third of lease.duration)\n"
            "  # clock_margin: 11ms  (default: 0.1 % of lease.duration and 1ms)\n"
            "  # stop_margin: 1s  (default: a tenth of lease.duration)\n"
            "  # drain_timeout: 10s  (default: lease.duration)\n"
            "  # progress_timeout: off  (default)\n"
            "  # probe: off  (default)\n"
            "  # probe_write: off  (default)\n"
            "  # probe_every: off  (default: off; with a probe a third of lease.progress_timeout)\n"
            "  # probe_timeout: off  (default: off; with a probe a third of lease.progress_timeout)\n"
            "shards:\n"
            "  count: 0\n"
            "  # names: off  (default)\n"
            "  # max_leases: off  (default)\n"
            "  # list_interval: 500ms  (default: lease.heartbeat, at most 500ms)\n"
            "store:\n"
            "  type: memory\n"
            "  crash_notice: true\n"
            "on_lost: callback\n"
            "http:\n"
            "  listen: off\n"
            "  # hosts: off  (default)\n"
            "log:\n"
            "  level: info\n"
            "  format: text\n"
            "hooks:\n"
            "  # on_elected: off  (default)\n"
            "  # on_renewed: off  (default)\n"
            "  # on_revoked: off  (default)\n"
            "  timeout: 10s\n"
            "# routing: none  (default)\n"
            "# jobs: none  (default)\n");
}

TEST(GroupConfig, EffectiveYamlStatesEveryKeyOfEachJob) {
  GroupConfig config = minimal();
  config.jobs = {{.name = "nightly", .schedule = "0 3 * * *"}, {.name = "it's $5", .per = 90min}};
  const std::string text = effectiveYaml(config);
  const std::string policy =
      "    guarantee: at_most_once\n"
      "    missed: once\n"
      "    late_by: 1m\n"
      "    most_missed: 10\n"
      "    most_attempts: 10\n"
      "    backoff: 1s\n"
      "    overlap: wait\n";
  EXPECT_EQ(text.substr(text.find("jobs:")),
            "jobs:\n"
            "  nightly:\n"
            "    schedule: \"0 3 * * *\"\n"
            "    # per: off  (default)\n"
            "    time_zone: UTC\n" +
                policy +
                "  \"it's $5\":\n"
                "    # schedule: none  (default)\n"
                "    per: 1h30m\n"
                "    time_zone: UTC\n" +
                policy);
}

/// The lines of the top-level section in which the key stands; the whole text for a key at the top.
std::string sectionOfKey(const std::string& text, const std::string& path) {
  const auto dot = path.find('.');
  if (dot == std::string::npos) return text;
  const auto begin = ('\n' + text).find('\n' + path.substr(0, dot) + ":\n");
  if (begin == std::string::npos) return {};
  auto end = text.find('\n', begin) + 1;
  while (end < text.size() && text[end] == ' ') end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
}

TEST(GroupConfig, EffectiveYamlNamesEveryKeyThatApplies) {
  for (const GroupConfig& config : {full(), minimal(), withJobs()}) {
    const bool sqlite = std::holds_alternative<SqliteStoreOptions>(config.store);
    const std::string text = effectiveYaml(config);
    for (const ConfigKey& key : configKeys()) {
      const bool ofStore = key.storeType.empty() || (key.storeType == "sqlite" && sqlite);
      const bool ofSection = (!key.path.starts_with("jobs.") || !config.jobs.empty()) &&
                             (!key.path.starts_with("routing.") || !config.routing.isNone());
      const bool applies = ofStore && ofSection;
      const std::string name = key.path.substr(key.path.rfind('.') + 1);
      EXPECT_EQ(sectionOfKey(text, key.path).find(name + ": ") != std::string::npos, applies) << key.path;
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
  EXPECT_TRUE(differs([](GroupConfig& c) { c.logFormat = LogFormat::text; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.routing.pod = "a"; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.httpListen = "unix:/x"; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.httpHosts = {"a"}; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.jobs.emplace_back(); }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.hooks.onElected = "x"; }));
  EXPECT_TRUE(differs([](GroupConfig& c) { c.hooks.probeWrite = "x"; }));
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

/// Each fault as `field: message`.
std::vector<std::string> told(const OptionFaults& faults) {
  std::vector<std::string> lines;
  for (const OptionFault& fault : faults) lines.push_back(fault.field + ": " + fault.message);
  return lines;
}

/// In the file and in C++, whichever store it is; a key that will come is looked at too.
TEST(GroupConfig, APathThatStartsWithATildeIsRefusedByEveryKeyOfAPath) {
  std::vector<std::string> keys;
  for (const config::StoreType& type : config::storeTypes()) {
    for (const config::KeySpec& key : type.keys) {
      if (key.key.allowed.find("path of") == std::string::npos && key.key.path != "store.host") continue;
      keys.push_back(type.name + " " + key.key.path);
      for (const char* path : {"~/x", "~bob/x", "~"}) {
        GroupConfig config = minimal();
        config.store = type.defaults;
        EXPECT_FALSE(key.set(path, config));
        const std::string wanted =
            key.field + ": \"" + path +
            "\" starts with ~, which only a shell replaces; give the whole path (a group's file may have ${HOME})";
        const auto faults = told(faultsOf(config));
        EXPECT_EQ(std::count(faults.begin(), faults.end(), wanted), 1) << keys.back() << ": " << path;
      }
      GroupConfig named = minimal();
      named.store = type.defaults;
      EXPECT_FALSE(key.set("./~x", named));
      for (const std::string& fault : told(faultsOf(named))) EXPECT_EQ(fault.find("starts with ~"), std::string::npos);
    }
  }
  EXPECT_GE(keys.size(), 17U);
}

TEST(GroupConfig, APathWithATildeIsNotTakenForOneBelowTheWorkingDirectory) {
  const auto group = loadGroupConfig("~/group.yaml");
  ASSERT_FALSE(group);
  EXPECT_NE(toString(group.error()).find("starts with ~, which only a shell replaces"), std::string::npos);
}

TEST(GroupConfig, JobsAreRefusedWhereNoLedgerCanBeKept) {
  GroupConfig config = minimal();
  config.jobs = {{.name = "nightly", .schedule = "@daily"}};
  EXPECT_EQ(told(faultsOf(config)), std::vector<std::string>{});
  config.options.shards.count = 2;
  config.options.candidate.mode = CandidateMode::observe;
  config.store = DynamoDbStoreOptions{.table = "leases", .deleteOnRelease = true};
  const std::vector<std::string> faults = told(faultsOf(config));
  const auto has = [&](const std::string& start) {
    return std::any_of(faults.begin(), faults.end(), [&](const std::string& line) { return line.starts_with(start); });
  };
  EXPECT_TRUE(has("jobs: cannot be given in a group with shards"));
  EXPECT_TRUE(has("jobs: cannot be given together with candidate.mode observe"));
  EXPECT_TRUE(has("store.deleteOnRelease: cannot be true in a group with jobs"));
  config.jobs.clear();
  for (const std::string& line : told(faultsOf(config))) EXPECT_EQ(line.find("jobs"), std::string::npos) << line;
}

TEST(GroupConfig, FaultsOfAJobNameItAndItsField) {
  GroupConfig config = minimal();
  JobConfig job{.name = "nightly", .schedule = "0 3 * * *", .per = 500ms, .timeZone = "Berlin"};
  job.policy = {.lateBy = 0ms, .mostMissed = 0, .mostAttempts = 1001, .backoff = 6min};
  config.jobs = {job, {.name = "nightly", .per = 1h}, {.name = ""}};
  EXPECT_EQ(told(faultsOf(config)),
            (std::vector<std::string>{
                "jobs.nightly.per: cannot be given together with schedule; remove one of them",
                "jobs.nightly.timeZone: cannot be given together with per, whose periods are counted in UTC; remove it",
                "jobs.nightly.per: 500ms is out of range; allowed is 1s to 366d",
                "jobs.nightly.lateBy: 0ms is out of range; allowed is 1000ms to 31622400000ms",
                "jobs.nightly.mostMissed: 0 is out of range; allowed is 1 to 1000",
                "jobs.nightly.mostAttempts: 1001 is out of range; allowed is 1 to 1000",
                "jobs.nightly.backoff: 360000ms is out of range; allowed is 0ms to 300000ms",
                "jobs.nightly: is given twice",
                "jobs.\"\": \"\" is not a job name; it must be 1 to 64 bytes of UTF-8 text without control "
                "characters",
                "jobs.\"\".schedule: is missing; give it, such as schedule: \"0 3 * * *\", or per: 24h",
            }));
}

TEST(GroupConfig, AJobsScheduleIsThatOfItsKeys) {
  using std::chrono::sys_days;
  using namespace std::chrono;  // NOLINT: literals of dates
  const sys_seconds noon = sys_days{2026y / July / 1} + 12h;
  EXPECT_EQ(scheduleOf({.name = "a", .per = 24h})->after(noon), sys_days{2026y / July / 2});
  EXPECT_EQ(scheduleOf({.name = "a", .schedule = "0 3 * * *"})->after(noon), sys_days{2026y / July / 2} + 3h);
  const JobConfig berlin{.name = "a", .schedule = "0 3 * * *", .timeZone = "Europe/Berlin"};
  EXPECT_EQ(scheduleOf(berlin)->after(noon), sys_days{2026y / July / 2} + 1h);
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
