// What a user of LockClient does with one lock, and what must be in the record of what it is told.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include <tenure/lockcore/lock_client.hpp>

#include "simulation/clients/world.hpp"

namespace tenure::test {

/// One acquisition, from its call to the end of the lock that it gave.
struct Taking {
  LeaseKey key;
  unsigned client{0};  ///< the client of this actor, which makes a new one now and then
  AcquireOptions options;
  TrueTime called{0}, pausedBefore{0};
  TrueTime renewedAt{0};  ///< the first renewal that is not reported yet; in time in which anything ran
  bool inLine{false};     ///< nothing keeps it from joining the line as soon as it is called
  bool cancelled{false};
  bool putOff{false};   ///< its call returned late, because another one waited inside of it
  bool kept{false};     ///< kept for a long time
  bool closing{false};  ///< held when its client began to close
  bool served{false};   ///< its acquisition was applied
  int told{0}, lossTold{0}, renewals{0}, renewalsTold{0};
  std::chrono::milliseconds longest{0};  ///< the longest lease that was asked for
  bool renewalFailed{false};             ///< whether it is in the record is not known
  RenewOptions lastAsked{};
  std::shared_ptr<Lock> lock{};
  std::shared_ptr<Lock> share{};
  std::optional<TermEnd> loss{};
  std::optional<ReleaseResult> result{};  ///< of a release that was asked for
  ReleaseOptions left{};
  std::stop_source cancel{};

  [[nodiscard]] bool over() const {
    return told > 0 && (!lock || (result && *result != ReleaseResult::unknown && *result != ReleaseResult::shared));
  }
};

/// The handle of a lock that was won just now, before anything else was asked of it.
void judgeWon(World& world, const Taking& one, const Lock& lock);
/// All renewals that were asked for are told, the last one as done.
void judgeRenewed(World& world, const Taking& one);
/// Its release was told as done.
void judgeReleased(World& world, const Taking& one);

}  // namespace tenure::test
