#include "jobs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lockcore/port/fnv1a.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

/// In milliseconds since 1970. Times beyond PostgreSQL's are kept as its infinities.
Value timeOf(std::int64_t millis) {
  constexpr std::int64_t most = 200'000'000'000'000;
  if (millis > most) return "infinity";
  if (millis < -most) return "-infinity";
  return std::to_string(millis);
}

/// What all statements that write a row set, in the order of their parameters.
constexpr std::array written{versionColumn,  holderColumn,  tokenColumn,        leaseColumn,
                             releasedColumn, resignColumn,  livenessColumn,     attributesColumn,
                             historyColumn,  counterColumn, counterLeaseColumn, counterHistoryColumn};
/// What has to be as it was seen.
constexpr std::array compared{versionColumn,  holderColumn,       tokenColumn,          leaseColumn,
                              releasedColumn, resignColumn,       attributesColumn,     historyColumn,
                              counterColumn,  counterLeaseColumn, counterHistoryColumn, layoutColumn};
/// What a renewal that shares a transaction leaves as it is.
constexpr std::array keptByRenewals{holderColumn,  tokenColumn,   releasedColumn,       resignColumn, attributesColumn,
                                    historyColumn, counterColumn, counterHistoryColumn, layoutColumn};

Job writing(StatementId id, std::vector<Value> values) {
  Job job;
  job.writes = true;
  job.statements.push_back({id, std::move(values)});
  return job;
}

/// A row that somebody has made by hand, and has not committed, can only be waited for. The call may be made again
/// soon.
constexpr std::chrono::milliseconds waitForNewRow{250};

}  // namespace

std::string channelOf(std::string_view schema, std::string_view table) {
  const std::string name = "tenure:" + std::string{schema} + '.' + std::string{table};
  constexpr std::size_t longest = 63;  // of a name in PostgreSQL
  return name.size() <= longest ? name : "tenure:" + hexOf(fnv1a(name), 16);
}

RowChange rowChangeOf(const RowState& seen, const stored::Change& change, const RowState& next) {
  RowChange out{.seen = seen.row, .next = next.row};
  if (!seen.exists()) {
    out.kind = StatementId::insertRow;
  } else if (change.erasesRecord()) {
    out.kind = StatementId::endTerm;
  } else if (beginsTerm(seen, change)) {
    out.kind = StatementId::beginTerm;
  } else if (change.inHistory) {
    out.kind = StatementId::updateInHistory;
  }
  if (change.erasesRecord()) out.data = byteaOf("");
  if (!change.record) return out;
  const LeaseRecord& record = change.record->record;
  const bool sameData = seen.record.has_value() && *seen.record && (*seen.record)->record.data == record.data;
  if (!sameData) out.data = byteaOf(record.data);
  out.acquiredAt = timeOf(record.acquiredAtMillis);
  out.renewedAt = timeOf(record.renewedAtMillis);
  return out;
}

bool isAsSeen(const RowChange& change, const Row& now) {
  return std::all_of(compared.begin(), compared.end(),
                     [&](LeaseColumn column) { return now[column] == change.seen[column]; });
}

std::optional<RowChange> announcementOf(const RowState& seen) {
  if (!seen.exists() || seen.record.has_error() || !*seen.record || seen.counter.has_error()) return std::nullopt;
  const LeaseRecord& record = (*seen.record)->record;
  // The acquisition that follows needs a token above the counter. A released record admits no writers anyway.
  const bool isOpen = !record.released && !seen.over && record.token.next() < maxFencingToken;
  if (!isOpen) return std::nullopt;
  RowChange out{.seen = seen.row, .next = seen.row, .kind = StatementId::updateInHistory};
  out.next[counterColumn] = toString(record.token.next());
  return out;
}

Job Jobs::write(const RowChange& change, bool urgent) {
  Job job = writing(change.kind, {change.next[nameColumn], change.next[sortColumn]});
  std::vector<Value>& values = job.statements.front().values;
  for (const LeaseColumn column : written) values.push_back(change.next[column]);
  values.insert(values.end(), {change.data, change.acquiredAt, change.renewedAt});
  if (change.kind != StatementId::insertRow) {
    for (const LeaseColumn column : compared) values.push_back(change.seen[column]);
  }
  const bool inHistory = change.kind != StatementId::updateTerm && change.kind != StatementId::endTerm;
  if (inHistory) values.push_back(change.seen[presentHistoryColumn]);
  if (change.kind == StatementId::insertRow) job.lockWait = waitForNewRow;
  job.urgent = urgent;
  return job;
}

bool Jobs::mayJoin(const RowChange& change) noexcept {
  return change.kind == StatementId::updateTerm && change.seen[versionColumn] && !change.data && change.renewedAt &&
         change.seen[releasedColumn] == "f" &&
         std::all_of(keptByRenewals.begin(), keptByRenewals.end(),
                     [&](LeaseColumn column) { return change.next[column] == change.seen[column]; });
}

Job Jobs::renewals(const std::vector<const RowChange*>& changes) {
  std::vector<std::vector<Value>> columns(16);
  for (const RowChange* change : changes) {
    const Row& next = change->next;
    const Row& seen = change->seen;
    const std::array values{
        next[nameColumn],         next[sortColumn],     next[versionColumn],      next[leaseColumn],
        next[counterLeaseColumn], next[livenessColumn], change->acquiredAt,       change->renewedAt,
        seen[versionColumn],      seen[holderColumn],   seen[tokenColumn],        seen[leaseColumn],
        seen[resignColumn],       seen[counterColumn],  seen[counterLeaseColumn], seen[attributesColumn]};
    for (std::size_t i = 0; i < values.size(); ++i) columns[i].push_back(values.at(i));
  }
  Job job = writing(StatementId::updateTerms, {});
  job.urgent = true;
  for (const auto& column : columns) job.statements.front().values.emplace_back(arrayLiteral(column));
  return job;
}

Job Jobs::read(const LeaseKey& key) {
  Job job;
  job.statements = {{StatementId::readLease, {key.name, key.sortKey}}};
  return job;
}

Job Jobs::read(const std::vector<LeaseKey>& keys) {
  std::vector<Value> names;
  std::vector<Value> sorts;
  for (const LeaseKey& key : keys) {
    names.emplace_back(key.name);
    sorts.emplace_back(key.sortKey);
  }
  Job job;
  job.statements = {{StatementId::readLeases, {arrayLiteral(names), arrayLiteral(sorts)}}};
  return job;
}

Job Jobs::list(const std::string& prefix, const LeaseKey& from, std::size_t most) {
  Job job;
  job.statements = {{StatementId::listLeases, {prefix, from.name, from.sortKey, std::to_string(most)}}};
  return job;
}

Job Jobs::notify(const std::string& channel, const std::set<std::string>& payloads) {
  // With the limits on time of a write, so that no backend waits on for nobody.
  Job job = writing(StatementId::notify, {channel, arrayLiteral({payloads.begin(), payloads.end()})});
  job.history = false;
  return job;
}

Job Jobs::warmUp(const std::string& channel) {
  Job job = writing(StatementId::updateTerm, std::vector<Value>(29));
  job.statements.push_back({StatementId::beginTerm, std::vector<Value>(30)});
  job.statements.push_back({StatementId::notify, {channel, "{}"}});
  return job;
}

Job Jobs::readLayout() {
  Job job;
  job.statements = {{StatementId::readLayout, {}}};
  return job;
}

Job Jobs::createTable() { return writing(StatementId::createTable, {}); }

}  // namespace tenure::postgresql_store
