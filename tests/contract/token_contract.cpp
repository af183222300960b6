// The fencing counter (invariant I7), and requests to end a term.
#include <algorithm>
#include <mutex>
#include <thread>

#include "contract/store_contract.hpp"
#include "lockcore/port/store_checks.hpp"

namespace tenure::contract {

TEST_P(StoreContract, tokensRiseStrictlyWithEachAcquisition) {
  const LeaseKey key{"lease"};
  FencingToken last = store().apply(acquire(key, "a")).token;
  for (int round = 0; round < 30; ++round) {
    const StoreCalls& handle = round % 2 == 0 ? other() : store();
    const LeaseRecord seen = handle.record(key);
    if (round % 3 == 0) {
      handle.apply(release(key, seen.holder, {seen.version}));
      ASSERT_EQ(handle.record(key).token, last);
    }
    const Applied taken = handle.apply(acquire(key, round % 5 == 0 ? seen.holder : "b", {handle.record(key).version}));
    ASSERT_GT(taken.token, last);
    last = taken.token;
    ASSERT_EQ(store().record(key).token, last);
  }
}

TEST_P(StoreContract, tokensNeverRepeatWhenManyTakeTheLeaseAtOnce) {
  const LeaseKey key{"lease"};
  std::mutex mutex;
  std::vector<FencingToken> tokens{store().apply(acquire(key, "first")).token};
  const auto contend = [&](const StoreCalls& handle, const std::string& holder) {
    for (int won = 0; won < 50;) {
      const WriteOutcome outcome = handle.write(acquire(key, holder, {handle.record(key).version}));
      const auto* applied = std::get_if<Applied>(&outcome);
      if (applied == nullptr) continue;
      ++won;
      const std::lock_guard lock{mutex};
      tokens.push_back(applied->token);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { contend(i % 2 == 0 ? store() : other(), "holder-" + std::to_string(i)); });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(tokens.size(), 201U);
  std::sort(tokens.begin(), tokens.end());
  EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end()) << "two terms with one token";
  EXPECT_EQ(store().record(key).token, tokens.back()) << "the last term has not the greatest token";
}

TEST_P(StoreContract, aLostRaceDoesNotMoveTheCounter) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  WriteRequest lost = acquire(key, "b");
  lost.tokenFloor = FencingToken{1'000'000};
  EXPECT_TRUE(std::holds_alternative<Conflict>(store().write(lost)));
  EXPECT_LT(store().apply(acquire(key, "b", {store().record(key).version})).token, FencingToken{1'000'000})
      << "a write must be applied whole or not at all";
}

TEST_P(StoreContract, newTokensAreAboveTheFloor) {
  const LeaseKey key{"lease"};
  WriteRequest first = acquire(key, "a");
  first.tokenFloor = FencingToken{41};
  const FencingToken token = store().apply(std::move(first)).token;
  EXPECT_GT(token, FencingToken{41});
  WriteRequest below = acquire(key, "b", {store().record(key).version});
  below.tokenFloor = FencingToken{7};
  EXPECT_GT(store().apply(std::move(below)).token, token) << "a floor must never lower the counter";
  WriteRequest far = acquire(key, "c", {store().record(key).version});
  far.tokenFloor = FencingToken{store().record(key).token.value() + maxReportedStep};
  const FencingToken high = store().apply(far).token;
  EXPECT_GT(high, far.tokenFloor);
  EXPECT_GT(store().apply(acquire(key, "d", {store().record(key).version})).token, high);
}

