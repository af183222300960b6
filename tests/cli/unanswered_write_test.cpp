// `--wait` with a store that stops answering: what the exit code says about a write depends on whether one was sent.
#include <atomic>
#include <future>
#include <iostream>

#include <gtest/gtest.h>

#include "aws/fake_table.hpp"
#include "aws/http_endpoint.hpp"
#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

using Command = std::vector<std::string>;

/// A table that answers only requests that `answers` accepts; the rest waits until this object is destroyed.
class HangingTable {
 public:
  explicit HangingTable(std::function<bool(const std::string& operation)> answers) : answers_{std::move(answers)} {}
  ~HangingTable() { over_.set_value(); }
  HangingTable(const HangingTable&) = delete;
  HangingTable& operator=(const HangingTable&) = delete;
  [[nodiscard]] std::string url() const { return server_.url(); }

 private:
  [[nodiscard]] net::HttpOutcome serve(const net::HttpRequest& request) {
    const std::string target = aws::test::headerOf(request, "X-Amz-Target");
    if (answers_(target.substr(target.find('.') + 1))) return table_.answer(target, request.body);
    hung_.wait();
    return aws::test::lost();
  }

  const std::function<bool(const std::string&)> answers_;
  std::promise<void> over_;
  const std::shared_future<void> hung_{over_.get_future()};
  aws::test::FakeTable table_;
  aws::test::LocalServer server_{
      [this](const net::Origin&, const net::HttpRequest& request) { return serve(request); }};
};

class UnansweredWrite : public GroupFixture {
 protected:
  /// The commands that wait for a lease.
  [[nodiscard]] std::vector<Command> waiting(const HangingTable& table) const {
    directory_.write("group.yaml",
                     "group: test-group\ncandidate: { id: bob }\nstore: { type: dynamodb, table: locks, endpoint: \"" +
                         table.url() + "\" }\nlease: { duration: 40s }\n");
    const auto lock = [&](const std::string& what) {
      return tenure({"lock", what, "k", "--wait", "1s", "--lease", "40s", "--store", "dynamodb", "--table", "locks",
                     "--endpoint", table.url()});
    };
    Command hold = lock("hold");
    hold.insert(hold.end(), {"--", "true"});
    return {run({"--wait", "1s"}, {"true"}), hold, lock("acquire"),
            tenure({"pause", config(), "--for", "40s", "--why", "test", "--wait", "1s"})};
  }

  [[nodiscard]] SubprocessOptions asUser(const std::string& name) const {
    SubprocessOptions options = as(name);
    options.environment.insert(
        {{"AWS_ACCESS_KEY_ID", "any"}, {"AWS_SECRET_ACCESS_KEY", "any"}, {"AWS_REGION", "local"}});
    return options;
  }

  [[nodiscard]] Finished finishInTime(const Command& command) const {
    const SubprocessOptions options = asUser("bob");
    const double start = startOfProgram();
    const long long before = monotonicNow();
    Finished done = runToEnd(command, options, milliseconds{60'000});
    const double took = static_cast<double>(monotonicNow() - before) / 1e6;
    std::cout << command[1] << ' ' << command[2] << ": a wait of 1 s took " << took << " ms, exit code " << done.code
              << '\n';
    EXPECT_LT(took, 2500 + 5 * start) << "starting the program takes " << start << " ms; " << done.errors;
    return done;
  }
};

TEST_F(UnansweredWrite, AWriteThatIsNotAnsweredIsUnknown) {
  const HangingTable table{[](const std::string& operation) { return operation.find("Write") == std::string::npos; }};
  for (const Command& command : waiting(table)) {
    const Finished done = finishInTime(command);
    EXPECT_EQ(done.code, cli::exitUnknown) << done.errors;
    EXPECT_NE(done.errors.find("is not known"), std::string::npos) << done.errors;
    EXPECT_EQ(done.errors.find("is not paused"), std::string::npos) << "it may be: " << done.errors;
  }
}

TEST_F(UnansweredWrite, WithoutAnAnswerToAReadNothingWasWritten) {
  const HangingTable table{[](const std::string&) { return false; }};
  for (const Command& command : waiting(table)) {
    const Finished done = finishInTime(command);
    EXPECT_EQ(done.code, cli::exitStore) << done.errors;
    EXPECT_EQ(done.errors.find("is not known"), std::string::npos) << done.errors;
  }
}

TEST_F(UnansweredWrite, AStoreThatHangsDoesNotLengthenTheWaitForALeaderThatWasAsked) {
  std::atomic<bool> leads{false}, asked{false};
  const HangingTable table{[&](const std::string& operation) {
    if (operation == "UpdateItem" && leads) asked = true;
    return !asked || operation == "UpdateItem";
  }};
  static_cast<void>(waiting(table));
  ASSERT_EQ(finishInTime(tenure({"lock", "acquire", "test-group", "--lease", "40s", "--config", config()})).code, 0);
  leads = true;
  const Finished done = finishInTime(tenure({"resign", config(), "--wait", "1s"}));
  EXPECT_TRUE(asked);
  EXPECT_EQ(done.code, cli::exitStore) << done.errors;
}

TEST_F(UnansweredWrite, AStoreThatHangsAfterALeaderWasAskedIsNamedBesideWhatWasSeen) {
  std::atomic<bool> leads{false};
  std::atomic<int> reads{-1};  // since it was asked
  const HangingTable table{[&](const std::string& operation) {
    if (operation == "UpdateItem" && leads) reads = 0;
    return operation == "UpdateItem" || reads < 0 || ++reads < 3;
  }};
  static_cast<void>(waiting(table));
  ASSERT_EQ(finishInTime(tenure({"lock", "acquire", "test-group", "--lease", "40s", "--config", config()})).code, 0);
  leads = true;
  const Finished done = finishInTime(tenure({"resign", config(), "--wait", "1s"}));
  EXPECT_EQ(done.code, cli::exitNotYet) << done.errors;
  EXPECT_NE(done.errors.find("was asked, and had not stepped down when the store last answered"), std::string::npos)
      << done.errors;
  EXPECT_EQ(done.errors.find("tenure: dynamodb"), 0U) << done.errors;
}

/// The one that was named is dead.
TEST_F(UnansweredWrite, AStepDownThatWasSeenIsToldThoughTheStoreHangsAfterIt) {
  std::atomic<bool> hangs{false};
  std::atomic<int> requests{0};
  const HangingTable table{[&](const std::string&) { return ++requests, !hangs; }};
  directory_.write("group.yaml",
                   "group: test-group\ncandidate: { id: \"${NAME}\" }\nstore: { type: dynamodb, table: locks, "
                   "endpoint: \"" +
                       table.url() + "\" }\nlease: { duration: 40s, heartbeat: 300ms }\n");
  Subprocess alice{run({}, {"sleep", "600"}), asUser("alice")};
  ASSERT_TRUE(alice.saysOnStderr("the job starts"));
  Subprocess resign{tenure({"resign", config(), "--to", "bob", "--wait", "6s"}), asUser("carol")};
  ASSERT_TRUE(alice.saysOnStderr("there is no leader")) << alice.errors();
  ASSERT_TRUE(eventually([&, from = requests.load()] { return requests > from + 16; }));
  hangs = true;
  EXPECT_EQ(resign.wait(), cli::exitNotYet) << resign.errors();
  EXPECT_NE(resign.errors().find("alice has stepped down; there is no leader yet, and not bob"), std::string::npos)
      << resign.errors();
  EXPECT_EQ(resign.errors().find("tenure: dynamodb"), 0U) << resign.errors();
  alice.signal(SIGKILL);
}

}  // namespace
}  // namespace tenure::test
