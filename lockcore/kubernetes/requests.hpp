// The requests of the store. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

#include "gateway.hpp"

namespace tenure::kubernetes_store {

/// Which Leases a listing or a watch is about.
struct Selection {
  std::string name{};  ///< this one alone; empty: all that the store has written
};

/// The Leases of one namespace. Reads name no resourceVersion: the server then answers with what is so now, by a
/// quorum.
class TENURE_API Requests {
 public:
  explicit Requests(std::string inNamespace);

  [[nodiscard]] Request get(std::string_view name) const;
  [[nodiscard]] Request create(std::string body) const;
  [[nodiscard]] Request update(std::string_view name, std::string body) const;
  /// `next`: the `continue` of the page before.
  [[nodiscard]] Request list(const Selection& selection, std::size_t most, std::string_view next) const;
  /// What follows on this resourceVersion. The server ends it after five minutes; bookmarks tell the resourceVersion
  /// now and then.
  [[nodiscard]] std::string watch(const Selection& selection, std::string_view resourceVersion) const;
  /// What the user may do in the namespace. Anybody may ask.
  [[nodiscard]] Request rules() const;

 private:
  std::string namespace_;
  std::string leases_;  ///< the path of all of them
};

/// For a value in a query.
[[nodiscard]] TENURE_API std::string escaped(std::string_view text);

}  // namespace tenure::kubernetes_store
