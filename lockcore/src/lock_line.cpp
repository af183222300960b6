#include "lock_line.hpp"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include <tenure/lockcore/detail/per_process.hpp>

namespace tenure {
namespace {

class Lines {
 public:
  /// A store is told by its address, which no other has as long as somebody stands in a line of it.
  using Place = std::pair<const LeaseStore*, LeaseKey>;

  [[nodiscard]] std::uint64_t join(const Place& place, std::function<void()> begin) {
    const std::lock_guard lock{mutex_};
    std::list<Entry>& line = lines_[place];
    line.push_back({++last_, std::move(begin)});
    return last_;
  }

  /// What the first of the line is to begin with; empty if it has begun, or if there is nobody.
  [[nodiscard]] std::function<void()> takeTurn(const Place& place) {
    const std::lock_guard lock{mutex_};
    const auto line = lines_.find(place);
    return line == lines_.end() ? nullptr : std::exchange(line->second.front().begin, nullptr);
  }

  void leave(const Place& place, std::uint64_t id) {
    {
      const std::lock_guard lock{mutex_};
      const auto line = lines_.find(place);
      line->second.remove_if([&](const Entry& entry) { return entry.id == id; });
      if (line->second.empty()) lines_.erase(line);
    }
    if (const auto next = takeTurn(place)) next();
  }

 private:
  struct Entry {
    std::uint64_t id;
    std::function<void()> begin;  ///< empty once it was called
  };

  std::mutex mutex_;  ///< guards what follows; never held while anything is begun
  std::map<Place, std::list<Entry>> lines_{};
  std::uint64_t last_{0};
};

Lines& lines() {
  static detail::PerProcess<Lines> perProcess;
  return perProcess.get();
}

}  // namespace

std::shared_ptr<void> standInLine(const std::shared_ptr<LeaseStore>& store, const LeaseKey& key,
                                  std::function<void()> begin) {
  const Lines::Place place{store.get(), key};
  Lines& all = lines();
  const std::uint64_t id = all.join(place, std::move(begin));
  if (const auto first = all.takeTurn(place)) first();
  return {&all, [store, place, id](void* line) { static_cast<Lines*>(line)->leave(place, id); }};
}

}  // namespace tenure
