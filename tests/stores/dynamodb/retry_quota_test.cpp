// Retries are limited over all leases of a store; requests that keep a lease are not.
#include "lockcore/stores/dynamodb/src/retry_quota.hpp"

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::dynamodb_store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Purpose = WriteRequest::Purpose;

const StoreError busy{ErrorClass::throttled, "busy"};

Instant after(std::chrono::nanoseconds time) { return {time, time, time}; }
LeaseKey lease(int number) { return {"lease-" + std::to_string(number)}; }

/// How many of the leases may send a request.
int mayAsk(RetryQuota& quota, int leases, const Instant& now) {
  int count = 0;
  for (int i = 0; i < leases; ++i) count += quota.errorOf(lease(i), now) ? 0 : 1;
  return count;
}

RetryQuota& allFail(RetryQuota& quota, int leases) {
  for (int i = 0; i < leases; ++i) quota.failed(lease(i), busy);
  return quota;
}

TEST(RetryQuota, whatNeverFailedIsNotLimited) {
  RetryQuota quota;
  EXPECT_EQ(mayAsk(quota, 10'000, after(seconds{0})), 10'000);
}

TEST(RetryQuota, aHundredRetriesAreFreeThenFiveASecond) {
  RetryQuota quota;
  allFail(quota, 10'000);
  EXPECT_EQ(mayAsk(quota, 10'000, after(seconds{0})), 100);
  EXPECT_EQ(mayAsk(quota, 10'000, after(milliseconds{100})), 0);
  EXPECT_EQ(mayAsk(quota, 10'000, after(seconds{1})), 5);
  EXPECT_EQ(mayAsk(quota, 10'000, after(seconds{11})), 50);
}

/// Each is a lock that its caller has given up for good.
TEST(RetryQuota, keysThatNobodyAsksForAgainDoNotFillTheMemory) {
  RetryQuota quota;
  allFail(quota, 3 * static_cast<int>(RetryQuota::mostFailing));
  EXPECT_EQ(quota.failingLeases(), RetryQuota::mostFailing);
}

TEST(RetryQuota, aProcessWithOneLeaseNeverMeetsIt) {
  RetryQuota quota;
  for (int beat = 0; beat < 1'000; ++beat) {
    ASSERT_FALSE(quota.errorOf(lease(0), after(milliseconds{500} * beat))) << "at the beat " << beat;
    quota.failed(lease(0), busy);
  }
}

TEST(RetryQuota, theRejectionTellsWhatFailed) {
  RetryQuota quota;
  allFail(quota, 200);
  (void)mayAsk(quota, 100, after(seconds{0}));
  const auto refused = quota.errorOf(lease(150), after(seconds{0}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->errorClass, ErrorClass::transient);
  EXPECT_EQ(refused->message,
            "not asked again yet, because the requests of 200 leases fail and their retries are limited; the last "
            "failure: busy");
}

/// Each round that succeeds allows a fifth more, up to a hundred at a time: if answers take five milliseconds, ten
/// thousand leases are served after less than a second.
TEST(RetryQuota, aServiceThatIsBackIsAskedMoreAndMore) {
  RetryQuota quota;
  constexpr int leases = 10'000;
  allFail(quota, leases);
  (void)mayAsk(quota, leases, after(seconds{0}));
  allFail(quota, leases);  // they failed again
  const Instant back = after(seconds{4});
  int rounds = 0;
  for (; quota.failingLeases() > 0 && rounds < 1'000; ++rounds) {
    std::vector<LeaseKey> asked;
    for (int i = 0; i < leases; ++i) {
      if (!quota.errorOf(lease(i), back)) asked.push_back(lease(i));
    }
    for (const LeaseKey& key : asked) quota.served(key);
  }
  EXPECT_LE(rounds, 130);
}

TEST(RetryQuota, errorsThatAreNotTheServicesDoNotCount) {
  RetryQuota quota;
  for (const auto errorClass : {ErrorClass::credentials, ErrorClass::misconfigured, ErrorClass::corrupt}) {
    for (int i = 0; i < 500; ++i) quota.failed(lease(i), {errorClass, "no"});
  }
  EXPECT_EQ(quota.failingLeases(), 0U);
  EXPECT_EQ(mayAsk(quota, 500, after(seconds{0})), 500);
}

/// The store with its quota.
class QuotaOfAStore : public testing::Test {
 protected:
  ReadOutcome read(int number) {
    store_.fails(test::serviceError("InternalServerError", 500));
    return store_.read(lease(number));
  }
  void useUp() {
    constexpr int retries = 100;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < retries; ++i) (void)read(i);
    }
  }

  test::ScriptedStore store_;
};

TEST_F(QuotaOfAStore, pollsAndAcquisitionsWait) {
  useUp();
  const std::size_t sent = store_.client().sent.size();
  const ReadOutcome refused = store_.read(lease(7));
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("InternalServerError"), std::string::npos) << refused.error().message;
  WriteRequest acquire = test::request(Purpose::acquire, {});
  acquire.key = lease(7);
  const WriteOutcome outcome = store_.write(acquire);
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcome)) << "nothing was sent, so nothing is in doubt";
  EXPECT_EQ(store_.client().sent.size(), sent);
}

TEST_F(QuotaOfAStore, renewalsReleasesAndOtherLeasesDoNot) {
  useUp();
  for (const Purpose purpose : {Purpose::renew, Purpose::release}) {
    const std::size_t sent = store_.client().sent.size();
    store_.fails(test::serviceError("InternalServerError", 500));
    WriteRequest write = test::request(purpose, {"one"});
    write.key = lease(7);
    EXPECT_TRUE(std::holds_alternative<Unknown>(store_.write(write)));
    EXPECT_EQ(store_.client().sent.size(), sent + 1);
  }
  store_.ok("{\"Item\":" + test::lockItem("one") + '}');
  EXPECT_TRUE(store_.read({"another"}).has_value());
}

}  // namespace
}  // namespace tenure::dynamodb_store
