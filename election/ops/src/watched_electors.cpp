#include "watched_electors.hpp"

#include <algorithm>
#include <thread>
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

void WatchedElectors::watch(ShardsView shards) {
  std::erase_if(sharded_, [&](const ShardsView& each) { return each.group() == shards.group(); });
  sharded_.push_back(std::move(shards));
}

void WatchedElectors::refresh() {
  constexpr int tries = 50;
  for (const ShardsView& shards : sharded_) {
    auto now = shards.tryElectors();
    for (int i = 1; i < tries && !now; ++i) {
      std::this_thread::yield();
      now = shards.tryElectors();
    }
    if (!now) continue;
    std::vector<Watched> kept;
    for (Watched& each : all_) {
      const auto same = [&](const ElectorView& view) { return view == each.elector; };
      const bool stays = each.shardsOf != shards.group() || std::any_of(now->begin(), now->end(), same);
      if (stays) std::erase_if(*now, same);
      if (stays) kept.push_back(std::move(each));
    }
    for (ElectorView& view : *now) kept.push_back({std::move(view), {}, 0, shards.group()});
    all_ = std::move(kept);
  }
}

bool WatchedElectors::knowsAll() const noexcept {
  return (!all_.empty() || !sharded_.empty()) &&
         std::all_of(sharded_.begin(), sharded_.end(), [](const ShardsView& each) { return each.competes(); });
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

std::vector<MetricFamily> WatchedElectors::families() const {
  std::vector<MetricFamily> out;
  for (const MetricSource& source : sources_) {
    for (MetricFamily& family : source()) out.push_back(std::move(family));
  }
  return out;
}

void WatchedElectors::look() {
  refresh();
  for (Watched& each : all_) each.lateLooks = each.elector.overdue() >= lookPeriod ? each.lateLooks + 1 : 0;
}

bool WatchedElectors::stalled() const noexcept {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Watched& each) { return each.lateLooks * lookPeriod >= stallPatience_; });
}

}  // namespace tenure::ops
