#include "group_reader.hpp"

#include <algorithm>
#include <utility>

#include "sections.hpp"
#include "store_types.hpp"
#include "variables.hpp"
#include "words.hpp"

namespace tenure::config {
namespace {

std::string pathOf(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

const SectionSpec* sectionNamed(std::string_view name) {
  const auto& all = sections();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SectionSpec& s) { return s.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view kindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    default:
      return "a single value";
  }
}

/// The path of the key with this name in another section, if there is exactly one.
std::optional<std::string> elsewhere(std::string_view name, const std::string& section) {
  std::optional<std::string> found;
  for (const KeySpec& spec : keySpecs()) {
    if (nameIn(spec.key.path) != name || sectionOf(spec.key.path) == section) continue;
    if (found && *found != spec.key.path) return std::nullopt;
    found = spec.key.path;
  }
  return found;
}

bool isKeyOf(const std::string& section, const std::string& name) {
  return std::any_of(keySpecs().begin(), keySpecs().end(),
                     [&](const KeySpec& spec) { return spec.key.path == pathOf(section, name); });
}

/// Whether one of the two is judged by the other: all of `lease`, and the two keys that say when a job runs.
bool areCompared(const std::string& a, const std::string& b) {
  const std::string section = sectionOf(a);
  if (section != sectionOf(b)) return false;
  const auto saysWhen = [](const std::string& key) { return nameIn(key) == "schedule" || nameIn(key) == "per"; };
  return section == "lease" || (section.starts_with("jobs.") && saysWhen(a) && saysWhen(b));
}

/// Whether that store type also has a key with this path.
bool sharedWithType(const std::string& path, const std::string& storeType) {
  return std::any_of(keySpecs().begin(), keySpecs().end(),
                     [&](const KeySpec& spec) { return spec.key.path == path && spec.key.storeType == storeType; });
}

}  // namespace

void GroupReader::read(const YamlNode& root) {
  offsets_[""] = root.offset;
  if (root.kind == YamlNode::Kind::refused) return;
  if (root.kind != YamlNode::Kind::map) {
    const std::string what = root.kind == YamlNode::Kind::nothing ? "nothing" : std::string{kindName(root.kind)};
    return fault(root.offset, "",
                 "the file holds " + what + " where keys are expected, such as group: billing-scheduler");
  }
  const Entries entries = entriesOf(root, "");
  for (const KeySpec& spec : keySpecs()) {
    if (!sectionOf(spec.key.path).empty()) continue;
    if (const auto found = entries.known.find(spec.key.path); found != entries.known.end())
      readKey(spec, *found->second);
  }
  for (const SectionSpec& section : sections()) {
    if (const auto found = entries.known.find(section.name); found != entries.known.end()) {
      readSection(section, *found->second);
    }
  }
  for (const YamlNode* key : entries.unknownKeys) unknownKey(*key, "");
  missingKeys(entries, "", root.offset);
  checkValues();
}

/// Faults of the keys themselves are reported here: a key that is given twice, or that is not text.
GroupReader::Entries GroupReader::entriesOf(const YamlNode& map, const std::string& section) {
  Entries entries;
  std::map<std::string, std::size_t, std::less<>> seen;
  for (const YamlEntry& entry : map.entries) {
    const YamlNode& key = entry.key;
    if (key.kind == YamlNode::Kind::refused) continue;
    if (key.kind != YamlNode::Kind::scalar) {
      fault(key.offset, section, "a key must be a single word, such as group");
      continue;
    }
    const auto [first, isNew] = seen.emplace(key.text, key.offset);
    if (!isNew) {
      fault(key.offset, pathOf(section, shownKey(key.text)),
            "is given twice; the first is in line " + std::to_string(source_.lineOf(first->second)));
      continue;
    }
    const SectionSpec* own = sectionNamed(section);
    const bool isName = own != nullptr && own->named;
    const bool isSection = section.empty() && sectionNamed(key.text) != nullptr;
    if (isName || isSection || isKeyOf(section, key.text)) {
      entries.known.emplace(key.text, &entry);
    } else {
      entries.unknownKeys.push_back(&key);
    }
  }
  return entries;
}

/// The keys that a section may have (the top level also has the sections), as far as the store type is known.
std::vector<std::string> GroupReader::allowedIn(const std::string& section) const {
  std::vector<std::string> allowed;
  for (const KeySpec& spec : keySpecs()) {
    const std::string own = sectionOf(spec.key.path);
    if (own != section && !section.empty()) continue;
    if (storeTypeKnown_ && !applies(spec)) continue;
    std::string name = own == section ? nameIn(spec.key.path) : topOf(spec.key.path);
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) allowed.push_back(std::move(name));
  }
  return allowed;
}

