#include "record_codec.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "connection.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/port/successor_text.hpp"

namespace tenure::sqlite_store {
namespace {

constexpr auto greatestToken = static_cast<std::int64_t>(maxFencingToken.value());

/// In the order of recordColumns.
enum Column {
  state,
  holder,
  token,
  leaseMs,
  recordVersion,
  acquiredAt,
  renewedAt,
  livenessFileId,
  livenessFileDevice,
  livenessFileInode,
  bootId,
  data,
  attributes,
  stepDownToken,
};

/// Reads one row column by column. The first column that makes no sense is kept as the fault.
class RowReader {
 public:
  RowReader(const Statement& row, int first) : row_{row}, first_{first} {}

  std::string text(Column column, const char* name) {
    std::string value = row_.isText(at(column)) ? row_.bytes(at(column)) : std::string{};
    if (value.empty()) fault(name, row_.isText(at(column)) ? "is empty" : "is not text");
    return value;
  }

  std::int64_t integer(Column column, const char* name, std::int64_t low, std::int64_t high) {
    if (!row_.isInteger(at(column))) {
      fault(name, "is not an integer");
      return low;
    }
    const std::int64_t value = row_.integer(at(column));
    if (value >= low && value <= high) return value;
    fault(name,
          "holds " + std::to_string(value) + ", allowed is " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  /// For columns that decide nothing: anything that is not a number counts as zero.
  [[nodiscard]] std::int64_t display(Column column) const {
    return row_.isInteger(at(column)) ? row_.integer(at(column)) : 0;
  }

  /// An incomplete entry proves nothing, just like a missing one.
  [[nodiscard]] std::optional<LivenessFile> livenessFile() const {
    if (!row_.isText(at(livenessFileId)) || !row_.isText(at(bootId))) return std::nullopt;
    if (!row_.isInteger(at(livenessFileDevice)) || !row_.isInteger(at(livenessFileInode))) return std::nullopt;
    // SQLite's integers are signed; the numbers are kept bit for bit.
    return LivenessFile{row_.bytes(at(livenessFileId)), row_.bytes(at(bootId)),
                        std::bit_cast<std::uint64_t>(row_.integer(at(livenessFileDevice))),
                        std::bit_cast<std::uint64_t>(row_.integer(at(livenessFileInode)))};
  }

  std::string data() {
    const int column = at(Column::data);
    if (row_.isNull(column)) return {};
    if (!row_.isBlob(column) && !row_.isText(column)) fault("data", "is a number");
    return row_.bytes(column);
  }

  std::map<std::string, std::string> attributes() {
    const int column = at(Column::attributes);
    if (row_.isNull(column)) return {};
    auto parsed = attributesFromJson(row_.bytes(column));
    if (!parsed) fault("attributes", "is not a JSON object of strings");
    return parsed ? std::move(*parsed) : std::map<std::string, std::string>{};
  }

  void fault(const char* column, const std::string& what) {
    if (fault_.empty()) fault_ = std::string{"column "} + column + ' ' + what;
  }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  [[nodiscard]] int at(Column column) const noexcept { return first_ + static_cast<int>(column); }

  const Statement& row_;
  int first_;
  std::string fault_;
};

StoreError corruptRow(const std::string& store, const LeaseKey& key, const std::string& fault) {
  return {ErrorClass::corrupt,
          store + ": lease " + toString(key) + ": " + fault +
              " in its row of table tenure_lease. tenure writes no such row: it was probably edited by hand or by "
              "another program. It is left as it is and no candidate can take the lease until the row is repaired or "
              "deleted (the fencing counter is kept in tenure_fence and continues). If the token is too high, use "
              "`tenure fence recover`"};
}

StoreError corruptCounter(const std::string& store, const LeaseKey& key, const std::string& fault) {
  return {
      ErrorClass::corrupt,
      store + ": lease " + toString(key) + ": " + fault +
          " in its row of table tenure_fence, the fencing counter. tenure writes no such row: it was probably "
          "edited by hand or by another program. No candidate can take the lease until it is repaired: in token "
          "the highest token that was ever handed out, and in lease_ms the lease of a holder that may still live, or "
          "NULL. If the token is too high, use `tenure fence recover`"};
}

std::string outOfRange(const char* column, std::int64_t value) {
  return std::string{"column "} + column + " holds " + std::to_string(value);
}

}  // namespace

StoreResult<stored::StoredRecord> recordFrom(const std::string& store, const LeaseKey& key, const Statement& row,
                                             int firstColumn) {
  RowReader reader{row, firstColumn};
  stored::StoredRecord out;
  LeaseRecord& record = out.record;
  const std::string stateText = reader.text(state, "state");
  if (stateText != "held" && stateText != "released") reader.fault("state", "is neither held nor released");
  record.released = stateText == "released";
  record.holder = reader.text(holder, "holder");
  record.token = FencingToken{static_cast<std::uint64_t>(reader.integer(token, "token", 1, greatestToken))};
  record.leaseDuration =
      std::chrono::milliseconds{reader.integer(leaseMs, "lease_ms", 1, std::int64_t{maxRecordLease.count()})};
  record.version = RecordVersion{reader.text(recordVersion, "record_version")};
  record.acquiredAtMillis = reader.display(acquiredAt);
  record.renewedAtMillis = reader.display(renewedAt);
  record.livenessFile = reader.livenessFile();
  record.data = reader.data();
  record.attributes = reader.attributes();
  takeSuccessor(record);
  if (const std::int64_t term = reader.display(stepDownToken); term > 0) {
    out.stepDown = FencingToken{static_cast<std::uint64_t>(term)};
  }
  if (!reader.fault().empty()) return corruptRow(store, key, reader.fault());
  return out;
}

StoreResult<stored::Counter> counterFrom(const std::string& store, const LeaseKey& key, const Statement& row,
                                         int firstColumn) {
  const int existsColumn = firstColumn;
  const int tokenColumn = firstColumn + 1;
  const int leaseColumn = firstColumn + 2;
  if (row.integer(existsColumn) == 0) return stored::Counter{};
  if (!row.isInteger(tokenColumn)) return corruptCounter(store, key, "column token is not an integer");
  const std::int64_t value = row.integer(tokenColumn);
  if (value > greatestToken) return corruptCounter(store, key, outOfRange("token", value));
  stored::Counter counter;
  // A counter that somebody has set back is not refused, not even a negative one: the next acquisition restores it.
  counter.token = FencingToken{static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0))};
  if (row.isNull(leaseColumn)) return counter;
  if (!row.isInteger(leaseColumn)) return corruptCounter(store, key, "column lease_ms is not an integer");
  const std::int64_t lease = row.integer(leaseColumn);
  if (lease < 0 || lease > maxRecordLease.count()) {
    return corruptCounter(store, key, outOfRange("lease_ms", lease));
  }
  counter.openLease = std::chrono::milliseconds{lease};
  return counter;
}

}  // namespace tenure::sqlite_store
