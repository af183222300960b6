#include "watched_electors.hpp"

#include <algorithm>
#include <utility>

namespace tenure::ops {

void WatchedElectors::watch(ElectorView elector) {
  const auto same = std::find_if(all_.begin(), all_.end(),
                                 [&](const Watched& each) { return each.elector.group() == elector.group(); });
  if (same != all_.end()) {
    *same = Watched{std::move(elector)};
  } else {
    all_.push_back({std::move(elector)});
  }
}

const ElectorView* WatchedElectors::find(std::string_view group) const noexcept {
  if (group.empty()) return all_.size() == 1 ? &all_.front().elector : nullptr;
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Watched& each) { return each.elector.group() == group; });
  return found == all_.end() ? nullptr : &found->elector;
}

Snapshot WatchedElectors::snapshotOf(const ElectorView& elector) {
  const auto own = std::find_if(all_.begin(), all_.end(),
                                [&](const Watched& each) { return each.elector.group() == elector.group(); });
  Snapshot now = ops::snapshotOf(elector, own != all_.end() && own->last ? &*own->last : nullptr);
  if (own != all_.end()) own->last = now;
  return now;
}

std::vector<Snapshot> WatchedElectors::snapshots() {
  std::vector<Snapshot> out;
  out.reserve(all_.size());
  for (const Watched& each : all_) out.push_back(snapshotOf(each.elector));
  return out;
}

std::vector<GroupEvents> WatchedElectors::history() const {
  std::vector<GroupEvents> out;
  out.reserve(all_.size());
  for (const Watched& each : all_) out.push_back({each.elector.group(), each.elector.events()});
  return out;
}

void WatchedElectors::look() noexcept {
  for (Watched& each : all_) each.lateLooks = each.elector.overdue() >= lookPeriod ? each.lateLooks + 1 : 0;
}

bool WatchedElectors::stalled() const noexcept {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Watched& each) { return each.lateLooks * lookPeriod >= stallPatience_; });
}

}  // namespace tenure::ops
