#include "members.hpp"

namespace tenure::etcd_store {

bool Members::isDoubtful(std::size_t member, std::chrono::nanoseconds now) const {
  return failedAt_[member] && now - *failedAt_[member] < pause;
}

/// If all that are left have failed, the one whose failure is oldest comes first.
std::optional<std::size_t> Members::next(const std::vector<bool>& tried, std::chrono::nanoseconds now) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < failedAt_.size(); ++i) {
    const std::size_t member = (first_ + i) % failedAt_.size();
    if (tried[member]) continue;
    if (!isDoubtful(member, now)) return member;
    if (!best || *failedAt_[member] < *failedAt_[*best]) best = member;
  }
  return best;
}

void Members::answered(std::size_t member) {
  failedAt_[member].reset();
  first_ = member;
}

void Members::failed(std::size_t member, std::chrono::nanoseconds now) { failedAt_[member] = now; }

}  // namespace tenure::etcd_store
