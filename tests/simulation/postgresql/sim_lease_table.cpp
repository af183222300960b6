#include "simulation/postgresql/sim_lease_table.hpp"

#include <algorithm>
#include <stdexcept>

#include "lockcore/stores/postgresql/src/statements.hpp"
#include "lockcore/stores/postgresql/src/token_rule.hpp"

namespace tenure::test {

using namespace postgresql_store;

namespace {

std::int64_t number(const Value& value) { return std::stoll(value.value()); }
Value textOf(const LeaseRow::Number& value) { return value ? Value{std::to_string(*value)} : Value{}; }
Value textOf(bool value) { return value ? "t" : "f"; }

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
    case StatementId::lockLease:
      return lock(values, locked);
    case StatementId::lockTerm:
      return lock(values, locked || shared);
    case StatementId::updateLease:
      return update(values);
    case StatementId::insertLease:
      return insert(values);
    case StatementId::renewLease:
      return renew(values);
    case StatementId::renewLeases:
      return renewMany(values);
    case StatementId::releaseLease:
      return release(values);
    case StatementId::removeRecord:
      return remove(values);
    case StatementId::announceTakeover:
      return announce(values);
    case StatementId::askToStepDown:
      return askToStepDown(values);
    case StatementId::notify:
      return {{Row{"off", ""}}};
    case StatementId::listLeases:
    case StatementId::setTokens:
    case StatementId::insertTokens:
    case StatementId::readLayout:
    case StatementId::createTable:
      break;
  }
  throw std::logic_error{"a simulated candidate does not run this statement"};
}

bool LeaseTable::at(const Values& values) const {
  return row && row->name == values.at(0) && row->sort == values.at(1);
}

std::int64_t LeaseTable::openLease() const {
  return std::max(row->counterLease, isInherited() ? row->lease.value_or(0) : 0);
}

std::optional<std::string> LeaseTable::storedVersion() const {
  if (row->version || openLease() == 0) return row->version;
  return "counter:" + std::to_string(std::max<std::int64_t>(row->counter, 0)) + ':' + std::to_string(openLease());
}

/// `bare`: a version that comes without a history is as good.
bool LeaseTable::isExpected(const Values& values, const std::optional<std::string>& version, bool bare) const {
  const std::vector<Value> expected = listFrom(values.at(2));
  const std::vector<Value> histories = listFrom(values.at(3));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (version && expected[i] == version && (histories.at(i) ? histories[i] == history : bare)) return true;
  }
  return false;
}

bool LeaseTable::isOfTheTerm(const Values& values) const {
  return at(values) && row->version && isWellFormed() && isExpected(values, row->version, true) &&
         row->holder == values.at(4);
}

/// Data, what is there stays if it is not empty, attributes, and two times.
void LeaseTable::put(const Values& values, std::size_t first) {
  const bool keepsAny = values.at(first + 1) == "t";
  if (values[first] && !(keepsAny && !row->data.empty())) row->data = *values[first];
  if (values.at(first + 2)) row->attributes = *values[first + 2];
  row->acquiredAt = number(values.at(first + 3));
  row->renewedAt = number(values.at(first + 4));
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
  columns[acquiredAtColumn] = textOf(row->acquiredAt);
  columns[renewedAtColumn] = textOf(row->renewedAt);
  columns[historyColumn] = row->history;
  columns[counterColumn] = std::to_string(row->counter);
  columns[counterLeaseColumn] = std::to_string(row->counterLease);
  columns[counterHistoryColumn] = row->counterHistory;
  columns[layoutColumn] = std::to_string(row->layout);
  return columns;
}

StatementAnswer LeaseTable::read(const Values& values) const {
  if (at(values)) {
    Row found = columns();
    if (values.at(2) && row->version == values[2]) found[dataColumn].reset();
    return {{std::move(found)}};
  }
  Row none(leaseColumnCount);
  none[presentHistoryColumn] = history;
  return {{std::move(none)}};
}

StatementAnswer LeaseTable::readMany(const Values& values) const {
  const auto names = listFrom(values.at(0)), sorts = listFrom(values.at(1)), versions = listFrom(values.at(2));
  StatementAnswer answer;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (at({names[i], sorts[i]}) && row->version != versions[i]) answer.rows.push_back(columns());
  }
  return answer;
}

StatementAnswer LeaseTable::lock(const Values& values, bool refused) const {
  if (!at(values)) return {};
  if (refused) return {{}, "55P03"};
  return {{Row{row->version, textOf(row->token), std::to_string(row->counter), row->counterHistory, history}}};
}

StatementAnswer LeaseTable::update(const Values& values) {
  if (!at(values) || !isWellFormed()) return {};
  const bool absent = !row->version && openLease() == 0 && listFrom(values.at(2)).empty();
  if (!absent && !isExpected(values, storedVersion(), !isInherited())) return {};
  const FencingToken floor{static_cast<std::uint64_t>(number(values.at(13)))};
  const TokenPlan plan =
      planToken(KnownTokens{row->counter, row->token.value_or(0), row->counterHistory}, floor, history);
  if (floor.value() >= plan.least.value() + maxReportedStep || plan.token > maxFencingToken) return {};
  row->token = row->counter = static_cast<std::int64_t>(plan.token.value());
  row->lease = row->counterLease = number(values.at(6));
  row->history = row->counterHistory = history;
  row->version = values.at(4);
  row->holder = values.at(5);
  row->released = false;
  row->resign = 0;
  row->liveness = values.at(7);
  put(values, 8);
  return {{Row{textOf(row->token)}}};
}

