// The crash notice without a process: what proves that nothing of a term is left, and what its release changes.
#include "cli/run/crash_notice.hpp"

#include <gtest/gtest.h>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "cli/group/store_calls.hpp"
#include "cli/run/crash_release.hpp"
#include "cli/run/guard_channel.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CrashNotice, NeedsTheEndOfTheSupervisorAndTheWordOfEveryReaper) {
  for (const bool ended : {false, true}) {
    for (const int left : {-1, 0, 1, 2}) {
      const bool proven = ended && left == 0;
      EXPECT_EQ(nextStep({ended, left, seconds{3}}), proven ? CrashStep::release : CrashStep::wait) << ended << left;
      EXPECT_EQ(nextStep({ended, left, seconds{0}}), CrashStep::leave) << "the lease has ended by itself";
    }
  }
}

TEST(CrashNotice, IsOfTheTermThatBeganLast) {
  GuardChannel channel = GuardChannel::create("group: g\n");
  EXPECT_EQ(channel.configuration(), "group: g\n");
  EXPECT_FALSE(channel.noticedTerm());
  channel.beginTerm("alice#1", FencingToken{7});
  channel.beginTerm("al", FencingToken{8});
  EXPECT_EQ(channel.noticedTerm()->holder, "al");
  EXPECT_EQ(channel.noticedTerm()->token, FencingToken{8});
  channel.forgoNotice();
  EXPECT_FALSE(channel.noticedTerm());
}

TEST(CrashNotice, IsNotGivenWithoutAConfigurationOrForAHolderThatDoesNotFit) {
  GuardChannel none = GuardChannel::create();
  none.beginTerm("alice#1", FencingToken{7});
  EXPECT_FALSE(none.noticedTerm());
  GuardChannel channel = GuardChannel::create("group: g\n");
  channel.beginTerm("alice#1", FencingToken{7});
  channel.beginTerm(std::string(256, 'a'), FencingToken{8});
  EXPECT_FALSE(channel.noticedTerm());
}

class CrashReleaseTest : public ::testing::Test {
 protected:
  CrashReleaseTest() { take("alice#1"); }

  /// A write of that holder, as its elector makes it.
  WriteOutcome write(WriteRequest::Purpose purpose, const std::string& holder) {
    WriteRequest request{.key = key_, .purpose = purpose, .expected = {}, .record = {}};
    if (const auto found = stored()) request.expected = {found->version};
    request.record.holder = holder;
    request.record.version = RecordVersion{"v" + std::to_string(++versions_)};
    request.record.leaseDuration = seconds{10};
    return writeNow(*store_, std::move(request));
  }
  void take(const std::string& holder) {
    WriteOutcome outcome = write(WriteRequest::Purpose::acquire, holder);
    if (!std::holds_alternative<Applied>(outcome)) outcome = write(WriteRequest::Purpose::acquire, holder);
    token_ = std::get<Applied>(outcome).token;
  }
  std::optional<LeaseRecord> stored() { return readNow(*store_, key_).value(); }
  std::optional<WriteRequest> release(const NoticedTerm& crashed) {
    return releaseOf(key_, crashed, stored(), "released");
  }

  const LeaseKey key_{"billing"};
  const std::shared_ptr<LeaseStore> store_{makeMemoryStore()};
  int versions_{0};
  FencingToken token_{};
};

TEST_F(CrashReleaseTest, ReleasesTheTermAndKeepsWhatTheRecordSays) {
  const LeaseRecord before = *stored();
  const auto write = release({"alice#1", token_});
  ASSERT_TRUE(write);
  EXPECT_TRUE(std::holds_alternative<Applied>(writeNow(*store_, *write)));
  EXPECT_TRUE(stored()->released);
  EXPECT_EQ(stored()->token, before.token);
  EXPECT_EQ(stored()->holder, before.holder);
  EXPECT_FALSE(release({"alice#1", token_})) << "it is released";
}

TEST_F(CrashReleaseTest, OfAnotherHolderOrTokenIsNone) {
  EXPECT_FALSE(release({"alice#2", token_}));
  EXPECT_FALSE(release({"alice#1", token_.next()}));
  EXPECT_FALSE(releaseOf(key_, {"alice#1", token_}, std::nullopt, "released"));
}

TEST_F(CrashReleaseTest, BesideALateRenewalReadsWhatThatWrote) {
  const auto before = release({"alice#1", token_});
  ASSERT_TRUE(std::holds_alternative<Applied>(write(WriteRequest::Purpose::renew, "alice#1")));
  EXPECT_TRUE(std::holds_alternative<Conflict>(writeNow(*store_, *before)));
  EXPECT_FALSE(stored()->released);
  const auto after = release({"alice#1", token_});
  ASSERT_TRUE(after);
  EXPECT_TRUE(std::holds_alternative<Applied>(writeNow(*store_, *after)));
}

TEST_F(CrashReleaseTest, ARenewalThatArrivesAfterItChangesNothing) {
  WriteRequest late{
      .key = key_, .purpose = WriteRequest::Purpose::renew, .expected = {stored()->version}, .record = *stored()};
  late.record.version = RecordVersion{"late"};
  ASSERT_TRUE(std::holds_alternative<Applied>(writeNow(*store_, *release({"alice#1", token_}))));
  EXPECT_TRUE(std::holds_alternative<Conflict>(writeNow(*store_, late)));
  EXPECT_TRUE(stored()->released);
}

TEST_F(CrashReleaseTest, ALateCopyOfItChangesNothingOfALaterTerm) {
  const NoticedTerm crashed{"alice#1", token_};
  const auto copy = release(crashed);
  ASSERT_TRUE(std::holds_alternative<Applied>(writeNow(*store_, *copy)));
  for (const char* holder : {"bob#1", "alice#1"}) {
    take(holder);
    EXPECT_TRUE(std::holds_alternative<Conflict>(writeNow(*store_, *copy))) << holder;
    EXPECT_FALSE(stored()->released);
    EXPECT_FALSE(release(crashed)) << "a term of the same holder has another token";
    ASSERT_TRUE(std::holds_alternative<Applied>(writeNow(*store_, *release({holder, token_}))));
  }
}

/// The guard reads what effectiveYaml() writes. A file may hold such a character only as its escape.
TEST(CrashRelease, IsGivenWhateverThePathIs) {
  const test::TemporaryDirectory directory;
  GroupConfig config;
  config.options.group = "billing";
  config.store = SqliteStoreOptions{directory.file("it\u2019s.db")};
  const auto store = makeStore(config.store);
  const auto token = LockTokens{store}.acquire(LeaseKey{"billing"}, {.owner = "alice"});
  ASSERT_TRUE(token);
  CrashRelease release{effectiveYaml(config), {token->owner(), token->fencingToken()}};
  release.release([] { return std::chrono::nanoseconds{seconds{10}}; });
  EXPECT_TRUE(readNow(*store, LeaseKey{"billing"}).value()->released);
}

}  // namespace
}  // namespace tenure::cli
