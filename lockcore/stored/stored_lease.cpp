#include "stored_lease.hpp"

#include <utility>

namespace tenure::stored {

ReadOutcome StoredLease::told() const {
  using Told = std::optional<LeaseRecord>;
  if (record.has_error()) return record.error();
  if (*record) return Told{(*record)->record};
  if (counter.has_error()) return counter.error();
  if (counter->openLease.count() == 0) return Told{};
  LeaseRecord vanished = vanishedRecord(counter->token, counter->openLease);
  vanished.version = RecordVersion{vanished.version.text(), history};
  vanished.inherited = inherited;
  return Told{std::move(vanished)};
}

}  // namespace tenure::stored
