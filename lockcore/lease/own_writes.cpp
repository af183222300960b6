#include "own_writes.hpp"

#include <algorithm>
#include <iterator>

namespace tenure {

void UnansweredWrites::addWithin(std::size_t most, UnansweredWrite write) {
  if (writes_.size() >= most) writes_.erase(writes_.begin());
  add(std::move(write));
}

UnansweredWrites UnansweredWrites::after(const UnansweredWrite& arrived) const {
  UnansweredWrites later;
  later.writes_.assign(std::next(writes_.begin(), &arrived - writes_.data() + 1), writes_.end());
  return later;
}

void UnansweredWrites::lookedForAll() noexcept {
  for (UnansweredWrite& write : writes_) write.lookedFor = true;
}

void UnansweredWrites::disown(const RecordVersion& version) noexcept {
  for (UnansweredWrite& write : writes_) write.forNobody = write.forNobody || write.version == version;
}

const UnansweredWrite* UnansweredWrites::find(const RecordVersion& version) const noexcept {
  const auto it =
      std::find_if(writes_.begin(), writes_.end(), [&](const UnansweredWrite& w) { return w.version == version; });
  return it == writes_.end() ? nullptr : &*it;
}

std::vector<RecordVersion> UnansweredWrites::named(const RecordVersion& acknowledged) const {
  std::vector<RecordVersion> versions;
  if (!acknowledged.isNone()) versions.push_back(acknowledged);
  const std::size_t count = std::min(writes_.size(), mostNamed);
  for (auto w = writes_.end() - static_cast<std::ptrdiff_t>(count); w != writes_.end(); ++w) {
    versions.push_back(w->version);
  }
  return versions;
}

bool UnansweredWrites::mustLook() const noexcept {
  const auto unseen = [](const UnansweredWrite& w) { return !w.lookedFor; };
  return std::count_if(writes_.begin(), writes_.end(), unseen) >= static_cast<std::ptrdiff_t>(mostNamed);
}

void SentVersions::add(const RecordVersion& version) {
  versions_[next_++ % versions_.size()] = packed(version).value_or(PackedVersion{});
}

void SentVersions::takeBack() noexcept { versions_[--next_ % versions_.size()] = {}; }

bool SentVersions::has(const RecordVersion& version) const {
  const auto wanted = packed(version);
  return wanted && std::find(versions_.begin(), versions_.end(), *wanted) != versions_.end();
}

std::vector<PackedVersion> SentVersions::all() const {
  std::vector<PackedVersion> sent;
  for (std::size_t i = 0; i < versions_.size(); ++i) {
    const PackedVersion& version = versions_.at((next_ + i) % versions_.size());
    if (version != PackedVersion{}) sent.push_back(version);
  }
  return sent;
}

void SentVersions::recall(const std::vector<PackedVersion>& versions) {
  std::copy(versions.begin(), versions.end(), versions_.begin());
  next_ = versions.size();
}

}  // namespace tenure
