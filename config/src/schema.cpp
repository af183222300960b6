#include "schema.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "election/src/group_ranges.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "sections.hpp"
#include "store_types.hpp"

namespace tenure::config {
namespace {

using std::chrono::milliseconds;

KeySpec groupKey() {
  return requiredKeySpec<std::string>(
      {.path = "group",
       .example = "billing-scheduler",
       .about = "The name of the lease. All candidates that give the same name in the same store compete for it."},
      textCodec("1 to " + std::to_string(maxLeaseNameBytes) + " bytes"),
      [](auto& config) -> auto& { return config.options.group; });
}

/// "off" is how the reference writes that there is none. As an address it would be told to everybody who follows.
Codec<std::string> addressCodec() {
  Codec<std::string> codec = textCodec("1 to 256 printable characters of ASCII without spaces");
  codec.parse = [parse = codec.parse](std::string_view text) -> boost::system::result<std::string, ValueFault> {
    if (text == "off") return ValueFault{"\"off\" is not an address; leave the key out if there is none"};
    return parse(text);
  };
  return codec;
}

void addCandidateKeys(std::vector<KeySpec>& out) {
  out.push_back(keySpec<std::string>(
      {.path = "candidate.id",
       .fallback = "the host name",
       .example = "\"${HOSTNAME}\"",
       .about =
           "A display name for this candidate. Each process adds random bits to it, so several may share one name."},
      textCodec("1 to 200 bytes without control characters and '#'"),
      [](auto& config) -> auto& { return config.options.candidate.id; }));
  out.push_back(keySpec<unsigned>(
      {.path = "candidate.priority",
       .about =
           "Which candidate goes first when the lease is free: the one with the lowest number. One with priority 50 "
           "waits an extra lease. A priority never takes the lease from a living leader; see candidate.reclaim_after."},
      wholeNumberCodec(GroupRanges::priority),
      [](auto& config) -> auto& { return config.options.candidate.priority; }));
  out.push_back(keySpec<CandidateMode>(
      {.path = "candidate.mode",
       .about = "Whether this process takes part: compete leads when it can; observe follows the leader, never leads "
                "and writes no record. For groups with one lease."},
      choiceCodec<CandidateMode>({{"compete", CandidateMode::compete}, {"observe", CandidateMode::observe}}),
      [](auto& config) -> auto& { return config.options.candidate.mode; }));
  out.push_back(keySpec<std::string>(
      {.path = "candidate.address",
       .fallback = "off",
       .example = "\"10.0.0.5:8080\"",
       .about = "The address of this process, for clients that follow the leader: tenure status and LeaderFollower "
                "show it."},
      addressCodec(), [](auto& config) -> auto& { return config.options.candidate.address; }));
  out.push_back(keySpec<milliseconds>(
      {.path = "candidate.reclaim_after",
       .fallback = "off",
       .example = "10m",
       .about = "A candidate with this key asks a leader with a higher priority number once to step down, after it has "
                "watched that leader for this long and could have led all that time. The leader's work is stopped for "
                "it. For groups with one lease."},
      durationCodec(GroupRanges::reclaimAfter),
      [](auto& config) -> auto& { return config.options.candidate.reclaimAfter; }));
}

/// Computes a key of `lease` that is not set from the ones that are; "not known" if those contradict each other.
std::function<std::string(const GroupConfig&)> fromTiming(milliseconds (LeaseTiming::*value)() const noexcept) {
  return [value](const GroupConfig& config) {
    const auto timing = LeaseTiming::from(config.options.lease);
    return timing ? durationText(((*timing).*value)()) : std::string{"not known"};
  };
}

void addLeaseKeys(std::vector<KeySpec>& out) {
  const auto add = [&](KeyText text, const LeaseRanges::Range& range, auto access) {
    out.push_back(keySpec<milliseconds>(std::move(text), durationCodec(range), access));
  };
  add(
      {.path = "lease.duration",
       .about = "How long before an unresponsive leader is replaced. At least two heartbeats, clock_margin and "
                "stop_margin together."},
      LeaseRanges::duration, [](auto& config) -> auto& { return config.options.lease.duration; });
  add(
      {.path = "lease.heartbeat",
       .fallback = "a third of lease.duration",
       .about = "How often the leader renews the lease. A renewal may come up to a 32nd of this time earlier."},
      LeaseRanges::heartbeat, [](auto& config) -> auto& { return config.options.lease.heartbeat; });
  out.back().derived = fromTiming(&LeaseTiming::heartbeat);
  add(
      {.path = "lease.clock_margin",
       .fallback = "0.1 % of lease.duration and 1ms",
       .about = "Safety margin for clocks that run at different rates: the leader's validity ends this much before the "
                "lease does. At most half of lease.duration."},
      LeaseRanges::clockMargin, [](auto& config) -> auto& { return config.options.lease.clockMargin; });
  out.back().derived = fromTiming(&LeaseTiming::clockMargin);
  add(
      {.path = "lease.stop_margin",
       .fallback = "a tenth of lease.duration",
       .about = "When renewals fail, the work is asked to stop this long before the leader's validity ends. At most "
                "half of lease.duration."},
      LeaseRanges::stopMargin, [](auto& config) -> auto& { return config.options.lease.stopMargin; });
  out.back().derived = fromTiming(&LeaseTiming::stopMargin);
  add(
      {.path = "lease.drain_timeout",
       .fallback = "lease.duration",
       .about = "How long the work may take to end when a leader steps down. The lease is renewed meanwhile; after "
                "that it expires."},
      LeaseRanges::drainTimeout, [](auto& config) -> auto& { return config.options.lease.drainTimeout; });
  out.back().derived = fromTiming(&LeaseTiming::drainTimeout);
  add(
      {.path = "lease.progress_timeout",
       .fallback = "off",
       .example = "30s",
       .about = "If set, the work must report progress at least this often, or the lease is not renewed. At least one "
                "heartbeat."},
      LeaseRanges::progressTimeout, [](auto& config) -> auto& { return config.options.lease.progressTimeout; });
}

/// "off" is the empty text of the struct.
Codec<std::string> listenCodec() {
  Codec<std::string> codec = textCodec("ADDRESS:PORT such as \"127.0.0.1:9200\", unix:/PATH of a socket, or off");
  codec.parse = [parse = codec.parse](std::string_view text) -> boost::system::result<std::string, ValueFault> {
    using Parsed = boost::system::result<std::string, ValueFault>;
    return text == "off" ? Parsed{boost::system::in_place_value} : parse(text);
  };
  codec.write = [](const std::string& value) { return value.empty() ? "off" : yamlScalar(value); };
  return codec;
}

using Names = std::vector<std::string>;

boost::system::result<Names, ValueFault> parseNames(std::string_view text) {
  Names names;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view name = trimmed(part, " ");
    if (name.empty()) return ValueFault{"has an empty name; write names with single commas between"};
    names.emplace_back(name);
  }
  return names;
}

std::string namesText(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return yamlScalar(text);
}

void addShardKeys(std::vector<KeySpec>& out) {
  out.push_back(keySpec<unsigned>(
      {.path = "shards.count",
       .about = "The number of shards, named 0, 1, ... (0: one lease). The lease of each is group/NAME. All candidates "
                "must have the same count."},
      wholeNumberCodec(GroupRanges::shards), [](auto& config) -> auto& { return config.options.shards.count; }));
  out.push_back(keySpec<Names>(
      {.path = "shards.names",
       .fallback = "off",
       .example = "north, south",
       .about = "The names of the shards, instead of a count."},
      {"text", "names with commas between", parseNames, namesText},
      [](auto& config) -> auto& { return config.options.shards.names; }));
  out.push_back(keySpec<unsigned>(
      {.path = "shards.max_leases",
       .fallback = "off",
       .example = "16",
       .about = "The most shards that this candidate has at a time."},
      wholeNumberCodec(GroupRanges::maxLeases), [](auto& config) -> auto& { return config.options.shards.maxLeases; }));
  out.push_back(keySpec<milliseconds>(
      {.path = "shards.list_interval",
       .fallback = "lease.heartbeat, at most 500ms",
       .about = "How often this candidate lists the group's leases; a failover takes up to this much longer. At most "
                "half of lease.duration."},
      durationCodec(GroupRanges::listInterval),
      [](auto& config) -> auto& { return config.options.shards.listInterval; }));
  out.back().derived = [](const GroupConfig& config) {
    const auto timing = LeaseTiming::from(config.options.lease);
    return timing ? durationText(std::min(timing->heartbeat(), milliseconds{500})) : std::string{"not known"};
  };
}

KeySpec storeTypeKey() {
  std::vector<std::pair<std::string, std::size_t>> choices;
  for (const StoreType& type : storeTypes()) choices.emplace_back(type.name, type.defaults.index());
  const Codec<std::size_t> codec = choiceCodec(std::move(choices));
  KeySpec spec;
  spec.field = "store.type";
  spec.key = ConfigKey{.path = "store.type",
                       .storeType = {},
                       .kind = codec.kind,
                       .allowed = codec.allowed,
                       .required = true,
                       .fallback = {},
                       .example = storeTypes().front().name,
                       .about = "Which store holds the lease."};
  for (const StoreType& type : storeTypes()) spec.key.about += "\n" + type.name + ": " + type.about;
  spec.set = [codec](std::string_view text, GroupConfig& config) -> std::optional<ValueFault> {
    const auto index = codec.parse(text);
    if (const std::string why = whyWithout(text); !index && !why.empty()) {
      return ValueFault{inQuotes(text) + " is a store that this build does not have (" + why + "); allowed is " +
                        codec.allowed};
    }
    if (!index) return index.error();
    for (const StoreType& type : storeTypes()) {
      if (type.defaults.index() == *index) config.store = type.defaults;
    }
    return std::nullopt;
  };
  spec.get = [codec](const GroupConfig& config) { return codec.write(config.store.index()); };
  return spec;
}

/// One key of every store. SQLite's library reads it too.
KeySpec crashNoticeKey() {
  return keySpec<bool>(
      {.path = "store.crash_notice",
       .about =
           "Whether another candidate takes over from a holder that crashed as soon as nothing of its work is left, "
           "and not only when the lease ends: from tenure run, unless hooks.on_revoked is given; with SQLite from "
           "any holder on this machine."},
      boolCodec(), [](auto& config) -> auto& {
        auto* sqlite = std::get_if<SqliteStoreOptions>(&config.store);
        return sqlite != nullptr ? sqlite->crashNotice : config.crashNotice;
      });
}

void addStoreKeys(std::vector<KeySpec>& out) {
  out.push_back(storeTypeKey());
  out.push_back(crashNoticeKey());
  for (const StoreType& type : storeTypes()) out.insert(out.end(), type.keys.begin(), type.keys.end());
}

void addRemainingKeys(std::vector<KeySpec>& out) {
  out.push_back(keySpec<OnLost>(
      {.path = "on_lost",
       .about = "If leadership is lost and the work does not end in time: callback only notifies the work; terminate "
                "also ends the process (exit code 80), for work that cannot be fenced."},
      choiceCodec<OnLost>({{"callback", OnLost::callback}, {"terminate", OnLost::terminate}}),
      [](auto& config) -> auto& { return config.options.onLost; }));
  out.push_back(keySpec<std::string>(
      {.path = "http.listen",
       .about = "The address at which tenure run shows who leads: /leader for load balancers, /metrics for Prometheus, "
                "/status and more. Port 0: the system chooses one, and the log says which. It has neither a password "
                "nor encryption."},
      listenCodec(), [](auto& config) -> auto& { return config.httpListen; }));
  out.back().get = [codec = listenCodec()](const GroupConfig& config) { return codec.write(config.httpListen); };
  out.push_back(keySpec<std::vector<std::string>>(
      {.path = "http.hosts",
       .fallback = "off",
       .example = "[leader.example.org]",
       .about = "Names, without ports, that the header Host of a request may have in addition to localhost and the "
                "address to which it was sent. A listener on loopback refuses all others (421); one elsewhere only if "
                "this key is given. A YAML list, or one text with commas between."},
      listCodec("names or addresses of hosts"), [](auto& config) -> auto& { return config.httpHosts; }));
  std::vector<std::pair<std::string, LogLevel>> levels;
  for (const LogLevel level :
       {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error, LogLevel::off}) {
    levels.emplace_back(toString(level), level);
  }
  out.push_back(keySpec<LogLevel>(
      {.path = "log.level", .about = "The lowest level of the lines that are written to stderr."},
      choiceCodec(std::move(levels)), [](auto& config) -> auto& { return config.logLevel; }));
  out.push_back(keySpec<LogFormat>(
      {.path = "log.format",
       .about = "How the lines are written: sentences for people, or keys and values for programs."},
      choiceCodec<LogFormat>({{"text", LogFormat::text}, {"logfmt", LogFormat::logfmt}, {"json", LogFormat::json}}),
      [](auto& config) -> auto& { return config.logFormat; }));
}

/// `{ type: sqlite, path: ./tenure.db }`
std::string sampleStore() {
  const StoreType& type = storeTypes().front();
  std::string text = "{ type: " + type.name;
  for (const KeySpec& spec : type.keys) {
    if (spec.key.required) text += ", " + nameIn(spec.key.path) + ": " + spec.key.example;
  }
  return text + " }";
}

/// The struct's default is the default: where it has one, the words and the example are made from it.
void fillInDefaults(std::vector<KeySpec>& specs) {
  for (KeySpec& spec : specs) {
    GroupConfig defaults;
    for (const StoreType& type : storeTypes()) {
      if (type.name == spec.key.storeType) defaults.store = type.defaults;
    }
    if (sectionOf(spec.key.path) == jobSection) defaults = configOf({});
    const auto value = spec.key.required ? std::nullopt : spec.get(defaults);
    if (value) spec.key.fallback = *value;
    if (spec.key.example.empty()) spec.key.example = value ? *value : spec.derived(defaults);
  }
}

}  // namespace

