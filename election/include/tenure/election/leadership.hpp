// The object that represents a term to the work done under it.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

struct TermHandle;  // internal

/// One term of leadership. Copyable; safe to use from any thread and after the term or the elector has ended.
class TENURE_API Leadership {
  friend const TermHandle& handleOf(const Leadership& term) noexcept;
  friend Leadership leadershipUnder(std::shared_ptr<TermHandle> handle) noexcept;

 public:
  /// The number of this term; stamp every downstream write with it. It is constant.
  [[nodiscard]] FencingToken fencingToken() const noexcept;

  /// Fires when the work must stop: leadership was lost or given up, or the deadline has come. It fires even while a
  /// callback blocks. Stop callbacks registered on it run on a thread of the library that only runs those. They may
  /// call anything of the elector, must not throw (std::stop_callback) and should be short.
  [[nodiscard]] std::stop_token stopToken() const noexcept;

  /// Whether this term still leads, judged by the clock at this call. It is false from the moment the work was asked to
  /// stop, and turns false on time even if every thread of the library is blocked. No lock, no allocation, under
  /// 100 ns.
  [[nodiscard]] bool leads() const noexcept;

  /// Whether the lease of this term is still valid. It stays true a little longer than leads(), while the work ends.
  [[nodiscard]] bool isValid() const noexcept;

  /// Time until leads() turns false unless the lease is renewed before. Never negative.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// The term as last published, with the instant and the durations that the three functions above use; "no term" once
  /// it is over. For programs that hand its deadlines on to another process of this machine, as `tenure run` does.
  [[nodiscard]] TermState state() const noexcept;

  /// For the work-side watchdog (lease.progress_timeout): says that the work is alive, or that it was `ago` before this
  /// call: a check that succeeds proves nothing about the time after it began. Lock-free; call it as often as you like.
  void reportProgress(std::chrono::nanoseconds ago = {}) const noexcept;

  /// Says that the work is really done from now on: caches are warm, connections are made, requests are answered. From
  /// the first call in a term to the end of leadership the metric tenure_effective_leadership_seconds counts, if there
  /// is a view (LeaderElector::view). It is for that metric alone.
  void reportEffective() const;

  /// Call this when a resource refused this term's write because it has seen the token `seen`. If `seen` is higher than
  /// this term's token, the term is over (lost), and the next token will be higher than `seen` (I7). A value that is
  /// too high to be true (maxReportedStep) is only logged.
  void reportStaleToken(FencingToken seen) const;

  /// The lease's name and this candidate's unique text, as in the record.
  [[nodiscard]] const std::string& leaseName() const noexcept;
  [[nodiscard]] const std::string& holder() const noexcept;

 private:
  explicit Leadership(std::shared_ptr<TermHandle> term) noexcept;

  std::shared_ptr<TermHandle> term_;
};

}  // namespace tenure
