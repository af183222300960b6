// A release that the watch tells: the acquisition needs no read, and etcd itself compares all that was told.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "contract/store_calls.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/stores/etcd/src/keys.hpp"
#include "lockcore/stores/etcd/src/record_codec.hpp"
#include "lockcore/stores/etcd/src/store.hpp"
#include "stores/etcd/memory_gateway.hpp"

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;
using contract::acquire;
using contract::release;
using contract::renew;

constexpr std::chrono::seconds oneLease{10};

/// A gateway to a cluster in memory whose stream may tell more than there is.
class LyingGateway final : public Gateway {
 public:
  LyingGateway(std::shared_ptr<test::SharedEtcd> etcd, std::shared_ptr<Scheduler> scheduler)
      : honest{std::move(etcd), std::move(scheduler)} {}
  void call(std::string_view path, std::string body, std::chrono::nanoseconds timeout, Repeat repeat,
            OutcomeHandler handler) override {
    honest.call(path, std::move(body), timeout, repeat, std::move(handler));
  }
  [[nodiscard]] std::shared_ptr<void> stream(std::string_view path, std::string body, std::chrono::nanoseconds silence,
                                             StreamHandlers handlers) override {
    stream_ = handlers;
    return honest.stream(path, std::move(body), silence, std::move(handlers));
  }
  [[nodiscard]] std::string describe() const override { return honest.describe(); }

  void tell(const std::string& line) const { stream_.onLine(line); }

  test::MemoryGateway honest;

 private:
  StreamHandlers stream_{};
};

class EtcdReleases : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<LeaseStore> storeOn(std::shared_ptr<Gateway> gateway) const {
    return makeStore("/t", {.gateway = std::move(gateway), .logger = {}, .scheduler = scheduler_});
  }
  WriteOutcome write(LeaseStore& store, WriteRequest request) {
    request.record.leaseDuration = oneLease;
    std::optional<WriteOutcome> outcome;
    store.write(std::move(request), {1s}, [&](WriteOutcome answer) { outcome = std::move(answer); });
    scheduler_->runReady();
    return outcome.value();
  }
  void apply(WriteRequest request) {
    last_ = request.record.version;
    EXPECT_TRUE(std::holds_alternative<Applied>(write(*holder_, std::move(request))));
  }
  std::optional<LeaseRecord> read() {
    std::optional<LeaseRecord> record;
    candidate_->read(key_, {1s, true}, [&](const ReadOutcome& answer) { record = answer.value(); });
    scheduler_->runReady();
    return record;
  }
  /// Bob holds the oneLease, and the candidate has watched it for a whole one.
  void watchBob() {
    apply(acquire(key_, "bob"));
    watching_ = candidate_->watch(key_, [] {});
    scheduler_->runReady();
    scheduler_->advance(oneLease);
    apply(renew(key_, "bob", {last_}));
    ASSERT_EQ(read().value().version, last_);
  }
  [[nodiscard]] std::optional<LeaseRecord> holderRecord() const {
    std::optional<LeaseRecord> record;
    holder_->read(key_, {1s}, [&](const ReadOutcome& answer) { record = answer.value(); });
    scheduler_->runReady();
    return record;
  }
  WriteOutcome take(const RecordVersion& version) { return write(*candidate_, acquire(key_, "alice", {version})); }
  /// What the candidate has sent since the last call.
  std::vector<std::string> sent() {
    std::vector<std::string> bodies = gateway_->honest.bodies();
    bodies.erase(bodies.begin(), bodies.begin() + static_cast<std::ptrdiff_t>(std::exchange(seen_, bodies.size())));
    return bodies;
  }
  /// Bob's record as it is, as if he had released it.
  [[nodiscard]] std::string releaseOf(const LeaseRecord& record) const {
    StoredRecord stored{record};
    stored.record.released = true;
    return releaseOf(textOf(stored), textOf(Counter{record.token}));
  }
  [[nodiscard]] std::string releaseOf(const std::string& record, const std::string& counter) const {
    const Keys keys{"/t"};
    const std::lock_guard lock{etcd_->mutex};
    const std::int64_t revision = etcd_->cluster.keys().at(keys.recordOf(key_)).changed;
    const auto event = [&](const std::string& name, const std::string& text) {
      std::string out = R"({"kv":{"mod_revision":")" + std::to_string(revision) + R"(","key":")";
      appendBase64(out, name);
      appendBase64(out += R"(","value":")", text);
      return out + "\"}}";
    };
    return R"({"result":{"header":{},"events":[)" + event(keys.recordOf(key_), record) + "," +
           event(keys.counterOf(key_), counter) + "]}}";
  }

  const LeaseKey key_{"lease"};
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  const std::shared_ptr<test::SharedEtcd> etcd_ = std::make_shared<test::SharedEtcd>();
  const std::shared_ptr<LyingGateway> gateway_ = std::make_shared<LyingGateway>(etcd_, scheduler_);
  const std::shared_ptr<LeaseStore> holder_ = storeOn(std::make_shared<test::MemoryGateway>(etcd_, scheduler_));
  const std::shared_ptr<LeaseStore> candidate_ = storeOn(gateway_);
  std::shared_ptr<void> watching_{};
  RecordVersion last_{};
  std::size_t seen_{0};
};

