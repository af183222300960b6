// Where a lease is in the table: the names of the attributes, and the keys of its two items.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

namespace tenure::dynamodb_store {

/// The attributes that the protocol and this library write. The first five and `data` belong to the AWS Java lock
/// client.
enum class Attribute {
  partition,
  sort,
  owner,         ///< ownerName S
  lease,         ///< leaseDuration S, decimal milliseconds
  version,       ///< recordVersionNumber S
  released,      ///< isReleased S "1"; absent while held
  data,          ///< data B
  token,         ///< tenureToken N; in the companion item it is the fencing counter
  stepDown,      ///< tenureStepDown N: the term that was asked to step down, 0: none
  acquired,      ///< tenureAcquiredMillis N, for people
  renewed,       ///< tenureRenewedMillis N, for people
  livenessFile,  ///< tenureBeacon S
  openLease,     ///< tenureOpenLease N, milliseconds, of the companion item: the lease of a term that has not ended; 0:
                 ///< none
  successor,     ///< tenureSuccessor S: for whom the term is or will be released; absent: for nobody in particular
  ttl,           ///< N, epoch seconds; its name is an option
};
inline constexpr std::size_t attributeCount = 15;

/// "#o": the name of an attribute in expressions. Expressions never contain attribute names themselves, because a
/// table's key may have any name, even a reserved word.
[[nodiscard]] std::string_view aliasOf(Attribute attribute) noexcept;
/// ":o": the value that an attribute is set to.
[[nodiscard]] std::string_view valueAliasOf(Attribute attribute) noexcept;

/// The key of an item; `sort` counts only in a table with a sort key.
struct ItemKey {
  std::string partition;
  std::string sort;

  friend bool operator==(const ItemKey&, const ItemKey&) = default;
};

class Layout {
 public:
  explicit Layout(const DynamoDbStoreOptions& options);

  [[nodiscard]] const std::string& table() const noexcept { return table_; }
  [[nodiscard]] bool hasSortKey() const noexcept { return hasSortKey_; }
  [[nodiscard]] bool hasTtl() const noexcept { return !nameOf(Attribute::ttl).empty(); }
  [[nodiscard]] const std::string& nameOf(Attribute attribute) const noexcept {
    return names_[static_cast<std::size_t>(attribute)];
  }
  /// `"TableName":"locks"`
  [[nodiscard]] const std::string& tableMember() const noexcept { return tableMember_; }
  /// `"#o":"ownerName"`
  [[nodiscard]] const std::string& aliasMember(Attribute attribute) const noexcept {
    return aliasMembers_[static_cast<std::size_t>(attribute)];
  }

  /// Why this table cannot hold the lease; empty if it can.
  [[nodiscard]] std::optional<StoreError> errorOf(const LeaseKey& key) const;
  /// Why a record with these attributes cannot be written: a name that the protocol uses would change the lock
  /// itself (`isReleased` among the user's attributes would give the lease to a second holder).
  [[nodiscard]] std::optional<StoreError> errorOf(const WriteRequest& request) const;

  /// Every known fault of the user's part of a record: names that are reserved, and more bytes than an item may hold.
  [[nodiscard]] OptionFaults faultsOf(const LeaseKey& key, const std::string& data,
                                      const std::map<std::string, std::string>& attributes) const;

  [[nodiscard]] ItemKey keyOf(const LeaseKey& key) const;
  /// The item of the fencing counter: `<name>#fence`. No lease has such a name (see faultsOf).
  [[nodiscard]] ItemKey companionOf(const LeaseKey& key) const;
  [[nodiscard]] static bool isCompanion(std::string_view partition) noexcept { return partition.ends_with("#fence"); }

  /// `{"key":{"S":"billing"}}`
  void appendKey(std::string& out, const ItemKey& key) const;
  /// The key of an item; empty if the item has no key of the right type.
  [[nodiscard]] std::optional<ItemKey> keyIn(const boost::json::object& item) const;
  [[nodiscard]] LeaseKey leaseKeyOf(ItemKey key) const;

  /// True for the attributes above and for names that look like ours (tenureXyz).
  [[nodiscard]] bool isReserved(std::string_view attribute) const noexcept;

 private:
  std::string table_;
  bool hasSortKey_;
  std::string sortKeyValue_;
  std::array<std::string, attributeCount> names_;
  std::array<std::string, attributeCount> aliasMembers_;
  std::string tableMember_;
};

/// The text of `{"S":"..."}` or null; the same for N and B.
[[nodiscard]] const boost::json::string* textIn(const boost::json::object& item, std::string_view attribute) noexcept;
[[nodiscard]] const boost::json::string* numberIn(const boost::json::object& item, std::string_view attribute) noexcept;
[[nodiscard]] const boost::json::string* bytesIn(const boost::json::object& item, std::string_view attribute) noexcept;

/// A member of an answer, outside items; empty: it is not there, or is no text.
[[nodiscard]] std::string plainTextIn(const boost::json::object& parent, std::string_view member);

}  // namespace tenure::dynamodb_store
