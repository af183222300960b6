#include "jobs.hpp"

#include <cstdint>
#include <utility>

#include "lockcore/port/attributes_json.hpp"
#include "record_codec.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

Value textOf(bool value) { return value ? "t" : "f"; }
Value textOf(FencingToken token) { return std::to_string(token.value()); }

std::string versionsOf(const std::vector<RecordVersion>& expected) {
  std::vector<Value> texts;
  for (const RecordVersion& version : expected) texts.emplace_back(version.text());
  return arrayLiteral(texts);
}

std::string historiesOf(const std::vector<RecordVersion>& expected) {
  std::vector<Value> texts;
  for (const RecordVersion& version : expected) {
    texts.push_back(version.history().empty() ? Value{} : Value{version.history()});
  }
  return arrayLiteral(texts);
}

/// Empty: what is there stays.
Value newData(const WriteRequest& request) {
  if (request.record.data.empty() && request.dataRule != DataRule::replace) return std::nullopt;
  return hexOf(request.record.data);
}

/// Empty: what is there stays. refusalOf() has made sure that they can be written.
Value newAttributes(const WriteRequest& request) {
  if (request.record.attributes.empty()) return std::nullopt;
  return attributesToJson(request.record.attributes);
}

Statement lock(StatementId id, const LeaseKey& key) { return {id, {key.name, key.sortKey}}; }

/// The row behind the write. Its data is left out if it has the version that the write gives it.
Statement readBehind(const LeaseKey& key, const Value& written) {
  return {StatementId::readLease, {key.name, key.sortKey, written}};
}

/// A row that somebody has made by hand, and has not committed, can only be waited for. The call may be made again
/// soon.
constexpr std::chrono::milliseconds waitForNewRow{250};

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  return hash;
}

constexpr std::uint64_t fnvStart = 14'695'981'039'346'656'037ULL;

std::string hex(std::uint64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU);
  return hexOf(bytes);
}

}  // namespace

std::string channelOf(std::string_view schema, std::string_view table) {
  const std::string name = "tenure:" + std::string{schema} + '.' + std::string{table};
  constexpr std::size_t longest = 63;  // of a name in PostgreSQL
  return name.size() <= longest ? name : "tenure:" + hex(fnv1a(name, fnvStart));
}

std::string payloadOf(const LeaseKey& key) {
  return hex(fnv1a(key.sortKey, fnv1a(std::string(1, '\0'), fnv1a(key.name, fnvStart))));
}

WriteJob Jobs::write(const WriteRequest& request) {
  if (request.purpose == WriteRequest::Purpose::acquire) return acquire(request);
  const bool removes = request.purpose == WriteRequest::Purpose::release && request.removes;
  return removes ? removing(request) : writeTerm(request);
}

WriteJob Jobs::acquire(const WriteRequest& request) {
  const LeaseKey& key = request.key;
  const LeaseRecord& record = request.record;
  const Value lease = std::to_string(record.leaseDuration.count());
  const Value acquired = std::to_string(record.acquiredAtMillis);
  const Value renewed = std::to_string(record.renewedAtMillis);
  const Value version = record.version.text();
  const Value liveness = textOf(record.livenessFile);
  WriteJob out;
  out.job.writes = true;
  out.job.statements = {
      lock(StatementId::lockTerm, key),
      {StatementId::updateLease,
       {key.name, key.sortKey, versionsOf(request.expected), historiesOf(request.expected), version, record.holder,
        lease, liveness, newData(request), textOf(request.dataRule == DataRule::keepIfAny), newAttributes(request),
        acquired, renewed, textOf(request.tokenFloor)}}};
  if (request.expected.empty()) {
    out.job.lockWait = waitForNewRow;
    out.job.statements.push_back(
        {StatementId::insertLease,
         {key.name, key.sortKey, version, record.holder, lease, liveness, hexOf(record.data),
          attributesToJson(record.attributes), acquired, renewed, textOf(request.tokenFloor)}});
  }
  out.job.after = {readBehind(key, version)};
  return out;
}

Job Jobs::announce(const WriteRequest& acquisition) {
  const LeaseKey& key = acquisition.key;
  Job job;
  job.writes = true;
  job.statements = {lock(StatementId::lockLease, key),
                    {StatementId::announceTakeover,
                     {key.name, key.sortKey, versionsOf(acquisition.expected), historiesOf(acquisition.expected)}}};
  return job;
}

WriteJob Jobs::writeTerm(const WriteRequest& request) {
  const bool releases = request.purpose == WriteRequest::Purpose::release;
  const LeaseKey& key = request.key;
  const LeaseRecord& record = request.record;
  std::vector<Value> values{key.name,
                            key.sortKey,
                            versionsOf(request.expected),
                            historiesOf(request.expected),
                            record.holder,
                            record.version.text(),
                            std::to_string(record.leaseDuration.count()),
                            textOf(record.livenessFile),
                            newData(request),
                            textOf(request.dataRule == DataRule::keepIfAny),
                            newAttributes(request),
                            std::to_string(record.acquiredAtMillis),
                            std::to_string(record.renewedAtMillis)};
  WriteJob out;
  out.job.writes = true;
  // Many leases may be released together. The connection that is kept is for those that go on.
  out.job.urgent = !releases;
  out.job.statements = {lock(StatementId::lockLease, key),
                        {releases ? StatementId::releaseLease : StatementId::renewLease, std::move(values)}};
  out.job.after = {readBehind(key, record.version.text())};
  return out;
}