TEST_F(EtcdReleases, areTakenByOneTransactionAndNoRead) {
  watchBob();
  static_cast<void>(sent());
  apply(release(key_, "bob", {last_}));
  const std::optional<LeaseRecord> told = read();
  ASSERT_TRUE(told && told->released);
  EXPECT_EQ(sent().size(), 0U) << "the watch has told all of it";
  EXPECT_TRUE(std::holds_alternative<Applied>(take(told->version)));
  EXPECT_EQ(sent().size(), 1U);
}

TEST_F(EtcdReleases, theTransactionComparesRevisionAndValueOfRecordAndCounter) {
  watchBob();
  apply(release(key_, "bob", {last_}));
  const std::optional<LeaseRecord> told = read();
  static_cast<void>(sent());
  ASSERT_TRUE(std::holds_alternative<Applied>(take(told->version)));
  const std::string body = sent().at(0);
  for (const std::string& key : {Keys{"/t"}.recordOf(key_), Keys{"/t"}.counterOf(key_)}) {
    std::string encoded;
    appendBase64(encoded, key);
    EXPECT_NE(body.find(R"("target":"MOD","key":")" + encoded), std::string::npos) << key;
    EXPECT_NE(body.find(R"("target":"VALUE","key":")" + encoded), std::string::npos) << key;
  }
}

TEST_F(EtcdReleases, aReleaseThatNeverWasTakesNoLivingLease) {
  watchBob();
  apply(renew(key_, "bob", {last_}));
  LeaseRecord held = *holderRecord();
  gateway_->tell(releaseOf(held));
  const std::optional<LeaseRecord> told = read();
  ASSERT_TRUE(told && told->released) << "its revision is that of the record";
  static_cast<void>(sent());
  EXPECT_TRUE(std::holds_alternative<Conflict>(take(told->version)));
  EXPECT_EQ(sent().size(), 1U) << "the answer shows what is stored";
  EXPECT_EQ(*holderRecord(), held);
}

TEST_F(EtcdReleases, aLieCostsReadsAndOneWriteInAPauseThatGrows) {
  watchBob();
  for (const int leases : {1, 2, 4}) {
    apply(renew(key_, "bob", {last_}));
    gateway_->tell(releaseOf(*holderRecord()));
    ASSERT_TRUE(read()->released);
    EXPECT_TRUE(std::holds_alternative<Conflict>(take(last_)));
    ASSERT_FALSE(read()->released);
    for (int lies = 0; lies < 4; ++lies) {
      apply(renew(key_, "bob", {last_}));
      gateway_->tell(releaseOf(*holderRecord()));
      EXPECT_FALSE(read()->released) << "the cluster is asked";
    }
    scheduler_->advance(leases * oneLease);
  }
}

TEST_F(EtcdReleases, aRaceThatIsLostCostsNoPause) {
  for (int terms = 0; terms < 2; ++terms) {
    apply(acquire(key_, "bob", terms == 0 ? std::vector<RecordVersion>{} : std::vector{last_}));
    if (terms == 0) watching_ = candidate_->watch(key_, [] {});
    scheduler_->runReady();
    scheduler_->advance(oneLease);
    ASSERT_FALSE(read()->released);
    apply(release(key_, "bob", {last_}));
    const std::optional<LeaseRecord> told = read();
    ASSERT_TRUE(told->released);
    apply(acquire(key_, "carol", {last_}));
    static_cast<void>(sent());
    EXPECT_TRUE(std::holds_alternative<Conflict>(take(told->version)));
    ASSERT_EQ(read()->holder, "carol");
    apply(release(key_, "carol", {last_}));
    static_cast<void>(sent());
    EXPECT_TRUE(read()->released);
    EXPECT_EQ(sent().size(), 0U) << "the stream was right";
  }
}

TEST_F(EtcdReleases, aReleaseWithoutItsCounterIsReadFirst) {
  watchBob();
  static_cast<void>(sent());
  {
    StoredRecord stored{*holderRecord()};
    stored.record.released = true;
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.put(Keys{"/t"}.recordOf(key_), textOf(stored));
  }
  scheduler_->runReady();
  EXPECT_TRUE(read()->released);
  EXPECT_EQ(sent().size(), 1U);
}

TEST_F(EtcdReleases, aDeletionIsReadFirst) {
  watchBob();
  static_cast<void>(sent());
  {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.erase(Keys{"/t"}.recordOf(key_));
  }
  scheduler_->runReady();
  EXPECT_TRUE(read()->vanished);
  EXPECT_EQ(sent().size(), 1U);
}

}  // namespace
}  // namespace tenure::etcd_store
