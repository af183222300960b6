// What is sent on the guard channel when states of a term overtake each other. A separate program: the linker redirects
// its calls of pthread_mutex_lock to this file.
#include <functional>
#include <pthread.h>

#include <gtest/gtest.h>

#include "cli/run/job_deadline.hpp"
#include "election/src/term_handle.hpp"

namespace {

/// Runs once, right after a thread has waited for a lock.
std::function<void()> whileWaiting;

}  // namespace

// --wrap dictates the names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
extern "C" int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (const auto work = std::exchange(whileWaiting, nullptr)) work();
  return __real_pthread_mutex_lock(mutex);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

class TermPublisherTest : public ::testing::Test {
 protected:
  [[nodiscard]] Leadership term(FencingToken token) const {
    return leadershipUnder(std::make_shared<TermHandle>("lease", "holder", token, cell_, std::weak_ptr<LeaseDriver>{},
                                                        std::shared_ptr<const Clock>{}, nullptr));
  }
  static LeaseTiming timing() { return LeaseTiming::from({}).value(); }

  const Instant now_{readClock()};
  const std::shared_ptr<TermCell> cell_{std::make_shared<TermCell>()};
  GuardChannel channel_{GuardChannel::create()};
  TermPublisher publisher_{channel_, timing()};
};

TEST_F(TermPublisherTest, AStateThatIsOlderThanThePublishedOneDoesNotReplaceIt) {
  cell_->publish({now_, 5s, 6s, FencingToken{1}});
  // While this thread waits, another one publishes that the work has to stop.
  whileWaiting = [this] {
    cell_->publish({now_, 0s, 6s, FencingToken{1}});
    publisher_.publish(term(FencingToken{1}));
  };
  publisher_.publish(term(FencingToken{1}));
  EXPECT_EQ(channel_.term().remainingAt(now_), 0s) << "the guard would believe for longer than the holder may";
}

TEST_F(TermPublisherTest, AJobDoesNotLiveOnTheTimeOfALaterTerm) {
  cell_->publish({now_, 5s, 6s, FencingToken{1}});
  publisher_.publish(term(FencingToken{1}));
  ASSERT_TRUE(channel_.term().validAt(now_));
  cell_->publish({now_, 50s, 60s, FencingToken{2}});
  publisher_.publish(term(FencingToken{1}));
  EXPECT_FALSE(channel_.term().validAt(now_)) << "the job of term 1 would live on";
  publisher_.publish(term(FencingToken{2}));
  EXPECT_EQ(channel_.term().token, FencingToken{2});
}

TEST_F(TermPublisherTest, ValidityEndsEarlierByTheLeadOfTheKillAndLeadershipNotAfterIt) {
  cell_->publish({now_, 6s, 6s, FencingToken{1}});
  publisher_.publish(term(FencingToken{1}));
  EXPECT_EQ(channel_.term().validFor, 6s - killLead(timing()));
  EXPECT_EQ(channel_.term().leadsFor, 6s - killLead(timing()));
}

}  // namespace
}  // namespace tenure::cli
