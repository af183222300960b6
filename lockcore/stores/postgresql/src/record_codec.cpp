#include "record_codec.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/port/successor_text.hpp"
#include "token_rule.hpp"

namespace tenure::postgresql_store {
namespace {

using Attributes = std::map<std::string, std::string>;

constexpr auto greatestToken = static_cast<std::int64_t>(maxFencingToken.value());

std::optional<std::string> unhexed(std::string_view hex) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    const int high = digit(hex[at]);
    const int low = digit(hex[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

/// An incomplete entry proves nothing, just like a missing one.
std::optional<LivenessFile> livenessFrom(const Value& text) {
  if (!text) return std::nullopt;
  const auto parts = attributesFromJson(*text);
  if (!parts || parts->size() != 4) return std::nullopt;
  const auto part = [&](const char* name) {
    const auto found = parts->find(name);
    return found != parts->end() ? found->second : std::string{};
  };
  const auto device = numberFrom<std::uint64_t>(part("device"));
  const auto inode = numberFrom<std::uint64_t>(part("inode"));
  if (!device || !inode || part("id").empty() || part("boot_id").empty()) return std::nullopt;
  return LivenessFile{part("id"), part("boot_id"), *device, *inode};
}

/// Of seconds with six decimals, as the server tells a time.
std::int64_t millisFrom(const Value& seconds) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::string digits = seconds.value_or("");
  if (digits == "Infinity") return Limits::max();
  if (digits == "-Infinity") return Limits::min();
  std::erase(digits, '.');
  const std::int64_t micros = integerFrom(digits).value_or(0);
  return (micros + (micros < 0 ? -500 : 500)) / 1'000;
}

/// Reads one row column by column. The first column that makes no sense is kept as the fault.
class RowReader {
 public:
  explicit RowReader(const Row& row) : row_{row} {}

  std::string text(LeaseColumn column, const char* name) {
    if (!row_[column] || row_[column]->empty()) fault(name, row_[column] ? "is empty" : "is NULL");
    return row_[column].value_or(std::string{});
  }

  std::int64_t integer(LeaseColumn column, const char* name, std::int64_t low, std::int64_t high) {
    const auto value = integerFrom(row_[column]);
    if (value && *value >= low && *value <= high) return *value;
    fault(name, (row_[column] ? "holds " + *row_[column] : "is NULL") + ", allowed is " + std::to_string(low) + " to " +
                    std::to_string(high));
    return low;
  }

  bool boolean(LeaseColumn column, const char* name) {
    if (row_[column] != "t" && row_[column] != "f") fault(name, "is neither true nor false");
    return row_[column] == "t";
  }

  /// For columns that decide nothing: anything that is no time counts as zero.
  [[nodiscard]] std::int64_t display(LeaseColumn column) const { return millisFrom(row_[column]); }

  std::string data() {
    auto bytes = unhexed(row_[dataColumn].value_or(std::string{}));
    if (!bytes) fault("data", "is not what the server was asked for");
    return bytes ? std::move(*bytes) : std::string{};
  }

  Attributes attributes() {
    auto parsed = attributesFromJson(row_[attributesColumn].value_or(std::string{}));
    if (!parsed) fault("attributes", "is not an object of texts");
    return parsed ? std::move(*parsed) : Attributes{};
  }

  void layout() {
    const auto layout = integerFrom(row_[layoutColumn]);
    if (layout == presentLayout) return;
    fault("layout", layout > presentLayout ? "holds " + *row_[layoutColumn] + ", which a newer release of tenure writes"
                                           : "is unknown");
  }

  void fault(const char* column, const std::string& what) {
    if (fault_.empty()) fault_ = std::string{"column "} + column + ' ' + what;
  }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  const Row& row_;
  std::string fault_;
};

StoreError corrupt(const Place& place, const LeaseKey& key, const std::string& fault) {
  return {ErrorClass::corrupt,
          place.store + ": lease " + toString(key) + ": " + fault + " in its row of table " + place.table +
              ". This release of tenure writes no such row: it was probably edited by hand, or written by another "
              "program or a newer release. It is left as it is, and no candidate can take the lease until it is "
              "repaired. If "
              "a token is too high, use `tenure fence recover`"};
}

StoreResult<std::optional<stored::StoredRecord>> recordFrom(const Place& place, const LeaseKey& key, const Row& row) {
  RowReader reader{row};
  LeaseRecord record;
  reader.layout();
  record.version = RecordVersion{reader.text(versionColumn, "version")};
  record.holder = reader.text(holderColumn, "holder");
  record.token = FencingToken{static_cast<std::uint64_t>(reader.integer(tokenColumn, "token", 1, greatestToken))};
  record.leaseDuration = std::chrono::milliseconds{reader.integer(leaseColumn, "lease_ms", 1, maxRecordLease.count())};
  record.released = reader.boolean(releasedColumn, "released");
  record.livenessFile = livenessFrom(row[livenessColumn]);
  record.data = reader.data();
  record.attributes = reader.attributes();
  takeSuccessor(record);
  record.acquiredAtMillis = reader.display(acquiredAtColumn);
  record.renewedAtMillis = reader.display(renewedAtColumn);
  if (!reader.fault().empty()) return corrupt(place, key, reader.fault());
  return std::optional{stored::StoredRecord{std::move(record), tokenFrom(row[resignColumn]).value_or(FencingToken{})}};
}

StoreResult<stored::Counter> counterFrom(const Place& place, const LeaseKey& key, const Row& row, bool inherited) {
  RowReader reader{row};
  reader.layout();
  // A counter that somebody has set back is not refused, not even a negative one: the next acquisition restores it.
  const std::int64_t counter =
      reader.integer(counterColumn, "counter", std::numeric_limits<std::int64_t>::min(), greatestToken);
  std::int64_t open = reader.integer(counterLeaseColumn, "counter_lease_ms", 0, maxRecordLease.count());
  if (row[leaseColumn]) {
    const std::int64_t last = reader.integer(leaseColumn, "lease_ms", 0, maxRecordLease.count());
    // An acquisition may be lost that came after what is stored.
    if (inherited) open = std::max(open, last);
  }
  if (!reader.fault().empty()) return corrupt(place, key, reader.fault());
  return stored::Counter{FencingToken{static_cast<std::uint64_t>(std::max<std::int64_t>(counter, 0))},
                         std::chrono::milliseconds{open}};
}

/// Somebody else has waited the term out, and nobody has the lease yet: so its renewal is refused, and is no conflict.
/// An announcement raises the counter by one.
std::optional<StoreError> endOfTerm(const Place& place, const RowState& lease) {
  const std::int64_t counter = integerFrom(lease.row[counterColumn]).value_or(0);
  const std::int64_t copy = integerFrom(lease.row[tokenColumn]).value_or(0);
  if (counter <= copy) return std::nullopt;
  const std::string why =
      counter == copy + 1 ? "another candidate has waited out its lease and has announced that it takes the lease over"
                          : "its token " + std::to_string(copy) + " is below the counter " + std::to_string(counter) +
                                ": one of them was changed by hand, or an older copy was put back. The next term "
                                "puts it right";
  return StoreError{ErrorClass::transient,
                    place.store + ": lease " + toString(lease.key) + ": the term is over, because " + why};
}

std::string warningOf(const Place& place, const RowState& lease) {
  const Value& before = lease.row[counterHistoryColumn];
  const Value& present = lease.row[presentHistoryColumn];
  if (before == present) return {};
  return place.store + ": the history of the server has changed from " + before.value_or("an unknown one") + " to " +
         present.value_or("an unknown one") + " since the last term of lease " + toString(lease.key) +
         ": a standby was promoted, or the data was copied from another server. Commits may be lost";
}

/// What the histories say about record and counter.
void judgeByHistory(const Place& place, RowState& lease) {
  const Row& row = lease.row;
  lease.history = row[presentHistoryColumn].value_or(std::string{});
  const KnownTokens known{integerFrom(row[counterColumn]).value_or(0), integerFrom(row[tokenColumn]).value_or(0),
                          row[counterHistoryColumn]};
  lease.revision = floorOf(lease.exists() ? std::optional{known} : std::nullopt, row[presentHistoryColumn]).value();
  if (!lease.exists()) return;
  lease.inherited = row[historyColumn] != row[presentHistoryColumn];
  lease.warning = warningOf(place, lease);
  if (lease.record.has_error() || !*lease.record) return;
  LeaseRecord& record = (*lease.record)->record;
  record.version = RecordVersion{record.version.text(), lease.history};
  record.inherited = lease.inherited;
  lease.over = endOfTerm(place, lease);
}

Value millisOf(std::chrono::milliseconds duration) { return std::to_string(duration.count()); }

void writeRecord(Row& row, const stored::StoredRecord& stored) {
  const LeaseRecord& record = stored.record;
  row[versionColumn] = record.version.text();
  row[holderColumn] = record.holder;
  row[tokenColumn] = toString(record.token);
  row[leaseColumn] = millisOf(record.leaseDuration);
  row[releasedColumn] = record.released ? "t" : "f";
  row[resignColumn] = std::to_string(stored.stepDown.value());
  row[livenessColumn] = postgresql_store::textOf(record.livenessFile);
  row[attributesColumn] = attributesToJson(attributesWithSuccessor(record));
}

/// The last lease and its history stay: an acquisition that came after them may be lost.
void eraseRecord(Row& row) {
  for (const LeaseColumn column : {versionColumn, holderColumn, tokenColumn, releasedColumn, livenessColumn}) {
    row[column].reset();
  }
  row[resignColumn] = "0";
  row[attributesColumn] = "{}";
}

void correct(Row& row, const stored::Correction& by) {
  row[versionColumn] = by.version;
  row[tokenColumn] = toString(by.token);
  row[releasedColumn] = "t";
  row[resignColumn] = "0";
  row[livenessColumn].reset();
}

/// A row that says nothing yet.
Row newRow(const LeaseKey& key, const Value& presentHistory) {
  Row row(leaseColumnCount);
  row[nameColumn] = key.name;
  row[sortColumn] = key.sortKey;
  row[resignColumn] = row[counterColumn] = row[counterLeaseColumn] = "0";
  row[attributesColumn] = "{}";
  row[layoutColumn] = std::to_string(presentLayout);
  row[presentHistoryColumn] = presentHistory;
  return row;
}

}  // namespace

StoreResult<RowState> leaseFrom(const Place& place, Row row) {
  if (row.size() != leaseColumnCount) {
    return StoreError{ErrorClass::misconfigured, place.store + ": the server answered with " +
                                                     std::to_string(row.size()) + " columns instead of " +
                                                     std::to_string(leaseColumnCount) +
                                                     "; is something between that is not PostgreSQL?"};
  }
  RowState lease;
  lease.row = std::move(row);
  if (lease.exists()) {
    Row& texts = lease.row;
    lease.key = {*texts[nameColumn], texts[sortColumn].value_or(std::string{})};
    const bool inherited = texts[historyColumn] != texts[presentHistoryColumn];
    lease.counter = counterFrom(place, lease.key, texts, inherited);
    if (texts[versionColumn]) lease.record = recordFrom(place, lease.key, texts);
    if (lease.record.has_value() && *lease.record) {
      const auto stored = attributesFromJson(texts[attributesColumn].value_or(std::string{}));
      texts[attributesColumn] = attributesToJson(stored.value_or(Attributes{}));  // as they are written
    }
    texts[dataColumn].reset();
  }
  judgeByHistory(place, lease);
  return lease;
}

bool beginsTerm(const RowState& seen, const stored::Change& change) {
  if (change.keepsRecord) return true;  // an operator's correction
  const FencingToken before = *seen.record ? (*seen.record)->record.token : FencingToken{};
  return change.record && change.record->record.token != before;
}

RowState stateAfter(const Place& place, const RowState& seen, const LeaseKey& key, const stored::Change& change) {
  RowState next;
  next.key = key;
  next.row = seen.exists() ? seen.row : newRow(key, seen.row[presentHistoryColumn]);
  if (change.counter) {
    next.row[counterColumn] = toString(change.counter->token);
    next.row[counterLeaseColumn] = millisOf(change.counter->openLease);
  }
  // Of a holder's own writes they stay: what it writes may have been sent long ago, and an acquisition between may be
  // lost.
  if (beginsTerm(seen, change))
    next.row[historyColumn] = next.row[counterHistoryColumn] = seen.row[presentHistoryColumn];
  if (change.record) writeRecord(next.row, *change.record);
  if (change.erasesRecord()) eraseRecord(next.row);
  if (change.correction) correct(next.row, *change.correction);
  // What an operator corrects may not be understood.
  if (!change.correction) {
    const stored::StoredLease& before = seen;
    stored::StoredLease& after = next;
    after = before;
    stored::apply(stored::Change{change}, after);
  }
  judgeByHistory(place, next);
  return next;
}

StoredTokens tokensFrom(const Row& row) {
  StoredTokens tokens;
  if (row.size() != leaseColumnCount || !row[nameColumn]) return tokens;
  const auto text = [&](LeaseColumn column) { return row[column].value_or(std::string{}); };
  if (integerFrom(row[counterColumn]) != 0) tokens.counter = text(counterColumn);
  tokens.copy = text(tokenColumn);
  tokens.version = text(versionColumn);
  tokens.holder = text(holderColumn);
  tokens.released = row[releasedColumn] == "t";
  const std::int64_t lease = row[versionColumn] ? integerFrom(row[leaseColumn]).value_or(0) : 0;
  const auto copy = tokenFrom(row[tokenColumn]);
  tokens.announced = tokens.hasRecord() && !tokens.released && copy && tokenFrom(row[counterColumn]) == copy->next();
  tokens.lease = saturating::leaseOf(std::max(lease, integerFrom(row[counterLeaseColumn]).value_or(0)));
  return tokens;
}

std::optional<std::int64_t> integerFrom(const Value& value) noexcept {
  if (!value) return std::nullopt;
  return numberFrom<std::int64_t>(*value);
}

std::optional<FencingToken> tokenFrom(const Value& value) noexcept {
  const auto number = integerFrom(value);
  if (!number || *number < 1 || *number > greatestToken) return std::nullopt;
  return FencingToken{static_cast<std::uint64_t>(*number)};
}

std::string byteaOf(std::string_view bytes) {
  std::string text{"\\x"};
  for (const char c : bytes) text += hexOf(c);
  return text;
}

Value textOf(const std::optional<LivenessFile>& livenessFile) {
  if (!livenessFile) return std::nullopt;
  return attributesToJson({{"id", livenessFile->id},
                           {"boot_id", livenessFile->bootId},
                           {"device", std::to_string(livenessFile->device)},
                           {"inode", std::to_string(livenessFile->inode)}});
}

}  // namespace tenure::postgresql_store
