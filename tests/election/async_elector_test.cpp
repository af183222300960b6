// Terms that are awaited: with callbacks on the calls below Asio, and with Asio's tokens on a real loop.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <tenure/election/async_elector.hpp>
#include <tenure/election/elector_asio.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class AwaitedTerms : public testing::Test {
 protected:
  [[nodiscard]] AsyncElector elector(const std::string& id, std::chrono::milliseconds lease = 10s) {
    return AsyncElector{
        Group::make({.group = "g", .candidate = {.id = id}, .lease = {.duration = lease}}, store_).value()};
  }
  /// Waits for the next term of a started elector.
  static std::optional<AwaitedTerm> take(AsyncElector& elector, std::stop_token cancel = {}) {
    std::promise<std::optional<AwaitedTerm>> told;
    elector.whenElected([&](std::optional<AwaitedTerm> term) { told.set_value(std::move(term)); }, std::move(cancel));
    return told.get_future().get();
  }

  [[nodiscard]] bool isReleased() const {
    std::promise<bool> told;
    store_->read(LeaseKey{"g"}, {}, [&](const ReadOutcome& read) { told.set_value(read.value()->released); });
    return told.get_future().get();
  }

  std::shared_ptr<LeaseStore> store_{makeMemoryStore()};
};

TEST_F(AwaitedTerms, theAnswerToAStopMayDestroyTheElector) {
  for (int i = 0; i < 500; ++i) {
    auto* one = new AsyncElector{elector("a")};
    std::promise<void> gone;
    one->requestStop([&, one](ReleaseResult) {
      delete one;
      gone.set_value();
    });
    gone.get_future().wait();
  }
}

TEST_F(AwaitedTerms, theAnswerToAStopComesBeforeTheDestructorReturns) {
  const Group group = Group::make({.group = "g"}, store_).value();
  for (int i = 0; i < 1'000; ++i) {
    const auto told = std::make_shared<std::atomic<bool>>(false);
    {
      LeaderElector one{group};
      one.start();
      one.requestStop([told](ReleaseResult) { told->store(true); });
    }
    ASSERT_TRUE(told->load()) << i;
  }
}

TEST_F(AwaitedTerms, LeaseIsReleasedOnlyWhenTheWorkHasEnded) {
  AsyncElector a = elector("a");
  a.start();
  std::optional<AwaitedTerm> term = take(a);
  ASSERT_TRUE(term);
  EXPECT_TRUE(term->leads());
  EXPECT_EQ(term->fencingToken(), FencingToken{1});
  AsyncElector b = elector("b");
  b.start();
  a.requestStop();
  std::promise<bool> revoked;
  whenRevoked(term->leadership(), [&](bool really) { revoked.set_value(really); });
  EXPECT_TRUE(revoked.get_future().get());
  EXPECT_FALSE(term->leads());
  EXPECT_FALSE(isReleased()) << "the work of a has not ended";
  term.reset();
  EXPECT_TRUE(eventually([&] { return b.elector().isLeader(); }));
}

TEST_F(AwaitedTerms, TermThatNobodyTakesIsLedAndEnds) {
  AsyncElector a = elector("a");
  a.start();
  ASSERT_TRUE(eventually([&] { return a.elector().isLeader(); }));
  EXPECT_EQ(a.stop(), ReleaseResult::released);
  EXPECT_FALSE(take(a)) << "after stop there is none";
}

TEST_F(AwaitedTerms, TermIsGivenToWhoComesLater) {
  AsyncElector a = elector("a");
  a.start();
  ASSERT_TRUE(eventually([&] { return a.elector().isLeader(); }));
  const std::optional<AwaitedTerm> term = take(a);
  ASSERT_TRUE(term);
  EXPECT_TRUE(term->leads());
}

TEST_F(AwaitedTerms, WaitEndsByStopAndByCancellation) {
  AsyncElector a = elector("a");
  a.start();
  const std::optional<AwaitedTerm> held = take(a);
  AsyncElector b = elector("b");
  b.start();
  std::stop_source cancel;
  int told = 0;
  const auto counts = [&](const std::optional<AwaitedTerm>& term) { told += term ? 100 : 1; };
  b.whenElected(counts, cancel.get_token());
  cancel.request_stop();
  EXPECT_EQ(told, 1);
  b.whenElected(counts, cancel.get_token());
  EXPECT_EQ(told, 2) << "cancelled before it began";
  b.whenElected(counts, std::stop_source{}.get_token());
  b.requestStop();
  EXPECT_EQ(told, 3);
  std::stop_source other;
  bool revoked = true;
  whenRevoked(
      held->leadership(), [&](bool really) { revoked = really; }, other.get_token());
  other.request_stop();
  EXPECT_FALSE(revoked) << "it was cancelled";
}

