// How a write over a register becomes loads and swaps, whatever the register answers.
#include "lockcore/stored/register_write.hpp"

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tenure/lockcore/runtime.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/stored/register_store.hpp"

namespace tenure::test {
namespace {

using stored::Counter;
using stored::Differs;
using stored::LoadedLease;
using stored::StoredLease;
using stored::StoredRecord;
using stored::Swapped;

const StoreError cut{ErrorClass::transient, "the line was cut"};
const StoreError strange{ErrorClass::corrupt, "the record is not understood"};

LoadedLease leaseOf(const std::string& holder, const std::string& version, bool released = false) {
  LeaseRecord record;
  record.holder = holder;
  record.version = RecordVersion{version};
  record.token = FencingToken{7};
  record.leaseDuration = std::chrono::seconds{10};
  record.released = released;
  StoredLease lease;
  lease.record = std::optional{StoredRecord{record}};
  lease.counter = Counter{FencingToken{7}, record.leaseDuration};
  return std::make_shared<const StoredLease>(lease);
}

LoadedLease notUnderstood() {
  StoredLease lease;
  lease.record = strange;
  return std::make_shared<const StoredLease>(lease);
}

/// Answers as the test says, in order, and notes what it was asked for.
class ScriptedRegister final : public stored::Register, public stored::RegisterExtras {
 public:
  [[nodiscard]] const std::string& where() const noexcept override { return where_; }
  void prepare(const CallDeadline&, StatusHandler) override {}
  void load(const stored::RegisterCall&, stored::LoadHandler handler) override {
    asked += 'l';
    scheduler->post([handler, answer = take(loads)] { handler(answer); });
  }
  void swap(const stored::RegisterCall&, const LoadedLease& seen, stored::Change,
            stored::SwapHandler handler) override {
    asked += 's';
    lastSeen = seen;
    scheduler->post([handler, answer = take(swaps)] { handler(answer); });
  }
  void scan(const std::string&, const std::string&, const CallDeadline&, stored::ScanHandler) override {}

  [[nodiscard]] bool keepsReads() const noexcept override { return keeps; }
  [[nodiscard]] std::size_t mostPayload() const noexcept override { return most; }

  bool keeps{false};
  std::size_t most{10};
  std::shared_ptr<ManualScheduler> scheduler = std::make_shared<ManualScheduler>();
  std::deque<StoreResult<LoadedLease>> loads{};
  std::deque<stored::SwapOutcome> swaps{};
  std::string asked{};
  LoadedLease lastSeen{};

 private:
  template <class Answer>
  static Answer take(std::deque<Answer>& from) {
    Answer answer = std::move(from.front());
    from.pop_front();
    return answer;
  }
  const std::string where_{"script"};
};

class RegisterWriteTest : public testing::Test {
 protected:
  /// One write of alice, who holds the lease by this version or wants it.
  WriteOutcome write(WriteRequest::Purpose purpose, const std::string& expected) {
    WriteRequest request{.key = {"lease"}, .purpose = purpose, .expected = {RecordVersion{expected}}};
    request.record.holder = "alice";
    request.record.version = RecordVersion{"new"};
    request.record.leaseDuration = std::chrono::seconds{10};
    std::optional<WriteOutcome> outcome;
    store_->write(request, {std::chrono::seconds{1}}, [&](WriteOutcome answer) { outcome = std::move(answer); });
    script_->scheduler->runReady();
    EXPECT_TRUE(outcome);
    return outcome.value_or(Unknown{});
  }
  void read() {
    store_->read({"lease"}, {std::chrono::seconds{1}}, [](const ReadOutcome&) {});
    script_->scheduler->runReady();
  }
  WriteOutcome renew() { return write(WriteRequest::Purpose::renew, "v1"); }
  WriteOutcome acquire() { return write(WriteRequest::Purpose::acquire, "v1"); }

