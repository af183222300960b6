// The contract call by call.
#include <optional>
#include <string>
#include <vector>

#include "adapters/contract/fence_contract.hpp"
#include "lockcore/port/store_checks.hpp"

namespace tenure::contract {
namespace {

TermStamp stamp(std::uint64_t token, std::string holder = "a", std::string lease = contractLease) {
  return {std::move(lease), FencingToken{token}, std::move(holder)};
}

std::string messageOf(const FenceResult<void>& result) { return result.has_error() ? result.error().message : "done"; }

#define EXPECT_WRITTEN(call)                 \
  do {                                       \
    const FenceResult<void> result = (call); \
    EXPECT_EQ(messageOf(result), "done");    \
  } while (false)

std::vector<std::string> namesOf(const std::vector<FencedEntry>& entries) {
  std::vector<std::string> names;
  for (const FencedEntry& entry : entries) names.push_back(entry.entry);
  return names;
}

TEST_P(FenceContract, admitsTheFirstWriteAndRemembersItsTerm) {
  EXPECT_EQ(one().highestSeen(contractLease).value(), std::nullopt);
  EXPECT_WRITTEN(one().write(stamp(5), "one", {}));
  EXPECT_EQ(resource().entries(), (std::vector<FencedEntry>{{FencingToken{5}, "a", "one"}}));
  EXPECT_EQ(one().highestSeen(contractLease).value(), stamp(5));
}

TEST_P(FenceContract, admitsMoreWritesOfOneTermAndLaterTerms) {
  EXPECT_WRITTEN(one().write(stamp(5), "one", {}));
  EXPECT_WRITTEN(one().write(stamp(5), "two", {}));
  EXPECT_WRITTEN(two().write(stamp(9, "b"), "three", {}));
  EXPECT_WRITTEN(one().write(stamp(10), "four", {}));
  EXPECT_EQ(namesOf(resource().entries()), (std::vector<std::string>{"one", "two", "three", "four"}));
  EXPECT_EQ(two().highestSeen(contractLease).value(), stamp(10));
}

TEST_P(FenceContract, refusesALowerTokenAndNamesBoth) {
  EXPECT_WRITTEN(one().write(stamp(7), "one", {}));
  for (const std::string holder : {"a", "b"}) {
    const auto refused = two().write(stamp(6, holder), "two", {});
    ASSERT_TRUE(refused.has_error());
    const FenceError error = refused.error();
    ASSERT_NE(error.stale(), nullptr) << error.message;
    EXPECT_EQ(*error.stale(), (StaleToken{FencingToken{6}, FencingToken{7}}));
    EXPECT_NE(error.message.find("token 6"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("token 7"), std::string::npos) << error.message;
  }
  EXPECT_EQ(namesOf(resource().entries()), std::vector<std::string>{"one"});
  EXPECT_EQ(one().highestSeen(contractLease).value(), stamp(7)) << "a rejection is not remembered";
}

TEST_P(FenceContract, refusesAnEqualTokenOfAnotherHolder) {
  EXPECT_WRITTEN(one().write(stamp(7, "a"), "one", {}));
  const auto refused = two().write(stamp(7, "b"), "two", {});
  ASSERT_TRUE(refused.has_error());
  const FenceError error = refused.error();
  ASSERT_NE(error.foreign(), nullptr) << error.message;
  EXPECT_EQ(*error.foreign(), (ForeignTerm{FencingToken{7}, "a"}));
  EXPECT_EQ(namesOf(resource().entries()), std::vector<std::string>{"one"});
}

TEST_P(FenceContract, comparesTokensAsNumbersUpToTheGreatest) {
  // As text "9" is above "10"; as a float 2^53 - 2 equals 2^53 - 1.
  EXPECT_WRITTEN(one().write(stamp(9), "one", {}));
  EXPECT_WRITTEN(one().write(stamp(10), "two", {}));
  constexpr std::uint64_t greatest = 9'007'199'254'740'991;
  EXPECT_WRITTEN(one().write(stamp(greatest), "three", {}));
  const auto refused = two().write(stamp(greatest - 1), "four", {});
  ASSERT_TRUE(refused.has_error());
  ASSERT_NE(FenceError{refused.error()}.stale(), nullptr) << messageOf(refused);
  EXPECT_EQ(*FenceError{refused.error()}.stale(), (StaleToken{FencingToken{greatest - 1}, FencingToken{greatest}}));
  EXPECT_EQ(one().highestSeen(contractLease).value(), stamp(maxFencingToken.value()));
}

TEST_P(FenceContract, aStoredTokenAboveTheGreatestIsDamageThatIsNamedWithItsWayOut) {
  EXPECT_WRITTEN(one().write(stamp(5), "one", {}));
  for (const std::uint64_t tooGreat :
       {std::uint64_t{9'007'199'254'740'992}, std::uint64_t{9'223'372'036'854'775'807}}) {
    if (!resource().plant(stamp(tooGreat))) return;
    for (const std::uint64_t mine : {std::uint64_t{5}, maxFencingToken.value()}) {
      const auto refused = open()->write(stamp(mine), "two", {});
      ASSERT_TRUE(refused.has_error()) << tooGreat;
      const FenceError error = refused.error();
      ASSERT_NE(error.writeError(), nullptr) << error.message;
      EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::corrupt) << error.message;
      EXPECT_FALSE(error.writeError()->mayBeWritten);
      EXPECT_NE(error.message.find(std::to_string(tooGreat)), std::string::npos) << error.message;
      EXPECT_NE(error.message.find("tenure fence recover"), std::string::npos) << error.message;
    }
  }
  EXPECT_EQ(namesOf(resource().entries()), std::vector<std::string>{"one"});
}

TEST_P(FenceContract, aMemoryThatAnOperatorSetDownTakesTheNextTermAndNoneBefore) {
  EXPECT_WRITTEN(one().write(stamp(maxFencingToken.value()), "one", {}));
  if (!resource().plant(stamp(17, "tenure fence recover"))) return;
  EXPECT_TRUE(open()->write(stamp(16), "two", {}).has_error());
  EXPECT_TRUE(open()->write(stamp(17), "three", {}).has_error());
  EXPECT_WRITTEN(open()->write(stamp(18), "four", {}));
  EXPECT_EQ(namesOf(resource().entries()), (std::vector<std::string>{"one", "four"}));
}

TEST_P(FenceContract, remembersAfterEveryHandleIsGone) {
  EXPECT_WRITTEN(one().write(stamp(5), "one", {}));
  dropHandles();
  const auto later = open();
  const auto refused = later->write(stamp(4), "two", {});
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(FenceError{refused.error()}.stale(), nullptr) << messageOf(refused);
  EXPECT_WRITTEN(later->write(stamp(5), "three", {}));
  EXPECT_EQ(namesOf(resource().entries()), (std::vector<std::string>{"one", "three"}));
}

TEST_P(FenceContract, keepsLeasesApartWhateverTheirNames) {
  const std::string odd = "it's \"odd\"\\; DROP TABLE x; -- %s {0}\xF0\x9F\x98\x80=,:";
  EXPECT_WRITTEN(one().write(stamp(5), "one", {}));
  EXPECT_WRITTEN(one().write(stamp(2, "b", odd), "two", {}));
  EXPECT_WRITTEN(one().write(stamp(1, "c", "Contract"), "three", {}));
  EXPECT_EQ(one().highestSeen(odd).value(), stamp(2, "b", odd));
  EXPECT_TRUE(two().write(stamp(1, "b", odd), "four", {}).has_error());
  EXPECT_EQ(one().highestSeen(contractLease).value(), stamp(5));
  EXPECT_EQ(namesOf(resource().entries()), (std::vector<std::string>{"one", "two", "three"}));
}

TEST_P(FenceContract, keepsHoldersWhateverTheirNames) {
  const std::string odd = "host-7#a'b\"c\\d \xF0\x9F\x98\x80\n=,:";
  EXPECT_WRITTEN(one().write(stamp(5, odd), "one", {}));
  EXPECT_WRITTEN(two().write(stamp(5, odd), "two", {}));
  EXPECT_EQ(one().highestSeen(contractLease).value(), stamp(5, odd));
  const auto refused = two().write(stamp(5, "b"), "three", {});
  ASSERT_TRUE(refused.has_error());
  ASSERT_NE(FenceError{refused.error()}.foreign(), nullptr) << messageOf(refused);
  EXPECT_EQ(FenceError{refused.error()}.foreign()->holder, odd);
}

TEST_P(FenceContract, refusesStampsThatAreNoneBeforeAnythingHappens) {
  EXPECT_WRITTEN(one().write(stamp(5), "one", {}));
  for (const TermStamp& bad :
       {stamp(0), stamp(6, ""), stamp(6, "a", ""), TermStamp{contractLease, maxFencingToken.next(), "a"},
        stamp(6, "\xFF"), stamp(6, "a", std::string{"l\0", 2})}) {
    const auto refused = one().write(bad, "two", {});
    ASSERT_TRUE(refused.has_error());
    const FenceError error = refused.error();
    ASSERT_NE(error.writeError(), nullptr) << error.message;
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured);
    EXPECT_FALSE(error.writeError()->mayBeWritten);
  }
  EXPECT_EQ(namesOf(resource().entries()), std::vector<std::string>{"one"});
  EXPECT_EQ(one().highestSeen(contractLease).value(), stamp(5));
}

/// A term as an elector would provide it, and what was reported to it.
struct ToldTerm {
  bool valid{true};
  std::vector<FencingToken> reported;

  [[nodiscard]] FencedTerm of(const TermStamp& stamped) {
    return {stamped, [this] { return valid; }, [this](FencingToken seen) { reported.push_back(seen); }};
  }
};

TEST_P(FenceContract, endsTheTermWhenTheResourceSaysStale) {
  ToldTerm term;
  EXPECT_WRITTEN(one().writeUnder(term.of(stamp(5)), "one"));
  EXPECT_EQ(term.reported, std::vector<FencingToken>{});
  EXPECT_WRITTEN(two().write(stamp(8, "b"), "two", {}));
  const auto refused = one().writeUnder(term.of(stamp(5)), "three");
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(FenceError{refused.error()}.stale(), nullptr) << messageOf(refused);
  EXPECT_EQ(term.reported, std::vector<FencingToken>{FencingToken{8}});
}

TEST_P(FenceContract, sendsNothingOnceTheTermIsOver) {
  ToldTerm term;
  term.valid = false;
  const auto refused = one().writeUnder(term.of(stamp(5)), "one");
  ASSERT_TRUE(refused.has_error());
  const FenceError error = refused.error();
  ASSERT_NE(error.over(), nullptr) << error.message;
  EXPECT_EQ(error.over()->mine, FencingToken{5});
  EXPECT_TRUE(resource().entries().empty());
  EXPECT_EQ(one().highestSeen(contractLease).value(), std::nullopt);
  EXPECT_EQ(term.reported, std::vector<FencingToken>{});
}

TEST_P(FenceContract, theJudgeSeesAStaleWriteWithoutAFence) {
  EXPECT_WRITTEN(two().write(stamp(6, "b"), "one", {}));
  ASSERT_TRUE(one().writeBare(stamp(5), "two"));
  const std::vector<FencedEntry> entries = resource().entries();
  EXPECT_EQ(staleAmong(entries), (std::vector<FencedEntry>{{FencingToken{5}, "a", "two"}}));
  EXPECT_EQ(faultsOf(entries), std::vector<std::string>{"\"two\" (token 5 of a) is after a higher token"});
}

}  // namespace
}  // namespace tenure::contract
