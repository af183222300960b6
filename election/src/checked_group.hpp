// A group's options with what their check found, for callers that check them before there is a store.
#pragma once

#include <memory>
#include <optional>

#include <boost/system/result.hpp>

#include <tenure/election/group.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

struct TENURE_API CheckedGroup {
  explicit CheckedGroup(GroupOptions given);

  GroupOptions options;
  OptionFaults faults{};
  std::optional<LeaseTiming> timing{};  ///< if it has no fault

  /// As Group::make.
  [[nodiscard]] boost::system::result<Group, OptionFaults> with(std::shared_ptr<LeaseStore> store, Logger logger) &&;
};

}  // namespace tenure
