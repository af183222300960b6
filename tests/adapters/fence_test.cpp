#include <gtest/gtest.h>

#include <tenure/lockcore/fence.hpp>

#include "lockcore/port/store_checks.hpp"

namespace tenure {
namespace {

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

TEST(Fence, admitsTheFirstWriteOfALease) { EXPECT_FALSE(termError(stamp(1), std::nullopt)); }

TEST(Fence, admitsALaterTermAndTheSameTermOfTheSameHolder) {
  EXPECT_FALSE(termError(stamp(8), stamp(7, "b#2")));
  EXPECT_FALSE(termError(stamp(7), stamp(7)));
  EXPECT_FALSE(termError(stamp(7), stamp(7, ""))) << "nobody is known to have that token";
}

TEST(Fence, refusesALowerTokenAsStale) {
  for (const char* holder : {"a#1", "b#2", ""}) {
    const auto error = termError(stamp(6), stamp(7, holder));
    ASSERT_TRUE(error);
    ASSERT_NE(error->stale(), nullptr);
    EXPECT_EQ(*error->stale(), (StaleToken{FencingToken{6}, FencingToken{7}}));
    EXPECT_EQ(error->foreign(), nullptr);
    EXPECT_EQ(error->writeError(), nullptr);
  }
  EXPECT_EQ(
      termError(stamp(6), stamp(7, "b#2"))->message,
      "lease \"billing\": refused a write of a (1) with fencing token 6, because b (2) has written with token 7; the "
      "writer's term is over and its work must stop");
}

TEST(Fence, refusesTheSameTokenOfAnotherHolder) {
  const auto error = termError(stamp(7, "a#1"), stamp(7, "a#2"));
  ASSERT_TRUE(error);
  ASSERT_NE(error->foreign(), nullptr);
  EXPECT_EQ(*error->foreign(), (ForeignTerm{FencingToken{7}, "a#2"}));
  EXPECT_NE(error->message.find("an old copy of the store"), std::string::npos);
}

TEST(Fence, refusesStampsThatAreNone) {
  EXPECT_FALSE(errorOf(stamp(1)));
  EXPECT_FALSE(errorOf(TermStamp{"it's \"odd\" 😀\n", maxFencingToken, "x"}));
  for (const TermStamp& bad :
       {TermStamp{"", FencingToken{1}, "a"}, TermStamp{"l", FencingToken{}, "a"}, TermStamp{"l", FencingToken{1}, ""},
        TermStamp{"l", maxFencingToken.next(), "a"}, TermStamp{std::string{"l\0", 2}, FencingToken{1}, "a"},
        TermStamp{"l", FencingToken{1}, "\xFF"}}) {
    const auto error = errorOf(bad);
    ASSERT_TRUE(error);
    ASSERT_NE(error->writeError(), nullptr);
    EXPECT_EQ(error->writeError()->error.errorClass, ErrorClass::misconfigured);
    EXPECT_FALSE(error->writeError()->mayBeWritten);
  }
  EXPECT_EQ(errorOf(TermStamp{})->message,
            "lease \"\": the stamp of a write is wrong: it names no lease; it names no holder; it has no fencing "
            "token, so it belongs to no term");
}

TEST(Fence, stampsAnythingThatHasALeaseATokenAndAHolder) {
  struct Term {
    [[nodiscard]] std::string leaseName() const { return "billing"; }
    [[nodiscard]] FencingToken fencingToken() const { return FencingToken{3}; }
    [[nodiscard]] std::string holder() const { return "a#1"; }
  };
  EXPECT_EQ(TermStamp::of(Term{}), stamp(3));
}

TEST(Fence, anErrorThrowsItsMessageWhenAValueIsAskedFor) {
  const FenceResult<void> result = *termError(stamp(6), stamp(7));
  EXPECT_THROW(result.value(), std::runtime_error);
}

}  // namespace
}  // namespace tenure
