// What the answers of the API server say. Pure; nothing here knows a lease. An answer of another shape is never a
// success.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>

#include "gateway.hpp"
#include "lease_object.hpp"

namespace tenure::kubernetes_store {

/// What a Status says, which is the body of a rejection. All empty: the body is none.
struct Status {
  std::string reason{};  ///< `Conflict`
  std::string message{};
  std::string kind{};  ///< of what it is about: `leases`
  std::string name{};
  std::string next{};  ///< where a listing goes on that has expired
  int code{0};
};

[[nodiscard]] TENURE_API Status statusFrom(std::string_view body);

/// The server says that there is no Lease of this name. What stands before it, and answers 404 for a path that it does
/// not know, says something else.
[[nodiscard]] TENURE_API bool saysAbsent(const Reply& reply, std::string_view name);
/// The Lease is not the one that the request names: changed, deleted, or created meanwhile.
[[nodiscard]] TENURE_API bool saysConflict(const Reply& reply);

/// A Lease of this name.
[[nodiscard]] TENURE_API Read<LeaseObject> leaseFrom(std::string_view body, std::string_view name);

struct LeasePage {
  std::string resourceVersion{};
  std::string next{};  ///< empty: this was the last one
  std::vector<LeaseObject> items{};
};
[[nodiscard]] TENURE_API Read<LeasePage> pageFrom(std::string_view body);

/// One line of a watch.
struct WatchEvent {
  enum class Kind {
    changed,
    deleted,
    bookmark,
    failed,  ///< the server ends the watch
  };
  Kind kind{Kind::bookmark};
  std::string resourceVersion{};        ///< of the event; empty: failed
  std::optional<LeaseObject> object{};  ///< changed and deleted
  Status status{};                      ///< failed
};
[[nodiscard]] TENURE_API Read<WatchEvent> eventFrom(std::string_view line);

/// The resourceVersion is older than the server remembers, so that only a listing helps.
[[nodiscard]] TENURE_API bool saysGone(int status, const Status& said);

/// A kind of object, as a Role names it.
struct Resource {
  std::string_view group;
  std::string_view name;
};
inline constexpr Resource leasesResource{"coordination.k8s.io", "leases"};

/// What the user may do with objects of a kind.
struct TENURE_API Rights {
  std::vector<std::string> verbs{};  ///< `*` for all
  bool complete{true};               ///< false: there may be more

  [[nodiscard]] bool has(std::string_view verb) const;
};
[[nodiscard]] TENURE_API Read<Rights> rightsFrom(std::string_view body, const Resource& of = leasesResource);

}  // namespace tenure::kubernetes_store
