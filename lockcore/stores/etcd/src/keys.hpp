// Where a lease is in the cluster: the keys of its record and of its fencing counter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure::etcd_store {

/// `PREFIX/lease/NAME` and `PREFIX/fence/NAME`; a sort key follows after a NUL. No name holds a NUL, so no two leases
/// have one key. NUL is the least byte, so keys are in the order of the leases, and the leases of one name lie
/// together. `etcdctl get --prefix PREFIX/lease/` shows them as they are.
class Keys {
 public:
  explicit Keys(const std::string& prefix)
      : all_{prefix + '/'}, records_{prefix + "/lease/"}, counters_{prefix + "/fence/"} {}

  [[nodiscard]] std::string recordOf(const LeaseKey& key) const { return records_ + nameOf(key); }
  [[nodiscard]] std::string counterOf(const LeaseKey& key) const { return counters_ + nameOf(key); }

  /// The lease whose record lies there; empty: it is no key of a record.
  [[nodiscard]] std::optional<LeaseKey> leaseAtRecord(std::string_view raw) const { return leaseAt(records_, raw); }
  [[nodiscard]] std::optional<LeaseKey> leaseAtCounter(std::string_view raw) const { return leaseAt(counters_, raw); }

  /// What every key of the store begins with.
  [[nodiscard]] const std::string& all() const noexcept { return all_; }
  /// What the keys of records begin with whose lease begins with `prefix`.
  [[nodiscard]] std::string recordsFrom(const std::string& prefix) const { return records_ + prefix; }
  /// The same for counters.
  [[nodiscard]] std::string countersFrom(const std::string& prefix) const { return counters_ + prefix; }

 private:
  [[nodiscard]] static std::string nameOf(const LeaseKey& key);
  [[nodiscard]] static std::optional<LeaseKey> leaseAt(std::string_view folder, std::string_view raw);

  std::string all_;
  std::string records_;
  std::string counters_;
};

/// The first key behind all that begin with `prefix`, as etcd wants the end of a range. `prefix` is UTF-8, not empty.
[[nodiscard]] std::string endOf(std::string prefix);

}  // namespace tenure::etcd_store
