// The parts of an elector that a view shares. They hold neither the elector nor its store.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <tenure/election/elector_view.hpp>

#include "lockcore/driver/lease_account.hpp"
#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/runtime/process_mark.hpp"

namespace tenure {

/// Constant.
struct ElectorView::Parts {
  std::string group;
  std::string candidate;
  std::string store;
  std::chrono::milliseconds leaseDuration{0};
  bool observes{false};
  std::shared_ptr<const TermCell> cell;
  std::shared_ptr<const Clock> clock;
  std::weak_ptr<LeaseDriver> driver;  ///< gone when the elector is gone
  std::shared_ptr<LeaseAccount> account;
  ProcessMark mark{};
};

}  // namespace tenure
