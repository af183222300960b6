#include <algorithm>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "lockcore/port/quoted_text.hpp"

namespace tenure {
namespace {

bool isControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// Empty if the path can be the name of a file. Whether there is one is found out by the store, at its first use.
std::string pathFault(const std::string& path) {
  constexpr const char* file = "; give the path of a file, such as ./tenure.db";
  if (path.empty()) return "is missing; give the database file, such as ./tenure.db";
  if (!isUtf8(path)) return inQuotes(path) + " is not UTF-8 text";
  if (std::any_of(path.begin(), path.end(), isControl)) return inQuotes(path) + " holds a control character";
  if (path == ":memory:") return inQuotes(path) + " would be a database of its own for each connection" + file;
  if (path.starts_with("file:")) return inQuotes(path) + " is a URI" + file;
  if (path.starts_with("~"))
    return inQuotes(path) + " starts with ~, which only a shell replaces; write ${HOME} instead";
  const std::string_view name = std::string_view{path}.substr(path.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") return inQuotes(path) + " names a directory; name a file in it";
  return {};
}

}  // namespace

OptionFaults faultsOf(const SqliteStoreOptions& options) {
  std::string fault = pathFault(options.path);
  if (fault.empty()) return {};
  return {{"path", std::move(fault)}};
}

}  // namespace tenure
