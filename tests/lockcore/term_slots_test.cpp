// A reader is stopped at each of its steps, and the writer then continues to each of its own: no race, every order.
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/driver/term_slots_steps.hpp"

namespace tenure::test {

/// Counts and interrupts the steps of the test's one thread, which plays the reader or the writer.
struct Steps {
  std::function<void()> beforeLoad{};
  std::function<void(const void* place, std::uint64_t bits)> atStore{};
};
inline Steps playedSteps;

/// Behaves like an atomic without being one: this test has one thread.
template <class T>
class SteppedAtomic {
 public:
  SteppedAtomic(T value) : value_{value} {}  // NOLINT(google-explicit-constructor): as std::atomic
  void store(T value, std::memory_order /*any*/) noexcept {
    value_ = value;
    if (playedSteps.atStore) playedSteps.atStore(this, static_cast<std::uint64_t>(value));
  }
  [[nodiscard]] T load(std::memory_order /*any*/) const noexcept {
    if (playedSteps.beforeLoad) playedSteps.beforeLoad();
    return value_;
  }

 private:
  T value_;
};

namespace {

using std::chrono::nanoseconds;
using Slots = detail::TermSlots<SteppedAtomic>;

/// Every field shows which state it belongs to.
TermState numbered(std::uint64_t n) {
  const nanoseconds unit{static_cast<std::int64_t>(n)};
  return {{unit, 3 * unit, 5 * unit}, 7 * unit, 11 * unit, FencingToken{n}};
}

bool isWhole(const TermState& state) {
  const TermState expected = numbered(state.token.value());
  return state.anchor == expected.anchor && state.leadsFor == expected.leadsFor && state.validFor == expected.validFor;
}

/// What the writer does to the cell, one store after the other.
class WritersWay {
 public:
  WritersWay(std::uint64_t from, std::uint64_t to) {
    Slots slots;
    for (std::uint64_t n = 1; n < from; ++n) slots.publish(numbered(n));
    playedSteps.atStore = [&](const void* place, std::uint64_t bits) {
      stores_.push_back({static_cast<const std::byte*>(place) - reinterpret_cast<const std::byte*>(&slots), bits});
    };
    for (std::uint64_t n = from; n <= to; ++n) {
      slots.publish(numbered(n));
      ends_.push_back(stores_.size());
    }
    playedSteps.atStore = nullptr;
  }

  [[nodiscard]] std::size_t size() const { return stores_.size(); }
  /// How many publications are complete after this many stores.
  [[nodiscard]] std::uint64_t completeAfter(std::size_t stores) const {
    std::uint64_t complete = 0;
    for (const std::size_t end : ends_) complete += end <= stores ? 1U : 0U;
    return complete;
  }
  /// Continues until this many stores are done in all.
  void goOn(Slots& slots, std::size_t& done, std::size_t until) const {
    for (; done < until; ++done) {
      std::memcpy(reinterpret_cast<std::byte*>(&slots) + stores_[done].offset, &stores_[done].bits,
                  sizeof(std::uint64_t));
    }
  }

 private:
  struct Store {
    std::ptrdiff_t offset;
    std::uint64_t bits;
  };
  std::vector<Store> stores_{};
  std::vector<std::size_t> ends_{};
};

constexpr std::uint64_t publishedBefore = 3;  // number of states

constexpr int longestLoad = 100;  // steps: many times as many as a load takes

/// A load that is stopped before its steps `first` and `second`, and how many stores the writer has made by then.
struct Stop {
  int first;
  std::size_t storesThen;
  int second;
  std::size_t storesAtLast;
};

struct Seen {
  TermState state{};
  int loads{0};
  bool waited{false};  ///< it waited for the writer, which continued only for that reason
};

Seen loadWith(const WritersWay& writer, const Stop& stop) {
  Slots slots;
  for (std::uint64_t n = 1; n <= publishedBefore; ++n) slots.publish(numbered(n));
  Seen seen;
  std::size_t done = 0;
  playedSteps.beforeLoad = [&] {
    if (seen.loads == stop.first) writer.goOn(slots, done, stop.storesThen);
    if (seen.loads == stop.second) writer.goOn(slots, done, stop.storesAtLast);
    ++seen.loads;
    seen.waited = seen.waited || seen.loads > longestLoad;
    if (seen.waited) writer.goOn(slots, done, writer.size());
  };
  seen.state = slots.load();
  playedSteps.beforeLoad = nullptr;
  return seen;
}

TEST(TermSlots, noReaderSeesATornStateOrWaitsWhereverItIsStopped) {
  constexpr std::uint64_t publications = 4;  // both slots are filled twice
  const WritersWay writer{publishedBefore + 1, publishedBefore + publications};
  const int undisturbed = loadWith(writer, {-1, 0, -1, 0}).loads;
  ASSERT_GT(undisturbed, 6) << "a state has so many fields";
  ASSERT_GT(writer.size(), 6 * publications);
  for (int first = 0; first < undisturbed; ++first) {
    for (int second = first; second < 2 * undisturbed; ++second) {  // it may have begun again by then
      for (std::size_t then = 0; then <= writer.size(); ++then) {
        for (std::size_t last = then; last <= writer.size(); ++last) {
          const auto [state, loads, waited] = loadWith(writer, {first, then, second, last});
          const std::uint64_t newest = publishedBefore + writer.completeAfter(last);
          ASSERT_TRUE(isWhole(state)) << "stopped at " << first << " for " << then << " stores, at " << second
                                      << " until " << last;
          ASSERT_FALSE(waited) << "stopped at " << first << " for " << then << " stores, at " << second << " until "
                               << last << ": it reads again until the writer goes on";
          ASSERT_GE(state.token.value(), publishedBefore) << "older than what was published when it began";
          ASSERT_LE(state.token.value(), newest) << "not published yet";
        }
      }
    }
  }
}

/// So that the case above can distinguish a reader's answer from what it read before.
TEST(TermSlots, aReaderThatBeginsAfterAPublicationSeesIt) {
  const WritersWay writer{publishedBefore + 1, publishedBefore + 2};
  for (std::size_t stores = 0; stores <= writer.size(); ++stores) {
    const TermState state = loadWith(writer, {0, stores, -1, 0}).state;
    EXPECT_EQ(state.token.value(), publishedBefore + writer.completeAfter(stores)) << stores;
  }
}

}  // namespace
}  // namespace tenure::test