StatementAnswer LeaseTable::insert(const Values& values) {
  if (row) return {};
  const FencingToken floor{static_cast<std::uint64_t>(number(values.at(10)))};
  const TokenPlan plan = planToken(std::nullopt, floor, history);
  if (floor.value() >= plan.least.value() + maxReportedStep || plan.token > maxFencingToken) return {};
  LeaseRow made;
  made.name = values.at(0).value();
  made.sort = values.at(1).value();
  made.token = made.counter = static_cast<std::int64_t>(plan.token.value());
  made.lease = made.counterLease = number(values.at(4));
  made.history = made.counterHistory = history;
  made.version = values.at(2);
  made.holder = values.at(3);
  made.released = false;
  made.liveness = values.at(5);
  made.data = values.at(6).value();
  made.attributes = values.at(7).value();
  made.acquiredAt = number(values.at(8));
  made.renewedAt = number(values.at(9));
  row = std::move(made);
  return {{Row{textOf(row->token)}}};
}

StatementAnswer LeaseTable::ofTheTerm() const { return {{Row{textOf(row->token), textOf(row->resign == row->token)}}}; }

StatementAnswer LeaseTable::renew(const Values& values) {
  if (!isOfTheTerm(values) || !isOpen()) return {};
  row->lease = number(values.at(6));
  row->counterLease = std::max(row->counterLease, *row->lease);
  row->version = values.at(5);
  row->released = false;
  row->liveness = values.at(7);
  put(values, 8);
  return ofTheTerm();
}

/// A row that is locked is left out.
StatementAnswer LeaseTable::renewMany(const Values& values) {
  std::vector<std::vector<Value>> lists;
  for (const Value& literal : values) lists.push_back(listFrom(literal));
  for (std::size_t i = 0; i < lists.at(0).size(); ++i) {
    if (locked || !at({lists[0][i], lists.at(1)[i]}) || !isWellFormed()) continue;
    if (!row->version || row->version != lists.at(2)[i] || row->holder != lists.at(3)[i]) continue;
    if (!isOpen()) continue;
    row->lease = number(lists.at(5)[i]);
    row->counterLease = std::max(row->counterLease, *row->lease);
    row->version = lists.at(4)[i];
    row->released = false;
    row->liveness = lists.at(6)[i];
    row->acquiredAt = number(lists.at(7)[i]);
    row->renewedAt = number(lists.at(8)[i]);
    return {{Row{row->name, row->sort, textOf(row->token), textOf(row->resign == row->token)}}};
  }
  return {};
}

StatementAnswer LeaseTable::release(const Values& values) {
  if (!isOfTheTerm(values)) return {};
  if (row->counter <= row->token.value_or(0)) row->counterLease = 0;
  row->version = values.at(5);
  row->lease = number(values.at(6));
  row->released = true;
  row->liveness = values.at(7);
  put(values, 8);
  return ofTheTerm();
}

StatementAnswer LeaseTable::remove(const Values& values) {
  if (!at(values) || !row->version || !isWellFormed() || !isExpected(values, row->version, true)) return {};
  if (values.at(4) && row->holder != values[4]) return {};
  const std::int64_t token = row->token.value_or(0);
  const bool ends = values.at(5) == "t" || row->released == true;
  if (token >= row->counter) row->counterLease = ends ? 0 : std::max(row->counterLease, row->lease.value_or(0));
  row->counter = std::max(row->counter, token);
  row->token.reset(), row->version.reset(), row->holder.reset(), row->released.reset();
  row->resign = 0;
  row->liveness.reset(), row->acquiredAt.reset(), row->renewedAt.reset();
  row->data.clear();
  row->attributes = "{}";
  return {{Row{std::to_string(row->counter)}}};
}

StatementAnswer LeaseTable::announce(const Values& values) {
  if (!at(values) || !row->version || !isWellFormed() || row->released != false || !isOpen()) return {};
  constexpr auto greatest = static_cast<std::int64_t>(maxFencingToken.value());
  if (*row->token + 1 >= greatest || !isExpected(values, row->version, !isInherited())) return {};
  row->counter = *row->token + 1;
  return {{Row{std::to_string(row->counter)}}};
}

bool LeaseTable::admits(std::int64_t token) const {
  return row && row->token == token && row->released == false && row->counter <= token;
}

StatementAnswer LeaseTable::askToStepDown(const Values& values) {
  if (!at(values) || !row->version || !isWellFormed()) return {};
  if (row->token != number(values.at(2)) || row->released != false) return {};
  row->resign = *row->token;
  return {{Row{textOf(row->token)}}};
}

}  // namespace tenure::test
