// A Lease object as the API server shows it. Pure; knows the fields of Kubernetes, and none of tenure's annotations.
// What is no Lease is never taken for one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

#include "lockcore/net/call_fault.hpp"

namespace tenure::kubernetes_store {

using net::Misunderstood;

template <class T>
using Read = boost::system::result<T, Misunderstood>;

inline constexpr std::string_view apiVersion = "coordination.k8s.io/v1";

struct LeaseSpec {
  std::string holder{};                        ///< empty: nobody, or the field is missing
  std::optional<std::int64_t> leaseSeconds{};  ///< empty: it is missing
  std::string acquireTime{};                   ///< empty: it is missing, as the next one
  std::string renewTime{};
  std::int64_t transitions{0};
  std::string strategy{};  ///< not empty: controllers of Kubernetes choose the holder
  std::string preferredHolder{};

  /// No client has written it, or somebody has emptied it.
  [[nodiscard]] bool isBare() const noexcept { return holder.empty() && renewTime.empty(); }

  friend bool operator==(const LeaseSpec&, const LeaseSpec&) = default;
};

struct TENURE_API LeaseObject {
  boost::json::object whole{};  ///< as it was shown, without managedFields, which the server keeps by itself
  std::string name{};
  std::string uid{};
  std::string resourceVersion{};
  std::uint64_t revision{0};  ///< the same as a number
  LeaseSpec spec{};

  /// Null: there is none.
  [[nodiscard]] const boost::json::string* annotation(std::string_view wanted) const noexcept;
  [[nodiscard]] bool hasAnnotation(std::string_view wanted) const noexcept { return annotation(wanted) != nullptr; }
};

/// Null: the text is no JSON, or more than an API server has to say.
[[nodiscard]] TENURE_API boost::json::value jsonFrom(std::string_view text);

/// From a value that is one object of a listing, a watch or a reply.
[[nodiscard]] TENURE_API Read<LeaseObject> leaseObjectFrom(boost::json::value value);

[[nodiscard]] inline std::string_view viewOf(const boost::json::string& text) noexcept {
  return {text.data(), text.size()};
}

/// Null: it is absent, or of another type.
[[nodiscard]] TENURE_API const boost::json::object* objectIn(const boost::json::object& from,
                                                             std::string_view name) noexcept;
/// Empty: it is absent, or no text.
[[nodiscard]] TENURE_API std::string textIn(const boost::json::object& from, std::string_view name);

/// The number in a resourceVersion: digits, not zero. Empty: it is another text, and tells no order.
[[nodiscard]] TENURE_API std::optional<std::uint64_t> revisionFrom(std::string_view text);

}  // namespace tenure::kubernetes_store
