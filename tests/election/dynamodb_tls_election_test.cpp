// An elector over https: new handshakes fail, and existing connections continue to work.
#include "election/dynamodb_table.hpp"
#include "election/tls_front.hpp"

namespace tenure::test {
namespace {

struct BrokenHandshakes {
  const char* name;
  void (*breakThem)(TlsFront&);
};

class DynamoDbTlsElection : public DynamoDbTable, public testing::WithParamInterface<BrokenHandshakes> {
 protected:
  DynamoDbTlsElection() {
    options_.endpoint = front_.endpoint();
    options_.caFile = front_.caFile();
  }

  /// The connections that a client keeps.
  static constexpr std::size_t ready = 4;

  /// For a term that must survive: no renewal may come too late because the machine is busy.
  static constexpr std::chrono::milliseconds longLease{4'000};

  /// Leads over existing connections; from now on new ones fail.
  void lead(std::chrono::milliseconds duration) {
    elector_ = elector("only", store(), record_, duration);
    ASSERT_TRUE(eventually([&] { return record_.count("elected 1") == 1 && front_.standing() == ready; }))
        << front_.standing() << " of " << front_.accepted() << " connections stand";
    GetParam().breakThem(front_);
  }
  /// The term continues for further heartbeats, for more than one lease.
  void expectTheTermToGoOn() {
    const int enough = record_.count("renewed 1") + static_cast<int>(longLease / heartbeat) + 2;
    ASSERT_TRUE(eventually([&] { return record_.count("renewed 1") >= enough || record_.count("revoked") > 0; }));
    EXPECT_EQ(record_.count("revoked"), 0);
    EXPECT_TRUE(elector_->isLeader());
    EXPECT_EQ(elector_->fencingToken(), FencingToken{1});
  }

  TlsFront front_{makeSocketClient(dynamoDbEndpoint())};
  Record record_;
  std::unique_ptr<LeaderElector> elector_{};
};

TEST_P(DynamoDbTlsElection, TheTermSurvivesThatAConnectionEndsAndNoneCanBeMade) {
  lead(longLease);
  const int accepted = front_.accepted();
  front_.cutLastUsed();
  ASSERT_TRUE(eventually([&] { return front_.standing() == ready - 1 && front_.accepted() > accepted; }))
      << "another one was tried";
  expectTheTermToGoOn();
  EXPECT_EQ(front_.standing(), ready - 1);
  // A machine that stood still for as long as a request may take has failed it by itself.
  if (lateness() < heartbeat) {
    EXPECT_EQ(record_.count("in doubt"), 0) << "not one renewal may have failed";
  }
}

TEST_P(DynamoDbTlsElection, TheTermSurvivesThatAConnectionEndsUnderARenewalAndNoneCanBeMade) {
  lead(longLease);
  front_.cutNextRequest();
  ASSERT_TRUE(eventually([&] { return front_.standing() == ready - 1; }));
  expectTheTermToGoOn();
}

TEST_P(DynamoDbTlsElection, WithoutConnectionsTheTermEndsOnTimeAndTheNextFollows) {
  lead(lease);
  front_.cutAll();
  const Instant cut = readClock();
  ASSERT_TRUE(eventually([&] { return record_.count("revoked") == 1; }));
  EXPECT_LT(elapsedForHolder(cut, readClock()), lease + margin());
  EXPECT_EQ(record_.why().reason, RevokeReason::storeUnreachable) << record_.why().detail;
  EXPECT_EQ(record_.count("in doubt"), 1);
  front_.answerHandshakes();
  const Instant over = readClock();
  ASSERT_TRUE(eventually([&] { return record_.count("elected 2") == 1; }));
  // A poll that gets no answer any more, the wait after it, and the next poll.
  EXPECT_LT(elapsedForHolder(over, readClock()), heartbeat + heartbeat * 5 / 4 + margin());
}

const BrokenHandshakes handshakes[] = {
    {"Stalled", [](TlsFront& front) { front.stallHandshakes(); }},
    {"Expired", [](TlsFront& front) { front.presentExpired(); }},
    {"WrongName", [](TlsFront& front) { front.presentWrongName(); }},
    {"Untrusted", [](TlsFront& front) { front.presentUntrusted(); }},
};
INSTANTIATE_TEST_SUITE_P(Handshakes, DynamoDbTlsElection, testing::ValuesIn(handshakes),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace tenure::test
