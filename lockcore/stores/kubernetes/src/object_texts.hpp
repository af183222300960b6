// What is written: the bodies of requests that create and change a Lease object.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lockcore/kubernetes/lease_object.hpp"
#include "lockcore/stored/decisions.hpp"
#include "micro_time.hpp"

namespace tenure::kubernetes_store {

/// What the store adds to each object that it writes.
struct Settings {
  std::string inNamespace;
  std::map<std::string, std::string> labels{};
};

/// An object without a record, with this counter.
[[nodiscard]] std::string creationText(const Settings& settings, const LeaseKey& key, const stored::Counter& counter);

/// By which clocks a change is written.
struct WriteTime {
  std::optional<RenewClock> clock{};  ///< of the term that is renewed, if this process knows it
  Instant now{};
};

/// What came out of a change.
struct Edited {
  std::string text{};
  std::int64_t renewMicros{0};  ///< the renewTime in it; 0: it is as it was
};

/// The object as it was read, with the change. Everything that is not this library's stays as it is, and the object's
/// uid and resourceVersion are in it: the server carries it out only on this very object, unchanged. (A resourceVersion
/// alone is not enough, because a PUT to an object that is gone creates it.) Only a new version moves the spec, so a
/// wish that a holder step down is no sign of its life.
[[nodiscard]] Edited changeText(const Settings& settings, const LeaseKey& key, const LeaseObject& seen,
                                const stored::StoredLease& before, const stored::Change& change, const WriteTime& time);

}  // namespace tenure::kubernetes_store
