// What a Leadership shares with its elector.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/driver/watchdog.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/stop_signal.hpp"

namespace tenure {

/// Everything but the stop signal and the watch is constant after construction.
struct TermHandle {
  TermHandle(std::string lease, std::string candidate, FencingToken number, std::shared_ptr<const TermCell> published,
             std::weak_ptr<LeaseDriver> drivenBy, std::shared_ptr<const Clock> electorsClock)
      : leaseName{std::move(lease)},
        holder{std::move(candidate)},
        token{number},
        cell{std::move(published)},
        driver{std::move(drivenBy)},
        clock{std::move(electorsClock)} {}

  std::string leaseName;
  std::string holder;
  FencingToken token;
  std::shared_ptr<const TermCell> cell;
  std::weak_ptr<LeaseDriver> driver;  ///< gone when the elector is gone
  std::shared_ptr<const Clock> clock;
  ProcessMark mark{};
  StopSignal stop{};
  /// For the watchdog, which may use it after this object is gone.
  const std::shared_ptr<std::atomic<bool>> ended{std::make_shared<std::atomic<bool>>(false)};
  std::shared_ptr<TermWatch> watch{};  ///< until the work has ended; used by the one that ends the term

  /// The published state if it is still about this term, else "no term". In a forked child it is always "no term".
  [[nodiscard]] TermState state() const noexcept {
    if (!mark.isHere()) return {};
    const TermState now = cell->load();
    return now.token == token ? now : TermState{};
  }
};

}  // namespace tenure
