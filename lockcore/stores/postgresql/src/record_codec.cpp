#include "record_codec.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/attributes_json.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "statements.hpp"

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
  return {
      ErrorClass::corrupt,
      place.store + ": lease " + toString(key) + ": " + fault + " in its row of table " + place.table +
          ". This release of tenure writes no such row: it was probably edited by hand, or written by another "
          "program or a newer release. It is left as it is, and nobody can take the lease until it is put right. If "
          "a token is too high, use `tenure fence recover`"};
}

StoreResult<LeaseRecord> recordFrom(const Place& place, const LeaseKey& key, const Row& row) {
  RowReader reader{row};
  LeaseRecord record;
  reader.layout();
  const std::string version = reader.text(versionColumn, "version");
  record.version = RecordVersion{version, row[presentHistoryColumn].value_or(std::string{})};
  record.holder = reader.text(holderColumn, "holder");
  record.token = FencingToken{static_cast<std::uint64_t>(reader.integer(tokenColumn, "token", 1, greatestToken))};
  record.leaseDuration = std::chrono::milliseconds{reader.integer(leaseColumn, "lease_ms", 1, maxRecordLease.count())};
  record.released = reader.boolean(releasedColumn, "released");
  record.livenessFile = livenessFrom(row[livenessColumn]);
  record.data = reader.data();
  record.attributes = reader.attributes();
  record.acquiredAtMillis = reader.display(acquiredAtColumn);
  record.renewedAtMillis = reader.display(renewedAtColumn);
  if (!reader.fault().empty()) return corrupt(place, key, reader.fault());
  return record;
}

void readCounter(const Place& place, const Row& row, StoredLease& lease) {
  RowReader reader{row};
  reader.layout();
  // A counter that somebody has set back is not refused, not even a negative one: the next acquisition restores it.
  const std::int64_t counter =
      reader.integer(counterColumn, "counter", std::numeric_limits<std::int64_t>::min(), greatestToken);
  std::int64_t open = reader.integer(counterLeaseColumn, "counter_lease_ms", 0, maxRecordLease.count());
  if (row[leaseColumn]) {
    const std::int64_t last = reader.integer(leaseColumn, "lease_ms", 0, maxRecordLease.count());
    if (lease.inherited) open = std::max(open, last);
  }
  lease.counter = FencingToken{static_cast<std::uint64_t>(std::max<std::int64_t>(counter, 0))};
  lease.openLease = std::chrono::milliseconds{open};
  if (!reader.fault().empty()) lease.counter = corrupt(place, lease.key, reader.fault());
}

}  // namespace

ReadOutcome StoredLease::told() const {
  using Told = std::optional<LeaseRecord>;
  if (record && record->has_error()) return record->error();
  if (record) return Told{record->value()};
  if (!exists) return Told{};
  if (counter.has_error()) return counter.error();
  if (openLease.count() == 0) return Told{};
  LeaseRecord vanished = vanishedRecord(*counter, openLease);
  vanished.version = RecordVersion{vanished.version.text(), presentHistory.value_or(std::string{})};
  vanished.inherited = inherited;
  return Told{std::move(vanished)};
}

StoreResult<StoredLease> leaseFrom(const Place& place, const Row& row) {
  if (row.size() != leaseColumnCount) {
    return StoreError{ErrorClass::misconfigured, place.store + ": the server answered with " +
                                                     std::to_string(row.size()) + " columns instead of " +
                                                     std::to_string(leaseColumnCount) +
                                                     "; is something between that is not PostgreSQL?"};
  }
  StoredLease lease;
  lease.presentHistory = row[presentHistoryColumn];
  if (!row[nameColumn]) return lease;
  lease.exists = true;
  lease.key = {*row[nameColumn], row[sortColumn].value_or(std::string{})};
  lease.tokens = {integerFrom(row[counterColumn]).value_or(0), integerFrom(row[tokenColumn]).value_or(0),
                  row[counterHistoryColumn]};
  lease.inherited = row[historyColumn] != row[presentHistoryColumn];
  readCounter(place, row, lease);
  if (!row[versionColumn]) return lease;
  lease.record = recordFrom(place, lease.key, row);
  if (lease.record->has_value()) (*lease.record)->inherited = lease.inherited;
  return lease;
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

std::optional<KnownTokens> tokensBefore(const Row& row) {
  if (row.size() < takenColumnCount) return std::nullopt;
  return KnownTokens{integerFrom(row[counterBeforeColumn]).value_or(0), integerFrom(row[tokenBeforeColumn]).value_or(0),
                     row[counterHistoryBeforeColumn]};
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

std::string hexOf(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += digits[byte >> 4U];
    hex += digits[byte & 0xFU];
  }
  return hex;
}

std::string byteaOf(std::string_view bytes) { return "\\x" + hexOf(bytes); }

Value textOf(const std::optional<LivenessFile>& livenessFile) {
  if (!livenessFile) return std::nullopt;
  return attributesToJson({{"id", livenessFile->id},
                           {"boot_id", livenessFile->bootId},
                           {"device", std::to_string(livenessFile->device)},
                           {"inode", std::to_string(livenessFile->inode)}});
}

}  // namespace tenure::postgresql_store
