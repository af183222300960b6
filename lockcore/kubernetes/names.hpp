// Names that Kubernetes allows, and which object keeps a lease.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure::kubernetes_store {

/// The longest name of an object.
inline constexpr std::size_t longestName = 253;

/// Whether an object may have this name: an RFC 1123 subdomain (parts of lower-case letters, digits and hyphens, joined
/// by dots).
[[nodiscard]] TENURE_API bool isObjectName(std::string_view name);

/// The longest value of a label, the longest name of one without its prefix, and the longest name of a namespace.
inline constexpr std::size_t longestLabel = 63;

/// `name` or `prefix/name`, as labels are called.
[[nodiscard]] TENURE_API bool isLabelName(std::string_view text);
/// What a label may be; also empty.
[[nodiscard]] TENURE_API bool isLabelValue(std::string_view text);

/// Whether the object has the very name of the lease, so that other clients find it by that name.
[[nodiscard]] TENURE_API bool isPlain(const LeaseKey& key);

/// The name of the object that keeps the lease. A name that is none of an object, and any sort key, is written with the
/// characters that are allowed, and ends in eight hex digits of a hash of the whole. So two leases hardly ever have one
/// object; where they do, an annotation tells whose it is, and the other one is refused. The same in every release.
[[nodiscard]] TENURE_API std::string objectNameOf(const LeaseKey& key);

}  // namespace tenure::kubernetes_store