const std::vector<SectionSpec>& sections() {
  static const std::vector<SectionSpec> all{
      {.name = "candidate",
       .example = "{ id: \"${HOSTNAME}\" }",
       .about = "How this process takes part in the election."},
      {.name = "lease", .example = "{ duration: 10s }", .about = "The timing of the lease."},
      {.name = "shards",
       .example = "{ count: 64 }",
       .about =
           "A sharded election (ShardedElector): a lease for each shard, spread evenly over the candidates that are "
           "present."},
      {.name = "store", .required = true, .example = sampleStore(), .about = "The store that holds the lease."},
      {.name = "http", .example = "{ listen: \"127.0.0.1:9200\" }", .about = "What tenure run shows over HTTP."},
      {.name = "log", .example = "{ level: info }", .about = "The lines that the library writes."},
      {.name = "routing",
       .example = "{ pod: \"${POD_NAME}\", selector: app=scheduler }",
       .about =
           "For pods of Kubernetes (store.type kubernetes): tenure run keeps the label tenure.dev/role=leader on the "
           "pod that leads, and on no other one, so that a Service can select it. Routing is not a fence. The user "
           "needs the rights get, list and patch on pods. For groups with one lease."},
      {.name = "hooks",
       .example = "{ on_elected: \"./address up\" }",
       .about = "Commands that tenure run runs by /bin/sh -c at the events of a term, with the job's environment and "
                "TENURE_REMAINING_MS. They never delay a renewal. Write $$ for a dollar sign. A program with its own "
                "elector has callbacks instead, and runs none of them. For groups with one lease, and not with "
                "candidate.mode observe."},
      {.name = "jobs",
       .named = true,
       .example = "{ nightly: { schedule: \"0 3 * * *\" } }",
       .about =
           "Jobs that run periodically, each at one of the candidates, by their names (1 to 64 bytes); at most "
           "64 in a group. The leader keeps a note of the runs in the lease's record. For groups with one lease, and "
           "not with candidate.mode observe."},
  };
  return all;
}