void GroupReader::unknownKey(const YamlNode& key, const std::string& section) {
  const std::string path = pathOf(section, shownKey(key.text));
  if (key.text == "<<") return fault(key.offset, path, "a merge key is not supported here; write the keys out");
  if (path == "store.death_notice") return fault(key.offset, path, "is now crash_notice");
  if (path == "lease.guard") return fault(key.offset, path, "is now clock_margin");
  const std::vector<std::string> allowed = allowedIn(section);
  std::optional<std::string> meant = closest(key.text, allowed);
  if (meant) {
    suggested_.insert(inFile(pathOf(section, *meant)));
  } else {
    meant = elsewhere(key.text, section);
  }
  fault(key.offset, path,
        std::string{"is not a known key; allowed here "} + (allowed.size() == 1 ? "is " : "are ") + listed(allowed) +
            didYouMean(meant));
}

void GroupReader::missingKeys(const Entries& entries, const std::string& section, std::size_t offset) {
  const auto missing = [&](const std::string& path, const std::string& example) {
    const std::string name = nameIn(path);
    if (entries.known.count(name) != 0 || suggested_.count(inFile(path)) != 0) return;
    fault(offset, path, "is missing; give it, such as " + name + ": " + example);
  };
  for (const KeySpec& spec : keySpecs()) {
    const bool applicable = spec.key.storeType.empty() || (storeTypeKnown_ && applies(spec));
    if (sectionOf(spec.key.path) == section && spec.key.required && applicable)
      missing(spec.key.path, spec.key.example);
  }
  if (!section.empty()) return;
  for (const SectionSpec& spec : sections()) {
    if (spec.required) missing(spec.name, spec.example);
  }
}

void GroupReader::readSection(const SectionSpec& section, const YamlEntry& entry) {
  offsets_[inFile(section.name)] = entry.key.offset;
  const std::string example = "such as " + nameIn(inFile(section.name)) + ": " + section.example;
  switch (entry.value.kind) {
    case YamlNode::Kind::map:
      return section.named ? readJobs(entry.value) : readKeys(section.name, entry.value);
    case YamlNode::Kind::refused:
      return;
    case YamlNode::Kind::nothing:
      return fault(entry.key.offset, section.name,
                   "has no value; give it keys, " + example + (section.required ? "" : ", or leave it out"));
    default:
      return fault(entry.value.offset, section.name,
                   "is " + std::string{kindName(entry.value.kind)} + "; it must be a map, " + example);
  }
}

/// Each key is the name of a job.
void GroupReader::readJobs(const YamlNode& map) {
  static const SectionSpec job{.name = std::string{jobSection}, .example = "{ schedule: \"0 3 * * *\" }"};
  const Entries entries = entriesOf(map, topOf(jobSection));
  for (const YamlEntry& entry : map.entries) {
    const auto known = entries.known.find(entry.key.text);
    if (known == entries.known.end() || known->second != &entry) continue;
    config_.jobs.push_back({.name = entry.key.text});
    pathOfJob_ = pathOfJob(entry.key.text);
    readSection(job, entry);
  }
}

/// Reads in the order of the schema, so that store.type comes before the keys that depend on it.
void GroupReader::readKeys(const std::string& section, const YamlNode& map) {
  const Entries entries = entriesOf(map, section);
  for (const KeySpec& spec : keySpecs()) {
    if (sectionOf(spec.key.path) != section) continue;
    const auto found = entries.known.find(nameIn(spec.key.path));
    if (found != entries.known.end()) readKey(spec, *found->second);
  }
  for (const YamlNode* key : entries.unknownKeys) unknownKey(*key, section);
  missingKeys(entries, section, map.offset);
}

/// Keys of one store type are judged only if the type is known.
void GroupReader::readKey(const KeySpec& spec, const YamlEntry& entry) {
  if (spec.key.storeType.empty() || (storeTypeKnown_ && applies(spec))) return readValue(spec, entry);
  if (!storeTypeKnown_ || sharedWithType(spec.key.path, typeOf(config_.store).name)) return;
  fault(entry.key.offset, spec.key.path,
        "belongs to store.type " + spec.key.storeType + ", not to " + typeOf(config_.store).name +
            "; remove it or change the type");
}

void GroupReader::readValue(const KeySpec& spec, const YamlEntry& entry) {
  const YamlNode& value = entry.value;
  const std::string path = inFile(spec.key.path);
  offsets_[path] = value.offset;
  switch (value.kind) {
    case YamlNode::Kind::nothing:
      offsets_[path] = entry.key.offset;  // where a value is missing, yaml-cpp points at the next token
      return fault(
          entry.key.offset, path,
          "has no value; allowed is " + spec.key.allowed + (spec.key.required ? "" : ", or leave the key out"));
    case YamlNode::Kind::list:
    case YamlNode::Kind::map:
      if (spec.isList && value.kind == YamlNode::Kind::list) return readItems(spec, value);
      return fault(value.offset, path,
                   "is " + std::string{kindName(value.kind)} + "; it must be a " +
                       (spec.isList ? "list" : "single value") + "; allowed is " + spec.key.allowed);
    case YamlNode::Kind::scalar:
      break;
    default:
      return;  // refused
  }
  const auto text = expanded(spec, value);
  if (!text) return;
  store(spec, value, *text, *text == value.text ? "" : "; the file says " + inQuotes(value.text));
}

