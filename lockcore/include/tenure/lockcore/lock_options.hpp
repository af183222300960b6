// What a user may say of locks: of the client, and of each call.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// Options as the user gives them; LockClient's constructor checks them.
struct LockClientOptions {
  /// As GroupOptions::candidate.id: a name that people recognise, made unique per client by 128 random bits. Empty: the
  /// host name.
  std::string candidate{};
  /// The timing of each lock that does not bring its own. lease.progressTimeout is not for locks.
  LeaseOptions lease{};
  /// Of how many keys tryAcquire remembers what it saw; beyond that the oldest is forgotten, at no more cost than that
  /// its wait begins anew. About 700 bytes each. 0 .. 1,000,000.
  std::size_t remembered{10'000};
  Logger logger{};
};

/// Of one acquisition. `AcquireOptions{}` waits for ever, with the client's timing and nothing beside the lock.
struct AcquireOptions {
  /// How long a silent holder of this lock keeps it; see LeaseOptions::duration. Unset: the client's.
  std::optional<std::chrono::milliseconds> lease{};
  /// How often it is renewed; see LeaseOptions::heartbeat. Unset: the client's, or lease / 3 if `lease` is set.
  std::optional<std::chrono::milliseconds> heartbeat{};
  /// No heartbeats in the background: only Lock::renew() and its kin renew it.
  bool manualHeartbeat{false};

  /// How long to compete. Unset: for ever. 0: one look, as tryAcquire. At most 24 h.
  std::optional<std::chrono::milliseconds> waitFor{};
  /// How often the present holder is thought to renew, where that is not this lock's heartbeat: where the polls begin.
  /// It learns the real rhythm by itself. 10 ms .. 24 h.
  std::optional<std::chrono::milliseconds> poll{};

  /// How long the clients of this process that share a store object may have the lock to themselves, releasing it and
  /// acquiring it again, before they leave it to others: then the next acquisition begins with a rest. Other processes
  /// poll (or are told and then look), and meet a lock that is free for an instant only by luck. Unset: no rest. 0: a
  /// rest after each release. At most 24 h. Nobody rests longer than `waitFor`, so one look never does.
  std::optional<std::chrono::milliseconds> turn{};
  /// How long that rest is, counted from the release. Unset: as long as others, by these options, may take to look:
  /// 5/4 of the heartbeat, or of four polls if that is less. 50 ms will do where the store notifies. At most 24 h.
  std::optional<std::chrono::milliseconds> rest{};

  /// Bytes to be kept beside the lock. Unset: what the record has stays.
  std::optional<std::string> data{};
  /// False: `data` is only written if the record has none.
  bool replaceData{true};
  /// Further attributes of the record, replaced whole. Empty: what the record has stays. Names that the protocol uses
  /// are refused by the store.
  std::map<std::string, std::string> attributes{};
  /// Never make a record: a key without one is LockErrc::missing, at once.
  bool mustExist{false};
  /// The release removes the record and does not mark it. A candidate that has seen the record waits one lease then: a
  /// record that vanishes says nothing of its holder. For keys that do not come again.
  bool deleteOnRelease{false};

  friend bool operator==(const AcquireOptions&, const AcquireOptions&) = default;
};

/// Of Lock::renew. Each field that is set is in the record once the call has succeeded, and stays with later
/// heartbeats.
struct RenewOptions {
  /// A new lease duration. It counts for this holder from when the store has acknowledged it if it is longer, and from
  /// when it was sent if it is shorter. Background heartbeats follow it: lease / 3.
  std::optional<std::chrono::milliseconds> lease{};
  std::optional<std::string> data{};
  bool clearData{false};  ///< not together with `data`

  friend bool operator==(const RenewOptions&, const RenewOptions&) = default;
};

/// Of Lock::release.
struct ReleaseOptions {
  /// Bytes to be left beside the lock. Unset: what is there stays.
  std::optional<std::string> data{};
  bool clearData{false};  ///< not together with `data`
  /// Remove the record instead of marking it; unset: as AcquireOptions::deleteOnRelease said.
  std::optional<bool> deleteRecord{};
  /// How long to wait for the store's answer; the release goes on behind it. Unset: one lease and a second. 0: not.
  std::optional<std::chrono::milliseconds> waitFor{};

  friend bool operator==(const ReleaseOptions&, const ReleaseOptions&) = default;
};

}  // namespace tenure
