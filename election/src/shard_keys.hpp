// The keys of a sharded group's leases, and the listing that finds them and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lockcore/port/extended_store.hpp"

namespace tenure {

/// A group has a lease for each of its parts: a shard's name, or `member/N`. In a store that keeps groups together it
/// is the lease of the group's name with the part as its sort key, elsewhere that of the name `group/part`. People,
/// logs and fences know it as `group/part` everywhere.
class ShardKeys {
 public:
  ShardKeys(std::string group, bool together) : group_{std::move(group)}, together_{together} {}

  /// The lease's name for people and for fences.
  [[nodiscard]] std::string nameOf(std::string_view part) const { return group_ + '/' + std::string{part}; }
  [[nodiscard]] LeaseKey keyOf(std::string_view part) const {
    return together_ ? LeaseKey{group_, std::string{part}} : LeaseKey{nameOf(part)};
  }
  /// Empty: the lease is none of the group's. Valid as long as `key`.
  [[nodiscard]] std::optional<std::string_view> partOf(const LeaseKey& key) const {
    const std::string_view name{key.name};
    if (together_)
      return name == group_ && !key.sortKey.empty() ? std::optional{std::string_view{key.sortKey}} : std::nullopt;
    const bool ours =
        key.sortKey.empty() && name.size() > group_.size() && name.starts_with(group_) && name[group_.size()] == '/';
    return ours ? std::optional{name.substr(group_.size() + 1)} : std::nullopt;
  }
  void list(LeaseStore& store, CallOptions options, ListHandler handler) const {
    together_ ? extended(store)->listName(group_, options, std::move(handler))
              : store.list(nameOf(""), options, std::move(handler));
  }

 private:
  std::string group_;
  bool together_;
};

}  // namespace tenure
