#include <thread>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/ops/snapshot.hpp>

namespace tenure::ops {
namespace {

std::optional<LeaseStatus> leaseOf(const ElectorView& elector) {
  constexpr int tries = 50;
  for (int i = 0; i < tries; ++i) {
    if (auto status = elector.tryStatus()) return status;
    std::this_thread::yield();
  }
  return std::nullopt;
}

}  // namespace

Snapshot snapshotOf(const ElectorView& elector, const Snapshot* last) {
  Snapshot out{elector.group(), elector.candidate(), elector.store(), elector.leaseDuration(), elector.observes()};
  out.takenAtMillis = wallClockMillisForDisplay();
  if (auto lease = leaseOf(elector)) {
    out.lease = *std::move(lease);
  } else if (last != nullptr) {
    out.lease = last->lease;
    const std::chrono::milliseconds since{std::max<std::int64_t>(out.takenAtMillis - last->takenAtMillis, 0)};
    out.leaseAge = last->leaseAge < last->leaseAge.zero() ? last->leaseAge : last->leaseAge + since;
  } else {
    out.leaseAge = std::chrono::nanoseconds{-1};
  }
  out.counts = elector.counts();
  out.overdue = elector.overdue();
  out.standing = elector.standing();  // last, so that it is as fresh as can be
  if (out.standing.leads) out.electedAtMillis = elector.electedAtMillis();
  return out;
}

}  // namespace tenure::ops
