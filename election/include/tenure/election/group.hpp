// A group: the candidates of one lease, as described by one YAML file or one options struct.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

class LeaseStore;

/// The reaction when leadership is lost and the work does not end in time (before validity ends).
enum class OnLost {
  callback,   ///< only the stop token fires and onRevoked is called
  terminate,  ///< in addition, the process ends itself with lostExitCode: for work that cannot be fenced
};

/// Exit code of a process that ends itself because of OnLost::terminate (EX_TEMPFAIL + 5).
inline constexpr int lostExitCode = 80;

/// Whether a process takes part in an election, or only watches it.
enum class CandidateMode {
  compete,  ///< leads when it can
  observe,  ///< follows whoever leads; never leads, and writes no record
};

/// The reaction of a leader that turns unready (LeaderElector::setReady).
enum class OnUnready {
  keep,      ///< leads on: a leader that works badly may be better than none
  stepDown,  ///< gives leadership up, as LeaderElector::stepDown does
};

struct CandidateOptions {
  /// A name that people recognise, 1..200 bytes of UTF-8 without control characters and without '#'. 128 random bits
  /// make it unique for each process, so two processes may have the same name. Empty: the host name.
  std::string id{};
  /// As in DNS SRV, lower numbers go first: priority 50 waits one extra lease before it takes a free one. 0..50. In a
  /// sharded group no candidate waits. There it decides which candidate has one shard more if the shards cannot be
  /// divided equally. A leader states it in its record, if it is not 0 (LeaderInfo::priority).
  unsigned priority{0};
  /// `observe` is for groups with one lease.
  CandidateMode mode{CandidateMode::compete};
  /// The address of this process, for programs that follow the leader (LeaderInfo::address), such as
  /// `10.0.0.5:8080`. 1 to 256 printable characters of ASCII without spaces; nothing interprets them. A leader that has
  /// one writes it into its record with one renewal right after it was elected; in a sharded group, into that of each
  /// shard. Empty: it states none.
  std::string address{};
  /// If set, this candidate asks a leader that states a worse (higher) priority to step down, once it has watched that
  /// leader's term for this long, without a break and ready to lead itself. It asks as `tenure resign` does, once in a
  /// term, and never takes the lease by force. The leader has then led for at least this long, and ends its work in
  /// order. 1 s .. 24 h. For candidates that compete, of groups with one lease. Unset: it waits until the lease is
  /// free.
  std::optional<std::chrono::milliseconds> reclaimAfter{};
  OnUnready onUnready{OnUnready::keep};

  friend bool operator==(const CandidateOptions&, const CandidateOptions&) = default;
};

/// A sharded election (ShardedElector): the group has a lease for each shard instead of one lease. If neither `count`
/// nor `names` is set, the group is for LeaderElector.
struct TENURE_API ShardOptions {
  /// Shards named 0 to count - 1, with the leases `group/0`, `group/1`, ... 0..10'000. All candidates must agree.
  unsigned count{0};
  /// Never with `count`: 0..10'000 names, each once, 1 to 200 bytes of UTF-8 without control characters, '/' and '#'.
  std::vector<std::string> names{};
  /// The most shards that this candidate holds at a time. 1..10'000. Unset: no limit.
  std::optional<unsigned> maxLeases{};
  /// How often this candidate lists the group's leases. It takes a crashed holder's shards at most this much later than
  /// one lease after the holder's last renewal. 10 ms .. lease.duration / 2. Unset: the heartbeat, but at most 500 ms.
  std::optional<std::chrono::milliseconds> listInterval{};

  /// The name of each shard; empty if the group has none.
  [[nodiscard]] std::vector<std::string> shardNames() const;

  friend bool operator==(const ShardOptions&, const ShardOptions&) = default;
};

/// Options as the user gives them; see config/reference.yaml for the same keys in YAML.
struct GroupOptions {
  std::string group{};  ///< the lease's name; required
  CandidateOptions candidate{};
  LeaseOptions lease{};
  OnLost onLost{OnLost::callback};
  ShardOptions shards{};
};

/// Every fault of the options; none: `Group::make` needs only a store.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const GroupOptions& options);

/// A validated group with its store. Only `make` (and loadGroup of tenure::config) makes one. Cheap to copy.
class TENURE_API Group {
 public:
  /// Reports all faults together, and does nothing if there is one. `store` must not be null.
  [[nodiscard]] static boost::system::result<Group, OptionFaults> make(GroupOptions options,
                                                                       std::shared_ptr<LeaseStore> store,
                                                                       Logger logger = {});

  [[nodiscard]] const std::string& name() const noexcept { return options_.group; }
  [[nodiscard]] LeaseKey key() const { return LeaseKey{options_.group}; }
  [[nodiscard]] const GroupOptions& options() const noexcept { return options_; }
  [[nodiscard]] const LeaseTiming& timing() const noexcept { return timing_; }
  [[nodiscard]] const std::shared_ptr<LeaseStore>& store() const noexcept { return store_; }
  [[nodiscard]] const Logger& logger() const noexcept { return logger_; }

 private:
  friend struct CheckedGroup;
  Group(GroupOptions options, LeaseTiming timing, std::shared_ptr<LeaseStore> store, Logger logger);
  GroupOptions options_;
  LeaseTiming timing_;
  std::shared_ptr<LeaseStore> store_;
  Logger logger_;
};

}  // namespace tenure
