// What a user may set for locks: for the client, and for each call.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// Options as the user gives them; LockClient's constructor checks them.
struct TENURE_API LockClientOptions {
  /// As GroupOptions::candidate.id: a name that people recognise. 128 random bits make it unique for each client.
  /// Empty: the host name.
  std::string candidate{};
  /// The timing of each lock that has no timing of its own. lease.progressTimeout does not apply to locks.
  LeaseOptions lease{};
  /// The number of keys for which tryAcquire remembers what it saw. Beyond that the oldest key is forgotten; the only
  /// cost is that the wait for this key begins again. About 700 bytes each. 0 .. 1,000,000.
  std::size_t remembered{10'000};
  Logger logger{};
};

/// Options of one acquisition. `AcquireOptions{}` waits for ever, uses the client's timing and stores no data beside
/// the lock.
struct TENURE_API AcquireOptions {
  /// How long a silent holder of this lock keeps it; see LeaseOptions::duration. Unset: the client's.
  std::optional<std::chrono::milliseconds> lease{};
  /// How often it is renewed; see LeaseOptions::heartbeat. Unset: the client's, or lease / 3 if `lease` is set.
  std::optional<std::chrono::milliseconds> heartbeat{};
  /// No heartbeats in the background: only Lock::renew() and its variants renew the lock.
  bool manualHeartbeat{false};

  /// How long to compete. Unset: for ever. 0: a single attempt, as tryAcquire. At most 24 h.
  std::optional<std::chrono::milliseconds> waitFor{};
  /// How often the present holder is expected to renew, if that differs from this lock's heartbeat. It sets the
  /// interval of the first polls; the client then learns the real interval by itself. 10 ms .. 24 h.
  std::optional<std::chrono::milliseconds> poll{};

  /// How long the clients of this process that share a store object may keep the lock among themselves, by releasing
  /// it and acquiring it again. After that, the process yields: its next acquisition waits for `yieldFor` before it
  /// competes, so that other processes, which poll or must first be notified, get the lock. Unset: it never yields.
  /// 0: after each release. At most 24 h. It never yields for longer than `waitFor`, so a single attempt never does.
  std::optional<std::chrono::milliseconds> maxConsecutiveHold{};
  /// How long the process then yields, counted from its last release. Unset: as long as others with these options may
  /// take until their next read: 5/4 of the heartbeat, or of four polls if that is less. 50 ms is enough where the
  /// store sends notifications. At most 24 h.
  std::optional<std::chrono::milliseconds> yieldFor{};

  /// Bytes to be kept beside the lock. Unset: the data in the record stays.
  std::optional<std::string> data{};
  /// False: `data` is only written if the record has none.
  bool replaceData{true};
  /// Further attributes of the record; they replace all that are there. Empty: the record's attributes stay. The store
  /// refuses names that the protocol uses.
  std::map<std::string, std::string> attributes{};
  /// Never create a record: for a key without one the answer is LockErrc::missing, at once.
  bool mustExist{false};
  /// The release removes the record instead of marking it. A candidate that has seen the record then waits one lease,
  /// because a record that vanishes says nothing about its holder. Meant for keys that are not used again.
  bool deleteOnRelease{false};

  friend bool operator==(const AcquireOptions&, const AcquireOptions&) = default;
};

/// Options of Lock::renew. Each field that is set is in the record once the call has succeeded, and later heartbeats
/// keep it.
struct TENURE_API RenewOptions {
  /// A new lease duration. If it is longer, it counts for this holder from the store's acknowledgement; if it is
  /// shorter, from the sending. Background heartbeats follow it: lease / 3.
  std::optional<std::chrono::milliseconds> lease{};
  std::optional<std::string> data{};
  bool clearData{false};  ///< not together with `data`

  friend bool operator==(const RenewOptions&, const RenewOptions&) = default;
};

/// Options of Lock::release.
struct TENURE_API ReleaseOptions {
  /// Bytes to be left beside the lock. Unset: the data in the record stays.
  std::optional<std::string> data{};
  bool clearData{false};  ///< not together with `data`
  /// Remove the record instead of marking it; unset: as AcquireOptions::deleteOnRelease said.
  std::optional<bool> deleteRecord{};
  /// How long to wait for the store's answer; the release goes on in the background after that. Unset: one lease and a
  /// second. 0: do not wait.
  std::optional<std::chrono::milliseconds> waitFor{};

  friend bool operator==(const ReleaseOptions&, const ReleaseOptions&) = default;
};

}  // namespace tenure
