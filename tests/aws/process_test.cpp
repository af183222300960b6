// credential_process: real processes.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>

#include "aws_world.hpp"

namespace {

std::atomic<int> groupsKilled{0};
std::atomic<bool> killIsRefused{false};  ///< of groups, as if they ran as another user

}  // namespace

// --wrap dictates the names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" {

int __real_kill(pid_t process, int signal);
int __wrap_kill(pid_t process, int signal) {
  if (process < 0 && killIsRefused) {
    errno = EPERM;
    return -1;
  }
  if (process < 0) ++groupsKilled;
  return __real_kill(process, signal);
}
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace tenure::aws::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class ProcessTest : public AwsTest {
 protected:
  StoreResult<Credentials> start(const std::string& command) {
    writeConfig("[profile p]\ncredential_process = " + command + "\n");
    return find({std::nullopt, "p"});
  }
  StoreResult<Credentials> run(const std::string& script) {
    write("script", script + "\n");
    return start("sh " + path("script"));
  }
  std::string json(const std::string& rest = "") {
    return R"({"Version":1,"AccessKeyId":"AKIAP","SecretAccessKey":")" + secretKey + R"(","SessionToken":")" +
           tokenText + '"' + rest + '}';
  }
};

TEST_F(ProcessTest, givesKeysThatExpire) {
  write("out", json(",\"Expiration\":\"" + isoTime(noon + 600) + "\""));
  const auto got = run("cat " + path("out"));
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->keys, (Keys{"AKIAP", secretKey, tokenText}));
  EXPECT_EQ(got->lifetime, std::chrono::seconds{600});
}

TEST_F(ProcessTest, keysWithoutTokenAndEnd) {
  write("out", R"({"Version":1,"AccessKeyId":"AKIAP","SecretAccessKey":"s"})");
  const auto got = run("cat < " + path("out"));
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->lifetime, std::nullopt);
}

TEST_F(ProcessTest, seesTheEnvironmentAndNoInput) {
  set("KEY_FROM_OUTSIDE", "AKIAENV");
  const auto got = run(R"(cat; printf '{"Version":1,"AccessKeyId":"%s","SecretAccessKey":"s"}' "$KEY_FROM_OUTSIDE")");
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->keys.accessKeyId, "AKIAENV");
}

TEST_F(ProcessTest, startsWithOrdinarySignals) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto handlerBefore = std::signal(SIGPIPE, SIG_IGN);
  // Bits 0 to 30 are the signals 1 to 31; the two above belong to the C library.
  const auto got = run(R"(grep -q 'SigBlk:.*[08]0000000$' /proc/self/status && )"
                       R"(grep -q 'SigIgn:.*[08]0000000$' /proc/self/status && )"
                       R"(printf '{"Version":1,"AccessKeyId":"a","SecretAccessKey":"s"}')");
  std::signal(SIGPIPE, handlerBefore);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_TRUE(got) << error(got);
}

TEST_F(ProcessTest, failureIsToldWithItsWordsButNoSecret) {
  const std::string message = error(run("echo no session for you " + secretKey + " >&2; exit 3"));
  EXPECT_NE(message.find("credential_process of profile p (" + path("config") +
                         ":1) ended with exit code 3; it wrote: no session for you"),
            std::string::npos)
      << message;
  EXPECT_NE(error(run("exit 4")).find("exit code 4 and wrote nothing to stderr"), std::string::npos);
  EXPECT_NE(error(start("/no/such/helper x")).find("could not start /no/such/helper: No such file"), std::string::npos);
  EXPECT_NE(error(start("cat 'a")).find("is not a command: a quotation has no end"), std::string::npos);
  EXPECT_NE(error(run("kill -9 $$")).find("ended by signal 9"), std::string::npos);
}

/// What this process does about SIGCHLD, until the object ends.
class ChildSignal {
 public:
  explicit ChildSignal(void (*handler)(int)) : before_{std::signal(SIGCHLD, handler)} {}
  ~ChildSignal() { std::signal(SIGCHLD, before_); }
  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;

 private:
  void (*const before_)(int);
};

void reapEverybody(int /*signal*/) {
  const int before = errno;
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  errno = before;
}

/// Its status could have been any.
TEST_F(ProcessTest, whatEndedInAnUnknownWayIsNotBelieved) {
  write("out", json());
  for (void (*const handler)(int) : {SIG_IGN, &reapEverybody}) {
    const ChildSignal reaped{handler};
    for (const char* const code : {"0", "1"}) {
      const std::string message = error(run("cat " + path("out") + "; exit " + code));
      EXPECT_NE(message.find(":1) ended, but its exit status is not known"), std::string::npos) << message;
      EXPECT_NE(message.find("let SIGCHLD have its default action"), std::string::npos) << message;
    }
  }
}

