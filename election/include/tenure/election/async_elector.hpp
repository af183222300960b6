// An elector whose terms are awaited, as objects that end the work when they are destroyed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include <tenure/election/group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/export.hpp>

namespace tenure {

/// One term and the work under it. The work lasts until this object is destroyed: only then does the elector release
/// the lease (I9). As with any work, it has lease.drain_timeout from the end of the term on. An object that is
/// destroyed before its term has ended gives the term up, as LeaderElector::stepDown does: so does one that arrives
/// after its wait was cancelled. Move-only; a moved-from term may only be destroyed or assigned to. It may outlive
/// its elector.
class TENURE_API AwaitedTerm {
 public:
  AwaitedTerm(AwaitedTerm&&) noexcept = default;
  AwaitedTerm& operator=(AwaitedTerm&&) noexcept = default;

  [[nodiscard]] const Leadership& leadership() const noexcept { return term_; }
  [[nodiscard]] FencingToken fencingToken() const noexcept { return term_.fencingToken(); }
  [[nodiscard]] bool leads() const noexcept { return term_.leads(); }

 private:
  friend class AsyncElector;
  AwaitedTerm(Leadership term, std::shared_ptr<void> work) noexcept;

  Leadership term_;
  std::shared_ptr<void> work_;
};

/// Calls `done(true)` once when the work under `term` must stop, on a thread of the library; inside this call if that
/// was before. After a request of `cancel` it calls `done(false)` instead. `done` must not throw: that ends the
/// process.
TENURE_API void whenRevoked(const Leadership& term, std::function<void(bool)> done, const std::stop_token& cancel = {});

/// A LeaderElector without callbacks, for programs that wait: with Boost.Asio's tokens and coroutines by
/// <tenure/election/elector_asio.hpp>. A term that is not taken is led without work, and ends like any other.
///
/// Runtime::executor is not used, because a thread is held for as long as the work of a term lasts: one of the
/// library's own callback threads. All other calls are as those of LeaderElector.
///
/// Threads: any. Move-only; a moved-from elector may only be destroyed or assigned to.
class TENURE_API AsyncElector {
 public:
  /// Throws as LeaderElector does.
  explicit AsyncElector(Group group, Runtime runtime = {});
  /// requestStop(), then what ~LeaderElector does.
  ~AsyncElector();
  AsyncElector(AsyncElector&&) noexcept;
  AsyncElector& operator=(AsyncElector&&) noexcept;

  void start();
  /// Waits complete without a term, and the present term ends. `done`: as that of LeaderElector, on a thread of the
  /// library.
  void requestStop(std::function<void(ReleaseResult)> done = {});
  ReleaseResult stop();
  /// For all other calls: status, step-down, views.
  [[nodiscard]] LeaderElector& elector() noexcept;

  /// Calls `done` once, on a thread of the library or inside this call, with the next term that this process leads, or
  /// the present one if it was not taken; with nothing after stop, or after a request of `cancel`. Each term goes to
  /// one wait, the oldest. `done` must not throw: that ends the process.
  void whenElected(std::function<void(std::optional<AwaitedTerm>)> done, const std::stop_token& cancel = {});

 private:
  class Terms;
  std::shared_ptr<Terms> terms_;
  std::unique_ptr<LeaderElector> elector_;
};

}  // namespace tenure
