#include "lock_line.hpp"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include <tenure/lockcore/detail/per_process.hpp>

namespace tenure {

class PlaceInLine::Lines {
 public:
  /// A store is told by its address, which no other has as long as somebody stands in a line of it.
  using Place = std::pair<const LeaseStore*, LeaseKey>;

  [[nodiscard]] std::uint64_t join(const Place& place, Begin begin) {
    const std::lock_guard lock{mutex_};
    std::list<Entry>& line = lines_[place];
    line.push_back({++last_, std::move(begin)});
    return last_;
  }

  /// What the first of the line is to begin with; empty if it has begun, or if there is nobody.
  [[nodiscard]] Begin takeTurn(const Place& place) {
    const std::lock_guard lock{mutex_};
    const auto line = lines_.find(place);
    return line == lines_.end() ? nullptr : std::exchange(line->second.front().begin, nullptr);
  }

  void leave(const Place& place, std::uint64_t id, const Memory& memory) {
    {
      const std::lock_guard lock{mutex_};
      const auto line = lines_.find(place);
      line->second.remove_if([&](const Entry& entry) { return entry.id == id; });
      if (line->second.empty()) lines_.erase(line);
    }
    if (const auto next = takeTurn(place)) next(memory);
  }

 private:
  struct Entry {
    std::uint64_t id;
    Begin begin;  ///< empty once it was called
  };

  std::mutex mutex_;  ///< guards what follows; never held while anything is begun
  std::map<Place, std::list<Entry>> lines_{};
  std::uint64_t last_{0};
};

PlaceInLine::Lines& PlaceInLine::lines() {
  static detail::PerProcess<Lines> perProcess;
  return perProcess.get();
}

PlaceInLine::PlaceInLine(std::shared_ptr<LeaseStore> store, LeaseKey key, Begin begin)
    : lines_{&lines()},
      store_{std::move(store)},
      key_{std::move(key)},
      id_{lines_->join({store_.get(), key_}, std::move(begin))} {
  if (const auto first = lines_->takeTurn({store_.get(), key_})) first(nullptr);
}

PlaceInLine::~PlaceInLine() { lines_->leave({store_.get(), key_}, id_, memory_); }

}  // namespace tenure
