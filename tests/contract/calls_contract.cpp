// How calls are answered: once, never inline, in time, also when the store is destroyed. And what a read may return.
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;

LeaseKey keyNumber(int number) { return {"lease-" + std::to_string(number)}; }

/// Whether the store told the truth about a write that was sent into an absent lease.
testing::AssertionResult keptItsWord(const WriteOutcome& outcome, const RecordVersion& sent,
                                     const std::optional<LeaseRecord>& stored) {
  const bool landed = stored && stored->version == sent;
  if (std::holds_alternative<Applied>(outcome) && !landed) {
    return testing::AssertionFailure() << "answered Applied, but the write is not there";
  }
  if (std::holds_alternative<Rejected>(outcome) && landed) {
    return testing::AssertionFailure() << "answered " << describe(outcome) << ", but the write was applied";
  }
  if (std::holds_alternative<Conflict>(outcome)) {
    return testing::AssertionFailure() << "answered " << describe(outcome) << ", but nobody else wrote";
  }
  return testing::AssertionSuccess();
}

}  // namespace

TEST_P(StoreContract, describesItselfInOneLineForPeople) {
  const std::string text = store().raw().describe();
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST_P(StoreContract, answersEveryKindOfCallOnceAndNeverInline) {
  const LeaseKey key{"lease"};
  for (int round = 0; round < 20; ++round) {
    store().ensureSchema();
    const auto current = store().read(key);
    const Applied taken =
        store().apply(acquire(key, "a", current ? std::vector{current->version} : std::vector<RecordVersion>{}));
    EXPECT_TRUE(std::holds_alternative<Applied>(store().requestStepDown(key, taken.token)));
    EXPECT_EQ(store().list("lease").size(), 1U);
  }
}  // TearDown checks the answers

TEST_P(StoreContract, answersConcurrentCallersEachWithTheirOwnOutcome) {
  constexpr int callers = 8;
  constexpr int rounds = 25;
  std::vector<std::thread> threads;
  std::array<int, callers> failures{};
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      const StoreCalls& handle = caller % 2 == 0 ? store() : other();
      const LeaseKey key = keyNumber(caller);
      const std::string holder = "holder-" + std::to_string(caller);
      for (int round = 0; round < rounds; ++round) {
        const auto written = handle.startWrite(acquire({key.name, std::to_string(round)}, holder));
        const auto read = handle.startRead(LeaseKey{"nothing-here"});
        const auto absent = read->get();
        if (!std::holds_alternative<Applied>(written->get())) ++failures[static_cast<std::size_t>(caller)];
        if (absent.has_error() || absent->has_value()) ++failures[static_cast<std::size_t>(caller)];
        if (handle.record({key.name, std::to_string(round)}).holder != holder) {
          ++failures[static_cast<std::size_t>(caller)];
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, (std::array<int, callers>{}));
  EXPECT_EQ(store().list("lease-").size(), std::size_t{callers * rounds});
}

TEST_P(StoreContract, ensuresTheSchemaRepeatedlyAndFromSeveralHandlesAtOnce) {
  const Applied before = store().apply(acquire({"lease"}, "a"));
  std::vector<Pending<StoreStatus>> pending;
  for (int round = 0; round < 10; ++round) {
    pending.push_back(store().startEnsureSchema());
    pending.push_back(other().startEnsureSchema());
  }
  for (const auto& status : pending) EXPECT_TRUE(status->get().has_value());
  EXPECT_EQ(store().record({"lease"}).token, before.token) << "ensureSchema must not touch what is there";
}

TEST_P(StoreContract, answersInTimeOrSaysWhyAlsoWithoutAnyTime) {
  int number = 0;
  for (const std::chrono::nanoseconds timeout : {-1'000'000ns, 0ns, 1ns, 1'000ns, 1'000'000ns, 10'000'000ns}) {
    SCOPED_TRACE(std::to_string(timeout.count()) + " ns");
    const LeaseKey key = keyNumber(++number);
    const WriteRequest request = acquire(key, "a");
    const RecordVersion sent = request.record.version;
    const WriteOutcome outcome = store().startWrite(request, timeout)->get();
    EXPECT_TRUE(keptItsWord(outcome, sent, other().read(key))) << describe(outcome);
    const ReadOutcome read = store().startRead(key, timeout)->get();
    if (read.has_error()) {
      EXPECT_EQ(read.error().errorClass, ErrorClass::transient) << read.error().message;
    }
    const ListOutcome listed = store().startList("lease-", timeout)->get();
    if (listed.has_error()) {
      EXPECT_EQ(listed.error().errorClass, ErrorClass::transient) << listed.error().message;
    }
    const StoreStatus schema = store().startEnsureSchema(timeout)->get();
    if (schema.has_error()) {
      EXPECT_EQ(schema.error().errorClass, ErrorClass::transient) << schema.error().message;
    }
    const WriteOutcome stepDown = store().startStepDown(keyNumber(1'000), {FencingToken{1}}, timeout)->get();
    EXPECT_FALSE(std::holds_alternative<Applied>(stepDown)) << "there is no such lease";
  }
}

TEST_P(StoreContract, answersEveryCallAndTellsTheTruthWhenDestroyedInFlight) {
  struct Sent {
    LeaseKey key;
    RecordVersion version;
    Pending<WriteOutcome> outcome;
  };
  for (int round = 0; round < 10; ++round) {
    StoreCalls doomed = openMore();
    std::vector<Sent> sent;
    std::vector<Pending<ReadOutcome>> reads;
    for (int i = 0; i < 20; ++i) {
      WriteRequest request = acquire(keyNumber(round * 100 + i), "a");
      const RecordVersion version = request.record.version;
      const LeaseKey key = request.key;
      sent.push_back({key, version, doomed.startWrite(std::move(request))});
      reads.push_back(doomed.startRead(key));
    }
    doomed.drop();
    for (const Sent& write : sent) {
      const WriteOutcome outcome = write.outcome->get();
      EXPECT_TRUE(keptItsWord(outcome, write.version, store().read(write.key)));
    }
    for (const auto& read : reads) {
      const ReadOutcome outcome = read->get();
      if (outcome.has_error()) {
        EXPECT_EQ(outcome.error().errorClass, ErrorClass::transient);
      }
    }
  }
}

TEST_P(StoreContract, mayBeDroppedByAHandler) {
  const LeaseKey key{"lease"};
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<LeaseStore> last = fixture().open();
    auto done = std::make_shared<Reply<ReadOutcome>>("read whose handler drops the store");
    LeaseStore& raw = *last;
    auto slot = std::make_shared<std::shared_ptr<LeaseStore>>(std::move(last));
    raw.read(key, {patience}, [slot, done](ReadOutcome outcome) {
      slot->reset();
      done->answer(std::move(outcome));
    });
    EXPECT_TRUE(done->get().has_value());
  }
}

TEST_P(StoreContract, readsNothingWhereNothingIs) {
  EXPECT_EQ(store().read({"nothing"}), std::nullopt);
  EXPECT_EQ(store().read({"nothing", "here"}), std::nullopt);
  EXPECT_TRUE(store().list("").empty());
}

TEST_P(StoreContract, readsWhatAnotherHandleHasWrittenAsSoonAsThatIsAnswered) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  for (int round = 0; round < 100; ++round) {
    const StoreCalls& writer = round % 2 == 0 ? store() : other();
    const StoreCalls& reader = round % 2 == 0 ? other() : store();
    WriteRequest request = renew(key, "a", {reader.record(key).version});
    const RecordVersion written = request.record.version;
    writer.apply(std::move(request));
    ASSERT_EQ(reader.record(key).version, written) << "round " << round;
  }
}

TEST_P(StoreDurableContract, keepsRecordsAndTokensWhenAllHandlesAreGone) {
  const LeaseKey key{"lease", "sort"};
  StoreCalls first = openMore();
  const Applied taken = first.apply(acquire(key, "a"));
  first.apply(release(key, "a", {first.record(key).version}));
  const LeaseRecord before = first.record(key);
  first.drop();
  dropHandles();
  const StoreCalls later = openMore();
  EXPECT_TRUE(sameRecord(later.record(key), before));
  EXPECT_GT(later.apply(acquire(key, "b", {before.version})).token, taken.token);
}

}  // namespace tenure::contract
