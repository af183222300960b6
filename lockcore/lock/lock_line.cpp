#include "lock_line.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "lockcore/runtime/process_mark.hpp"

namespace tenure {

class PlaceInLine::Lines {
 public:
  /// A store is identified by its address. No other store has this address as long as anybody stands in one of its
  /// lines.
  using Place = std::pair<const LeaseStore*, LeaseKey>;

  struct Joined {
    std::uint64_t id;
    bool isFirst;  ///< nobody else will call `begin` for it
  };
  [[nodiscard]] Joined join(const Place& place, const Begin& begin) {
    const std::lock_guard lock{mutex_};
    std::list<Entry>& line = lines_[place];
    const bool isFirst = line.empty();
    line.push_back({++last_, isFirst ? nullptr : begin});
    return {last_, isFirst};
  }

  void leave(const Place& place, std::uint64_t id, const Memory& memory) {
    if (const Begin next = takeLeave(place, id)) next(memory);
  }

 private:
  struct Entry {
    std::uint64_t id;
    Begin begin;  ///< empty once it was called or taken
  };

  /// The `begin` of the next one, if the one that leaves was the first; else empty.
  [[nodiscard]] Begin takeLeave(const Place& place, std::uint64_t id) {
    const std::lock_guard lock{mutex_};
    const auto found = lines_.find(place);
    std::list<Entry>& line = found->second;
    const bool wasFirst = line.front().id == id;
    line.remove_if([&](const Entry& entry) { return entry.id == id; });
    if (line.empty()) {
      lines_.erase(found);
      return nullptr;
    }
    return wasFirst ? std::exchange(line.front().begin, nullptr) : nullptr;
  }

  std::mutex mutex_;  ///< guards what follows; never held while a `begin` runs
  std::map<Place, std::list<Entry>> lines_{};
  std::uint64_t last_{0};
};

PlaceInLine::Lines& PlaceInLine::lines() {
  static detail::PerProcess<Lines> perProcess;
  return perProcess.get();
}

PlaceInLine::PlaceInLine(std::shared_ptr<LeaseStore> store, LeaseKey key, const Begin& begin)
    : lines_{&lines()}, store_{std::move(store)}, key_{std::move(key)} {
  const Lines::Joined joined = lines_->join({store_.get(), key_}, begin);
  id_ = joined.id;
  if (joined.isFirst) begin(nullptr);
}

PlaceInLine::~PlaceInLine() { lines_->leave({store_.get(), key_}, id_, memory_); }

}  // namespace tenure
