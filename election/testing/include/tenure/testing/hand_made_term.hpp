// A term of leadership without an elector, for tests of what works under one.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure::test {

struct HandMadeTermOptions {
  FencingToken token{1};
  std::string leaseName{"lease"};
  std::string holder{"candidate#1"};
  /// The time that it leads unless it is renewed, 0 or more. More than 73 years are taken as 73 years.
  std::chrono::nanoseconds leadsFor{std::chrono::hours{1}};
  /// How much longer its lease stays valid then, for the work to end, from 0 on.
  std::chrono::nanoseconds stopMargin{std::chrono::seconds{1}};
  /// By which this is judged: that of a ManualScheduler, or the system's. Not null.
  std::shared_ptr<const Clock> clock{systemClock()};
};

/// Give `leadership()` to the code under test, as onElected gives it. Its token, clock and stop token behave as those
/// of an elector's term. Reports (progress, stale tokens, documents) go nowhere, as after the end of an elector.
///
/// Threads: any; renew and the ends are calls of one thread at a time.
class TENURE_API HandMadeTerm {
 public:
  /// Throws std::invalid_argument for options out of range.
  explicit HandMadeTerm(HandMadeTermOptions options = {});
  ~HandMadeTerm();  ///< as lose()
  HandMadeTerm(const HandMadeTerm&) = delete;
  HandMadeTerm& operator=(const HandMadeTerm&) = delete;

  [[nodiscard]] const Leadership& leadership() const noexcept { return leadership_; }

  /// A heartbeat was acknowledged: from now on it leads for `leadsFor` again. Nothing after an end.
  void renew();
  /// The work is asked to stop, and the lease is still valid, as after stop() or a step-down. The stop callbacks run
  /// inside this call.
  void stop();
  /// Another candidate holds the lease: as stop(), and the lease is no longer valid.
  void lose();

 private:
  void publish(std::chrono::nanoseconds leadsFor, std::chrono::nanoseconds validFor);

  struct State;
  const HandMadeTermOptions options_;
  const std::shared_ptr<State> state_;
  const Leadership leadership_;
};

}  // namespace tenure::test