TEST_P(StoreContract, theFloorIsForAcquisitionsOnly) {
  const LeaseKey key{"lease"};
  const Applied taken = store().apply(acquire(key, "a"));
  WriteRequest heartbeat = renew(key, "a", {store().record(key).version});
  heartbeat.tokenFloor = FencingToken{1'000};
  heartbeat.record.token = FencingToken{1'000};  // the token that the caller writes there has no effect either
  EXPECT_EQ(store().apply(std::move(heartbeat)).token, taken.token);
  EXPECT_EQ(store().record(key).token, taken.token);
}

// A candidate of an older release may have believed a resource that reported an invented token, and would continue with
// it.
TEST_P(StoreContract, aFloorFarAboveEveryTokenHereIsRefusedByName) {
  const LeaseKey key{"lease"};
  const auto refused = [&](std::vector<RecordVersion> expected, std::uint64_t floor) {
    WriteRequest request = acquire(key, "b", std::move(expected));
    request.tokenFloor = FencingToken{floor};
    const WriteOutcome outcome = other().write(std::move(request));
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_NE(rejected, nullptr) << describe(outcome);
    EXPECT_EQ(rejected->error.errorClass, ErrorClass::misconfigured) << describe(outcome);
    EXPECT_NE(rejected->error.message.find("tenure fence recover"), std::string::npos) << describe(outcome);
  };
  // Where tokens do not count by one, they follow a number of the store's own, which rises with every write.
  const std::uint64_t step = (fixture().countsByOne() ? 0 : 1'000'000) + maxReportedStep + 1;
  refused({}, step);
  EXPECT_EQ(store().read(key), std::nullopt);
  const FencingToken token = store().apply(acquire(key, "a")).token;
  const LeaseRecord before = store().record(key);
  refused({before.version}, token.value() + step);
  refused({before.version}, maxFencingToken.value() - 1);
  EXPECT_TRUE(sameRecord(store().record(key), before));
  const FencingToken next = other().apply(acquire(key, "b", {before.version})).token;
  EXPECT_TRUE(isNextToken(next, token)) << "nothing was moved: " << next;
  EXPECT_LT(next.value(), token.value() + 1'000);
}

TEST_P(StoreContract, stepDownIsSeenByEachRenewalOfThatTermAndByNoOther) {
  const LeaseKey key{"lease"};
  const Applied term = store().apply(acquire(key, "a"));
  const LeaseRecord before = store().record(key);
  const WriteOutcome asked = other().requestStepDown(key, term.token);
  EXPECT_TRUE(std::holds_alternative<Applied>(asked)) << describe(asked);
  EXPECT_TRUE(sameRecord(store().record(key), before)) << "the RVN must not move: the holder's next renewal names it";
  // More than one, because the answer to the first may be lost.
  EXPECT_TRUE(store().apply(renew(key, "a", {before.version})).stepDownRequested);
  EXPECT_TRUE(store().apply(renew(key, "a", {store().record(key).version})).stepDownRequested);
  store().apply(release(key, "a", {store().record(key).version}));
  EXPECT_FALSE(store().apply(acquire(key, "b", {store().record(key).version})).stepDownRequested);
  EXPECT_FALSE(store().apply(renew(key, "b", {store().record(key).version})).stepDownRequested);
  EXPECT_FALSE(store().apply(acquire(key, "a", {store().record(key).version})).stepDownRequested);
  EXPECT_FALSE(store().apply(renew(key, "a", {store().record(key).version})).stepDownRequested);
}

TEST_P(StoreContract, stepDownOfAnotherTermIsAConflict) {
  const LeaseKey key{"lease"};
  EXPECT_TRUE(isConflictWith(store().requestStepDown(key, FencingToken{1}), std::nullopt));
  EXPECT_EQ(store().read(key), std::nullopt);
  const Applied first = store().apply(acquire(key, "a"));
  const Applied second = store().apply(acquire(key, "b", {store().record(key).version}));
  const LeaseRecord current = store().record(key);
  EXPECT_TRUE(isConflictWith(other().requestStepDown(key, first.token), current));
  EXPECT_TRUE(isConflictWith(other().requestStepDown(key, second.token.next()), current));
  EXPECT_TRUE(isConflictWith(other().requestStepDown(key, FencingToken{}), current));
  EXPECT_FALSE(store().apply(renew(key, "b", {current.version})).stepDownRequested);
  store().apply(release(key, "b", {store().record(key).version}));
  EXPECT_TRUE(isConflictWith(other().requestStepDown(key, second.token), store().record(key)))
      << "a released term is not the current one";
}

const Successor b300{"b", std::chrono::milliseconds{300}};

TEST_P(StoreContract, aReleaseStatesItsSuccessorUntilTheNextTerm) {
  const LeaseKey key{"lease"};
  WriteRequest first = acquire(key, "a");
  first.record.attributes = {{"of", "the user"}};
  const Applied term = store().apply(std::move(first));
  EXPECT_EQ(other().record(key).successor, Successor{});
  WriteRequest last = release(key, "a", {store().record(key).version});
  last.record.token = term.token;
  last.record.successor = b300;
  store().apply(std::move(last));
  LeaseRecord left = other().record(key);
  EXPECT_TRUE(left.released);
  EXPECT_EQ(left.successor, b300);
  EXPECT_EQ(left.attributes, (std::map<std::string, std::string>{{"of", "the user"}}));
  EXPECT_EQ(other().list("lease").at(0).record->successor, b300);
  // Each acquisition takes it away, whoever it is by.
  other().apply(acquire(key, "c", {left.version}));
  left = store().record(key);
  EXPECT_EQ(left.successor, Successor{});
  EXPECT_EQ(left.attributes, (std::map<std::string, std::string>{{"of", "the user"}}));
  other().apply(release(key, "c", {left.version}));
  EXPECT_EQ(store().record(key).successor, Successor{});
}

TEST_P(StoreContract, aStepDownRequestNamesTheSuccessorUnlessTheReleaseDoes) {
  const LeaseKey key{"lease"};
  for (const bool named : {false, true}) {
    const auto before = store().read(key);
    const auto expected = before ? std::vector{before->version} : std::vector<RecordVersion>{};
    const Applied term = store().apply(acquire(key, "a", expected));
    const LeaseRecord held = store().record(key);
    EXPECT_EQ(held.successor, Successor{});
    const auto ask = [&](const Successor& successor) {
      ASSERT_TRUE(std::holds_alternative<Applied>(other().requestStepDown(key, term.token, successor)));
    };
    ask({"c", std::chrono::milliseconds{100}});
    EXPECT_EQ(store().record(key).version, held.version);
    ask(b300);
    EXPECT_EQ(store().record(key).successor, b300) << "the last request decides";
    EXPECT_TRUE(store().apply(renew(key, "a", {held.version})).stepDownRequested);
    EXPECT_EQ(store().record(key).successor, b300) << "renewals leave it as it is";
    WriteRequest last = release(key, "a", {store().record(key).version});
    last.record.token = term.token;
    if (named) last.record.successor = {"d", std::chrono::milliseconds{1}};
    store().apply(std::move(last));
    EXPECT_EQ(store().record(key).successor.name, named ? "d" : "b");
  }
}

TEST_P(StoreContract, aPlainStepDownRequestTakesTheNameBack) {
  const LeaseKey key{"lease"};
  const Applied term = store().apply(acquire(key, "a"));
  ASSERT_TRUE(std::holds_alternative<Applied>(other().requestStepDown(key, term.token, b300)));
  ASSERT_TRUE(std::holds_alternative<Applied>(other().requestStepDown(key, term.token)));
  EXPECT_EQ(store().record(key).successor, Successor{});
  EXPECT_TRUE(store().apply(renew(key, "a", {store().record(key).version})).stepDownRequested);
}

TEST_P(StoreContract, aSuccessorThatNoCandidateCanBeIsRefused) {
  const LeaseKey key{"lease"};
  const Applied term = store().apply(acquire(key, "a"));
  const LeaseRecord held = store().record(key);
  for (const Successor& bad : {Successor{"b#1", b300.heartbeat}, Successor{"b\n", b300.heartbeat},
                               Successor{"b", maxRecordLease + b300.heartbeat}, Successor{"b", -b300.heartbeat}}) {
    EXPECT_TRUE(std::holds_alternative<Rejected>(other().requestStepDown(key, term.token, bad)));
    WriteRequest last = release(key, "a", {held.version});
    last.record.successor = bad;
    EXPECT_TRUE(std::holds_alternative<Rejected>(store().write(std::move(last))));
  }
  EXPECT_TRUE(sameRecord(store().record(key), held));
  WriteRequest named = acquire(key, "b", {held.version});
  named.record.attributes = {{"tenureSuccessor", "x"}};
  EXPECT_TRUE(std::holds_alternative<Rejected>(other().write(std::move(named)))) << "no user's attribute";
}

}  // namespace tenure::contract
