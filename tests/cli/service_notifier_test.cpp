// What a service manager is told, over real datagram sockets, and what happens if it does not take it.
#include "cli/run/service_notifier.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "cli/notify_receiver.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using cli::ServiceEnvironment;
using cli::ServiceNotifier;
using std::chrono::nanoseconds;

Instant after(nanoseconds time) { return {time, time, time}; }

class ServiceNotifierTest : public ::testing::Test {
 protected:
  [[nodiscard]] ServiceNotifier notifier(std::map<std::string, std::string> variables) {
    variables.emplace("NOTIFY_SOCKET", address_);
    return ServiceNotifier{
        ServiceEnvironment{std::move(variables)}, [this] { return renewals_; },
        Logger{LogLevel::info, [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }}};
  }

  const TemporaryDirectory directory_;
  const std::string address_ = directory_.file("notify");
  const std::shared_ptr<ManualScheduler> renewals_ = std::make_shared<ManualScheduler>();
  std::vector<std::string> lines_;
};

TEST_F(ServiceNotifierTest, TellsEachThingOnceAndWhatBelongsTogetherAtOnce) {
  NotifyReceiver manager{address_};
  ServiceNotifier service = notifier({});
  service.ready();
  service.status("standing by,\nSTOPPING=1 leads");
  service.act(after(0s));
  EXPECT_EQ(manager.take().at(0).lines, "READY=1\nSTATUS=standing by, STOPPING=1 leads\n")
      << "one line, whatever a name holds";
  service.ready();
  service.status("standing by,\nSTOPPING=1 leads");
  service.act(after(1s));
  EXPECT_TRUE(manager.take().empty());
  service.stopping(1500ms);
  service.stopping(9s);
  service.act(after(2s));
  EXPECT_EQ(manager.take().at(0).lines, "STOPPING=1\nEXTEND_TIMEOUT_USEC=1500000\n");
  EXPECT_FALSE(service.untilAct(after(2s)));
}

TEST_F(ServiceNotifierTest, AbstractNamesAreAddressesToo) {
  const std::string name = "@tenure-test-" + std::to_string(getpid());
  NotifyReceiver manager{name};
  EXPECT_EQ(cli::NotifySocket{name}.send("READY=1\n"), 0);
  EXPECT_EQ(manager.take().at(0).lines, "READY=1\n");
}

TEST_F(ServiceNotifierTest, WatchdogIsFedByTheThreadThatRenewsOnly) {
  NotifyReceiver manager{address_};
  ServiceNotifier service = notifier({{"WATCHDOG_USEC", "4000000"}, {"WATCHDOG_PID", std::to_string(getpid())}});
  service.act(after(0s));
  EXPECT_TRUE(manager.take().empty()) << "the renewal thread has not run";
  for (int second = 1; second < 60; ++second) service.act(after(std::chrono::seconds{second}));
  EXPECT_TRUE(manager.take().empty());
  EXPECT_EQ(renewals_->postedTasks(), 1U) << "a thread that is stuck does not collect tasks";
  renewals_->runReady();
  EXPECT_EQ(manager.take().size(), 1U);
  EXPECT_EQ(service.untilAct(after(59s)), 1s) << "half of the period after the last";
  service.act(after(59s));
  EXPECT_EQ(renewals_->runReady(), 0U) << "not due yet";
  service.act(after(60s));
  renewals_->runReady();
  EXPECT_EQ(manager.take().at(0).lines, "WATCHDOG=1\n");
}

TEST_F(ServiceNotifierTest, WatchdogOfAnotherProcessIsNotFed) {
  NotifyReceiver manager{address_};
  for (const auto& [period, process] :
       std::vector<std::pair<std::string, std::string>>{{"4000000", std::to_string(getppid())},
                                                        {"4000000", "x"},
                                                        {"", ""},
                                                        {"0", ""},
                                                        {"4s", ""},
                                                        {"-1", ""},
                                                        {"99999999999999999999", ""},
                                                        {"9223372036854775807", ""}}) {
    ServiceNotifier service = notifier({{"WATCHDOG_USEC", period}, {"WATCHDOG_PID", process}});
    service.act(after(0s));
    EXPECT_EQ(renewals_->postedTasks(), 0U) << period << ' ' << process;
    EXPECT_FALSE(service.untilAct(after(0s)));
  }
  EXPECT_EQ(lines_.size(), 5U) << "of the periods that are no number of microseconds";
  EXPECT_EQ(lines_.back(),
            "WATCHDOG_USEC is \"9223372036854775807\", no number of microseconds; the service manager's watchdog is "
            "not served");
}

