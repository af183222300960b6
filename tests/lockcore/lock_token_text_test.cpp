// The text of a lock token has one spelling and is read strictly. Every damaged text is refused with the reason.
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_tokens.hpp>

#include "lockcore/token/lock_token_parts.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

LockTokenParts sample() {
  LockTokenParts parts;
  parts.key = {"customer/Moe"};
  parts.owner = "host#0123456789abcdef0123456789abcdef";
  parts.version = RecordVersion{"6c84fb90-12c4-41e1-8400-86d3b9f3f9a1"};
  parts.lease = 30s;
  parts.token = FencingToken{7};
  parts.clockDomain = "6a3c1f0e-1111-4222-8333-abcdefabcdef.4026531834";
  parts.sentAt = {100s, 90s, 120s};
  parts.acquiredAtMillis = 1'794'000'000'000;
  parts.store = "sqlite /var/lib/billing.db";
  return parts;
}

std::string messageOf(const std::string& text) {
  const auto read = LockToken::from(text);
  if (read.has_value()) return "it was accepted";
  EXPECT_EQ(read.error().code, LockErrc::malformed);
  return read.error().message;
}

TEST(LockTokenText, SaysWhatItIsInOneWordThatAShellTakesAsItIs) {
  const std::string text = lockTokenText(sample());
  EXPECT_EQ(text.substr(0, text.rfind(',')),
            "tenure-lock:1,key=customer/Moe,owner=host%230123456789abcdef0123456789abcdef,"
            "version=6c84fb90-12c4-41e1-8400-86d3b9f3f9a1,lease=30000ms,token=7,"
            "boot=6a3c1f0e-1111-4222-8333-abcdefabcdef.4026531834,clock=100000000000/90000000000/120000000000,"
            "since=1794000000000,store=sqlite%20/var/lib/billing.db");
  EXPECT_EQ(text.find_first_of(" '\"\\$&;|<>()*?[]#~=!{}`\n\t"), text.find('=')) << "no character but = is special";
}

TEST(LockTokenText, ReadBackItIsTheSameToken) {
  LockTokenParts parts = sample();
  for (const char* name : {"a/b#c%d \xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC ' \" \n", "plain", ",sum=", "x,owner=y"}) {
    parts.key = {name, std::string{name} == "plain" ? "" : "sort,key=%2C"};
    const auto read = LockToken::from(lockTokenText(parts) + "\n");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(LockTokenAccess::partsOf(*read), parts);
    EXPECT_EQ(read->text(), lockTokenText(parts));
  }
}

/// It must be renewed and released, whatever names a new lock may have (faultsOf).
TEST(LockTokenText, ATokenOfALockWithAnOddNameOfAnEarlierReleaseIsRead) {
  for (const std::string name : {"billing\xE2\x80\x8B", "cafe\xCC\x81", " billing"}) {
    LockTokenParts parts = sample();
    parts.key = {name, name};
    const auto read = lockTokenFrom(lockTokenText(parts));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, parts);
  }
}

TEST(LockTokenText, EveryCutIsRefusedAsACut) {
  const std::string text = lockTokenText(sample());
  for (std::size_t length = 1; length < text.size(); ++length) {
    const std::string message = messageOf(text.substr(0, length));
    EXPECT_NE(message.find("cut off"), std::string::npos) << length << ": " << message;
  }
  EXPECT_EQ(messageOf(""), "the lock token is empty");
}

TEST(LockTokenText, EveryChangedCharacterIsRefused) {
  const std::string text = lockTokenText(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string edited = text;
    edited[at] = edited[at] == 'x' ? 'y' : 'x';
    EXPECT_TRUE(LockToken::from(edited).has_error()) << edited;
  }
  std::string longer = text;
  longer.replace(longer.find("lease=30000ms"), 13, "lease=90000ms");
  EXPECT_EQ(messageOf(longer), "the lock token was changed or damaged: its checksum is wrong");
  EXPECT_NE(messageOf(text + "0"), "it was accepted") << "nothing may follow it";
}

TEST(LockTokenText, ForeignTextsAreNamedAsSuch) {
  EXPECT_EQ(messageOf("eyJhbGciOiJIUzI1NiJ9"),
            "the lock token is not a lock token: it does not begin with tenure-lock:");
  EXPECT_EQ(messageOf("tenure-lock:2,key=a,sum=0000000000000000"),
            "the lock token has format 2, and this version of tenure reads format 1");
  EXPECT_NE(messageOf(std::string(LockToken::maxTextBytes + 1, 'a')).find("longer than 32768 bytes"),
            std::string::npos);
}

