// Processes that write through an adapter: this test program, started again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "adapters/contract/fence_contract.hpp"

namespace tenure::contract {

/// The state that two racing processes share, in a file that both map: it outlives processes that are killed.
struct RaceBoard {
  std::atomic<std::uint64_t> lastToken{0};  ///< as in an election, each token is given out once
  std::atomic<std::uint64_t> attempts{0};
  std::atomic<std::uint64_t> limit{0};  ///< writers end by themselves after this many attempts
  std::atomic<std::uint64_t> accepted{0}, stale{0}, errors{0};
};

/// A RaceBoard in its own file, mapped while the object lives.
class SharedBoard {
 public:
  explicit SharedBoard(const std::string& file);
  ~SharedBoard();
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  [[nodiscard]] RaceBoard& operator*() const noexcept { return *board_; }
  [[nodiscard]] RaceBoard* operator->() const noexcept { return board_; }

 private:
  RaceBoard* board_;
};

/// Where an obeying writer stops during one write.
enum class Pause {
  no,
  beforeWrite,  ///< after the client's own check, before the adapter is called
  insideWrite,  ///< where the adapter calls `inside`
  bareWrite,    ///< after the client's own check, before a write without a fence
};

/// A process of this program; it is killed when the object is destroyed.
class WriterProcess {
 public:
  /// Races on `board` until its limit; each acknowledged entry is a line with its name in `acknowledged`.
  [[nodiscard]] static std::unique_ptr<WriterProcess> racing(const FenceUnderTest& fence, const std::string& address,
                                                             const std::string& holder, const std::string& board,
                                                             const std::string& acknowledged);
  /// Makes the writes that it is told to make.
  [[nodiscard]] static std::unique_ptr<WriterProcess> obeying(const FenceUnderTest& fence, const std::string& address,
                                                              const std::string& holder);
  ~WriterProcess() { kill(); }
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  /// For an obeying writer: begins a write. With a pause the process stops itself there; waitForStop() waits for that.
  void begin(FencingToken token, const std::string& entry, Pause pause);
  /// False if the process ended instead.
  [[nodiscard]] bool waitForStop();
  void wake();
  /// "accepted", "stale 5 7", "foreign 5 b" or "error <message>"; empty if the process ended.
  [[nodiscard]] std::string answer();

  /// SIGKILL. True if that ended it, or if it had ended with exit code 0: it had no error of its own.
  bool kill();
  /// Exit code 0.
  [[nodiscard]] bool waitForEnd();

 private:
  explicit WriterProcess(std::vector<std::string> arguments);

  pid_t pid_{-1};
  int commands_{-1}, answers_{-1};
};

/// main() of a writer, if `arguments` start one.
[[nodiscard]] std::optional<int> runWriter(const std::vector<std::string>& arguments);

/// Finds a fence by its registered name; throws std::out_of_range.
[[nodiscard]] const FenceUnderTest& registeredFence(const std::string& name);

}  // namespace tenure::contract
