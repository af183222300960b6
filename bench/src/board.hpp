// A page of memory that a bench and its candidate processes share. What a candidate wrote there survives its SIGKILL.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include <tenure/lockcore/clock.hpp>

namespace tenure::bench {

inline constexpr int maxCandidates = 16;

/// One candidate writes it, the bench reads it. Times are nanoseconds of CLOCK_BOOTTIME, which all processes of the
/// machine share; zero: not yet.
struct Slot {
  std::atomic<std::int64_t> pid{0};
  std::atomic<std::int64_t> competing{0};        ///< 1 once it has seen the leader or nobody
  std::atomic<std::int64_t> elected{0};          ///< onElected calls
  std::atomic<std::int64_t> revoked{0};          ///< onRevoked calls
  std::atomic<std::int64_t> electedAt{0};        ///< at the entry of the last onElected
  std::atomic<std::int64_t> token{0};            ///< of the last term
  std::atomic<std::int64_t> appliedAt{0};        ///< when the last write of a lease was acknowledged
  std::atomic<std::int64_t> releasedAt{0};       ///< when the last release was acknowledged
  std::atomic<std::int64_t> checks{0};           ///< isLeader() calls of the work
  std::atomic<std::int64_t> believedTooLong{0};  ///< how many of them were true although the right was over
  std::atomic<std::int64_t> overlaps{0};         ///< onElected without the onRevoked before it, or the reverse
  std::atomic<std::int64_t> rowsAccepted{0};
  std::atomic<std::int64_t> rowsRefused{0};
};
static_assert(sizeof(Slot) == 13 * sizeof(std::int64_t), "tests/etcd/peers/main.go has the same");

using Board = std::array<Slot, maxCandidates>;

/// Maps the file `path` (made if missing) for the lifetime of the object.
class SharedBoard {
 public:
  explicit SharedBoard(const std::string& path);
  ~SharedBoard();
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;

  [[nodiscard]] Slot& slot(int index) noexcept { return board_->at(static_cast<std::size_t>(index)); }

 private:
  Board* board_{nullptr};
};

[[nodiscard]] inline std::int64_t boottimeNow() noexcept { return readClock().boottime.count(); }
[[nodiscard]] inline double millis(std::int64_t nanos) noexcept { return static_cast<double>(nanos) / 1e6; }

}  // namespace tenure::bench