  const std::shared_ptr<ScriptedRegister> script_ = std::make_shared<ScriptedRegister>();
  const std::shared_ptr<LeaseStore> store_ =
      stored::makeRegisterStore({.leases = script_, .scheduler = script_->scheduler, .extras = script_});
};

TEST_F(RegisterWriteTest, aHolderThatHasWrittenRenewsWithoutAReading) {
  script_->loads = {leaseOf("bob", "v1", true)};
  const LoadedLease won = leaseOf("alice", "v1");
  script_->swaps = {Swapped{won}, Swapped{leaseOf("alice", "v2")}};
  EXPECT_TRUE(std::holds_alternative<Applied>(acquire()));
  EXPECT_TRUE(std::holds_alternative<Applied>(renew()));
  EXPECT_EQ(script_->asked, "lss");
  EXPECT_EQ(script_->lastSeen, won);
}

TEST_F(RegisterWriteTest, whatTheProcessRemembersRefusesNothing) {
  script_->loads = {leaseOf("bob", "v1", true), leaseOf("alice", "v1")};
  script_->swaps = {Swapped{leaseOf("alice", "v0")}, Swapped{leaseOf("alice", "v2")}};
  EXPECT_TRUE(std::holds_alternative<Applied>(acquire()));
  EXPECT_TRUE(std::holds_alternative<Applied>(renew())) << "the version that it remembers is not the expected one";
  EXPECT_EQ(script_->asked, "lsls");
}

TEST_F(RegisterWriteTest, whereSomethingElseWasChangedTheSwapIsMadeAgain) {
  script_->loads = {leaseOf("alice", "v1"), leaseOf("alice", "v1")};
  const LoadedLease shown = leaseOf("alice", "v1");
  script_->swaps = {Differs{}, Differs{shown}, Swapped{leaseOf("alice", "new")}};
  EXPECT_TRUE(std::holds_alternative<Applied>(renew()));
  EXPECT_EQ(script_->asked, "lslss") << "it is loaded where the server did not show it";
  EXPECT_EQ(script_->lastSeen, shown);
}

TEST_F(RegisterWriteTest, whereItIsChangedAllTheTimeItIsCertainlyNotWritten) {
  script_->loads = {leaseOf("alice", "v1")};
  for (int i = 0; i < 8; ++i) script_->swaps.emplace_back(Differs{leaseOf("alice", "v1"), true});
  const WriteOutcome outcome = renew();
  ASSERT_TRUE(std::holds_alternative<Rejected>(outcome));
  EXPECT_EQ(std::get<Rejected>(outcome).error.message,
            "script: renewing lease lease: others keep changing it; it is tried again");
}

TEST_F(RegisterWriteTest, aCopyThatMayHaveBeenCarriedOutIsNotCalledRefused) {
  script_->loads = {leaseOf("alice", "v1"), cut};
  script_->swaps = {Differs{nullptr, true}};
  EXPECT_TRUE(std::holds_alternative<Unknown>(renew())) << "nobody saw what is stored now";
  script_->loads = {leaseOf("alice", "v1"), notUnderstood()};
  script_->swaps = {Differs{nullptr, true}};
  EXPECT_TRUE(std::holds_alternative<Unknown>(renew())) << "what is stored now is not understood";
  script_->loads = {leaseOf("alice", "v1"), leaseOf("alice", "new")};
  script_->swaps = {Differs{nullptr, true}};
  const WriteOutcome conflict = renew();
  ASSERT_TRUE(std::holds_alternative<Conflict>(conflict));
  EXPECT_EQ((*std::get<Conflict>(conflict).current)->version, RecordVersion{"new"}) << "the caller knows its version";
}

TEST_F(RegisterWriteTest, withoutAnAnswerToTheFirstReadingNothingWasWritten) {
  script_->loads = {cut, notUnderstood()};
  EXPECT_TRUE(std::holds_alternative<Rejected>(renew()));
  EXPECT_TRUE(std::holds_alternative<Rejected>(renew()));
  EXPECT_EQ(script_->asked, "ll");
}

/// Where nothing at all is stored, the counter is made first, under a condition that can hold only once.
TEST_F(RegisterWriteTest, theCounterComesBeforeTheFirstRecordAndItsLossLeavesNoDoubt) {
  StoredLease nothing;
  nothing.nothing = true;
  const auto absent = std::make_shared<const StoredLease>(nothing);
  const auto acquireFirst = [&] {
    WriteRequest request{.key = {"lease"}};
    request.record.holder = "alice";
    request.record.version = RecordVersion{"new"};
    request.record.leaseDuration = std::chrono::seconds{10};
    std::optional<WriteOutcome> outcome;
    store_->write(request, {std::chrono::seconds{1}}, [&](WriteOutcome answer) { outcome = std::move(answer); });
    script_->scheduler->runReady();
    return outcome.value();
  };
  script_->loads = {absent};
  script_->swaps = {Unknown{cut}};
  EXPECT_TRUE(std::holds_alternative<Rejected>(acquireFirst()));
  script_->loads = {absent};
  script_->swaps = {Swapped{std::make_shared<const StoredLease>()}, Unknown{cut}};
  EXPECT_TRUE(std::holds_alternative<Unknown>(acquireFirst()));
  EXPECT_EQ(script_->asked, "lslss");
}

TEST_F(RegisterWriteTest, whatWasReadIsKeptForTheAcquisitionThatFollows) {
  script_->keeps = true;
  script_->loads = {leaseOf("bob", "v1", true)};
  script_->swaps = {Swapped{leaseOf("alice", "v1")}, Swapped{leaseOf("alice", "v1", true)},
                    Swapped{leaseOf("alice", "v1")}};
  read();
  EXPECT_TRUE(std::holds_alternative<Applied>(acquire()));
  EXPECT_TRUE(std::holds_alternative<Applied>(write(WriteRequest::Purpose::release, "v1")));
  EXPECT_TRUE(std::holds_alternative<Applied>(acquire())) << "a lock that is handed over";
  EXPECT_EQ(script_->asked, "lsss");
}

TEST_F(RegisterWriteTest, whatWasReadIsNotKeptWhereTheRegisterKeepsNothing) {
  script_->loads = {leaseOf("bob", "v1", true), leaseOf("bob", "v1", true)};
  script_->swaps = {Swapped{leaseOf("alice", "v1")}};
  read();
  EXPECT_TRUE(std::holds_alternative<Applied>(acquire()));
  EXPECT_EQ(script_->asked, "lls");
}

TEST_F(RegisterWriteTest, aHolderInDoubtLearnsFromWhatItReads) {
  script_->keeps = true;
  script_->loads = {leaseOf("bob", "v1", true), leaseOf("alice", "v2")};
  script_->swaps = {Swapped{leaseOf("alice", "v1")}, Unknown{cut}, Swapped{leaseOf("alice", "v3")}};
  EXPECT_TRUE(std::holds_alternative<Applied>(acquire()));
  EXPECT_TRUE(std::holds_alternative<Unknown>(renew()));
  read();
  EXPECT_TRUE(std::holds_alternative<Applied>(write(WriteRequest::Purpose::renew, "v2")));
  EXPECT_EQ(script_->asked, "lssls");
}

TEST_F(RegisterWriteTest, aTermThatIsOverIsNotRenewedAndMayBeReleased) {
  StoredLease over = *leaseOf("alice", "v1");
  over.over = StoreError{ErrorClass::transient, "another candidate has announced that it takes the lease over"};
  const auto seen = std::make_shared<const StoredLease>(over);
  script_->loads = {seen, seen};
  script_->swaps = {Swapped{leaseOf("alice", "v1", true)}};
  const WriteOutcome refused = renew();
  ASSERT_TRUE(std::holds_alternative<Rejected>(refused)) << "nobody has the lease yet";
  EXPECT_EQ(std::get<Rejected>(refused).error, *over.over);
  EXPECT_TRUE(std::holds_alternative<Applied>(write(WriteRequest::Purpose::release, "v1")));
}

/// Of a store whose history changes when a standby is promoted.
TEST(Decisions, aVersionWithAHistoryNeedsThePresentOneAndAHoldersHasNone) {
  const auto change = [](WriteRequest::Purpose purpose, const char* history, bool inherited) {
    StoredLease seen = *leaseOf("alice", "v1");
    LeaseRecord& record = (*seen.record)->record;
    record.version = RecordVersion{"v1", "1/2"};
    record.inherited = seen.inherited = inherited;
    seen.history = "1/2";
    WriteRequest request{.key = {"lease"}, .purpose = purpose, .expected = {RecordVersion{"v1", history}}};
    request.record = record;
    const auto decision = stored::decideWrite("script", request, seen);
    const auto* made = std::get_if<stored::Change>(&decision);
    return made ? std::optional{*made} : std::nullopt;
  };
  const auto decided = [&](auto... about) { return change(about...).has_value(); };
  using Purpose = WriteRequest::Purpose;
  EXPECT_TRUE(decided(Purpose::acquire, "1/2", false));
  EXPECT_TRUE(decided(Purpose::acquire, "1/2", true)) << "it has waited";
  EXPECT_FALSE(decided(Purpose::acquire, "1/1", false)) << "it has waited in another history";
  EXPECT_TRUE(decided(Purpose::acquire, "", false));
  EXPECT_FALSE(decided(Purpose::acquire, "", true)) << "it does not know of it";
  for (const auto purpose : {Purpose::renew, Purpose::release}) {
    ASSERT_TRUE(decided(purpose, "", true)) << "a holder recognises what it wrote in any history";
    EXPECT_FALSE(change(purpose, "", true)->inHistory);
    EXPECT_FALSE(decided(purpose, "1/1", true)) << "it has read the version in another history";
    ASSERT_TRUE(decided(purpose, "1/2", true));
    EXPECT_TRUE(change(purpose, "1/2", true)->inHistory) << "the register is to see to it when it writes";
  }
}

TEST(Decisions, aStoreMayHaveAFloorOfItsOwnAndSayWhy) {
  StoredLease seen = *leaseOf("alice", "v1", true);
  seen.revision = 1'000;
  WriteRequest request{.key = {"lease"}, .expected = {RecordVersion{"v1"}}};
  request.record = (*seen.record)->record;
  const auto applied = [&] { return std::get<stored::Change>(stored::decideWrite("s", request, seen)).applied; };
  EXPECT_EQ(applied().token, FencingToken{1'001});
  EXPECT_EQ(applied().warning, "");
  seen.warning = "a standby was promoted";
  EXPECT_EQ(applied().warning, "a standby was promoted, so the tokens continue from 1001");
}

TEST(StoredLease, aRecordThatVanishedIsOfTheHistoryInWhichItWasRead) {
  StoredLease lease;
  lease.counter = Counter{FencingToken{7}, std::chrono::seconds{2}};
  lease.history = "1/2";
  lease.inherited = true;
  const auto told = lease.answer();
  ASSERT_TRUE(told.has_value() && *told);
  EXPECT_EQ((*told)->version.history(), "1/2");
  EXPECT_TRUE((*told)->inherited);
}

TEST(HeldStates, whatWasKeptLongestAgoIsForgotten) {
  using States = stored::HeldStates<int>;
  States states;
  const auto key = [](int i) { return LeaseKey{"lease", std::to_string(i)}; };
  const int many = static_cast<int>(States::most) + 10;
  for (int i = 0; i < many; ++i) {
    states.keep(key(i), i);
    states.keep(key(1), -i);  // it is renewed
  }
  EXPECT_FALSE(states.find(key(0)));
  EXPECT_EQ(states.find(key(1)), 1 - many);
  EXPECT_EQ(states.find(key(many - 1)), many - 1);
  states.forget(key(1));
  EXPECT_FALSE(states.find(key(1)));
  std::size_t kept = 0;
  for (int i = 0; i < many; ++i) kept += states.find(key(i)) ? 1U : 0U;
  EXPECT_EQ(kept, States::most - 1);
}

TEST_F(RegisterWriteTest, aPayloadThatTheRegisterHasNoRoomForIsNamedBeforeAnythingIsSent) {
  EXPECT_TRUE(extended(store_)->faultsOfPayload({"billing"}, "12345", {{"ab", "345"}}).empty());
  const OptionFaults faults = extended(store_)->faultsOfPayload({"billing"}, "123456", {{"ab", "345"}});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().message, "with the attributes it has 11 bytes, and the store has room for 10");
  EXPECT_EQ(script_->asked, "");
}

}  // namespace
}  // namespace tenure::test
