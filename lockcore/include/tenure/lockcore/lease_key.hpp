// The name of a lease, structured so that two different leases can never be spelled the same.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// The longest lease name and sort key in bytes (DynamoDB's limits for partition and sort keys).
inline constexpr std::size_t maxLeaseNameBytes = 2048;
inline constexpr std::size_t maxSortKeyBytes = 1024;

/// A lease is named by `name`, and also by `sortKey` where a store's table has one. ("ab","c") and ("a","bc") differ.
struct TENURE_API LeaseKey {
  std::string name;
  std::string sortKey{};

  friend auto operator<=>(const LeaseKey&, const LeaseKey&) = default;
};

/// The faults of a key, one sentence each; empty if it may be used. A name is 1..2048 bytes of UTF-8 without
/// NUL, not blank, and does not end in "#fence" (the counter record's name). Names that look alike would be two
/// leases, so neither name nor sort key may hold a control, an invisible or a directional character, a space other than
/// U+0020, a typographic quote or hyphen, begin or end with a space, or be in another form than Unicode's NFC.
[[nodiscard]] TENURE_API std::vector<std::string> faultsOf(const LeaseKey& key);

/// For logs and messages: control characters and quotes escaped, the sort key after a slash if there is one.
[[nodiscard]] TENURE_API std::string toString(const LeaseKey& key);

/// True for well-formed UTF-8 without overlong forms and surrogates.
[[nodiscard]] TENURE_API bool isUtf8(std::string_view text) noexcept;

}  // namespace tenure

template <>
struct std::hash<tenure::LeaseKey> {
  std::size_t operator()(const tenure::LeaseKey& key) const noexcept {
    const std::size_t first = std::hash<std::string>{}(key.name);
    return first ^ (std::hash<std::string>{}(key.sortKey) + 0x9e3779b97f4a7c15ULL + (first << 6) + (first >> 2));
  }
};
