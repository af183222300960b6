// A claim as a file: written by its one process, read by any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/lease_key.hpp>

namespace tenure::sqlite_store {

/// The term that somebody holds, or is about to win.
struct Claim {
  LeaseKey key;
  std::string holder;
  FencingToken token;
  std::chrono::milliseconds lease{0};
};

/// One line of JSON; what follows it means nothing. A claim that is over is void: its first byte is no brace. So a lock
/// that is taken again and again by one process is claimed without making and removing a file each time, each of which
/// the file system has to write down beside the database's commit.
///
/// The functions return 0 or an errno.

/// ENOENT: there is no such directory. EEXIST: there is a file already.
[[nodiscard]] int makeClaim(const std::string& path, const Claim& claim);
/// Of a void one; its file may be gone: ENOENT. A reader may find half of it, which counts for nothing.
[[nodiscard]] int reviveClaim(const std::string& path, const Claim& claim);
/// Of one that stands, which is not lost for a moment. ENOENT: there is no such directory.
[[nodiscard]] int replaceClaim(const std::string& path, const Claim& claim);
[[nodiscard]] int voidClaim(const std::string& path) noexcept;

/// A whole number from 1 on in decimal digits and nothing else.
[[nodiscard]] std::optional<std::int64_t> positiveNumber(std::string_view text);

/// Empty unless a claim stands there.
[[nodiscard]] std::optional<Claim> readClaim(const std::string& path);

}  // namespace tenure::sqlite_store
