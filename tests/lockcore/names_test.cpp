// The names of the enumerators, which logs, status and metrics show, and errors that become exceptions.
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/lease/lease_action.hpp"
#include "lockcore/lease/lease_machine.hpp"

namespace tenure::test {
namespace {

template <class Enum>
void expectNames(const std::vector<std::pair<Enum, std::string>>& names) {
  for (const auto& [value, name] : names) {
    EXPECT_EQ(toString(value), name);
    std::ostringstream out;
    out << value;
    EXPECT_EQ(out.str(), name);
  }
  EXPECT_EQ(toString(static_cast<Enum>(names.size())), "invalid") << "all enumerators are in the table";
}

TEST(Names, errorClasses) {
  expectNames<ErrorClass>({{ErrorClass::transient, "transient"},
                           {ErrorClass::throttled, "throttled"},
                           {ErrorClass::credentials, "credentials"},
                           {ErrorClass::misconfigured, "misconfigured"},
                           {ErrorClass::corrupt, "corrupt"}});
}

TEST(Names, revokeReasons) {
  expectNames<RevokeReason>({{RevokeReason::stopped, "stopped"},
                             {RevokeReason::steppedDown, "steppedDown"},
                             {RevokeReason::expired, "expired"},
                             {RevokeReason::lost, "lost"},
                             {RevokeReason::recordMissing, "recordMissing"},
                             {RevokeReason::storeUnreachable, "storeUnreachable"},
                             {RevokeReason::fatal, "fatal"},
                             {RevokeReason::notStarted, "notStarted"}});
}

TEST(Names, releaseResults) {
  expectNames<ReleaseResult>({{ReleaseResult::notHeld, "notHeld"},
                              {ReleaseResult::released, "released"},
                              {ReleaseResult::notDrained, "notDrained"},
                              {ReleaseResult::unknown, "unknown"},
                              {ReleaseResult::shared, "shared"}});
}

TEST(Names, leaseStates) {
  expectNames<LeaseState>({{LeaseState::idle, "idle"},
                           {LeaseState::candidate, "candidate"},
                           {LeaseState::acquiring, "acquiring"},
                           {LeaseState::leading, "leading"},
                           {LeaseState::draining, "draining"},
                           {LeaseState::releasing, "releasing"},
                           {LeaseState::stopped, "stopped"}});
}

/// The exception that value() of a result with this error throws.
template <class Exception, class Error>
std::string thrownFor(const Error& error) {
  const boost::system::result<int, Error> wrong{error};
  try {
    return "no exception, but " + std::to_string(wrong.value());
  } catch (const Exception& thrown) {
    return thrown.what();
  }
}

TEST(Errors, valueOfAStoreErrorThrowsItsMessage) {
  EXPECT_EQ(thrownFor<std::runtime_error>(StoreError{ErrorClass::corrupt, "record x is torn"}), "record x is torn");
  const StoreResult<int> good{7};
  EXPECT_EQ(good.value(), 7);
}

TEST(Errors, valueOfOptionFaultsThrowsThemAll) {
  const OptionFaults faults{{"lease.clockMargin", "is odd"}, {"store.path", "is missing"}};
  EXPECT_EQ(thrownFor<std::invalid_argument>(faults), "lease.clockMargin: is odd\nstore.path: is missing");
  EXPECT_EQ(thrownFor<std::invalid_argument>(OptionFaults{{"a", "b"}}), "a: b");
}

TEST(Errors, valueOfAFenceErrorThrowsItsMessage) {
  EXPECT_EQ(thrownFor<std::runtime_error>(FenceError{StaleToken{FencingToken{1}, FencingToken{2}}, "too late"}),
            "too late");
}

}  // namespace
}  // namespace tenure::test
