#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Returns these values in order, again and again.
class Scripted final : public RandomSource {
 public:
  explicit Scripted(std::vector<std::uint64_t> values) : values_{std::move(values)} {}
  std::uint64_t next() override { return values_.at(used_++ % values_.size()); }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::vector<std::uint64_t> values_;
  std::size_t used_{0};
};

TEST(Uuid4, hasVersionAndVariantWhateverTheBits) {
  Scripted zeros{{0}};
  Scripted ones{{~0ULL}};
  EXPECT_EQ(uuid4(zeros), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(uuid4(ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

/// Their kernels may give both the same bits.
TEST(SystemRandom, twinsOfAClonedMachineDrawDifferentBits) {
  const Instant one{5s, 6s, 7s};
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 1000; ++i) drawn.insert(mixedWithTime(42, one + nanoseconds{i}));
  EXPECT_EQ(drawn.size(), 1000U);
}

TEST(SystemRandom, whatIsUniformStaysSo) {
  const Instant now{5s, 6s, 7s};
  for (const std::uint64_t difference : {1ULL, 0x8000'0000'0000'0000ULL, 0xFFFFULL}) {
    EXPECT_EQ(mixedWithTime(42, now) ^ mixedWithTime(42 ^ difference, now), difference);
  }
}

TEST(Uuid4, keepsTheOtherBits) {
  Scripted random{{0x0123'4567'89ab'cdefULL, 0x0123'4567'89ab'cdefULL}};
  EXPECT_EQ(uuid4(random), "01234567-89ab-4def-8123-456789abcdef");
  EXPECT_EQ(random.used(), 2U);
}

TEST(Uuid4, isWellFormedAndNew) {
  const std::regex form{"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"};
  SystemRandom random;
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string uuid = uuid4(random);
    EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second) << uuid;
  }
}

TEST(Hex128, isThirtyTwoDigits) {
  Scripted random{{0x0123'4567'89ab'cdefULL, 0x5ULL}};
  EXPECT_EQ(hex128(random), "0123456789abcdef0000000000000005");
  Scripted zeros{{0}};
  EXPECT_EQ(hex128(zeros), std::string(32, '0'));
}

TEST(Uniform, staysBelowItsBound) {
  SeededRandom random{3};
  nanoseconds least = 1h;
  nanoseconds most = 0ns;
  for (int i = 0; i < 10'000; ++i) {
    const nanoseconds drawn = uniform(random, 1000ns);
    ASSERT_GE(drawn, 0ns);
    ASSERT_LT(drawn, 1000ns);
    least = std::min(least, drawn);
    most = std::max(most, drawn);
  }
  EXPECT_EQ(least, 0ns);
  EXPECT_EQ(most, 999ns);
}

TEST(Uniform, isNeverNegative) {
  Scripted ones{{~0ULL}};
  EXPECT_EQ(uniform(ones, nanoseconds::max()),
            nanoseconds{static_cast<std::int64_t>(~0ULL % 0x7FFF'FFFF'FFFF'FFFFULL)});
  EXPECT_EQ(uniform(ones, 1ns), 0ns);
}

TEST(Jittered, liesBetweenHalfAndAllOfTheWait) {
  Scripted least{{0}};
  Scripted most{{49}};
  EXPECT_EQ(jittered(least, 100ns), 50ns);
  EXPECT_EQ(jittered(most, 100ns), 99ns);
  EXPECT_EQ(jittered(most, 0ns), 0ns);
}

TEST(Uniform, drawsNothingWithoutABound) {
  Scripted random{{5}};
  EXPECT_EQ(uniform(random, 0ns), 0ns);
  EXPECT_EQ(uniform(random, -5s), 0ns);
  EXPECT_EQ(random.used(), 0U);
}

}  // namespace
}  // namespace tenure::test
