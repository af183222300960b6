#include "cli/run/job_deadline.hpp"

#include <gtest/gtest.h>

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

const Instant start{};
const TermState term{start, 7s, 8s, FencingToken{3}};

TEST(JobDeadline, IsTheEndOfValidityWhileNobodyToldTheJobToStop) {
  EXPECT_EQ(untilKill(start + 1s, term, std::nullopt, 2s), 7s);
  EXPECT_LE(untilKill(start + 8s, term, std::nullopt, 2s), 0s);
}

TEST(JobDeadline, IsTheEndOfTheDrainTimeoutIfThatIsFirst) {
  EXPECT_EQ(untilKill(start + 3s, term, start + 2s, 4s), 3s);
  EXPECT_EQ(untilKill(start + 3s, term, start + 2s, 60s), 5s) << "never beyond validity";
}

TEST(JobDeadline, IsNowWithoutATerm) {
  EXPECT_EQ(untilKill(start, TermState{start, 7s, 8s, FencingToken{}}, std::nullopt, 60s), 0s);
}

}  // namespace
}  // namespace tenure::cli