TEST_F(ServiceNotifierTest, SocketThatIsMissingIsToldOnceAndTriedAgain) {
  ServiceNotifier service = notifier({});
  service.ready();
  service.status("standing by, alice leads");
  service.act(after(0s));
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0], "the state cannot be reported to the service manager (NOTIFY_SOCKET=" + address_ +
                           "): No such file or directory; tries again each second");
  EXPECT_EQ(service.untilAct(after(400ms)), 600ms);
  service.act(after(1s));
  service.status("leading group g, token 1");
  NotifyReceiver manager{address_};
  service.act(after(1500ms));
  EXPECT_TRUE(manager.take().empty());
  service.act(after(2s));
  EXPECT_EQ(manager.take().at(0).lines, "READY=1\nSTATUS=leading group g, token 1\n") << "the newest state only";
  std::filesystem::remove(address_);
  service.status("draining");
  service.act(after(3s));
  NotifyReceiver restarted{address_};
  service.act(after(4s));
  EXPECT_EQ(restarted.take().at(0).lines, "STATUS=draining\n");
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(ServiceNotifierTest, SocketThatIsFullBlocksNobody) {
  NotifyReceiver manager{address_};
  ServiceNotifier service = notifier({{"WATCHDOG_USEC", "2000000"}});
  // The manager's queue is to be full (net.unix.max_dgram_qlen), and not only what one sender may have in it.
  std::vector<std::unique_ptr<cli::NotifySocket>> others;
  std::size_t sent = 0;
  for (std::size_t before = 1; before != sent;) {
    before = sent;
    others.push_back(std::make_unique<cli::NotifySocket>(address_));
    while (others.back()->send("STATUS=noise\n") == 0) ASSERT_LT(++sent, 100'000U);
  }
  service.ready();
  service.act(after(0s));
  renewals_->runReady();
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("Resource temporarily unavailable"), std::string::npos) << lines_[0];
  EXPECT_EQ(manager.take().size(), sent);
  service.act(after(1s));
  EXPECT_EQ(manager.take().at(0).lines, "READY=1\n");
}

TEST_F(ServiceNotifierTest, AddressesOfOtherKindsAreRefusedWithoutHarm) {
  EXPECT_EQ(cli::NotifySocket{"vsock:2:1234"}.send("READY=1\n"), EAFNOSUPPORT);
  EXPECT_EQ(cli::NotifySocket{"/"}.send("READY=1\n"), EAFNOSUPPORT);
  EXPECT_EQ(cli::NotifySocket{"/" + std::string(200, 'x')}.send("READY=1\n"), ENAMETOOLONG);
}

TEST_F(ServiceNotifierTest, TakesTheVariablesOutOfTheEnvironment) {
  setenv("NOTIFY_SOCKET", "@x", 1);  // NOLINT(concurrency-mt-unsafe): no other thread runs
  setenv("WATCHDOG_USEC", "5", 1);   // NOLINT(concurrency-mt-unsafe)
  const ServiceEnvironment taken = ServiceEnvironment::take();
  EXPECT_EQ(taken.variables, (std::map<std::string, std::string>{{"NOTIFY_SOCKET", "@x"}, {"WATCHDOG_USEC", "5"}}));
  EXPECT_TRUE(ServiceEnvironment::take().variables.empty());
  ServiceNotifier nobody{ServiceEnvironment{}, [this] { return renewals_; }, Logger{}};
  nobody.ready();
  nobody.act(after(0s));
  EXPECT_FALSE(nobody.untilAct(after(0s)));
}

}  // namespace
}  // namespace tenure::test
