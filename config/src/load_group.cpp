#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <tenure/config/load_group.hpp>

#include "group_reader.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "source_text.hpp"
#include "store_types.hpp"
#include "yaml_tree.hpp"

namespace tenure {
namespace {

using boost::system::result;

void add(ConfigFaults& faults, const std::string& name, config::Place place, std::string key, std::string message) {
  faults.push_back({name, place.line, place.column, std::move(key), std::move(message)});
}

void sortByPlace(ConfigFaults& faults) {
  std::stable_sort(faults.begin(), faults.end(), [](const ConfigFault& a, const ConfigFault& b) {
    return std::pair{a.line, a.column} < std::pair{b.line, b.column};
  });
}

using Loaded = result<config::LoadedGroup, ConfigFaults>;

Loaded readDocument(const config::SourceText& source, const std::string& name, const VariableSource& variables) {
  const config::YamlDocument document = config::parseYaml(source);
  ConfigFaults faults;
  for (const config::YamlFault& wrong : document.faults) {
    add(faults, name, source.placeOf(wrong.offset), "", wrong.message);
  }
  config::GroupReader reader{source, variables};
  if (document.root && !document.fatal) {
    reader.read(*document.root);
    for (const config::ReaderFault& wrong : reader.faults()) add(faults, name, wrong.place, wrong.key, wrong.message);
  } else if (!document.fatal) {
    add(faults, name, {1, 1}, "", "the file is empty; it needs at least group and store");
  }
  if (faults.empty()) return reader.group();
  sortByPlace(faults);
  return faults;
}

Loaded readText(std::string_view text, const std::string& name, const VariableSource& variables) {
  if (text.size() > config::maxFileBytes) {
    return ConfigFaults{{name, 1, 1, "", "the text is larger than 1 MiB; check that it is the right one"}};
  }
  const config::SourceText source{text};
  if (auto wrong = source.fault()) {
    return ConfigFaults{{name, wrong->place.line, wrong->place.column, "", std::move(wrong->message)}};
  }
  return readDocument(source, name, variables);
}

Loaded readFile(const std::filesystem::path& file) {
  auto text = config::readSmallFile(file, "check the path, or write one with tenure init");
  if (!text) {
    const int start = text.error().isOfContent ? 1 : 0;
    return ConfigFaults{{file.string(), start, start, "", text.error().message}};
  }
  Loaded loaded = readText(*text, file.string(), environmentVariables());
  if (!loaded) return loaded;
  std::error_code error;
  const std::filesystem::path absolute = file.is_absolute() ? file : detail::workingDirectory(error) / file;
  if (error) return ConfigFaults{{file.string(), 0, 0, "", "its directory cannot be found: " + errnoText(error)}};
  config::typeOf(loaded->config.store).resolvePaths(loaded->config.store, absolute.parent_path());
  if (std::string& written = loaded->config.hooks.probeWrite; !written.empty())
    written = (absolute.parent_path() / written).string();
  return loaded;
}

result<GroupConfig, ConfigFaults> configOf(Loaded loaded) {
  if (!loaded) return loaded.error();
  return std::move(loaded->config);
}

/// The store may still refuse the names of shards.
result<Group, ConfigFaults> groupOf(Loaded loaded, const std::string& name) {
  if (!loaded) return loaded.error();
  const GroupConfig& config = loaded->config;
  const Logger logger = Logger::toStderr(config.logLevel, config.logFormat);
  auto group = std::move(loaded->options).with(makeStore(config.store, logger), logger);
  if (group) return *std::move(group);
  ConfigFaults faults;
  for (const OptionFault& wrong : group.error()) add(faults, name, {}, config::keyOf(wrong.field), wrong.message);
  return faults;
}

}  // namespace

result<GroupConfig, ConfigFaults> loadGroupConfigFromText(std::string_view text, const std::string& name,
                                                          const VariableSource& variables) {
  return configOf(readText(text, name, variables));
}

result<GroupConfig, ConfigFaults> loadGroupConfig(const std::filesystem::path& file) {
  return configOf(readFile(file));
}

result<Group, ConfigFaults> loadGroup(const std::filesystem::path& file) {
  return groupOf(readFile(file), file.string());
}

result<Group, ConfigFaults> loadGroupFromText(std::string_view text, const std::string& name,
                                              const VariableSource& variables) {
  return groupOf(readText(text, name, variables), name);
}

std::string toString(const ConfigFault& fault) {
  std::string out = fault.file;
  if (fault.line > 0) out += ":" + std::to_string(fault.line);
  if (fault.line > 0 && fault.column > 0) out += ":" + std::to_string(fault.column);
  if (!out.empty()) out += ": ";
  if (!fault.key.empty()) out += fault.key + ": ";
  return out += fault.message;
}

std::ostream& operator<<(std::ostream& out, const ConfigFault& fault) { return out << toString(fault); }

std::string toString(const ConfigFaults& faults) {
  // A wrong file has hundreds of faults; the first lines, which show that it is the wrong file, must not scroll away.
  constexpr std::size_t mostShown = 20;
  std::string out;
  for (std::size_t i = 0; i < faults.size() && i < mostShown; ++i) {
    if (!out.empty()) out += '\n';
    out += toString(faults[i]);
  }
  if (faults.size() > mostShown) out += "\nand " + std::to_string(faults.size() - mostShown) + " more";
  return out;
}

void throw_exception_from_error(const ConfigFaults& faults, const boost::source_location& /*where*/) {
  throw std::runtime_error(toString(faults));
}

}  // namespace tenure
