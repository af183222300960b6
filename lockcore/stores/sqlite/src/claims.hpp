// Terms that living processes hold, written beside the database: what is left of them when the database is deleted.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "beacon_file.hpp"
#include "claim_file.hpp"

namespace tenure::sqlite_store {

/// The files of claims that are over, for the next claims that go there. Not thread-safe.
class VoidClaims {
 public:
  VoidClaims() = default;
  /// Removes them.
  ~VoidClaims();
  VoidClaims(const VoidClaims&) = delete;
  VoidClaims& operator=(const VoidClaims&) = delete;

  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }
  /// Makes the claim in this file, of a term with this token, void and keeps it, if need be instead of the oldest. One
  /// that cannot be made void is removed.
  void put(const std::string& path, FencingToken token);
  /// Whether there was such a one, which is the caller's now.
  [[nodiscard]] bool take(const std::string& path);
  /// Somebody else has the lease now, or had it since: removes the file if the term it was for had a lower token. So
  /// where processes take turns they leave no files that each of them would have to open at each look.
  void dropOlder(const std::string& path, FencingToken inRow);

 private:
  struct File {
    std::string path;
    FencingToken token;
  };

  static constexpr std::size_t most = 64;  ///< whoever looks for claims of a bucket reads their names
  [[nodiscard]] std::deque<File>::iterator find(const std::string& path);

  std::deque<File> files_{};
};

/// If somebody deletes the database under a leader, the leader learns it at its next heartbeat; until then nobody else
/// may lead. So a claim to the term is left beside the database, tied to the process's beacon, and a newcomer who finds
/// no row (or a released one that is older than the claim) sees the claim as a record that he must wait for.
///
/// Why two leaders on two files cannot be. The holder: (1) stakes the claim, (2) commits, (3) looks whether the path
/// still names the file, and only then (4) takes the term for won. The newcomer: (a) opens the file that the path names
/// now, (b) looks for the row, (c) looks for claims; an acquisition does (b) and (c) inside its transaction and ends
/// with (3) as well. If both win, on different files, say the holder on the older: at his (3) the path named his file,
/// so the newcomer's (a) came later, and his (c) found the claim of (1). On the same file SQLite decides.
///
/// A renewal may ask for a longer lease: the claim says so before the renewal commits, by the same reasoning. It never
/// becomes shorter, because the renewal that says so may not arrive.
///
/// The claim ends with the release, with any conflict, when its process sees a row of a later term, with the process
/// (its beacon is unlocked then), and it counts for nothing while a row carries its token or a higher one.
///
/// Thread-safe.
class ClaimBook {
 public:
  ClaimBook(std::string store, OwnBeacon& beacon) : store_{std::move(store)}, beacon_{beacon} {}

  /// Writes down that the term is about to be won; not settled until the store said so.
  [[nodiscard]] std::optional<StoreError> stake(const std::string& sidecar, const Claim& claim);
  /// A renewal of this holder is about to write a lease of this length. No effect unless its claim says a shorter one.
  [[nodiscard]] std::optional<StoreError> lengthen(const std::string& sidecar, const LeaseKey& key,
                                                   const std::string& holder, std::chrono::milliseconds lease);
  /// The store has confirmed a write of this holder.
  void settle(const LeaseKey& key, const std::string& holder);
  /// This holder's term is over or never began. No effect on another's claim.
  void drop(const LeaseKey& key, const std::string& holder);
  /// A row has this token: an older claim of this process is over. It must not be left for the time when the row is
  /// deleted, or it would be waited for though its holder knows better. Nor is its file kept.
  void dropOlder(const std::string& sidecar, const LeaseKey& key, FencingToken inRow);
  /// Whether there is a claim that was not dropped.
  [[nodiscard]] bool any() const;

  /// The claim of a living process with the highest token above `above`, in the shape of a record to be waited for;
  /// its version is `beacon:<id>:<token>`. Not those of `except`, and not the unsettled ones of this process: what is
  /// in the database now shows that they did not come about.
  [[nodiscard]] std::optional<LeaseRecord> strongest(const std::string& sidecar, const LeaseKey& key,
                                                     FencingToken above, const std::string& except = {}) const;

 private:
  struct Own {
    Claim claim;
    std::string file;
    bool settled{false};
  };

  [[nodiscard]] StoreResult<void> makeBucket(const std::string& sidecar, const LeaseKey& key) const;

  // With mutex_ held.
  [[nodiscard]] std::optional<StoreError> write(const std::string& sidecar, Own own);
  [[nodiscard]] int putNew(const Own& own);
  void end(std::map<LeaseKey, Own>::iterator own);
  [[nodiscard]] std::optional<LeaseRecord> ownClaim(const LeaseKey& key, const std::string& except) const;

  const std::string store_;
  OwnBeacon& beacon_;
  mutable std::mutex mutex_;
  std::map<LeaseKey, Own> own_;  // guarded by mutex_, as the next
  VoidClaims void_;
};

[[nodiscard]] std::string claimsDirectory(const std::string& sidecar);

inline constexpr std::size_t claimsBucketNameSize = 2;  ///< hex digits, so there are at most 256

/// Where the claims of this lease are, one of the directories in claimsDirectory(): whoever looks for them reads the
/// names of a 256th of all claims, or each acquisition would cost the more the more leases there are. Once made it
/// stays, as some files of void claims do (VoidClaims): a directory that comes and goes could go between its making and
/// the writing of the claim.
[[nodiscard]] std::string claimsBucket(const std::string& sidecar, const LeaseKey& key);

/// The token in a version that `strongest` made; empty for any other version.
[[nodiscard]] std::optional<FencingToken> claimedTokenIn(const RecordVersion& version);

}  // namespace tenure::sqlite_store