TEST_F(AwaitedTerms, TermThatIsDroppedIsGivenUp) {
  AsyncElector a = elector("a");
  a.start();
  ASSERT_TRUE(take(a)) << "and dropped here, although it leads";
  AsyncElector b = elector("b");
  b.start();
  const std::optional<AwaitedTerm> next = take(b);
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->leads());
  EXPECT_FALSE(a.elector().isLeader());
}

TEST_F(AwaitedTerms, WaitThatIsCancelledBeforeItBeginsTakesNoTerm) {
  AsyncElector a = elector("a");
  a.start();
  ASSERT_TRUE(eventually([&] { return a.elector().isLeader(); }));
  std::stop_source cancel;
  cancel.request_stop();
  // Again and again: a leader's term is offered a moment after it leads.
  int asked = 0;
  EXPECT_TRUE(eventually([&] { return take(a, cancel.get_token()).has_value() || ++asked == 100; }));
  EXPECT_EQ(asked, 100);
  const std::optional<AwaitedTerm> term = take(a);
  ASSERT_TRUE(term);
  EXPECT_EQ(term->fencingToken(), FencingToken{1});
}

TEST_F(AwaitedTerms, AnswerThatThrowsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        AsyncElector a = elector("a");
        a.whenElected([](const std::optional<AwaitedTerm>&) { throw std::runtime_error{"of the caller"}; });
        a.stop();
      },
      "of the caller");
}

TEST_F(AwaitedTerms, EachTermGoesToTheOldestWait) {
  AsyncElector a = elector("a", 1s);
  std::array<std::promise<std::optional<AwaitedTerm>>, 3> told;
  std::stop_source cancel;
  for (auto& each : told) {
    a.whenElected([&](std::optional<AwaitedTerm> term) { each.set_value(std::move(term)); },
                  &each == &told[1] ? cancel.get_token() : std::stop_token{});
  }
  cancel.request_stop();
  EXPECT_FALSE(told[1].get_future().get());
  a.start();
  std::optional<AwaitedTerm> first = told[0].get_future().get();
  ASSERT_TRUE(first);
  a.elector().stepDown("for the next");
  first.reset();
  const std::optional<AwaitedTerm> next = told[2].get_future().get();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->fencingToken(), FencingToken{2});
}

TEST_F(AwaitedTerms, MoveToItselfChangesNothing) {
  AsyncElector a = elector("a");
  AsyncElector& same = a;
  a = std::move(same);
  a.start();
  EXPECT_TRUE(take(a));
}

TEST_F(AwaitedTerms, TermOutlivesItsElector) {
  std::optional<AwaitedTerm> term;
  {
    AsyncElector a = elector("a", 300ms);
    a.start();
    term = take(a);
    ASSERT_TRUE(term);
  }
  EXPECT_FALSE(term->leads());
  bool revoked = false;
  whenRevoked(term->leadership(), [&](bool really) { revoked = really; });
  EXPECT_TRUE(revoked) << "inside the call, because it was before";
}

TEST_F(AwaitedTerms, ElectorIsNotGoneBeforeTheWaitForTheEndOfItsTermIsAnswered) {
  auto a = std::make_unique<AsyncElector>(elector("a"));
  a->start();
  std::optional<AwaitedTerm> term = take(*a);
  ASSERT_TRUE(term);
  std::promise<void> inside, mayLeave;
  std::atomic<bool> answered{false};
  whenRevoked(term->leadership(), [&](bool) {
    inside.set_value();
    mayLeave.get_future().wait();
    answered = true;
  });
  term.reset();
  auto gone = std::async(std::launch::async, [&] { a.reset(); });
  inside.get_future().wait();
  EXPECT_EQ(gone.wait_for(100ms), std::future_status::timeout);
  mayLeave.set_value();
  gone.get();
  EXPECT_TRUE(answered);
}

