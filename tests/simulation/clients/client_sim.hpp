// The library's public classes in virtual time, under a seed: electors, locks, lock tokens and sharded electors of
// several processes over one table of the memory store. The parts around them are late, fail and throw.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::test {

/// Each kind has its own random stream, so that leaving one out does not shift the others. New kinds come last.
enum class Disturbance : unsigned {
  // Drawn for each request to the store.
  loseRequest,
  loseReply,
  late,
  refuse,
  unsure,       ///< applied or not; the answer says neither
  silent,       ///< no answer at all instead of a time-out
  throwBefore,  ///< the call throws, and it had no effect
  throwAfter,   ///< the call throws, and it had its effect
  inside,       ///< answered before the call returns
  outage,       ///< a process cannot reach the store for a while
  // What runs in a process.
  lateLoop,      ///< a task or timer of the scheduler comes late
  slowCallback,  ///< the executor is slow: to the library this is a blocked callback or a long drain
  hungCallback,  ///< slower than any drain may be
  executorThrows,
  callbackThrows,
  pause,
  crash,
  jumpyClock,   ///< time passes at each reading of a clock (drawn for a run)
  interrupted,  ///< a reader is stopped before it reads the term
  // What users do.
  stepDown,
  stop,
  destroy,
  insideCallback,  ///< one of these three calls, made in a callback
  operatorStepDown,
  erase,
  staleToken,
  cancel,
  close,
  // Only with scheduled jobs.
  wallStep,       ///< a wall clock is set: right, or wrong by an hour or a year
  refusePayload,  ///< the store says that it can not keep a document
  count
};
inline constexpr std::size_t disturbances = static_cast<std::size_t>(Disturbance::count);
using DisturbanceSet = std::bitset<disturbances>;

[[nodiscard]] std::string_view toString(Disturbance disturbance) noexcept;
/// "all", "none", "crash,late", "all-crash"; empty if a name is not known.
[[nodiscard]] std::optional<DisturbanceSet> disturbancesFrom(std::string_view list);
[[nodiscard]] std::string toString(const DisturbanceSet& set);

struct ClientOptions {
  std::uint64_t seed{1};
  DisturbanceSet allowed{DisturbanceSet{}.set()};
  unsigned leases{40};  ///< for how long there are faults
  bool jobs{false};     ///< scheduled jobs on three processes, instead of all else; for 36 h unless `leases` is given
  bool canary{false};
  bool trace{false};
};

struct ClientReport {
  std::string oracle{};  ///< the rule that was broken, one word; empty: none
  std::string text{};
  std::string configuration{};
  std::string trace{};
  std::uint64_t digest{0};  ///< hash of everything that was done: equal runs have equal digests
  std::uint64_t events{0};
  double hours{0};
  std::map<std::string_view, std::uint64_t> points{};
};

[[nodiscard]] ClientReport simulateClients(const ClientOptions& options);
/// Rare points that no run has reached.
[[nodiscard]] std::string missedClientPoints(const std::map<std::string_view, std::uint64_t>& met, bool jobs = false);
[[nodiscard]] std::string clientReplay(const ClientOptions& options);

struct ClientCampaign {
  std::uint64_t seeds{0}, events{0}, repeated{0};
  double hours{0};
  std::map<std::string_view, std::uint64_t> points{};
  std::optional<ClientOptions> failed{};  ///< the first run that failed
  ClientReport failure{};
};
/// Runs the seeds from `first` to `last`, or until so many hours are simulated. One seed in a hundred runs twice. Stops
/// at the first run that fails.
[[nodiscard]] ClientCampaign runClients(const ClientOptions& base, std::uint64_t first, std::uint64_t last,
                                        double hours, unsigned jobs);
/// `shrinks`: it also looks for the fewest kinds of faults that still fail.
[[nodiscard]] std::string failureText(const ClientCampaign& campaign, bool shrinks = true);

}  // namespace tenure::test
