// How an operator's command gets the lease of a group: what it does not take.
#include "cli/operate/operator_lease.hpp"

#include <gtest/gtest.h>

#include <tenure/election/listener.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "cli/group/store_calls.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

/// Somebody pauses the group while the command waits for its leader.
TEST(OperatorLease, APauseThatComesMeanwhileEndsTheWaitAndIsNotAskedToStepDown) {
  const LeaseOfGroup lease{LeaseKey{"billing"}, makeMemoryStore()};
  unsigned attempts = 0;
  testing::internal::CaptureStderr();
  const int code = takeFromLeaders(lease, 500ms, [&](std::chrono::milliseconds) -> LockResult<void> {
    if (++attempts == 1) {
      const std::string owner = pauseOwner({.by = "bob@db-1", .why = "new disks"});
      EXPECT_TRUE(LockTokens{lease.store}.acquire(lease.key, {.lease = 60s, .owner = owner}).has_value());
    }
    return LockError{LockErrc::held, "somebody else has it"};
  });
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, exitBusy);
  EXPECT_EQ(attempts, 1U);
  EXPECT_NE(told.find("the group is paused by bob@db-1"), std::string::npos) << told;
  EXPECT_NE(told.find("Give the command again after tenure resume"), std::string::npos) << told;
  EXPECT_EQ(told.find("step down"), std::string::npos) << told;
}

/// It answers no read.
class HangingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler /*handler*/) override {}
};

TEST(OperatorLease, AStoreThatHangsDoesNotLengthenTheWait) {
  const LeaseOfGroup lease{LeaseKey{"billing"}, std::make_shared<HangingStore>(makeMemoryStore())};
  const Instant began = readClock();
  const int code = takeFromLeaders(lease, 300ms, [](std::chrono::milliseconds) -> LockResult<void> {
    return LockError{LockErrc::held, "somebody else has it"};
  });
  EXPECT_EQ(code, exitStore);
  EXPECT_LT(elapsedForHolder(began, readClock()), 2s) << "a call without a bound has five seconds";
}

}  // namespace
}  // namespace tenure::cli
