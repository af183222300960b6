// Any values in the columns of a row: a valid record, or a fault that names the column.
#include <array>

#include <sqlite3.h>

#include <tenure/lockcore/lease_store.hpp>

#include "fuzz_support.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/stores/sqlite/src/connection.hpp"
#include "lockcore/stores/sqlite/src/record_codec.hpp"

namespace {

using namespace tenure;
using namespace tenure::sqlite_store;
using tenure::fuzz::require;

constexpr int columns = 14;  // of recordColumns

Connection& database() {
  static Connection* const open = [] {
    auto* connection = new Connection;  // lives as long as the process
    require(connection->open(":memory:", true) == SQLITE_OK, "SQLite opens");
    return connection;
  }();
  return *open;
}

Statement& bindOne(Statement& row, int parameter, std::uint8_t kind, std::string_view text) {
  switch (kind % 5) {
    case 0:
      return row;  // a parameter that is not bound is NULL
    case 1:
      return row.bind(parameter, static_cast<std::int64_t>(std::hash<std::string_view>{}(text)));
    case 2:
      return row.bind(parameter, static_cast<std::int64_t>(text.size()));
    case 3:
      return row.bindBlob(parameter, text);
    default:
      return row.bind(parameter, text);
  }
}

void readsRow(fuzz::Choices& choices) {
  static Statement* const row = [] {
    auto* statement = new Statement;
    require(database().prepare("SELECT ?,?,?,?,?,?,?,?,?,?,?,?,?,?", *statement) == SQLITE_OK, "it prepares");
    return statement;
  }();
  const StatementUse use{*row};
  std::array<std::uint8_t, columns> kinds{};
  for (std::uint8_t& kind : kinds) kind = choices.next();
  std::string_view rest = choices.rest();
  for (int i = 0; i < columns; ++i) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    bindOne(*row, i + 1, kinds.at(static_cast<std::size_t>(i)), rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (row->step() != SQLITE_ROW) return;
  const auto stored = recordFrom("sqlite fuzz", {"billing"}, *row, 0);
  if (!stored) return fuzz::requireTellable(stored.error().message);
  require(!stored->record.holder.empty() && stored->record.leaseDuration.count() > 0, "a record can be");
  require(!stored->record.version.text().empty(), "a record has a version");
}

void readsAttributes(std::string_view text) {
  const auto attributes = attributesFromJson(text);
  if (!attributes) return;
  const auto printed = attributesToJson(*attributes);
  require(printed.has_value(), "what was read from JSON can be written as JSON");
  require(attributesFromJson(*printed) == attributes, "and means the same");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices{data, size};
  readsRow(choices);
  readsAttributes({reinterpret_cast<const char*>(data), size});
  return 0;
}
