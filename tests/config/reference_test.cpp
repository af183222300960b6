// config/reference.yaml, docs/reference/configuration.md and the samples say what the code does.
// TENURE_UPDATE=1 writes the generated texts into the tree.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "config/src/config_keys.hpp"
#include "config/src/duration.hpp"
#include "config/src/schema.hpp"
#include "config/src/store_types.hpp"
#include "config/src/yaml_tree.hpp"
#include "config/test_files.hpp"

namespace tenure {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::string_view switchedOff = "#| ";

fs::path referenceFile() { return test::sourceDirectory() / "config" / "reference.yaml"; }
fs::path handbook() { return test::sourceDirectory() / "docs" / "reference" / "configuration.md"; }

/// The reference file with the lines enabled that "#|" disables (then it has several stores).
std::string allSwitchedOn() {
  std::string text = test::textOf(referenceFile());
  for (std::size_t at = 0; (at = text.find(switchedOff, at)) != std::string::npos;) text.erase(at, switchedOff.size());
  return text;
}

void collect(const config::YamlNode& node, const std::string& path, std::multimap<std::string, std::string>& out) {
  if (node.kind != config::YamlNode::Kind::map) {
    out.emplace(path, node.text);
    return;
  }
  for (const config::YamlEntry& entry : node.entries) {
    const std::string name = path == "jobs" ? "*" : entry.key.text;  // the names of jobs are free
    collect(entry.value, path.empty() ? name : path + "." + name, out);
  }
}

/// Every key of the reference file with its value as written.
std::multimap<std::string, std::string> keysOfTheFile() {
  const config::SourceText source{allSwitchedOn()};
  const config::YamlDocument document = config::parseYaml(source);
  std::multimap<std::string, std::string> keys;
  if (document.root) collect(*document.root, "", keys);
  EXPECT_TRUE(document.faults.empty());
  return keys;
}

TEST(Reference, IsTheTextThatTheCodeGives) {
  if (test::updating()) test::writeFile(referenceFile(), referenceYaml());
  EXPECT_EQ(test::textOf(referenceFile()), referenceYaml());
}

TEST(Reference, HasEveryKeyOfTheCodeAndNoOther) {
  std::set<std::string> inCode;
  for (const ConfigKey& key : configKeys()) inCode.insert(key.path);
  std::set<std::string> inFile;
  for (const auto& [path, value] : keysOfTheFile()) inFile.insert(path);
  EXPECT_EQ(inFile, inCode);
}

TEST(Reference, LoadsAndHasTheDefaultsOfTheStructs) {
  const auto config = loadGroupConfigFromText(test::textOf(referenceFile()), "reference.yaml");
  ASSERT_TRUE(config) << toString(config.error());
  const GroupConfig defaults;
  EXPECT_EQ(config->options.candidate.priority, defaults.options.candidate.priority);
  EXPECT_EQ(config->options.onLost, defaults.options.onLost);
  EXPECT_EQ(config->logLevel, defaults.logLevel);
  const auto& store = std::get<SqliteStoreOptions>(config->store);
  EXPECT_EQ(store.crashNotice, SqliteStoreOptions{}.crashNotice);
}

TEST(Reference, ShowsTheTimingThatFollowsFromTheDefaultDuration) {
  const auto config = loadGroupConfigFromText(test::textOf(referenceFile()), "reference.yaml");
  ASSERT_TRUE(config) << toString(config.error());
  const auto shown = LeaseTiming::from(config->options.lease).value();
  const auto derived = LeaseTiming::from(LeaseOptions{}).value();
  EXPECT_EQ(shown.duration(), derived.duration());
  EXPECT_EQ(shown.heartbeat(), derived.heartbeat());
  EXPECT_EQ(shown.clockMargin(), derived.clockMargin());
  EXPECT_EQ(shown.stopMargin(), derived.stopMargin());
  EXPECT_EQ(shown.drainTimeout(), derived.drainTimeout());
  EXPECT_EQ(shown.progressTimeout(), derived.progressTimeout());
}

TEST(Reference, ShowsTheDefaultOfEachKeyInTheLineBeforeIt) {
  std::istringstream text{allSwitchedOn()};
  std::map<std::string, std::string> lineBefore;
  std::string before;
  for (std::string line; std::getline(text, line); before = line) {
    lineBefore.emplace(line.substr(std::min(line.size(), line.find_first_not_of(' '))), before);
  }
  for (const ConfigKey& key : configKeys()) {
    const std::string line = key.path.substr(key.path.rfind('.') + 1) + ": " + key.example;
    ASSERT_EQ(lineBefore.count(line), 1U) << key.path;
    const std::string expected = key.required ? "Required" : "Default: " + key.fallback;
    EXPECT_NE(lineBefore[line].find(expected), std::string::npos) << key.path << ": " << lineBefore[line];
  }
}

TEST(Reference, TheJobThatIsSwitchedOffLoadsWithTheDefaults) {
  std::istringstream text{test::textOf(referenceFile())};
  std::string switchedOn = "group: g\nstore: { type: memory }\n";
  bool inJobs = false;
  for (std::string line; std::getline(text, line);) {
    inJobs = inJobs || line == "#| jobs:";
    if (inJobs) switchedOn += line.substr(std::min(line.size(), switchedOff.size())) + "\n";
  }
  const auto config = loadGroupConfigFromText(switchedOn, "reference.yaml");
  ASSERT_TRUE(config) << toString(config.error());
  EXPECT_EQ(config->jobs, (std::vector<JobConfig>{{.name = "nightly", .schedule = "0 3 * * *"}}));
}

TEST(Reference, ShowsEveryStoreType) {
  const auto keys = keysOfTheFile();
  std::set<std::string> inFile;
  const auto [first, last] = keys.equal_range("store.type");
  for (auto it = first; it != last; ++it) inFile.insert(it->second);
  std::set<std::string> inCode;
  for (const config::StoreType& type : config::storeTypes()) inCode.insert(type.name);
  EXPECT_EQ(inFile, inCode);
  EXPECT_EQ(inCode.size(), std::variant_size_v<StoreConfig>);
}

/// Whether the engine itself says that the key is out of range.
bool outOfRange(const std::string& key, const LeaseOptions& options) {
  const auto timing = LeaseTiming::from(options);
  if (timing) return false;
  const OptionFaults faults = timing.error();
  return std::any_of(faults.begin(), faults.end(), [&](const OptionFault& fault) {
    return config::keyOf(fault.field) == key && fault.outOfOwnRange;
  });
}

std::pair<milliseconds, milliseconds> limitsOf(const std::string& path) {
  for (const ConfigKey& key : configKeys()) {
    if (key.path != path) continue;
    const std::size_t to = key.allowed.find(" to ");
    return {parseDuration(key.allowed.substr(0, to)).value(), parseDuration(key.allowed.substr(to + 4)).value()};
  }
  throw std::logic_error("no key " + path);
}

TEST(Reference, RangesAreThoseOfTheEngine) {
  const std::pair<const char*, std::function<LeaseOptions(milliseconds)>> rows[] = {
      {"lease.duration", [](milliseconds v) { return LeaseOptions{.duration = v}; }},
      {"lease.heartbeat", [](milliseconds v) { return LeaseOptions{.duration = 24h, .heartbeat = v}; }},
      {"lease.clock_margin", [](milliseconds v) { return LeaseOptions{.duration = 24h, .clockMargin = v}; }},
      {"lease.stop_margin", [](milliseconds v) { return LeaseOptions{.duration = 24h, .stopMargin = v}; }},
      {"lease.drain_timeout", [](milliseconds v) { return LeaseOptions{.drainTimeout = v}; }},
      {"lease.progress_timeout",
       [](milliseconds v) { return LeaseOptions{.duration = 1s, .heartbeat = 10ms, .progressTimeout = v}; }},
  };
  for (const auto& [path, with] : rows) {
    const auto [low, high] = limitsOf(path);
    EXPECT_FALSE(outOfRange(path, with(low))) << path;
    EXPECT_FALSE(outOfRange(path, with(high))) << path;
    EXPECT_TRUE(outOfRange(path, with(low - 1ms))) << path;
    EXPECT_TRUE(outOfRange(path, with(high + 1ms))) << path;
  }
}

/// Every fault of a config in which nothing is right, by its key.
std::set<std::string> keysAtFault(const GroupConfig& config) {
  std::set<std::string> keys;
  for (const OptionFault& fault : faultsOf(config)) keys.insert(config::keyOf(fault.field));
  return keys;
}

TEST(Reference, FaultsOfTheOptionsHaveKeys) {
  GroupConfig config;
  config.options = {.candidate = {"#", 51, CandidateMode::observe, "a b"}, .lease = {1ms, 1ms, -1ms, -1ms, -1ms, 1ms}};
  config.options.shards = {10'001, {"a/b"}, 0, 1ms};
  EXPECT_EQ(keysAtFault(config),
            (std::set<std::string>{"group", "candidate.id", "candidate.priority", "candidate.mode", "candidate.address",
                                   "lease.duration", "lease.heartbeat", "lease.clock_margin", "lease.stop_margin",
                                   "lease.drain_timeout", "lease.progress_timeout", "shards.count", "shards.names",
                                   "shards.max_leases", "shards.list_interval", "store.path"}));
  GroupConfig jobs;
  jobs.options.group = "g";
  jobs.options.candidate.mode = CandidateMode::observe;
  jobs.store = DynamoDbStoreOptions{.table = "leases", .deleteOnRelease = true};
  jobs.hooks = {.onElected = "x", .timeout = 0s};
  jobs.jobs = {{.name = "a.b", .schedule = "x", .timeZone = "x", .policy = {.lateBy = 0s, .mostMissed = 0}},
               {.name = "c", .per = 0s, .policy = {.mostAttempts = 0, .backoff = -1s}},
               {.name = "\n", .per = 1s}};
  EXPECT_EQ(keysAtFault(jobs), (std::set<std::string>{"hooks", "hooks.timeout", "jobs", "jobs.\"a.b\".schedule",
                                                      "jobs.\"a.b\".time_zone", "jobs.\"a.b\".late_by",
                                                      "jobs.\"a.b\".most_missed", "jobs.c.per", "jobs.c.most_attempts",
                                                      "jobs.c.backoff", "jobs.\"\\n\"", "store.delete_on_release"}));
  DynamoDbStoreOptions table{.table = "", .partitionKey = "", .sortKey = "data", .sortKeyValue = "", .region = "A B"};
  table.endpoint = "x";
  table.ttlAttribute = "data";
  table.ttl = 1s;
  table.tableOptions = {.readCapacity = 0, .writeCapacity = 40'001, .tags = {{"aws:x", ""}}};
  GroupConfig far;
  far.options.group = "g";
  far.store = table;
  EXPECT_EQ(keysAtFault(far),
            (std::set<std::string>{"store.table", "store.partition_key", "store.sort_key", "store.sort_key_value",
                                   "store.region", "store.endpoint", "store.ttl_attribute", "store.ttl",
                                   "store.read_capacity", "store.write_capacity", "store.tags"}));
  const std::string noText{"\xff"};
  PostgresqlStoreOptions database{.connection = "password=x", .host = noText, .port = "0", .database = noText};
  database.user = noText;
  database.passfile = noText;
  database.passwordFile = noText;
  database.service = noText;
  database.sslMode = "x";
  database.sslRootCertificate = noText;
  database.sslKey = noText;
  database.schema = "";
  database.table = "";
  database.listen = "password=x";
  database.livenessDirectory = noText;
  far.store = database;
  EXPECT_EQ(keysAtFault(far),
            (std::set<std::string>{"store.connection", "store.host", "store.port", "store.database", "store.user",
                                   "store.passfile", "store.password_file", "store.service", "store.sslmode",
                                   "store.sslrootcert", "store.sslcert", "store.sslkey", "store.schema", "store.table",
                                   "store.listen", "store.liveness_dir"}));
}

TEST(Handbook, HasTheTableOfTheCode) {
  constexpr std::string_view begin = "<!-- keys: begin (a test writes this table with TENURE_UPDATE=1) -->\n";
  constexpr std::string_view end = "<!-- keys: end -->";
  std::string text = test::textOf(handbook());
  ASSERT_NE(text.find(begin), std::string::npos);
  ASSERT_NE(text.find(end), std::string::npos);
  const std::size_t start = text.find(begin) + begin.size();
  if (test::updating()) {
    text.replace(start, text.find(end) - start, configKeysMarkdown());
    test::writeFile(handbook(), text);
  }
  EXPECT_EQ(text.substr(start, text.find(end) - start), configKeysMarkdown());
}

/// The YAML blocks of a document that are marked `<!-- loaded: name -->` (scripts/doc_blocks.py), by their names.
std::map<std::string, std::string> loadedBlocks(const std::string& text) {
  constexpr std::string_view mark = "<!-- loaded: ";
  constexpr std::string_view fence = " -->\n```yaml\n";
  std::map<std::string, std::string> blocks;
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
    at += mark.size();
    const std::size_t nameEnd = text.find(fence, at);
    if (nameEnd == std::string::npos) break;
    const std::size_t start = nameEnd + fence.size();
    blocks.emplace(text.substr(at, nameEnd - at), text.substr(start, text.find("```", start) - start));
  }
  return blocks;
}

std::vector<fs::path> documents() {
  std::vector<fs::path> files{test::sourceDirectory() / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator{test::sourceDirectory() / "docs"}) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  return files;
}

TEST(Documents, YamlThatIsMarkedLoads) {
  std::size_t blocks = 0;
  for (const fs::path& document : documents()) {
    for (const auto& [name, yaml] : loadedBlocks(test::textOf(document))) {
      const auto config = loadGroupConfigFromText(yaml, name + ".yaml");
      if (!config) ADD_FAILURE() << document << "\n" << toString(config.error()) << "\n" << yaml;
      ++blocks;
    }
  }
  EXPECT_GE(blocks, 2U);
}

TEST(Samples, EachLoads) {
  int samples = 0;
  for (const auto& entry : fs::directory_iterator{test::sourceDirectory() / "config" / "samples"}) {
    const auto config = loadGroupConfig(entry.path());
    if (!config) ADD_FAILURE() << toString(config.error());
    ++samples;
  }
  EXPECT_GE(samples, 3);
}

TEST(Samples, TheStarterFileLoads) {
  const auto config = loadGroupConfigFromText(sampleGroupYaml(), "sample");
  ASSERT_TRUE(config) << toString(config.error());
  EXPECT_EQ(config->options.group, "my-group");
}

TEST(Samples, TheStarterFileOfEachStoreHasThatStore) {
  for (const config::StoreType& type : config::storeTypes()) {
    const std::string sample = sampleGroupYaml(type.name);
    EXPECT_EQ(sample.find("\n#\n"), std::string::npos) << "a comment that says nothing: " << sample;
    const auto config = loadGroupConfigFromText(sample, "sample");
    ASSERT_TRUE(config) << type.name << ": " << toString(config.error());
    EXPECT_EQ(config->store.index(), type.defaults.index());
  }
}

}  // namespace
}  // namespace tenure
