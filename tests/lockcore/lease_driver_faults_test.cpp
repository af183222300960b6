// Runs each script of a candidate's life again with each kind of fault at each call to the store.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/driver_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

struct Script {
  const char* name;
  std::function<void(DriverWorld&)> run;
  bool stops;          // it ends with Stop
  bool termMustStand;  // it never gives the term up, and no single fault may end the term
};

const std::vector<Script>& scripts() {
  static const std::vector<Script> all{
      {"acquire an absent record", [](DriverWorld& w) { w.start(), w.pass(2s); }, false, true},
      {"acquire a released record", [](DriverWorld& w) { w.putOther(true), w.start(), w.pass(2s); }, false, true},
      {"renew", [](DriverWorld& w) { w.start(), w.pass(20s); }, false, true},
      {"renew with lost replies", [](DriverWorld& w) { w.store->beLossy(), w.start(), w.pass(20s); }, false, true},
      {"take over", [](DriverWorld& w) { w.putOther(), w.start(), w.pass(25s); }, false, true},
      {"step down",
       [](DriverWorld& w) {
         w.start(), w.pass(4s);
         w.driver->submit(event::StepDown{"for a test"});
         w.pass(16s);
       },
       false, false},
      {"step down for an operator",
       [](DriverWorld& w) {
         w.start(), w.pass(1s);
         if (!w.tokens.empty()) w.store->requestStepDownNow(w.key, w.tokens.back());
         w.pass(16s);
       },
       false, false},
      {"stop",
       [](DriverWorld& w) {
         w.start(), w.pass(4s);
         w.driver->submit(event::Stop{});
         w.pass(1s);
       },
       true, true},
      {"stop while acquiring",
       [](DriverWorld& w) {
         w.start();
         while (w.driver->status().state != LeaseState::acquiring && w.scheduler->advanceToNextTimer()) continue;
         w.driver->submit(event::Stop{});
         w.pass(1s);
       },
       true, true},
      {"stop a candidate",
       [](DriverWorld& w) {
         w.putOther(), w.start(), w.pass(4s);
         w.driver->submit(event::Stop{});
         w.pass(1s);
       },
       true, true},
  };
  return all;
}

struct Injection {
  const char* name;
  Fault fault;
  ErrorClass errorClass;
  bool isError;  // status() must show it
};

const std::vector<Injection>& injections() {
  static const std::vector<Injection> all{
      {"throws", Fault::throws, ErrorClass::transient, true},
      {"throws oddly", Fault::throwsOddly, ErrorClass::transient, true},
      {"throws, applied", Fault::throwsApplied, ErrorClass::transient, true},
      {"transient", Fault::rejected, ErrorClass::transient, true},
      {"throttled", Fault::rejected, ErrorClass::throttled, true},
      {"credentials", Fault::rejected, ErrorClass::credentials, true},
      {"misconfigured", Fault::rejected, ErrorClass::misconfigured, true},
      {"corrupt", Fault::rejected, ErrorClass::corrupt, true},
      {"unknown, applied", Fault::unknownApplied, ErrorClass::transient, true},
      {"unknown, not applied", Fault::unknownLost, ErrorClass::transient, true},
      {"conflict", Fault::conflict, ErrorClass::transient, false},
      {"conflict without the record", Fault::conflictHidden, ErrorClass::transient, false},
      {"never answered, applied", Fault::neverApplied, ErrorClass::transient, true},
      {"never answered, lost", Fault::neverLost, ErrorClass::transient, true},
      {"answered twice", Fault::answeredTwice, ErrorClass::transient, false},
      {"answered late", Fault::answeredLate, ErrorClass::transient, false},
  };
  return all;
}

std::size_t callsOf(const Script& script) {
  DriverWorld world;
  script.run(world);
  return world.store->calls();
}

void checkTerms(const DriverWorld& world) {
  EXPECT_LE(world.revocations.size(), world.tokens.size());
  EXPECT_LE(world.tokens.size(), world.revocations.size() + 1) << "a second term inside the first";
  for (std::size_t i = 0; i < world.tokens.size(); ++i) {
    if (i > 0) {
      EXPECT_GT(world.tokens[i], world.tokens[i - 1]);
    }
    if (i < world.revocations.size()) {
      EXPECT_EQ(world.revocations[i].token, world.tokens[i]);
    }
  }
}

void checkStopped(DriverWorld& world, const Injection& injected) {
  ASSERT_EQ(world.stops.size(), 1U);
  EXPECT_EQ(world.revocations.size(), world.tokens.size());
  EXPECT_EQ(world.driver->status().state, LeaseState::stopped);
  EXPECT_FALSE(world.driver->term()->load().validAt(world.scheduler->now()));
  // A false conflict makes it believe that the record is not its own; then the lease runs out by itself.
  const bool lied = injected.fault == Fault::conflict || injected.fault == Fault::conflictHidden;
  const auto record = world.stored();
  const bool heldBySelf = record && record->holder == selfName && !record->released;
  EXPECT_TRUE(!heldBySelf || lied) << "not released";
}

TEST(LeaseDriverFaults, everyScriptWithEveryFaultAtEveryCall) {
  std::size_t runs = 0;
  for (const Script& script : scripts()) {
    const std::size_t calls = callsOf(script);
    ASSERT_GE(calls, 1U) << script.name;
    for (std::size_t call = 1; call <= calls; ++call) {
      for (const Injection& injected : injections()) {
        SCOPED_TRACE(std::string{script.name} + ", call " + std::to_string(call) + " of " + std::to_string(calls) +
                     ": " + injected.name);
        DriverWorld world{call};
        world.store->failAt(call, injected.fault, injected.errorClass);
        script.run(world);
        world.pass(60s);
        ++runs;
        checkTerms(world);
        if (script.termMustStand && !script.stops) {
          EXPECT_TRUE(world.revocations.empty());
        }
        // At the first read the tables may just not exist yet. If they are known to be in order, this is no error.
        const bool asIfTablesToCome = call == 1 && injected.errorClass == ErrorClass::misconfigured;
        if (injected.isError && !script.stops && !asIfTablesToCome) {
          EXPECT_TRUE(world.driver->status().lastError.has_value());
        }
        if (script.stops) {
          checkStopped(world, injected);
        } else {
          EXPECT_TRUE(world.leads()) << "the candidacy must go on";
          EXPECT_EQ(world.driver->status().state, LeaseState::leading);
        }
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GE(runs, 600U);
}

}  // namespace
}  // namespace tenure::test