/// With a correct checksum, as only somebody who makes tokens has it.
std::string forged(const std::string& from, const std::string& to) {
  LockTokenParts parts = sample();
  std::string text = lockTokenText(parts);
  text.replace(text.find(from), from.size(), to);
  text.resize(text.rfind(",sum="));
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  char sum[17];
  std::snprintf(sum, sizeof sum, "%016llx", static_cast<unsigned long long>(hash));
  return text + ",sum=" + sum;
}

TEST(LockTokenText, ForgedFieldsAreNamed) {
  EXPECT_NE(messageOf(forged("lease=30000ms", "lease=0ms")).find("field lease"), std::string::npos);
  EXPECT_NE(messageOf(forged("lease=30000ms", "lease=30000")).find("field lease"), std::string::npos);
  EXPECT_NE(messageOf(forged("lease=30000ms", "lease=604800000ms")).find("field lease"), std::string::npos);
  EXPECT_NE(messageOf(forged("token=7", "token=0")).find("field token"), std::string::npos);
  EXPECT_NE(messageOf(forged("token=7", "token=07")).find("field token"), std::string::npos);
  EXPECT_NE(messageOf(forged("token=7", "token=9007199254740992")).find("field token"), std::string::npos);
  EXPECT_NE(messageOf(forged("key=customer/Moe", "key=%63ustomer")).find("field key"), std::string::npos)
      << "one spelling for each value";
  EXPECT_NE(messageOf(forged("key=customer/Moe", "key=a%23fence")).find("key that"), std::string::npos);
  EXPECT_NE(messageOf(forged(",owner=", ",sort=a%2,owner=")).find("field sort"), std::string::npos);
  EXPECT_NE(messageOf(forged("clock=100000000000/", "clock=-1/")).find("field clock"), std::string::npos);
  EXPECT_NE(messageOf(forged("/90000000000/120000000000", "/90000000000")).find("field clock"), std::string::npos);
  EXPECT_NE(messageOf(forged(",store=", ",color=red,store=")).find("field store"), std::string::npos);
}

TEST(LockTokenTime, CountsFromBeforeTheWriteWasSentByTheFastestClockLessTheGuard) {
  const LockTokenParts parts = sample();
  const auto left = [&](const Instant& now) { return remainingOf(parts, parts.clockDomain, now).value(); };
  const auto valid = 30s - 31ms;  // the clock margin: 0.1 % + 1 ms
  EXPECT_EQ(left(parts.sentAt), valid);
  EXPECT_EQ(left(parts.sentAt + 10s), valid - 10s);
  EXPECT_EQ(left(parts.sentAt + valid), 0s);
  EXPECT_EQ(left(parts.sentAt + 1h), 0s);
  // Suspended for 20 s: only CLOCK_BOOTTIME saw it.
  EXPECT_EQ(left({parts.sentAt.raw + 1s, parts.sentAt.monotonic + 1s, parts.sentAt.boottime + 21s}), valid - 21s);
}

TEST(LockTokenTime, AnotherMachineOrBootCannotTell) {
  LockTokenParts parts = sample();
  EXPECT_EQ(remainingOf(parts, "another-boot.4026531834", parts.sentAt + 1s), std::nullopt);
  parts.clockDomain.clear();
  EXPECT_EQ(remainingOf(parts, "", parts.sentAt + 1s), std::nullopt) << "no domain is nobody's";
  EXPECT_FALSE(clockDomain().empty());
}

TEST(LockTokenTime, AReadingFromTheFutureOfThisBootIsWorthNothing) {
  const LockTokenParts parts = sample();
  EXPECT_EQ(remainingOf(parts, parts.clockDomain, {parts.sentAt.raw - 1ns, 91s, 121s}), 0s);
  EXPECT_EQ(remainingOf(parts, parts.clockDomain, {101s, 91s, parts.sentAt.boottime - 1ns}), 0s);
}

TEST(LockTokenStanding, EachStateOfTheRecordIsOneStanding) {
  const LockTokenParts parts = sample();
  LeaseRecord record;
  record.holder = parts.owner;
  record.version = parts.version;
  EXPECT_EQ(standingOf(parts, std::nullopt), TokenStanding::missing);
  EXPECT_EQ(standingOf(parts, record), TokenStanding::current);
  record.released = true;
  EXPECT_EQ(standingOf(parts, record), TokenStanding::released);
  record.released = false;
  record.version = RecordVersion{"another"};
  EXPECT_EQ(standingOf(parts, record), TokenStanding::superseded);
  record.holder = "host#ffffffffffffffffffffffffffffffff";
  EXPECT_EQ(standingOf(parts, record), TokenStanding::taken) << "one name is not one owner";
}

}  // namespace
}  // namespace tenure::test
