#include "watched_electors.hpp"

#include <algorithm>
#include <charconv>
#include <thread>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "answers.hpp"

namespace tenure::ops {

void LeaderEvents::note(const std::string& group, const std::string& data) {
  const auto known = lastOf_.find(group);
  if (known != lastOf_.end() && known->second.data == data) return;
  const Event event{++last_, group, data};
  lastOf_.insert_or_assign(group, event);
  recent_.push_back(event);
  if (recent_.size() > kept) recent_.pop_front();
}

void LeaderEvents::noteGone(const std::string& group, const std::string& data) {
  if (!lastOf_.contains(group)) return;
  note(group, data);
  lastOf_.erase(group);
}

std::optional<std::uint64_t> LeaderEvents::numberOf(std::string_view id) const {
  if (!id.starts_with(run_) || id.substr(run_.size(), 1) != "-") return std::nullopt;
  id.remove_prefix(run_.size() + 1);
  std::uint64_t number = 0;
  const auto [end, wrong] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (wrong != std::errc{} || end != id.data() + id.size() || number > last_) return std::nullopt;
  return number;
}

std::string LeaderEvents::since(std::optional<std::uint64_t>& after, std::string_view group) const {
  const std::optional<std::uint64_t> from = std::exchange(after, last_);
  std::string out;
  const auto add = [&](const Event& event) {
    if (group.empty() || event.group == group) out += textOf(event);
  };
  if (from && last_ - *from <= recent_.size()) {
    for (std::size_t i = recent_.size() - (last_ - *from); i < recent_.size(); ++i) add(recent_[i]);
    return out;
  }
  std::map<std::uint64_t, const Event*> sorted;  // by number
  for (const auto& [name, event] : lastOf_) sorted.emplace(event.number, &event);
  for (const auto& [number, event] : sorted) add(*event);
  return out;
}

/// The data are JSON in one line: a line break within text is escaped there. The id comes last, so that a client that
/// is cut off within an event has not noted its id, and gets the event again.
std::string LeaderEvents::textOf(const Event& event) const {
  return "event: leader\ndata: " + event.data + "\nid: " + run_ + '-' + std::to_string(event.number) + "\n\n";
}

WatchedElectors::WatchedElectors(std::chrono::nanoseconds stallPatience)
    : stallPatience_{stallPatience},
      events_{std::to_string(wallClockMillisForDisplay()) + '-' + std::to_string(getpid())} {}

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
      (stays ? kept : gone_).push_back(std::move(each));
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

void WatchedElectors::noteLeaders() {
  for (const Snapshot& each : snapshots()) events_.note(each.group, leaderEventJson(each));
  for (const Watched& each : std::exchange(gone_, {})) {
    const std::string group = each.elector.group();
    if (find(group) != nullptr) continue;
    events_.noteGone(group, leaderEventJson({.group = group, .candidate = each.last ? each.last->candidate : ""}));
  }
}

void WatchedElectors::look() {
  refresh();
  noteLeaders();
  for (Watched& each : all_) each.lateLooks = each.elector.overdue() >= lookPeriod ? each.lateLooks + 1 : 0;
}

bool WatchedElectors::stalled() const noexcept {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Watched& each) { return each.lateLooks * lookPeriod >= stallPatience_; });
}

}  // namespace tenure::ops
