#include "simulation/postgresql/sim_lease_table.hpp"

#include <array>
#include <stdexcept>

#include "lockcore/stores/postgresql/src/statements.hpp"

namespace tenure::test {

using namespace postgresql_store;

namespace {

std::int64_t number(const Value& value) { return std::stoll(value.value()); }
Value textOf(const LeaseRow::Number& value) { return value ? Value{std::to_string(*value)} : Value{}; }
Value textOf(bool value) { return value ? "t" : "f"; }
/// Hexadecimal, as it is read.
std::string bytesOf(const Value& bytea) { return bytea.value().substr(2); }

/// In seconds, as it is read.
Value timeOf(const LeaseRow::Number& millis) {
  if (!millis) return std::nullopt;
  const std::string fraction = std::to_string(1'000 + *millis % 1'000).substr(1);
  return std::to_string(*millis / 1'000) + '.' + fraction + "000";
}

}  // namespace

std::vector<Value> listFrom(const Value& literal) {
  std::vector<Value> values;
  const std::string& text = literal.value();
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    if (text[at] == 'N') {
      values.emplace_back();
      at += 4;
      continue;
    }
    std::string value;
    for (++at; text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
      value += text[at];
    }
    values.emplace_back(std::move(value));
    ++at;
  }
  return values;
}

StatementAnswer LeaseTable::run(const Statement& statement) {
  const Values& values = statement.values;
  switch (statement.id) {
    case StatementId::readLease:
      return read(values);
    case StatementId::readLeases:
      return readMany(values);
    case StatementId::updateTerm:
      return change(values, locked, false);
    case StatementId::updateTerms:
      return renewMany(values);
    case StatementId::endTerm:
      return change(values, locked || shared, false);
    case StatementId::beginTerm:
      return change(values, locked || shared, true);
    case StatementId::updateInHistory:
      return change(values, locked, true);
    case StatementId::insertRow:
      return insert(values);
    case StatementId::notify:
      return {{Row{"off", ""}}};
    case StatementId::listLeases:
    case StatementId::readLayout:
    case StatementId::createTable:
      break;
  }
  throw std::logic_error{"a simulated candidate does not run this statement"};
}

bool LeaseTable::at(const Values& values) const {
  return row && row->name == values.at(0) && row->sort == values.at(1);
}

/// Whether nothing has changed since the change was decided.
bool LeaseTable::isAsSeen(const Values& values) const {
  const Row now = columns();
  constexpr std::array compared{versionColumn,  holderColumn,       tokenColumn,          leaseColumn,
                                releasedColumn, resignColumn,       attributesColumn,     historyColumn,
                                counterColumn,  counterLeaseColumn, counterHistoryColumn, layoutColumn};
  for (std::size_t i = 0; i < compared.size(); ++i) {
    if (now[compared.at(i)] != values.at(17 + i)) return false;
  }
  return true;
}

/// What all statements that write the row have in common.
void LeaseTable::put(LeaseRow& row, const Values& values) {
  const auto numberOr = [](const Value& value) { return value ? LeaseRow::Number{number(value)} : LeaseRow::Number{}; };
  row.version = values.at(2);
  row.holder = values.at(3);
  row.token = numberOr(values.at(4));
  row.lease = numberOr(values.at(5));
  row.released = values.at(6) ? std::optional{values[6] == "t"} : std::nullopt;
  row.resign = number(values.at(7));
  row.liveness = values.at(8);
  row.attributes = values.at(9).value();
  row.history = values.at(10);
  row.counter = number(values.at(11));
  row.counterLease = number(values.at(12));
  row.counterHistory = values.at(13);
  if (values.at(14)) row.data = bytesOf(values[14]);
  if (values.at(15)) row.acquiredAt = number(values[15]);
  if (values.at(16)) row.renewedAt = number(values[16]);
  if (row.version) return;
  row.acquiredAt.reset();
  row.renewedAt.reset();
}

Row LeaseTable::columns() const {
  Row columns(leaseColumnCount);
  columns[presentHistoryColumn] = history;
  if (!row) return columns;
  columns[nameColumn] = row->name;
  columns[sortColumn] = row->sort;
  columns[versionColumn] = row->version;
  columns[holderColumn] = row->holder;
  columns[tokenColumn] = textOf(row->token);
  columns[leaseColumn] = textOf(row->lease);
  if (row->released) columns[releasedColumn] = textOf(*row->released);
  columns[resignColumn] = std::to_string(row->resign);
  columns[livenessColumn] = row->liveness;
  columns[dataColumn] = row->data;
  columns[attributesColumn] = row->attributes;
  columns[acquiredAtColumn] = timeOf(row->acquiredAt);
  columns[renewedAtColumn] = timeOf(row->renewedAt);
  columns[historyColumn] = row->history;
  columns[counterColumn] = std::to_string(row->counter);
  columns[counterLeaseColumn] = std::to_string(row->counterLease);
  columns[counterHistoryColumn] = row->counterHistory;
  columns[layoutColumn] = std::to_string(row->layout);
  return columns;
}

StatementAnswer LeaseTable::read(const Values& values) const {
  if (at(values)) return {{columns()}};
  Row none(leaseColumnCount);
  none[presentHistoryColumn] = history;
  return {{std::move(none)}};
}

StatementAnswer LeaseTable::readMany(const Values& values) const {
  const auto names = listFrom(values.at(0)), sorts = listFrom(values.at(1));
  StatementAnswer answer;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (at({names[i], sorts[i]})) answer.rows.push_back(columns());
  }
  return answer;
}

Row LeaseTable::written() const { return {textOf(row->token), std::to_string(row->counter)}; }

/// A statement that takes the row first.
StatementAnswer LeaseTable::change(const Values& values, bool refused, bool inHistory) {
  if (!at(values)) return {};
  if (refused) return {{}, "55P03"};
  if (!isAsSeen(values)) return {};
  if (inHistory && values.at(29) != history) return {};
  put(*row, values);
  return {{written()}};
}

/// A row that is locked is left out.
StatementAnswer LeaseTable::renewMany(const Values& values) {
  std::vector<std::vector<Value>> lists;
  for (const Value& literal : values) lists.push_back(listFrom(literal));
  for (std::size_t i = 0; i < lists.at(0).size(); ++i) {
    const auto value = [&](std::size_t list) { return lists.at(list).at(i); };
    if (locked || !at({value(0), value(1)}) || row->layout != 1 || row->released != false) continue;
    const Row now = columns();
    constexpr std::array compared{versionColumn, holderColumn,  tokenColumn,        leaseColumn,
                                  resignColumn,  counterColumn, counterLeaseColumn, attributesColumn};
    bool asSeen = true;
    for (std::size_t c = 0; c < compared.size(); ++c) asSeen = asSeen && now[compared.at(c)] == value(8 + c);
    if (!asSeen) continue;
    row->version = value(2);
    row->lease = number(value(3));
    row->counterLease = number(value(4));
    row->liveness = value(5);
    row->acquiredAt = number(value(6));
    row->renewedAt = number(value(7));
    const Row done = written();
    return {{Row{row->name, row->sort, done[0], done[1]}}};
  }
  return {};
}

StatementAnswer LeaseTable::insert(const Values& values) {
  if (row || values.at(17) != history) return {};
  LeaseRow made;
  made.name = values.at(0).value();
  made.sort = values.at(1).value();
  put(made, values);
  row = std::move(made);
  return {{written()}};
}

bool LeaseTable::admits(std::int64_t token) const {
  return row && row->token == token && row->released == false && row->counter <= token;
}

}  // namespace tenure::test
