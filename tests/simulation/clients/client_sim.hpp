// The library's public classes in virtual time, under a seed: electors, locks, lock tokens and sharded electors of
// several processes over one table of the memory store, on parts that are late, fail and throw.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::test {

/// Each has a random stream of its own, so that leaving one out does not shift the others. New ones come last.
enum class Trouble : unsigned {
  // Of each request to the store.
  loseRequest,
  loseReply,
  late,
  refuse,
  unsure,       ///< applied or not, and answered with neither
  silent,       ///< no answer at all instead of a time-out
  throwBefore,  ///< the call throws, and nothing was done
  throwAfter,   ///< the call throws, and it was done
  inside,       ///< answered inside of the call
  outage,       ///< of a process, for a while
  // Of what runs in a process.
  lateLoop,      ///< a task or timer of the scheduler comes late
  slowCallback,  ///< the executor takes its time: what a blocked callback or a long drain is to the library
  hungCallback,  ///< longer than any drain may take
  executorThrows,
  callbackThrows,
  pause,
  crash,
  jumpyClock,   ///< time passes at each reading of a clock (drawn for a run)
  interrupted,  ///< a reader stands still before it reads the term
  // Of what users do.
  stepDown,
  stop,
  destroy,
  insideCallback,  ///< any of these three in a callback
  operatorStepDown,
  erase,
  staleToken,
  cancel,
  close,
  count
};
inline constexpr std::size_t troubles = static_cast<std::size_t>(Trouble::count);
using TroubleSet = std::bitset<troubles>;

[[nodiscard]] std::string_view toString(Trouble trouble) noexcept;
/// "all", "none", "crash,late", "all-crash"; empty if a name is not known.
[[nodiscard]] std::optional<TroubleSet> troublesFrom(std::string_view list);
[[nodiscard]] std::string toString(const TroubleSet& set);

struct ClientOptions {
  std::uint64_t seed{1};
  TroubleSet allowed{TroubleSet{}.set()};
  unsigned leases{40};  ///< how long there is trouble
  bool canary{false};
  bool trace{false};
};

struct ClientReport {
  std::string oracle{};  ///< which rule was broken, one word; empty: none
  std::string text{};
  std::string configuration{};
  std::string trace{};
  std::uint64_t digest{0};  ///< of everything that was done: equal runs, equal digests
  std::uint64_t events{0};
  double hours{0};
  std::map<std::string_view, std::uint64_t> points{};
};

[[nodiscard]] ClientReport simulateClients(const ClientOptions& options);
/// Rare points that no run has met.
[[nodiscard]] std::string missedClientPoints(const std::map<std::string_view, std::uint64_t>& met);
[[nodiscard]] std::string clientReplay(const ClientOptions& options);

struct ClientCampaign {
  std::uint64_t seeds{0}, events{0}, repeated{0};
  double hours{0};
  std::map<std::string_view, std::uint64_t> points{};
  std::optional<ClientOptions> failed{};  ///< the first
  ClientReport failure{};
};
/// Seeds from `first` to `last`, or until so many hours are simulated; each hundredth is run twice. Ends with the first
/// that fails.
[[nodiscard]] ClientCampaign runClients(const ClientOptions& base, std::uint64_t first, std::uint64_t last,
                                        double hours, unsigned jobs);
/// `shrinks`: besides with as few kinds of faults as it takes.
[[nodiscard]] std::string failureText(const ClientCampaign& campaign, bool shrinks = true);

}  // namespace tenure::test
