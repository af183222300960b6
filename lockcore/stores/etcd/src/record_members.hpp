// The members of the values that record_codec.hpp describes, for those that read and write them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "record_codec.hpp"

namespace tenure::etcd_store {

inline constexpr std::int64_t presentLayout = 1;

namespace member {
inline constexpr std::string_view layout = "tenureLayout";
inline constexpr std::string_view holder = "ownerName";
inline constexpr std::string_view lease = "leaseDuration";
inline constexpr std::string_view version = "recordVersionNumber";
inline constexpr std::string_view token = "tenureToken";
inline constexpr std::string_view released = "isReleased";
inline constexpr std::string_view stepDown = "tenureStepDown";
inline constexpr std::string_view acquired = "tenureAcquiredMillis";
inline constexpr std::string_view renewed = "tenureRenewedMillis";
inline constexpr std::string_view livenessFile = "tenureBeacon";
inline constexpr std::string_view attributes = "tenureAttributes";
inline constexpr std::string_view data = "data";
inline constexpr std::string_view openLease = "tenureOpenLease";

inline constexpr std::array ofRecord{layout,   holder,   lease,   version,      token,      released,
                                     stepDown, acquired, renewed, livenessFile, attributes, data};
inline constexpr std::array ofCounter{layout, token, openLease};
}  // namespace member

[[nodiscard]] inline std::int64_t signedToken(FencingToken token) { return static_cast<std::int64_t>(token.value()); }

/// Empty: the value is no JSON object.
[[nodiscard]] std::optional<boost::json::object> valueObject(std::string_view text);

[[nodiscard]] StoreError corruptValue(const Place& place, const std::string& fault);

}  // namespace tenure::etcd_store