const std::vector<KeySpec>& keySpecs() {
  static const std::vector<KeySpec> all = [] {
    std::vector<KeySpec> specs{groupKey()};
    addCandidateKeys(specs);
    addReadyKeys(specs);
    addLeaseKeys(specs);
    addProbeKeys(specs);
    addShardKeys(specs);
    addStoreKeys(specs);
    addRemainingKeys(specs);
    addRoutingKeys(specs);
    addHookKeys(specs);
    addJobKeys(specs);
    fillInDefaults(specs);
    return specs;
  }();
  return all;
}

std::string camelCase(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool starts = path[i] == '_' && i + 1 < path.size();
    if (starts) ++i;
    out += starts ? upper(path[i]) : path[i];
  }
  return out;
}

std::string keyOf(const std::string& field) {
  const std::string section = sectionOf(field);
  const bool ofJob = section.starts_with("jobs.");
  const std::string wanted = ofJob ? std::string{jobSection} + '.' + nameIn(field) : field;
  const auto& all = keySpecs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const KeySpec& spec) { return spec.field == wanted; });
  if (found == all.end()) return field;
  return ofJob ? section + '.' + nameIn(found->key.path) : found->key.path;
}

std::string sectionOf(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string{dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot)};
}

std::string topOf(std::string_view path) { return std::string{path.substr(0, path.find('.'))}; }

std::string nameIn(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string{dot == std::string_view::npos ? path : path.substr(dot + 1)};
}

}  // namespace tenure::config

namespace tenure {

const std::vector<ConfigKey>& configKeys() {
  static const std::vector<ConfigKey> all = [] {
    std::vector<ConfigKey> keys;
    for (const config::KeySpec& spec : config::keySpecs()) keys.push_back(spec.key);
    return keys;
  }();
  return all;
}

}  // namespace tenure
