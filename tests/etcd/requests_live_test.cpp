// What a real member does with each kind of request. It ignores what it does not know, so a condition that it did not
// read would be no condition: each is met here when it holds and when it does not.
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "etcd/etcd_cluster.hpp"
#include "lockcore/stores/etcd/src/keys.hpp"
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"
#include "lockcore/stores/etcd/src/replies.hpp"
#include "lockcore/stores/etcd/src/requests.hpp"
#include "lockcore/stores/etcd/src/state.hpp"
#include "support/eventually.hpp"

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;

constexpr test::Eventually soon{20s};

class EtcdRequestsLive : public testing::Test {
 protected:
  TxnReply ask(const std::string& body) {
    std::promise<Outcome> promise;
    gateway_->call(txnPath, body, 10s, Gateway::Repeat::no,
                   [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
    const Outcome outcome = promise.get_future().get();
    EXPECT_TRUE(outcome && outcome->status == 200) << (outcome ? outcome->body : outcome.error().error.message) << body;
    auto reply = txnReplyFrom(outcome.value().body);
    EXPECT_TRUE(reply.has_value()) << outcome->body;
    return reply.value();
  }
  void put(const std::string& key, const std::string& value) {
    Txn txn;
    txn.put(key, value);
    revision_ = ask(txn.body()).revision;
  }
  /// What the key holds; `(none)` without one.
  std::string valueOf(const std::string& key) {
    Txn txn;
    txn.read(key);
    const TxnReply reply = ask(txn.body());
    EXPECT_EQ(reply.parts.size(), 1U);
    return reply.parts.at(0).found.empty() ? "(none)" : reply.parts[0].found[0].value;
  }
  /// A state with these revisions, as bodyOf() takes it.
  [[nodiscard]] State seen(std::int64_t record, std::int64_t counter) {
    const auto slotOf = [&](std::int64_t at, const std::string& key) {
      return at == 0 ? Slot{} : Slot{at, valueOf(key)};
    };
    return {{static_cast<std::uint64_t>(revision_)}, slotOf(record, record_), slotOf(counter, counter_)};
  }
  std::string bodyOf(const State& state, const Change& change) {
    return etcd_store::bodyOf(keys_, key_, state, change);
  }

  [[nodiscard]] static Change taken() {
    Change change;
    change.record =
        StoredRecord{{.holder = "h", .version = RecordVersion{"v"}, .leaseDuration = std::chrono::seconds{1}}};
    change.record->record.token = FencingToken{3};
    change.counter = Counter{FencingToken{3}, std::chrono::seconds{1}};
    return change;
  }

  const test::EtcdCluster cluster_{{}};
  const std::shared_ptr<Gateway> gateway_ = makeHttpGateway({.endpoints = cluster_.endpoints()}, {});
  const Keys keys_{"/t"};
  const LeaseKey key_{"a"};
  const std::string record_ = keys_.recordOf(key_);
  const std::string counter_ = keys_.counterOf(key_);
  std::int64_t revision_{0};
};

TEST_F(EtcdRequestsLive, anAcquisitionNeedsBothKeysAsTheyWere) {
  const Change change = taken();
  put("/t/else", "x");
  for (const auto& [record, counter] : {std::pair{revision_, std::int64_t{0}}, {std::int64_t{0}, revision_}}) {
    const TxnReply refused = ask(bodyOf(seen(record, counter), change));
    EXPECT_FALSE(refused.succeeded);
    ASSERT_EQ(refused.parts.size(), 2U) << "it shows both keys";
    EXPECT_TRUE(refused.parts[0].found.empty());
    EXPECT_EQ(valueOf(record_), "(none)");
    EXPECT_EQ(valueOf(counter_), "(none)");
  }
  const State none = seen(0, 0);
  const TxnReply reply = ask(bodyOf(none, change));
  EXPECT_TRUE(showsChange(none, change, reply));
  EXPECT_EQ(valueOf(record_), textOf(*change.record));
  EXPECT_EQ(valueOf(counter_), textOf(*change.counter));
  const TxnReply again = ask(bodyOf(none, change));
  EXPECT_FALSE(again.succeeded) << "a copy that comes late";
  ASSERT_EQ(again.parts.at(0).found.size(), 1U);
  EXPECT_EQ(again.parts[0].found[0].changedAt, reply.revision);
  EXPECT_EQ(again.parts.at(1).found.at(0).changedAt, reply.revision);
}

TEST_F(EtcdRequestsLive, aRenewalNeedsTheRecordAlone) {
  put(record_, "r");
  const std::int64_t written = revision_;
  put(counter_, "c");
  Change change = taken();
  change.counter.reset();
  EXPECT_FALSE(ask(bodyOf(seen(written + 1, 1), change)).succeeded);
  EXPECT_EQ(valueOf(record_), "r");
  const State state = seen(written, 1);
  EXPECT_TRUE(showsChange(state, change, ask(bodyOf(state, change))));
  EXPECT_EQ(valueOf(record_), textOf(*change.record));
  EXPECT_EQ(valueOf(counter_), "c");
}

/// As in a cluster that was restored from a snapshot: documented_test.py.
TEST_F(EtcdRequestsLive, aRevisionThatCountsOnceMoreIsToldByTheValue) {
  put(record_, "r");
  const std::int64_t written = revision_;
  put(counter_, "c");
  const State state = seen(written, revision_);
  for (const bool record : {true, false}) {
    State earlier = state;
    (record ? earlier.recordSlot : earlier.counterSlot).value = "of the time before";
    EXPECT_FALSE(ask(bodyOf(earlier, taken())).succeeded);
  }
  EXPECT_EQ(valueOf(record_), "r");
  EXPECT_TRUE(ask(bodyOf(state, taken())).succeeded);
}

TEST_F(EtcdRequestsLive, aRemovalDeletesTheRecordAndKeepsTheCounter) {
  put(record_, "r");
  const std::int64_t written = revision_;
  put(counter_, "c");
  put(keys_.recordOf({"ab"}), "other");
  Change change;
  change.counter = Counter{FencingToken{3}};
  EXPECT_FALSE(ask(bodyOf(seen(written, written), change)).succeeded);
  EXPECT_EQ(valueOf(record_), "r");
  const State state = seen(written, written + 1);
  EXPECT_TRUE(showsChange(state, change, ask(bodyOf(state, change))));
  EXPECT_EQ(valueOf(record_), "(none)");
  EXPECT_EQ(valueOf(counter_), textOf(*change.counter));
  EXPECT_EQ(valueOf(keys_.recordOf({"ab"})), "other") << "no more than the one key";
}

TEST_F(EtcdRequestsLive, aReadOfThePastAndAPage) {
  put(keys_.recordOf({"a", "1"}), "old");
  const std::int64_t then = revision_;
  put(keys_.recordOf({"a", "1"}), "new");
  put(keys_.recordOf({"a", "2"}), "second");
  put("/t/leasf", "beyond");
  Txn past;
  past.read(keys_.recordOf({"a", "1"}), then);
  EXPECT_EQ(ask(past.body()).parts.at(0).found.at(0).value, "old");
  Txn page;
  page.readRange("/t/lease/", endOf("/t/lease/"), 1);
  const TxnReply first = ask(page.body());
  ASSERT_EQ(first.parts.at(0).found.size(), 1U);
  EXPECT_TRUE(first.parts[0].more);
  Txn whole;
  whole.readRange("/t/lease/", endOf("/t/lease/"), 101);
  const TxnReply both = ask(whole.body());
  ASSERT_EQ(both.parts.at(0).found.size(), 2U);
  EXPECT_FALSE(both.parts[0].more);
  EXPECT_EQ(both.parts[0].found[0].value, "new");
}

TEST_F(EtcdRequestsLive, aProbeWritesNothing) {
  put("/t/else", "x");
  const TxnReply probed = ask(probeOfWrites(keys_.recordsFrom(""), keys_.countersFrom("")));
  EXPECT_FALSE(probed.succeeded);
  EXPECT_EQ(probed.revision, revision_);
}

TEST_F(EtcdRequestsLive, aWatchHearsOfEveryKeyOfTheStoreAndOfNoOther) {
  std::mutex mutex;
  std::vector<std::string> heard;
  bool created = false;
  const auto stream = gateway_->stream(watchPath, watchRequest("/t/"), 30s,
                                       {[&](std::string_view text) {
                                          const auto line = watchLineFrom(text);
                                          const std::lock_guard lock{mutex};
                                          created = created || (line.has_value() && line->created);
                                          if (line.has_error()) return heard.push_back(line.error().what);
                                          for (const auto& event : line->events) heard.push_back(event.entry.key);
                                        },
                                        [](const std::string&) {}});
  ASSERT_TRUE(soon([&] {
    const std::lock_guard lock{mutex};
    return created;
  }));
  put("/s/lease/a", "x");
  put(record_, "x");
  put("/t0", "x");
  put(counter_, "x");
  EXPECT_TRUE(soon([&] {
    const std::lock_guard lock{mutex};
    return heard.size() >= 2;
  }));
  const std::lock_guard lock{mutex};
  EXPECT_EQ(heard, (std::vector{record_, counter_}));
}

}  // namespace
}  // namespace tenure::etcd_store