TEST_F(ProcessTest, aGroupWhoseNumberMayBeAnothersByNowIsNotKilled) {
  limits_.process = milliseconds{3'000};
  const int before = groupsKilled;
  const ChildSignal ignored{SIG_IGN};
  const std::string message = error(run("setsid sleep 1000 & echo $! > " + path("pid")));
  EXPECT_NE(message.find("did not end within 3000 ms and was left running"), std::string::npos) << message;
  EXPECT_EQ(groupsKilled, before);
  std::ifstream file{path("pid")};
  pid_t sleeper = 0;
  ASSERT_TRUE(file >> sleeper);
  kill(sleeper, SIGKILL);
}

TEST_F(ProcessTest, rubbishIsRefusedAndNotShown) {
  EXPECT_NE(error(run("echo " + secretKey)).find("gave no JSON object"), std::string::npos);
  EXPECT_NE(error(run("true")).find("gave no JSON object (0 bytes"), std::string::npos);
  write("out", R"({"Version":2,"AccessKeyId":"A","SecretAccessKey":")" + secretKey + "\"}");
  EXPECT_NE(error(run("cat " + path("out"))).find("without \"Version\": 1"), std::string::npos);
  write("out", R"({"Version":1,"SecretAccessKey":")" + secretKey + "\"}");
  EXPECT_NE(error(run("cat " + path("out"))).find("without \"AccessKeyId\""), std::string::npos);
  write("out", R"({"Version":1,"AccessKeyId":"A"})");
  EXPECT_NE(error(run("cat " + path("out"))).find("without \"SecretAccessKey\""), std::string::npos);
  write("out", json(R"(,"Expiration":"tomorrow")"));
  EXPECT_NE(error(run("cat " + path("out"))).find("\"Expiration\" that is not a time"), std::string::npos);
  write("out", json(",\"Expiration\":\"" + isoTime(noon - 1) + "\""));
  EXPECT_NE(error(run("cat " + path("out"))).find("expired already"), std::string::npos);
  EXPECT_NE(error(run("yes " + secretKey + " | head -c 3000000")).find("gave no JSON object"), std::string::npos);
}

TEST_F(ProcessTest, onesThatHangAreKilledWithTheirChildren) {
  limits_.process = milliseconds{3'000};  // the script has written its number long before
  const auto begin = steady_clock::now();
  const std::string message = error(run("sleep 1000 & echo $! > " + path("pid") + "; wait"));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds{20});
  EXPECT_NE(message.find("did not end within 3000 ms and was killed"), std::string::npos) << message;
  std::ifstream file{path("pid")};
  pid_t child = 0;
  ASSERT_TRUE(file >> child);
  const auto gone = [&] {
    std::ifstream stat{"/proc/" + std::to_string(child) + "/stat"};
    std::string all{std::istreambuf_iterator<char>{stat}, {}};
    return all.empty() || all.find(") Z ") != std::string::npos;
  };
  while (!gone() && steady_clock::now() - begin < std::chrono::seconds{20}) std::this_thread::yield();
  EXPECT_TRUE(gone());
}

/// As a setuid program, which the kernel does not let others kill.
TEST_F(ProcessTest, oneThatMayNotBeKilledIsLeftAlone) {
  limits_.process = milliseconds{300};
  killIsRefused = true;
  const auto begin = steady_clock::now();
  const std::string message = error(run("exec sleep 1000"));
  killIsRefused = false;
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds{20});
  const std::string text = "did not end within 300 ms and could not be killed (Operation not permitted); process ";
  const auto at = message.find(text);
  ASSERT_NE(at, std::string::npos) << message;
  const pid_t child = std::stoi(message.substr(at + text.size()));
  EXPECT_NE(message.find(" still runs; run it by hand to see why"), std::string::npos) << message;
  EXPECT_EQ(kill(child, SIGKILL), 0);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(ProcessTest, onesThatCloseTheirOutputAndStay) {
  limits_.process = milliseconds{300};
  EXPECT_NE(error(run("exec >&- 2>&-; sleep 1000")).find("did not end within"), std::string::npos);
}

TEST_F(ProcessTest, aClientThatGoesEndsThem) {
  const auto begin = steady_clock::now();
  std::thread stopper{[&] {
    while (!std::filesystem::exists(path("started")) && steady_clock::now() - begin < std::chrono::seconds{20}) {
      std::this_thread::yield();
    }
    stop_.request_stop();
  }};
  const std::string message = error(run("touch " + path("started") + "; sleep 1000"));
  stopper.join();
  EXPECT_NE(message.find("the client was closed"), std::string::npos) << message;
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds{20});
}

}  // namespace
}  // namespace tenure::aws::test
