// Items of the table as records. Items of other writers are recognised and refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "layout.hpp"

namespace tenure::dynamodb_store {

using stored::StoredRecord;

/// A `corrupt` error, which names the table, the lease, the attribute and the likely writer, unless the item is a lock
/// of the AWS Java lock client or of this library. `where` is the store's description.
[[nodiscard]] StoreResult<StoredRecord> recordFrom(const Layout& layout, const std::string& where, const LeaseKey& key,
                                                   const boost::json::object& item);

/// The fencing counter's item as it was read.
struct Companion {
  bool present{false};
  FencingToken counter{};  ///< none: the item is absent, or somebody replaced it by one without the counter
  /// The lease of the last term, if that term has not ended cleanly; zero: it has. Empty: an older release wrote the
  /// item.
  std::optional<std::chrono::milliseconds> openLease{};

  [[nodiscard]] bool isOpen() const noexcept { return openLease && openLease->count() > 0; }
};
[[nodiscard]] StoreResult<Companion> companionFrom(const Layout& layout, const std::string& where, const LeaseKey& key,
                                                   const boost::json::object& item);

/// A token in an attribute of type N: digits only, at most maxFencingToken. Empty for anything else.
[[nodiscard]] std::optional<FencingToken> tokenFrom(std::string_view digits) noexcept;

/// For an item that is no lock of ours (foreign_rows.cpp): who probably wrote it. A sentence for people: which client
/// writes items like this one, and what to do. Never empty.
[[nodiscard]] std::string likelyWriterOf(const Layout& layout, const boost::json::object& item);

}  // namespace tenure::dynamodb_store
