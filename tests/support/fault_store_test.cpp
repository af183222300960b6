// What a fault means to the caller and to the record, which the tests with faults rely on.
#include "support/fault_store.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

std::string nameOf(const WriteOutcome& outcome) {
  if (std::holds_alternative<Applied>(outcome)) return "applied ";
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) return conflict->current ? "conflict " : "hidden ";
  return std::holds_alternative<Rejected>(outcome) ? "rejected " : "unknown ";
}

class FaultStoreTest : public testing::Test {
 protected:
  /// What the caller is told while no time passes.
  std::string call(const std::function<void()>& begin) {
    told.clear();
    try {
      begin();
      EXPECT_EQ(told, "") << "inside the call";
    } catch (const std::runtime_error&) {
      told = "threw ";
    } catch (int) {
      told = "threw oddly ";
    }
    scheduler->runReady();
    return told;
  }
  /// A write of version `version`, which expects the version before it.
  std::string write(int version, WriteRequest::Purpose purpose = WriteRequest::Purpose::acquire) {
    WriteRequest request{key, purpose, {}, {}};
    if (version > 1) request.expected = {RecordVersion{std::to_string(version - 1)}};
    request.record.holder = "a";
    request.record.version = RecordVersion{std::to_string(version)};
    request.record.leaseDuration = 10s;
    return call([&] { store.write(request, {}, [this](const WriteOutcome& outcome) { told += nameOf(outcome); }); });
  }
  std::string read() {
    return call([&] {
      store.read(key, {},
                 [this](const ReadOutcome& found) { told += found ? "record " : found.error().message + ' '; });
    });
  }
  /// The version that is stored; empty if there is no record.
  std::string stored() {
    std::string version;
    memory->read(key, {}, [&](const ReadOutcome& found) { version = *found ? (*found)->version.text() : ""; });
    scheduler->runReady();
    return version;
  }

  const LeaseKey key{"lease"};
  const std::shared_ptr<ManualScheduler> scheduler{std::make_shared<ManualScheduler>()};
  const std::shared_ptr<LeaseStore> memory{makeMemoryStore(scheduler)};
  FaultStore store{memory, scheduler};
  std::string told{};
};

struct Meaning {
  Fault fault;
  std::string writer;  // is told
  bool applied;
  std::string reader;
};

TEST_F(FaultStoreTest, eachFaultMeansWhatItSays) {
  const std::string error = "injected fault ";
  const Meaning all[] = {
      {Fault::none, "applied ", true, "record "},
      {Fault::throws, "threw ", false, "threw "},
      {Fault::throwsOddly, "threw oddly ", false, "threw oddly "},
      {Fault::throwsApplied, "threw ", true, "threw "},
      {Fault::rejected, "rejected ", false, error},
      {Fault::unknownApplied, "unknown ", true, error},
      {Fault::unknownLost, "unknown ", false, error},
      {Fault::conflict, "conflict ", false, error},
      {Fault::conflictHidden, "hidden ", false, error},
      {Fault::neverApplied, "", true, ""},
      {Fault::neverLost, "", false, ""},
      {Fault::answeredTwice, "applied applied ", true, "record record "},
      {Fault::answeredLate, "", true, ""},
  };
  int version = 0;
  for (const Meaning& meaning : all) {
    SCOPED_TRACE(static_cast<int>(meaning.fault));
    store.setAll(meaning.fault);
    EXPECT_EQ(write(version + 1), meaning.writer);
    if (meaning.applied) ++version;
    EXPECT_EQ(stored(), std::to_string(version));
    EXPECT_EQ(read(), meaning.reader);
  }
}

TEST_F(FaultStoreTest, aLateAnswerComesAfterTheDelay) {
  store.delayBy(3s);
  store.set(Operation::acquire, Fault::answeredLate);
  EXPECT_EQ(write(1), "");
  scheduler->advance(3s - 1ns);
  EXPECT_EQ(told, "");
  scheduler->advance(1ns);
  EXPECT_EQ(told, "applied ");
}

TEST_F(FaultStoreTest, aFaultIsOfOneOperationOrOfOneCall) {
  store.setError({ErrorClass::corrupt, "of another kind"});
  store.set(Operation::read, Fault::rejected);
  store.failAt(3, Fault::rejected, ErrorClass::throttled);
  EXPECT_EQ(write(1), "applied ");
  EXPECT_EQ(read(), "of another kind ");
  EXPECT_EQ(write(2), "rejected ") << "the third call";
  EXPECT_EQ(write(2), "applied ");
  EXPECT_EQ(store.calls(Operation::acquire), 3U);
  EXPECT_EQ(store.calls(), 4U);
  store.setAll(Fault::neverLost);
  store.writeNow({key, WriteRequest::Purpose::acquire, {RecordVersion{"2"}}, LeaseRecord{"b", RecordVersion{"3"}, 1s}});
  EXPECT_EQ(stored(), "3");
  EXPECT_EQ(store.calls(), 4U) << "that was none";
}

TEST_F(FaultStoreTest, aLossyOneLosesEveryOtherAnswerToARenewalAndHidesRecords) {
  store.beLossy();
  EXPECT_EQ(write(1), "applied ");
  EXPECT_EQ(write(2, WriteRequest::Purpose::renew), "applied ");
  EXPECT_EQ(write(3, WriteRequest::Purpose::renew), "unknown ");
  EXPECT_EQ(stored(), "3") << "though it was applied";
  EXPECT_EQ(write(3, WriteRequest::Purpose::renew), "hidden ");
  EXPECT_EQ(write(4, WriteRequest::Purpose::renew), "unknown ");
}

TEST_F(FaultStoreTest, watchesAreThoseOfTheStoreBehindUnlessTheTestHasItsOwn) {
  EXPECT_TRUE(store.watch(key, [] {}));
  int asked = 0;
  store.onWatch = [&](const auto&) { return ++asked, nullptr; };
  store.onWatchLoss = [&] { ++asked; };
  store.onDeathNotice = [&] { return ++asked, nullptr; };
  EXPECT_FALSE(store.watch(key, [] {}));
  EXPECT_FALSE(store.watchLoss([] {}));
  EXPECT_FALSE(store.deathNotice());
  EXPECT_EQ(asked, 3);
}

TEST_F(FaultStoreTest, aTestMayThrowWhereTheStoreIsAskedAboutItself) {
  EXPECT_EQ(store.describe(), "memory (single process)");
  EXPECT_EQ(store.faultsOfPayload(key, {}, {{"", "nameless"}}).size(), 1U);
  store.onDescribe = store.onFaultsOfPayload = [] { throw std::runtime_error{"injected"}; };
  EXPECT_THROW(static_cast<void>(store.describe()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(store.faultsOfPayload(key, {}, {})), std::runtime_error);
}

}  // namespace
}  // namespace tenure::test