/// Each item is told its own faults.
void GroupReader::readItems(const KeySpec& spec, const YamlNode& list) {
  const std::string path = inFile(spec.key.path);
  std::string items;
  bool complete = true;
  for (const YamlEntry& entry : list.entries) {
    const YamlNode& item = entry.value;
    const bool isText =
        item.kind == YamlNode::Kind::scalar && !item.text.empty() && item.text.find(',') == std::string::npos;
    if (!isText && item.kind != YamlNode::Kind::refused) {
      fault(item.offset, path, "has an item that is not a single text without a comma; allowed is " + spec.key.allowed);
    }
    const auto text = isText ? expanded(spec, item) : std::nullopt;
    complete = complete && text;
    if (text) items += (items.empty() ? "" : ",") + *text;
  }
  if (list.entries.empty()) return fault(list.offset, path, "is empty; allowed is " + spec.key.allowed);
  if (complete) store(spec, list, items, "");
}

void GroupReader::store(const KeySpec& spec, const YamlNode& value, const std::string& text,
                        const std::string& written) {
  const std::string path = inFile(spec.key.path);
  if (auto wrong = spec.set(text, config_)) return fault(value.offset, path, wrong->message + written);
  const bool isCommand = path.starts_with("hooks.") || path == "candidate.ready" || path == "lease.probe";
  if (isCommand && text != value.text) config_.hooksAsWritten[path] = value.text;
  outOfRange_[path] = outOfRange(text, spec.key.allowed).message + written;
  if (path == "store.type") storeTypeKnown_ = true;
}

std::optional<std::string> GroupReader::expanded(const KeySpec& spec, const YamlNode& value) {
  Expansion expansion = expandVariables(value.text, variables_);
  if (expansion.faults.empty()) return std::move(expansion.text);
  // The place of the $ itself, if the text is in the file as it was read (no escapes, no folded lines).
  const std::string_view raw = std::string_view{source_.text()}.substr(value.offset);
  const std::size_t quote = raw.starts_with('"') || raw.starts_with('\'') ? 1 : 0;
  const bool asWritten = raw.substr(quote, value.text.size()) == value.text;
  for (VariableFault& wrong : expansion.faults) {
    fault(value.offset + (asWritten ? quote + wrong.offset : 0), spec.key.path, std::move(wrong.message));
  }
  return std::nullopt;
}

/// What the options' own checks find is reported at the key concerned. First come the values that are wrong whatever
/// the others are, in the file's own spelling; then what is left to judge.
void GroupReader::checkValues() {
  checked_.emplace(config_.options);
  OptionFaults wrong = faultsOf(config_, checked_->faults);
  const auto others = std::stable_partition(wrong.begin(), wrong.end(), [&](OptionFault& each) {
    each.field = keyOf(each.field);
    return each.outOfOwnRange && outOfRange_.count(each.field) != 0;
  });
  for (auto each = wrong.begin(); each != others; ++each) {
    fault(offsetFor(each->field), each->field, outOfRange_[each->field]);
  }
  const auto judged =
      std::remove_if(others, wrong.end(), [&](const OptionFault& each) { return !mayBeJudged(each.field); });
  for (auto each = others; each != judged; ++each) fault(offsetFor(each->field), each->field, each->message);
}

/// False if the key already has a fault, or if it is compared with a key that has one.
bool GroupReader::mayBeJudged(const std::string& key) const {
  const std::string section = sectionOf(key);
  if ((section == "store" || key == routingSection) && !storeTypeKnown_) return false;
  if (suggested_.count(key) != 0) return false;
  return std::none_of(faults_.begin(), faults_.end(), [&](const ReaderFault& fault) {
    if (fault.key == key || areCompared(fault.key, key)) return true;
    return !section.empty() && fault.key == section;
  });
}

std::size_t GroupReader::offsetFor(const std::string& key) const {
  const std::string section = sectionOf(key);
  for (const std::string& candidate : {key, section == "lease" ? std::string{"lease.duration"} : key, section}) {
    if (const auto found = offsets_.find(candidate); found != offsets_.end()) return found->second;
  }
  return offsets_.at("");
}

bool GroupReader::applies(const KeySpec& spec) const {
  return spec.key.storeType.empty() || spec.key.storeType == typeOf(config_.store).name;
}

/// The path as it is in the file: a job's keys have its name.
std::string GroupReader::inFile(const std::string& path) const {
  return path.starts_with(jobSection) ? pathOfJob_ + path.substr(jobSection.size()) : path;
}

void GroupReader::fault(std::size_t offset, const std::string& key, std::string message) {
  faults_.push_back({source_.placeOf(offset), inFile(key), std::move(message)});
}

}  // namespace tenure::config
