// The names of the annotations and labels, for those that read and write them.
#pragma once

#include <array>
#include <string_view>

namespace tenure::kubernetes_store {

inline constexpr std::string_view presentLayout = "1";

namespace annotation {
inline constexpr std::string_view layout = "tenure.dev/layout";
inline constexpr std::string_view name = "tenure.dev/name";  ///< where the object's name is not the lease's
inline constexpr std::string_view sortKey = "tenure.dev/sort-key";

// Of the record, and only where `spec` is the text of the spec.
inline constexpr std::string_view spec = "tenure.dev/spec";
inline constexpr std::string_view holder = "tenure.dev/holder";
inline constexpr std::string_view version = "tenure.dev/version";
inline constexpr std::string_view token = "tenure.dev/token";
inline constexpr std::string_view lease = "tenure.dev/lease-ms";
inline constexpr std::string_view released = "tenure.dev/released";
inline constexpr std::string_view removed = "tenure.dev/removed";  ///< there is no record, whatever the spec says
inline constexpr std::string_view stepDown = "tenure.dev/step-down";
inline constexpr std::string_view successor = "tenure.dev/successor";
inline constexpr std::string_view acquired = "tenure.dev/acquired-ms";
inline constexpr std::string_view renewed = "tenure.dev/renewed-ms";
inline constexpr std::string_view livenessFile = "tenure.dev/beacon";

// Of the lease, whoever holds it.
inline constexpr std::string_view counter = "tenure.dev/counter";
inline constexpr std::string_view openLease = "tenure.dev/open-lease-ms";
inline constexpr std::string_view data = "tenure.dev/data";
inline constexpr std::string_view attributes = "tenure.dev/attributes";

/// A removal leaves none of them.
inline constexpr std::array ofRecord{holder,    version,  token,   lease,        released, stepDown,
                                     successor, acquired, renewed, livenessFile, data,     attributes};
}  // namespace annotation

// Of a pod, which a Service selects by its role. A pod has the annotation `token` too, of the term that wrote last.
inline constexpr std::string_view roleLabel = "tenure.dev/role";
inline constexpr std::string_view leaderRole = "leader";

inline constexpr std::string_view yes = "true";

inline constexpr std::string_view managedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view ourselves = "tenure";

}  // namespace tenure::kubernetes_store
