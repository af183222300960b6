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

Value textOf(std::chrono::milliseconds duration) { return std::to_string(duration.count()); }

/// In milliseconds since 1970. Times beyond PostgreSQL's are kept as its infinities.
Value timeOf(std::int64_t millis) {
  constexpr std::int64_t most = 200'000'000'000'000;
  if (millis > most) return "infinity";
  if (millis < -most) return "-infinity";
  return std::to_string(millis);
}

std::string versionsOf(const std::vector<RecordVersion>& expected) {
  std::vector<Value> texts;
  for (const RecordVersion& version : expected) texts.emplace_back(version.text());
  return arrayLiteral(texts);
}

/// Those that name no history.
std::string bareOf(const std::vector<RecordVersion>& expected) {
  std::vector<Value> texts;
  for (const RecordVersion& version : expected) {
    if (version.history().empty()) texts.emplace_back(version.text());
  }
  return arrayLiteral(texts);
}

/// The others, each behind its history.
std::string datedOf(const std::vector<RecordVersion>& expected) {
  std::vector<Value> texts;
  for (const RecordVersion& version : expected) {
    if (!version.history().empty()) texts.emplace_back(version.history() + ' ' + version.text());
  }
  return arrayLiteral(texts);
}

/// Empty: what is there stays.
Value newData(const WriteRequest& request) {
  if (request.record.data.empty() && request.dataRule != DataRule::replace) return std::nullopt;
  return byteaOf(request.record.data);
}

/// Empty: what is there stays. refusalOf() has made sure that they can be written.
Value newAttributes(const WriteRequest& request) {
  if (request.record.attributes.empty()) return std::nullopt;
  return attributesToJson(request.record.attributes);
}

/// What acquisitions, renewals and releases have in common.
std::vector<Value> recordValues(const WriteRequest& request, std::string expected) {
  const LeaseRecord& record = request.record;
  return {request.key.name,
          request.key.sortKey,
          std::move(expected),
          record.holder,
          record.version.text(),
          textOf(record.leaseDuration),
          postgresql_store::textOf(record.livenessFile),
          newData(request),
          textOf(request.dataRule == DataRule::keepIfAny),
          newAttributes(request),
          timeOf(record.acquiredAtMillis),
          timeOf(record.renewedAtMillis)};
}

Job writing(StatementId id, std::vector<Value> values) {
  Job job;
  job.writes = true;
  job.statements.push_back({id, std::move(values)});
  return job;
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

Job Jobs::write(const WriteRequest& request) {
  if (request.purpose == WriteRequest::Purpose::acquire) return acquire(request);
  const bool removes = request.purpose == WriteRequest::Purpose::release && request.removes;
  return removes ? removing(request) : writeTerm(request);
}

Job Jobs::acquire(const WriteRequest& request) {
  const LeaseKey& key = request.key;
  const LeaseRecord& record = request.record;
  std::vector<Value> values = recordValues(request, bareOf(request.expected));
  values.emplace_back(datedOf(request.expected));
  values.push_back(textOf(request.tokenFloor));
  values.push_back(textOf(request.expected.empty()));
  Job job = writing(StatementId::updateLease, std::move(values));
  if (!request.expected.empty()) return job;
  job.lockWait = waitForNewRow;
  job.statements.push_back(
      {StatementId::insertLease,
       {key.name, key.sortKey, record.holder, record.version.text(), textOf(record.leaseDuration),
        textOf(record.livenessFile), byteaOf(record.data), attributesToJson(record.attributes),
        timeOf(record.acquiredAtMillis), timeOf(record.renewedAtMillis), textOf(request.tokenFloor)}});
  return job;
}

Job Jobs::announce(const WriteRequest& acquisition) {
  const LeaseKey& key = acquisition.key;
  return writing(StatementId::announceTakeover,
                 {key.name, key.sortKey, bareOf(acquisition.expected), datedOf(acquisition.expected)});
}

Job Jobs::writeTerm(const WriteRequest& request) {
  const bool releases = request.purpose == WriteRequest::Purpose::release;
  Job job = writing(releases ? StatementId::releaseLease : StatementId::renewLease,
                    recordValues(request, versionsOf(request.expected)));
  // Many leases may be released together. The connection that is kept is for those that go on.
  job.urgent = !releases;
  return job;
}

Job Jobs::removing(const WriteRequest& request) {
  return writing(StatementId::removeRecord, {request.key.name, request.key.sortKey, versionsOf(request.expected),
                                             request.record.holder, textOf(true)});
}

Job Jobs::remove(const LeaseKey& key, const RecordVersion& version) {
  return writing(StatementId::removeRecord,
                 {key.name, key.sortKey, versionsOf({version}), std::nullopt, textOf(false)});
}

Job Jobs::askToStepDown(const LeaseKey& key, FencingToken token) {
  return writing(StatementId::askToStepDown, {key.name, key.sortKey, textOf(token)});
}

Job Jobs::setTokens(const LeaseKey& key, const StoredTokens& expected, FencingToken token, const std::string& version) {
  Job job = writing(StatementId::setTokens,
                    {key.name, key.sortKey, expected.counter, expected.copy, expected.version, expected.holder,
                     textOf(expected.released), textOf(expected.lease), textOf(token), version});
  if (expected == StoredTokens{}) {
    job.lockWait = waitForNewRow;
    job.statements.push_back({StatementId::insertTokens, {key.name, key.sortKey, textOf(token)}});
  }
  return job;
}

bool Jobs::mayJoin(const WriteRequest& request) noexcept {
  return request.purpose == WriteRequest::Purpose::renew && request.record.data.empty() &&
         request.dataRule != DataRule::replace && request.record.attributes.empty();
}

Job Jobs::renewals(const std::vector<const WriteRequest*>& requests) {
  std::vector<std::vector<Value>> columns(9);
  for (const WriteRequest* request : requests) {
    const LeaseRecord& record = request->record;
    for (const RecordVersion& expected : request->expected) {
      const std::vector<Value> row{request->key.name,
                                   request->key.sortKey,
                                   expected.text(),
                                   record.holder,
                                   record.version.text(),
                                   textOf(record.leaseDuration),
                                   postgresql_store::textOf(record.livenessFile),
                                   timeOf(record.acquiredAtMillis),
                                   timeOf(record.renewedAtMillis)};
      for (std::size_t i = 0; i < row.size(); ++i) columns[i].push_back(row[i]);
    }
  }
  Job job = writing(StatementId::renewLeases, {});
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

Job Jobs::readLayout() {
  Job job;
  job.statements = {{StatementId::readLayout, {}}};
  return job;
}

Job Jobs::createTable() { return writing(StatementId::createTable, {}); }

}  // namespace tenure::postgresql_store
