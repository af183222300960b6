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
    case StatementId::updateLease:
      return locking(values, locked || shared, &LeaseTable::update);
    case StatementId::insertLease:
      return insert(values);
    case StatementId::renewLease:
      return locking(values, locked, &LeaseTable::renew);
    case StatementId::renewLeases:
      return renewMany(values);
    case StatementId::releaseLease:
      return locking(values, locked, &LeaseTable::release);
    case StatementId::removeRecord:
      return locking(values, locked || shared, &LeaseTable::remove);
    case StatementId::announceTakeover:
      return locking(values, locked, &LeaseTable::announce);
    case StatementId::askToStepDown:
      return locking(values, locked, &LeaseTable::askToStepDown);
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

bool LeaseTable::isIn(const Value& list, const std::optional<std::string>& version) {
  const std::vector<Value> expected = listFrom(list);
  return version && std::find(expected.begin(), expected.end(), version) != expected.end();
}

/// By an acquisition, with the version that is stored.
bool LeaseTable::isExpected(const Value& bare, const Value& dated, const std::optional<std::string>& version) const {
  if (isIn(bare, version) && !isInherited()) return true;
  return version && isIn(dated, history + ' ' + *version);
}

bool LeaseTable::isOfTheTerm(const Values& values) const {
  return row->version && isWellFormed() && isIn(values.at(2), row->version) && row->holder == values.at(3);
}

/// What acquisitions, renewals and releases have in common.
void LeaseTable::put(const Values& values) {
  row->version = values.at(4);
  row->lease = number(values.at(5));
  row->liveness = values.at(6);
  const bool keepsAny = values.at(8) == "t";
  if (values.at(7) && !(keepsAny && !row->data.empty())) row->data = bytesOf(values[7]);
  if (values.at(9)) row->attributes = *values[9];
  row->acquiredAt = number(values.at(10));
  row->renewedAt = number(values.at(11));
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

/// A statement that takes the row first.
StatementAnswer LeaseTable::locking(const Values& values, bool refused,
                                    StatementAnswer (LeaseTable::*change)(const Values&)) {
  if (!at(values)) return {};
  if (refused) return {{}, "55P03"};
  return (this->*change)(values);
}

StatementAnswer LeaseTable::update(const Values& values) {
  if (!isWellFormed()) return {};
  const bool absent = !storedVersion() && values.at(14) == "t";
  if (!absent && !isExpected(values.at(2), values.at(12), storedVersion())) return {};
  const FencingToken floor{static_cast<std::uint64_t>(number(values.at(13)))};
  const KnownTokens known{row->counter, row->token.value_or(0), row->counterHistory};
  const Row before{textOf(row->token), std::to_string(row->counter), row->counterHistory, history};
  const TokenPlan plan = planToken(known, floor, history);
  if (floor.value() >= plan.least.value() + maxReportedStep || plan.token > maxFencingToken) return {};
  put(values);
  row->token = row->counter = static_cast<std::int64_t>(plan.token.value());
  row->counterLease = row->lease.value_or(0);
  row->history = row->counterHistory = history;
  row->holder = values.at(3);
  row->released = false;
  row->resign = 0;
  Row taken{textOf(row->token)};
  taken.insert(taken.end(), before.begin(), before.end());
  return {{std::move(taken)}};
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
  made.holder = values.at(2);
  made.version = values.at(3);
  made.released = false;
  made.liveness = values.at(5);
  made.data = bytesOf(values.at(6));
  made.attributes = values.at(7).value();
  made.acquiredAt = number(values.at(8));
  made.renewedAt = number(values.at(9));
  row = std::move(made);
  return {{Row{textOf(row->token)}}};
}

StatementAnswer LeaseTable::ofTheTerm() const { return {{Row{textOf(row->token), textOf(row->resign == row->token)}}}; }

StatementAnswer LeaseTable::renew(const Values& values) {
  if (!isOfTheTerm(values) || !isOpen()) return {};
  put(values);
  row->counterLease = std::max(row->counterLease, row->lease.value_or(0));
  row->released = false;
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
  if (isOpen()) row->counterLease = 0;
  put(values);
  row->released = true;
  return ofTheTerm();
}

StatementAnswer LeaseTable::remove(const Values& values) {
  if (!row->version || !isWellFormed() || !isIn(values.at(2), row->version)) return {};
  if (values.at(3) && row->holder != values[3]) return {};
  const std::int64_t token = row->token.value_or(0);
  const bool ends = values.at(4) == "t" || row->released == true;
  if (token >= row->counter) row->counterLease = ends ? 0 : std::max(row->counterLease, row->lease.value_or(0));
  row->counter = std::max(row->counter, token);
  row->token.reset(), row->version.reset(), row->holder.reset(), row->released.reset();
  row->resign = 0;
  row->liveness.reset(), row->acquiredAt.reset(), row->renewedAt.reset();
  row->data.clear();
  row->attributes = "{}";
  return {{Row{std::to_string(token)}}};
}

StatementAnswer LeaseTable::announce(const Values& values) {
  if (!row->version || !isWellFormed() || row->released != false || !isOpen()) return {};
  constexpr auto greatest = static_cast<std::int64_t>(maxFencingToken.value());
  if (*row->token + 1 >= greatest || !isExpected(values.at(2), values.at(3), row->version)) return {};
  row->counter = *row->token + 1;
  return {{Row{std::to_string(row->counter)}}};
}

bool LeaseTable::admits(std::int64_t token) const {
  return row && row->token == token && row->released == false && row->counter <= token;
}

StatementAnswer LeaseTable::askToStepDown(const Values& values) {
  if (!row->version || !isWellFormed()) return {};
  if (row->token != number(values.at(2)) || row->released != false) return {};
  row->resign = *row->token;
  return {{Row{textOf(row->token)}}};
}

}  // namespace tenure::test
