#include "stored_lease.hpp"

namespace tenure::stored {

ReadOutcome StoredLease::told() const {
  using Told = std::optional<LeaseRecord>;
  if (record.has_error()) return record.error();
  if (*record) return Told{(*record)->record};
  if (counter.has_error()) return counter.error();
  if (counter->openLease.count() == 0) return Told{};
  return Told{vanishedRecord(counter->token, counter->openLease)};
}

}  // namespace tenure::stored
