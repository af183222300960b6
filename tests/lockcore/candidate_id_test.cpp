#include <gtest/gtest.h>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

TEST(CandidateIdTest, isTheNameWithAnIncarnation) {
  SeededRandom random{1};
  SeededRandom same{1};
  const std::string candidate = newCandidate("host-1", random);
  EXPECT_EQ(candidate, "host-1#" + hex128(same));
  EXPECT_EQ(nameOf(candidate), "host-1");
}

TEST(CandidateIdTest, oneNameTwiceIsTwoCandidates) {
  SystemRandom random;
  EXPECT_NE(newCandidate("host-1", random), newCandidate("host-1", random));
}

TEST(CandidateIdTest, theNameIsAllBeforeTheLastHash) {
  EXPECT_EQ(nameOf("a#b#0123"), "a#b");
  EXPECT_EQ(nameOf("no incarnation"), "no incarnation");
  EXPECT_EQ(nameOf("#0123"), "");
  EXPECT_EQ(nameOf("a#"), "a");
  EXPECT_EQ(nameOf(""), "");
}

TEST(CandidateIdTest, aPersonIsToldByANameThatIsNotTooLongAndEightDigits) {
  EXPECT_EQ(personOf("web-1#0123456789abcdef0123456789abcdef"), "web-1 (01234567)");
  EXPECT_EQ(personOf("host-of-another-client"), "host-of-another-client") << "it has no incarnation";
  EXPECT_EQ(personOf(std::string(500, 'x')), std::string(64, 'x') + "...");
  EXPECT_EQ(personOf(std::string(63, 'x') + "\xC3\xA4" + "y#1"), std::string(63, 'x') + "... (1)")
      << "no character is cut in two";
  EXPECT_EQ(personOf(""), "");
  EXPECT_EQ(personOf("x\x1B[2J\n#\x1B[2J"), "x\\x1b[2J\\n (\\x1b[2J)") << "another client may be called anything";
}

}  // namespace
}  // namespace tenure::test