WriteJob Jobs::removing(const WriteRequest& request) {
  const LeaseKey& key = request.key;
  WriteJob out;
  out.job.writes = true;
  out.job.statements = {lock(StatementId::lockTerm, key),
                        {StatementId::removeRecord,
                         {key.name, key.sortKey, versionsOf(request.expected), historiesOf(request.expected),
                          request.record.holder, textOf(true)}}};
  out.job.after = {readBehind(key, std::nullopt)};
  return out;
}

WriteJob Jobs::remove(const LeaseKey& key, const RecordVersion& version) {
  WriteJob out;
  out.job.writes = true;
  out.job.statements = {
      lock(StatementId::lockTerm, key),
      {StatementId::removeRecord,
       {key.name, key.sortKey, versionsOf({version}), historiesOf({version}), std::nullopt, textOf(false)}}};
  out.job.after = {readBehind(key, std::nullopt)};
  return out;
}

WriteJob Jobs::askToStepDown(const LeaseKey& key, FencingToken token) {
  WriteJob out;
  out.job.writes = true;
  out.job.statements = {lock(StatementId::lockLease, key),
                        {StatementId::askToStepDown, {key.name, key.sortKey, textOf(token)}}};
  out.job.after = {readBehind(key, std::nullopt)};
  return out;
}

WriteJob Jobs::setTokens(const LeaseKey& key, const StoredTokens& expected, FencingToken token,
                         const std::string& version) {
  WriteJob out;
  out.job.writes = true;
  out.job.statements = {lock(StatementId::lockTerm, key),
                        {StatementId::setTokens,
                         {key.name, key.sortKey, expected.counter, expected.copy, expected.version, expected.holder,
                          textOf(expected.released), std::to_string(expected.lease.count()), textOf(token), version}}};
  if (expected == StoredTokens{}) {
    out.job.lockWait = waitForNewRow;
    out.job.statements.push_back({StatementId::insertTokens, {key.name, key.sortKey, textOf(token)}});
  }
  return out;
}

bool Jobs::mayJoin(const WriteRequest& request) noexcept {
  return request.purpose == WriteRequest::Purpose::renew && request.record.data.empty() &&
         request.dataRule != DataRule::replace && request.record.attributes.empty();
}

Job Jobs::renewals(const std::vector<const WriteRequest*>& requests) {
  std::vector<std::vector<Value>> columns(9);
  std::vector<std::vector<Value>> behind(3);
  for (const WriteRequest* request : requests) {
    const LeaseKey& key = request->key;
    const LeaseRecord& record = request->record;
    const std::vector<Value> key3{key.name, key.sortKey, record.version.text()};
    for (std::size_t i = 0; i < key3.size(); ++i) behind[i].push_back(key3[i]);
    for (const RecordVersion& expected : request->expected) {
      const std::vector<Value> row{key.name,
                                   key.sortKey,
                                   expected.text(),
                                   record.holder,
                                   record.version.text(),
                                   std::to_string(record.leaseDuration.count()),
                                   textOf(record.livenessFile),
                                   std::to_string(record.acquiredAtMillis),
                                   std::to_string(record.renewedAtMillis)};
      for (std::size_t i = 0; i < row.size(); ++i) columns[i].push_back(row[i]);
    }
  }
  Job job;
  job.writes = true;
  job.urgent = true;
  job.statements = {{StatementId::renewLeases, {}}};
  job.after = {{StatementId::readLeases, {}}};
  for (const auto& column : columns) job.statements.front().values.emplace_back(arrayLiteral(column));
  for (const auto& column : behind) job.after.front().values.emplace_back(arrayLiteral(column));
  return job;
}

Job Jobs::read(const LeaseKey& key) {
  Job job;
  job.statements = {readBehind(key, std::nullopt)};
  return job;
}

Job Jobs::list(const std::string& prefix, const LeaseKey& from, std::size_t most) {
  Job job;
  job.statements = {{StatementId::listLeases, {prefix, from.name, from.sortKey, std::to_string(most)}}};
  return job;
}

Job Jobs::notify(const std::string& channel, const std::set<std::string>& payloads) {
  Job job;
  job.writes = true;  // with the limits on time of a write, so that no backend waits on for nobody
  job.history = false;
  job.statements = {{StatementId::notify, {channel, arrayLiteral({payloads.begin(), payloads.end()})}}};
  return job;
}

Job Jobs::readLayout() {
  Job job;
  job.statements = {{StatementId::readLayout, {}}};
  return job;
}

Job Jobs::createTable() {
  Job job;
  job.writes = true;
  job.statements = {{StatementId::createTable, {}}};
  return job;
}

}  // namespace tenure::postgresql_store
