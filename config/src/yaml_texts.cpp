#include <algorithm>

#include <tenure/config/group_config.hpp>

#include "config_keys.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "schema.hpp"
#include "sections.hpp"
#include "store_types.hpp"
#include "value_codec.hpp"

namespace tenure {
namespace {

using config::KeySpec;
using config::nameIn;
using config::sectionOf;
using config::SectionSpec;
using config::StoreType;

constexpr std::size_t lineWidth = 100;
constexpr std::string_view switchedOff = "#| ";

constexpr std::string_view referenceHead =
    "Every key of a group's file: its meaning, what is allowed, its default. This is itself a valid file in which each "
    "key that has a default has it. Only group and store are required. Relative paths start at the directory of the "
    "file.\n"
    "Durations need a unit (ms, s, m, h): 10s, 1500ms, 1m30s. ${VAR} and ${VAR:-default} take values from the "
    "environment; $$ is a dollar sign. Lines that begin with \"#|\" are switched off: they have no default, or are an "
    "alternative.\n"
    "This text comes from the code (referenceYaml); a test keeps the two equal.";

/// `text` as comment lines, broken between words. Its own line breaks are kept.
std::string commentLines(std::string_view text, const std::string& indentation) {
  std::string out;
  for (const std::string_view paragraph : linesOf(text)) {
    std::string line = indentation + "#";
    for (const std::string_view word : wordsOf(paragraph)) {
      if (line.size() + 1 + word.size() > lineWidth) {
        out += line + "\n";
        line = indentation + "#";
      }
      line.append(" ").append(word);
    }
    out += line + "\n";
  }
  return out;
}

std::string startedWithCapital(std::string text) {
  if (!text.empty()) text[0] = upper(text[0]);
  return text;
}

std::string rulesOf(const ConfigKey& key) {
  std::string out = startedWithCapital(key.kind) + ": " + key.allowed + ". ";
  if (key.kind == key.allowed || key.kind == "one of") out = startedWithCapital("allowed: " + key.allowed + ". ");
  out += key.required ? "Required" : "Default: " + key.fallback;
  if (!key.storeType.empty()) out += " (store.type " + key.storeType + ")";
  return out + ".";
}

std::string indentationOf(const std::string& path) {
  return std::string(2 * static_cast<std::size_t>(std::count(path.begin(), path.end(), '.')), ' ');
}

std::string referenceEntry(const ConfigKey& key) {
  const std::string indentation = indentationOf(key.path);
  std::string out = commentLines(key.about + "\n" + rulesOf(key), indentation) + indentation;
  const bool hasNoDefault = !key.required && key.fallback.starts_with("off") && key.example != key.fallback;
  if (hasNoDefault) out += switchedOff;
  return out + nameIn(key.path) + ": " + key.example + "\n";
}

std::string inLinesSwitchedOff(const std::string& text) {
  std::string out;
  for (const std::string_view line : linesOf(text)) out.append(switchedOff).append(line).append("\n");
  return out;
}

/// The sections of all stores but the first, commented out.
std::string otherStores() {
  std::string out;
  for (std::size_t i = 1; i < config::storeTypes().size(); ++i) {
    const StoreType& type = config::storeTypes()[i];
    out += "\n" + commentLines("Instead of the store above, store.type " + type.name + ": " + type.about, "");
    std::string entries = "store:\n  type: " + type.name + "\n";
    for (const ConfigKey& key : configKeys()) {
      if (key.storeType == type.name) entries += referenceEntry(key);
    }
    out += inLinesSwitchedOff(entries);
  }
  return out;
}

/// Whether a file has none of the section's keys by default.
bool isOptional(std::string_view section) { return section == config::routingSection || section == config::jobSection; }

std::string sectionHead(const std::string& name) {
  for (const SectionSpec& section : config::sections()) {
    if (section.name != name) continue;
    const bool switchedOn = !section.named && !isOptional(name);
    return "\n" + commentLines(section.about, "") + (switchedOn ? name + ":\n" : "");
  }
  return "\n";
}

/// An optional section with all keys, commented out. `head`: its own lines above the keys.
std::string exampleOf(std::string_view section, const std::string& head) {
  std::string entries = head;
  for (const ConfigKey& key : configKeys()) {
    if (sectionOf(key.path) == section) entries += referenceEntry(key);
  }
  return inLinesSwitchedOff(entries);
}

/// `key: value` if it is set, else the resulting value in a comment.
std::string effectiveEntry(const KeySpec& spec, const GroupConfig& config) {
  const std::string indentation = indentationOf(spec.key.path);
  const std::string name = nameIn(spec.key.path);
  if (const auto written = config.hooksAsWritten.find(spec.key.path); written != config.hooksAsWritten.end()) {
    return indentation + name + ": " + config::yamlKey(written->second) + "\n";
  }
  if (const auto value = spec.get(config)) return indentation + name + ": " + *value + "\n";
  if (!spec.derived) return indentation + "# " + name + ": missing\n";
  const std::string value = spec.derived(config);
  const std::string why = value == spec.key.fallback ? "default" : "default: " + spec.key.fallback;
  return indentation + "# " + name + ": " + value + "  (" + why + ")\n";
}

std::string effectiveRouting(const GroupConfig& config) {
  if (config.routing.isNone()) return "# routing: none  (default)\n";
  std::string out = "routing:\n";
  for (const KeySpec& spec : config::keySpecs()) {
    if (sectionOf(spec.key.path) == config::routingSection) out += effectiveEntry(spec, config);
  }
  return out;
}

std::string effectiveJobs(const GroupConfig& config) {
  if (config.jobs.empty()) return "# jobs: none  (default)\n";
  std::string out = "jobs:\n";
  for (const JobConfig& job : config.jobs) {
    out += "  " + config::yamlKey(job.name) + ":\n";
    for (const KeySpec& spec : config::keySpecs()) {
      if (sectionOf(spec.key.path) == config::jobSection) out += effectiveEntry(spec, config::configOf(job));
    }
  }
  return out;
}

}  // namespace

std::string referenceYaml() {
  std::string out = commentLines(referenceHead, "");
  std::string section;
  bool first = true;
  for (const KeySpec& spec : config::keySpecs()) {
    const std::string own = sectionOf(spec.key.path);
    const bool ofOtherStore = !spec.key.storeType.empty() && spec.key.storeType != config::storeTypes()[0].name;
    if (ofOtherStore || isOptional(own)) continue;
    if (section == "store" && own != section) out += otherStores();
    if (own.empty()) {
      out += "\n";
    } else if (own != section || first) {
      out += sectionHead(own);
    }
    out += referenceEntry(spec.key);
    section = own;
    first = false;
  }
  out += sectionHead("routing") + exampleOf(config::routingSection, "routing:\n");
  return out + sectionHead("jobs") + exampleOf(config::jobSection, "jobs:\n  nightly:\n");
}

std::string effectiveYaml(const GroupConfig& config) {
  std::string out;
  std::string section;
  for (const KeySpec& spec : config::keySpecs()) {
    if (!spec.key.storeType.empty() && spec.key.storeType != config::typeOf(config.store).name) continue;
    const std::string own = sectionOf(spec.key.path);
    if (isOptional(own)) continue;
    if (own != section && !own.empty()) out += own + ":\n";
    out += effectiveEntry(spec, config);
    section = own;
  }
  return out + effectiveRouting(config) + effectiveJobs(config);
}

std::string configKeysMarkdown() {
  std::string out = "| Key | Kind | Allowed | Default | Meaning |\n|---|---|---|---|---|\n";
  for (const ConfigKey& key : configKeys()) {
    std::string about = key.about;
    for (std::size_t at = 0; (at = about.find('\n', at)) != std::string::npos; at += 4) about.replace(at, 1, "<br>");
    const std::string store = key.storeType.empty() ? "" : " (store.type " + key.storeType + ")";
    const std::string where = isOptional(sectionOf(key.path)) ? " with `" + sectionOf(key.path) + "`" : "";
    const std::string fallback = key.required ? "**required**" + where : key.fallback;
    out.append("| `").append(key.path).append("`").append(store).append(" | ").append(key.kind).append(" | ");
    out.append(key.allowed).append(" | ").append(fallback).append(" | ").append(about).append(" |\n");
  }
  return out;
}

std::string sampleGroupYaml(std::string_view storeType) {
  const auto& types = config::storeTypes();
  const auto wanted =
      std::find_if(types.begin(), types.end(), [&](const StoreType& type) { return type.name == storeType; });
  const StoreType& type = wanted == types.end() ? types.front() : *wanted;
  return R"(# A group: the candidates of one lease. Give every candidate the same file.
# Check it with: tenure check --config FILE. All keys: config/reference.yaml.

# The name of the lease; at most one candidate leads under it.
group: my-group

)" + type.sample +
         R"(
# How people recognise this candidate; each process adds random bits.
candidate:
  id: "${HOSTNAME}"

# A leader that stops renewing loses the lease after `duration`; it renews every `heartbeat`.
lease:
  duration: 10s
  heartbeat: 3s

# What happens when leadership is lost and the work does not stop in time:
# callback only notifies the work; terminate also ends the process.
on_lost: callback
)";
}

}  // namespace tenure
