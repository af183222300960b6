// The value that a term gives to the work done under it.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

struct TermHandle;  // internal

/// One term of leadership. Copyable; safe to use from any thread and after the term or the elector has ended.
class Leadership {
 public:
  explicit Leadership(std::shared_ptr<TermHandle> term) noexcept;

  /// The number of this term; stamp every downstream write with it. Constant.
  [[nodiscard]] FencingToken fencingToken() const noexcept;

  /// Fires when the work must stop: leadership lost, given up, or at the deadline, also while a callback blocks. Stop
  /// callbacks registered on it run on a thread of the library's that does nothing else; they may call anything of the
  /// elector, must not throw (std::stop_callback) and should be short.
  [[nodiscard]] std::stop_token stopToken() const noexcept;

  /// Whether this term still leads, judged by the clock at this call: false from the moment the work was told to
  /// stop, and on time even if every thread of the library is blocked. No lock, no allocation, about 70 ns.
  [[nodiscard]] bool leads() const noexcept;

  /// Whether the lease of this term is still valid. True a little longer than leads(), while the work winds up.
  [[nodiscard]] bool isValid() const noexcept;

  /// Time until leads() turns false unless the lease is renewed before. Never negative.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// The term as last published, with the instant and the durations that the three above judge by; "no term" once it
  /// is over. For those who hand its deadlines on to another process of this machine, as `tenure run` does.
  [[nodiscard]] TermState state() const noexcept;

  /// For the work-side watchdog (lease.progress_timeout): the work is alive. Lock-free; call as often as you like.
  void reportProgress() const noexcept;

  /// A resource refused this term's write because it has seen `seen`: if that is higher than this term's token, the
  /// term is over (lost), and the next token higher than `seen` (I7). One made up (maxReportedStep) is logged, no more.
  void reportStaleToken(FencingToken seen) const;

  /// The lease's name and this candidate's unique text, as in the record.
  [[nodiscard]] const std::string& leaseName() const noexcept;
  [[nodiscard]] const std::string& holder() const noexcept;

 private:
  std::shared_ptr<TermHandle> term_;
};

}  // namespace tenure
