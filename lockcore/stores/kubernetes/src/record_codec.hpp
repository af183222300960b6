// A lease in a Lease object. The spec is for other clients and for people; what this library needs beyond it is in
// annotations.
#pragma once

#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include <tenure/lockcore/register.hpp>

#include "lockcore/kubernetes/lease_object.hpp"
#include "lockcore/port/extended_store.hpp"

namespace tenure::kubernetes_store {

using stored::Counter;
using stored::StoredRecord;

/// Where a lease was read, for messages.
struct Place {
  const std::string& store;  ///< LeaseStore::describe()
  const LeaseKey& lease;
};

/// How long a record is waited out that states no duration.
inline constexpr std::chrono::seconds unstatedLease{60};

/// The spec as one text. client-go writes the spec into the object that it has fetched, so the annotations survive its
/// takeover: they count only where this text of the spec to which they belong is one of them.
[[nodiscard]] std::string bindingOf(const LeaseSpec& spec);

/// What the object says of the lease.
///
/// - A bare spec is no record: a Lease that was prepared, or one that somebody emptied. The counter tells the rest.
/// - Annotations that belong to the spec are a record of ours, or say that it was removed. They are read strictly: what
///   this release cannot have written is `corrupt`.
/// - Any other spec is another client's record, and never corrupt. It has no token. Its version is its renewTime, its
///   holder and the object's resourceVersion, so whoever touches the object makes it wait longer. It is waited out for
///   its leaseDurationSeconds; without a holder it is released. It keeps the data.
/// - client-go 0.37 gives back a Lease that another one holds by now: when it stops it reads the Lease, but it asks its
///   memory whether it is the leader (tryRelease). So where the holder is gone from the spec and nobody has begun a
///   term since ours (the transitions are no more than they were), our holder may live, and its lease is waited out.
/// - A Lease whose holder Kubernetes' own controllers choose (spec.strategy), or that is another lease's by the
///   annotation, is refused.
[[nodiscard]] stored::StoredLease storedIn(const Place& place, const LeaseObject& object);

/// For an operator, with the tokens as they are written there. `corrupt` if there is a record in which not even a
/// version is found.
[[nodiscard]] StoreResult<StoredTokens> tokensIn(const Place& place, const LeaseObject& object);

/// Somebody else has written the spec since our record was the Lease's.
[[nodiscard]] bool isOverwritten(const LeaseObject& object);

/// Whether the record shows this correction, also if it is not understood.
[[nodiscard]] bool isCorrected(const LeaseObject& object, FencingToken token, const std::string& version);

/// The lease that the object keeps. Empty: it names another object's.
[[nodiscard]] std::optional<LeaseKey> leaseIn(const LeaseObject& object);

/// Tells the terms of a lease apart, also those of other clients; empty: nobody holds it.
[[nodiscard]] std::string termIn(const LeaseObject& object, const stored::StoredLease& lease);

}  // namespace tenure::kubernetes_store
