// How the supervisor tells its guard the term without waiting for it: in shared memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crash_notice.hpp"
#include "lockcore/driver/term_cell.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// A page shared by supervisor and guard. The supervisor publishes each renewal here; the guard reads it when it wakes,
/// also while the supervisor is frozen or dead. `leadsFor` says when the job is told to stop, and `validFor` when it
/// must be gone. Both are judged by elapsedForHolder, which works across processes of one boot.
class GuardChannel {
 public:
  /// The supervisor's side. `configuration`: by which the guard releases a term after a crash (crash_release.hpp);
  /// empty: it gives no crash notice. Throws std::system_error.
  [[nodiscard]] static GuardChannel create(std::string_view configuration = {});
  /// The guard's side: maps the inherited memory. Throws std::system_error.
  [[nodiscard]] static GuardChannel open(UniqueFd memory);

  GuardChannel(GuardChannel&& other) noexcept;
  GuardChannel& operator=(GuardChannel&&) = delete;
  ~GuardChannel();

  /// To be handed to the guard; close-on-exec.
  [[nodiscard]] int descriptor() const noexcept { return memory_.get(); }

  /// One thread at a time.
  void publish(const TermState& term) noexcept { board_->term.publish(term); }
  [[nodiscard]] TermState term() const noexcept { return board_->term.load(); }

  /// Begins a job: nobody has told it to stop yet, and it gets at most `drainTimeout` once somebody has.
  void beginJob(std::chrono::nanoseconds drainTimeout) noexcept;
  [[nodiscard]] std::chrono::nanoseconds drainTimeout() const noexcept {
    return std::chrono::nanoseconds{board_->drainNanoseconds.load()};
  }
  /// True for only one caller in both processes. That caller sends SIGTERM, so the job gets it once.
  [[nodiscard]] bool claimTermination() noexcept { return board_->terminationClaims.fetch_add(1) == 0; }
  [[nodiscard]] bool terminationClaimed() const noexcept { return board_->terminationClaims.load() != 0; }
  /// Something of the job was left when its time was over.
  void noteKill() noexcept { board_->killed.store(true); }
  [[nodiscard]] bool wasKilled() const noexcept { return board_->killed.load(); }

  /// Begins a term of which the guard gives notice after a crash, until the next one begins.
  void beginTerm(const std::string& holder, FencingToken token) noexcept;
  /// No notice of the present term.
  void forgoNotice() noexcept { board_->noticedToken.store(0); }
  [[nodiscard]] std::optional<NoticedTerm> noticedTerm() const;
  [[nodiscard]] std::string configuration() const;

  /// A reaper begins under the term, before it starts what it is to collect; it has had the kernel's word that nothing
  /// of that is left.
  void reaperBegins() noexcept { ++board_->reapersLeft; }
  void reaperEnds() noexcept { --board_->reapersLeft; }
  [[nodiscard]] int reapersLeft() const noexcept { return board_->reapersLeft.load(); }

  /// The reaper's word that nothing of the present job is left (reaper.hpp).
  void noteJobOver() noexcept { board_->jobOver.store(true); }
  [[nodiscard]] bool isJobOver() const noexcept { return board_->jobOver.load(); }

 private:
  static constexpr std::size_t longestHolder = 255;
  struct Board {
    TermCell term;
    std::atomic<std::int64_t> drainNanoseconds{0};
    std::atomic<std::uint32_t> terminationClaims{0};
    std::atomic<bool> killed{false};
    std::atomic<bool> jobOver{false};
    std::atomic<int> reapersLeft{0};
    std::atomic<std::uint64_t> noticedToken{0};  ///< 0: no notice
    char noticedHolder[longestHolder + 1]{};     ///< written while there is no token
  };
  // Atomics can be shared between processes only if they need no lock table of the process.
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

  GuardChannel(UniqueFd memory, Board* board, std::size_t size) noexcept;

  UniqueFd memory_;
  Board* board_{nullptr};
  std::size_t size_{0};  ///< of the board and the configuration behind it
};

}  // namespace tenure::cli
