#include "lockcore/net/address_book.hpp"

#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <net/if.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace tenure::net {
namespace {

using namespace std::chrono_literals;

/// The test decides what the resolver does, for each lookup.
struct AddressBookTest : testing::Test {
  struct Shared {
    std::mutex mutex;
    std::deque<std::promise<LookupResult>> running;
  };
  std::shared_ptr<Shared> shared{std::make_shared<Shared>()};
  std::shared_ptr<test::ManualScheduler> scheduler{std::make_shared<test::ManualScheduler>()};
  AlarmQueue alarms{scheduler};
  AddressBook book{alarms,
                   {.lookup =
                        [shared = shared](const std::string&) {
                          std::future<LookupResult> answer;
                          {
                            const std::lock_guard lock{shared->mutex};
                            answer = shared->running.emplace_back().get_future();
                          }
                          return answer.get();
                        },
                    .renewEvery = 60s,
                    .post = [scheduler = scheduler](std::function<void()> task) { scheduler->post(std::move(task)); }}};
  std::vector<LookupResult> found{};

  ~AddressBookTest() override {
    while (running() > 0) finish(LookupFault{"the test is over"});
  }

  [[nodiscard]] std::size_t running() const {
    const std::lock_guard lock{shared->mutex};
    return shared->running.size();
  }
  static constexpr test::Eventually eventually{10s, 0s};
  void find() {
    scheduler->post([this] { book.find("a.test", [this](const LookupResult& result) { found.push_back(result); }); });
    scheduler->runReady();
  }
  /// Makes the oldest running lookup answer, and the book receive the answer.
  void finish(const LookupResult& result) {
    const auto posted = scheduler->postedTasks();
    {
      const std::lock_guard lock{shared->mutex};
      shared->running.front().set_value(result);
      shared->running.pop_front();
    }
    ASSERT_TRUE(eventually([&] { return scheduler->postedTasks() > posted; }));
    scheduler->runReady();
  }
  static Addresses list(const std::vector<const char*>& texts) {
    Addresses all;
    for (const char* text : texts) all.push_back(parseIpAddress(text).value());
    return all;
  }
};

TEST_F(AddressBookTest, addressesNeedNoLookup) {
  book.find("10.0.0.1", [this](const LookupResult& result) { found.push_back(result); });
  book.find("::1", [this](const LookupResult& result) { found.push_back(result); });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(*found[0], list({"10.0.0.1"}));
  EXPECT_EQ(*found[1], list({"::1"}));
}

TEST_F(AddressBookTest, oneLookupServesAllWhoWaitAndIsKept) {
  find();
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1", "10.0.0.2"}));
  ASSERT_EQ(found.size(), 2U);
  scheduler->advance(59s);
  find();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(*found[2], list({"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(running(), 0U);
}

TEST_F(AddressBookTest, noMoreThanSoManyWaitForALookupThatHangs) {
  for (std::size_t i = 0; i < AddressBook::mostWaiting + 2; ++i) find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].error().why, "looking up a.test has not ended");
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1"}));
  EXPECT_EQ(found.size(), AddressBook::mostWaiting + 2);
}

TEST_F(AddressBookTest, oldAddressesAreLookedUpAnew) {
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1"}));
  scheduler->advance(60s);
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  EXPECT_EQ(found.size(), 1U);
  finish(list({"10.0.0.9"}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(*found[1], list({"10.0.0.9"}));
}

TEST_F(AddressBookTest, oldAddressesServeWhileTheResolverHangs) {
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1"}));
  scheduler->advance(60s);
  find();
  scheduler->advance(AddressBook::patience - 1ms);
  EXPECT_EQ(found.size(), 1U);
  scheduler->advance(1ms);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(*found[1], list({"10.0.0.1"}));
  find();
  EXPECT_EQ(found.size(), 3U);  // from now on there is no wait
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.2"}));
  find();
  EXPECT_EQ(*found.back(), list({"10.0.0.2"}));
}

TEST_F(AddressBookTest, oldAddressesServeWhenTheResolverAnswersWithNothing) {
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1"}));
  for (const LookupResult& nothing : {LookupResult{LookupFault{"SERVFAIL"}}, LookupResult{Addresses{}}}) {
    scheduler->advance(60s);
    find();
    ASSERT_TRUE(eventually([&] { return running() == 1; }));
    finish(nothing);
    EXPECT_EQ(*found.back(), list({"10.0.0.1"}));
  }
  EXPECT_EQ(found.size(), 3U);
}

TEST_F(AddressBookTest, aFailureIsBelievedForAMomentOnly) {
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(LookupFault{"no such name"});
  find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].error().why, "no such name");
  EXPECT_EQ(running(), 0U);
  scheduler->advance(AddressBook::failureKept);
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
}

TEST_F(AddressBookTest, anAddressThatFailedComesLastAndStaysThere) {
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1", "10.0.0.2", "10.0.0.3"}));
  book.putLast("a.test", *parseIpAddress("10.0.0.1"));
  find();
  EXPECT_EQ(*found.back(), list({"10.0.0.2", "10.0.0.3", "10.0.0.1"}));
  scheduler->advance(60s);
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1", "10.0.0.2", "10.0.0.4"}));
  EXPECT_EQ(*found.back(), list({"10.0.0.2", "10.0.0.1", "10.0.0.4"}));
}

TEST_F(AddressBookTest, doubtLooksUpAnew) {
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.1"}));
  book.doubt("a.test");
  find();
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  finish(list({"10.0.0.2"}));
  EXPECT_EQ(*found.back(), list({"10.0.0.2"}));
}

TEST(SystemLookup, theTextOfALinkLocalAddressNamesItsInterface) {
  const auto found = systemLookup("fe80::1%lo");
  ASSERT_TRUE(found);
  EXPECT_EQ(toString(found->at(0)), "fe80::1%" + std::to_string(if_nametoindex("lo")));
  EXPECT_EQ(withPort(found->at(0), 80), "[" + toString(found->at(0)) + "]:80");
}

/// In a network of its only process, where one interface has an IPv4 address and only ::1 is IPv6.
TEST(SystemLookup, findsBothAddressesOfLocalhostWhereNoInterfaceHasIpv6) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may make a network";  // lint-allow(skipped-test): says so
  test::TempDir directory;
  std::ofstream{directory.file("hosts")} << "127.0.0.1 localhost\n::1 localhost\n";
  const std::string command = "ip link set lo up && ip address add 10.9.9.1/24 dev lo && mount --bind " +
                              directory.file("hosts") + " /etc/hosts";
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) _exit(3);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(4);
    const int made = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    if (made != 0) _exit(WEXITSTATUS(made) == 127 ? 3 : 5);
    const auto found = systemLookup("localhost");
    _exit(found && found->size() == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "no networks, or no ip(8) here";  // lint-allow(skipped-test): says so
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tenure::net