TEST_F(AwaitedTerms, CoroutineLeadsUntilItIsRevokedAndThenTheLeaseIsFree) {
  using namespace asio::experimental::awaitable_operators;
  asio::io_context io;
  AsyncElector a = elector("a");  // destroyed before the loop
  AsyncElector b = elector("b");
  std::vector<std::string> lines;
  const auto lead = [&](AsyncElector& elector, std::string name) -> asio::awaitable<void> {
    asio::steady_timer timer{io};
    while (auto term = co_await asyncWaitElected(elector, io.get_executor(), asio::use_awaitable)) {
      lines.push_back(name + ' ' + toString(term->fencingToken()));
      co_await asyncWaitRevoked(*term, io.get_executor(), asio::use_awaitable);
      timer.expires_after(20ms);
      co_await timer.async_wait(asio::use_awaitable);  // the work takes a moment to end
      lines.push_back(name + " done");
    }
    lines.push_back(name + " stops");
    const ReleaseResult result = co_await asyncStop(elector, io.get_executor(), asio::use_awaitable);
    lines.push_back(name + ' ' + std::string{toString(result)});
  };
  asio::co_spawn(io, lead(a, "a"), asio::detached);
  a.start();
  while (lines.empty()) io.run_one();
  asio::co_spawn(io, lead(b, "b"), asio::detached);
  b.start();
  a.requestStop();
  while (lines.back() != "b 2") io.run_one();
  b.requestStop();
  io.run();
  EXPECT_LT(std::find(lines.begin(), lines.end(), "a done"), std::find(lines.begin(), lines.end(), "b 2"));
  // Whether a or b is told first of the release is left to their threads.
  std::stable_partition(lines.begin(), lines.end(), [](const std::string& line) { return line[0] == 'a'; });
  EXPECT_EQ(lines, (std::vector<std::string>{"a 1", "a done", "a stops", "a released", "b 2", "b done", "b stops",
                                             "b released"}));
}

/// Of whose memory the operation is made. The count is of what has not been given back.
template <class T>
struct Counting {
  using value_type = T;
  std::size_t* bytes;
  explicit Counting(std::size_t* count) : bytes{count} {}
  template <class U>
  explicit Counting(const Counting<U>& other) : bytes{other.bytes} {}
  T* allocate(std::size_t n) {
    *bytes += n * sizeof(T);
    return std::allocator<T>{}.allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    *bytes -= n * sizeof(T);
    std::allocator<T>{}.deallocate(p, n);
  }
  friend bool operator==(const Counting&, const Counting&) = default;
};

TEST_F(AwaitedTerms, OperationUsesWhatItsHandlerIsAssociatedWith) {
  asio::io_context io, other;
  AsyncElector a = elector("a");
  a.start();
  ASSERT_TRUE(eventually([&] { return a.elector().isLeader(); }));
  std::size_t bytes = 0;
  bool inside = true;
  bool called = false;
  asio::cancellation_signal signal;
  auto handler = [&](const std::optional<AwaitedTerm>& term) {
    EXPECT_TRUE(term);
    EXPECT_FALSE(inside) << "never inside the call that starts it";
    EXPECT_TRUE(other.get_executor().running_in_this_thread());
    EXPECT_FALSE(signal.slot().has_handler()) << "the slot is the handler's again";
    EXPECT_EQ(bytes, 0U) << "the handler may own this memory";
    called = true;
  };
  asyncWaitElected(a, io.get_executor(),
                   asio::bind_cancellation_slot(
                       signal.slot(), asio::bind_allocator(Counting<void*>{&bytes},
                                                           asio::bind_executor(other.get_executor(), handler))));
  inside = false;
  EXPECT_GT(bytes, 0U);
  EXPECT_EQ(io.run(), 0U) << "nothing of it belongs to this loop";
  other.run();
  EXPECT_TRUE(called);
}

TEST_F(AwaitedTerms, OperationThatIsNeverCompletedGivesItsMemoryBack) {
  std::size_t bytes = 0;
  AsyncElector a = elector("a");
  {
    asio::io_context io;
    asyncWaitElected(a, io.get_executor(), asio::bind_allocator(Counting<void*>{&bytes}, [](const auto&) {
                       ADD_FAILURE() << "nobody runs the loop";
                     }));
    EXPECT_GT(bytes, 0U);
    a.requestStop();
  }
  EXPECT_EQ(bytes, 0U);
}

TEST_F(AwaitedTerms, SignalCancelsAndFuturesWork) {
  asio::io_context io;
  AsyncElector a = elector("a");
  AsyncElector b = elector("b");
  a.start();
  auto future = asyncWaitElected(a, io.get_executor(), asio::use_future);
  std::thread loop{[&] { io.run(); }};
  const std::optional<AwaitedTerm> term = future.get();
  loop.join();
  ASSERT_TRUE(term);
  b.start();
  asio::cancellation_signal signal;
  int empty = 0;
  asyncWaitElected(b, io.get_executor(),
                   asio::bind_cancellation_slot(signal.slot(), [&](const auto& none) { empty += none ? 0 : 1; }));
  bool revoked = true;
  asio::cancellation_signal second;
  asyncWaitRevoked(*term, io.get_executor(),
                   asio::bind_cancellation_slot(second.slot(), [&](bool really) { revoked = really; }));
  signal.emit(asio::cancellation_type::total);
  second.emit(asio::cancellation_type::terminal);
  io.restart();
  io.run();
  EXPECT_EQ(empty, 1);
  EXPECT_FALSE(revoked);
}

}  // namespace
}  // namespace tenure::test
