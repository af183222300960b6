// The listener with real sockets and a real elector.
#include <algorithm>
#include <barrier>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/ops/http_listener.hpp>

#include "election/ops/src/client.hpp"
#include "election/ops/src/listen_socket.hpp"
#include "election/stage.hpp"
#include "ops/http_peer.hpp"
#include "ops/lying_listener.hpp"
#include "support/slowness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using ops::HttpListener;
using ops::ListenerOptions;

constexpr const char* anyPort = "127.0.0.1:0";
const std::string leaderRequest = "GET /leader HTTP/1.1\r\nHost: localhost\r\n\r\n";

Group groupOver(std::shared_ptr<LeaseStore> store, std::chrono::milliseconds lease = 10s, Logger logger = {}) {
  return Group::make({.group = "g", .candidate = {.id = "a"}, .lease = {.duration = lease}}, std::move(store),
                     std::move(logger))
      .value();
}

HttpListener listener(ListenerOptions options = {}) {
  if (options.listen.empty()) options.listen = anyPort;
  return HttpListener::start(std::move(options)).value();
}

/// An elector that leads, and a listener that shows it.
class Leading {
 public:
  explicit Leading(ListenerOptions options = {})
      : elector_{groupOver(makeMemoryStore())}, http_{listener(std::move(options))} {
    http_.watch(elector_.view());
    elector_.start();
    EXPECT_TRUE(eventually([&] { return elector_.isLeader(); }));
  }
  [[nodiscard]] const std::string& address() const { return http_.address(); }
  LeaderElector elector_;
  HttpListener http_;
};

TEST(HttpListener, AnswersLoadBalancersByGetHeadAndOptions) {
  const Leading leading;
  for (const char* method : {"GET", "HEAD", "OPTIONS"}) {
    const HttpReply reply = ask(leading.address(), "/leader", method);
    EXPECT_EQ(reply.status, 200) << method;
    EXPECT_NE(reply.head.find("Cache-Control: no-store\r\n"), std::string::npos);
  }
  EXPECT_NE(ask(leading.address(), "/leader").body.find("\"fencing_token\":1"), std::string::npos);
  EXPECT_EQ(ask(leading.address(), "/leader", "POST").status, 405);
  EXPECT_EQ(ask(leading.address(), "/readyz").status, 200);
  EXPECT_EQ(ask(leading.address(), "/livez").status, 200);
  EXPECT_EQ(ask(leading.address(), "/x").status, 404);
  EXPECT_NE(ask(leading.address(), "/metrics").body.find("tenure_leader{"), std::string::npos);
  HttpPeer haproxy{leading.address()};
  haproxy.send("OPTIONS /leader HTTP/1.0\r\n\r\n");
  ASSERT_EQ(haproxy.reply(false).value().status, 200);
  EXPECT_TRUE(haproxy.closed());
}

TEST(HttpListener, LeaderThatStopsIsNoLeaderAtTheNextRequest) {
  Leading leading;
  HttpPeer peer{leading.address()};
  peer.send(leaderRequest);
  EXPECT_EQ(peer.reply().value().status, 200);
  leading.elector_.stop();
  peer.send(leaderRequest);
  EXPECT_EQ(peer.reply().value().status, 503);
  peer.send("GET /leader?standbyok HTTP/1.1\r\n\r\n");
  EXPECT_EQ(peer.reply().value().status, 503);
}

TEST(HttpListener, SeveralAcceptHeadersAreOneList) {
  const Leading leading;
  HttpPeer peer{leading.address()};
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n";
  const std::string plain = "Accept: text/plain;version=0.0.4;q=0.5\r\n";
  const std::string open = "accept: application/openmetrics-text;version=1.0.0\r\n";
  for (const std::string& headers : {plain + open, open + plain}) {
    ASSERT_TRUE(peer.send(request + headers + "\r\n"));
    const auto reply = peer.reply();
    ASSERT_TRUE(reply.has_value());
    EXPECT_NE(reply->head.find("\r\nContent-Type: application/openmetrics-text; version=1.0.0"), std::string::npos);
  }
  ASSERT_TRUE(peer.send(request + "\r\n"));
  const auto reply = peer.reply();
  ASSERT_TRUE(reply.has_value());
  EXPECT_NE(reply->head.find("\r\nContent-Type: text/plain; version=0.0.4"), std::string::npos) << reply->head;
}

TEST(HttpListener, PipelinedRequestsAreAnsweredInOrder) {
  const Leading leading;
  HttpPeer peer{leading.address()};
  peer.send("GET /livez HTTP/1.1\r\n\r\nGET /nothing HTTP/1.1\r\n\r\nHEAD /leader HTTP/1.1\r\n\r\n" + leaderRequest);
  EXPECT_EQ(peer.reply().value().body, "ok\n");
  EXPECT_EQ(peer.reply().value().status, 404);
  EXPECT_EQ(peer.reply(false).value().status, 200);
  EXPECT_NE(peer.reply().value().body.find("\"leads\":true"), std::string::npos);
}

TEST(HttpListener, HalfClosedClientGetsItsAnswer) {
  const Leading leading;
  HttpPeer peer{leading.address()};
  peer.send(leaderRequest);
  peer.finishSending();
  EXPECT_EQ(peer.reply().value().status, 200);
  EXPECT_TRUE(peer.closed());
}

TEST(HttpListener, RefusesWhatIsNoRequestAndCloses) {
  const Leading leading;
  const struct {
    std::string sent;
    int status;
  } cases[] = {
      {"GET /leader HTTP/1.1\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n\r\n", 431},
      {"\x16\x03\x01\x02 a client of TLS\r\n\r\n", 400},
      {"GET /leader\r\n\r\n", 400},
      {"GET /leader HTTP/9.9\r\n\r\n", 400},
      {"GET /leader HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 413},
      {"GET /leader HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 413},
  };
  for (const auto& each : cases) {
    HttpPeer peer{leading.address()};
    peer.send(each.sent);
    const auto reply = peer.reply();
    ASSERT_TRUE(reply) << each.sent.substr(0, 60);
    EXPECT_EQ(reply->status, each.status) << each.sent.substr(0, 60);
    peer.finishSending();
    EXPECT_TRUE(peer.closed()) << each.sent.substr(0, 60);
  }
  EXPECT_EQ(ask(leading.address(), "/leader").status, 200);
}

/// A page of another site reaches a listener of this machine under a name of its own (DNS rebinding).
TEST(HttpListener, ForeignHostIsRefusedWithASentence) {
  const Leading leading;
  const auto statusOf = [&](const std::string& sent) {
    HttpPeer peer{leading.address()};
    peer.send(sent);
    const auto reply = peer.reply();
    EXPECT_TRUE(!reply || reply->status != 421 || reply->body.find("http.hosts") != std::string::npos);
    return reply ? reply->status : 0;
  };
  for (const char* path : {"/leader", "/status", "/history", "/metrics", "/", "/readyz", "/livez"}) {
    EXPECT_EQ(statusOf("GET " + std::string{path} + " HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421) << path;
  }
  EXPECT_EQ(statusOf("GET /leader HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"), 421);
  EXPECT_EQ(statusOf("GET http://evil.example/leader HTTP/1.1\r\nHost: localhost\r\n\r\n"), 421);
  EXPECT_EQ(statusOf("GET http://localhost:1/leader HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
  EXPECT_EQ(statusOf("GET /leader HTTP/1.1\r\nHost: " + leading.address() + "\r\n\r\n"), 200);
  EXPECT_EQ(statusOf("OPTIONS /leader HTTP/1.0\r\n\r\n"), 200) << "HAProxy's check has no Host";
}

TEST(HttpListener, NamesOfTheOptionAreHostsToo) {
  const Leading leading{{.hosts = {"leader.example"}}};
  HttpPeer peer{leading.address()};
  peer.send("GET /leader HTTP/1.1\r\nHost: Leader.Example:9200\r\n\r\n");
  EXPECT_EQ(peer.reply().value().status, 200);
  peer.send("GET /leader HTTP/1.1\r\nHost: other.example\r\n\r\n");
  EXPECT_EQ(peer.reply().value().status, 421);
}

/// HAProxy's check waits for a second.
TEST(HttpListener, IdleConnectionsDelayNoAnswer) {
  constexpr int many = 5'000;
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit enough{std::min<rlim_t>(files.rlim_max, 3 * many), files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &enough), 0);
  const Leading leading;
  const ListenAddress address = parseListen(leading.address()).value();
  std::vector<UniqueFd> idle;
  int error = 0;
  auto waited = std::chrono::nanoseconds::max();
  for (int tries = 0; tries < 3 && waited >= slowness * 1s; ++tries) {  // the machine may be late for other reasons
    idle.clear();
    while (idle.size() < std::min<std::size_t>(many, enough.rlim_cur - 500)) {
      idle.push_back(ops::connectTo(address, error));
      ASSERT_TRUE(error == 0 || error == EINPROGRESS) << error;
    }
    const Instant asked = readClock();
    EXPECT_EQ(ask(leading.address(), "/leader").status, 200);
    waited = readClock().boottime - asked.boottime;
    std::cout << "/leader behind " << idle.size() << " idle connections: " << waited / 1ms << " ms\n";
  }
  EXPECT_LT(waited, slowness * 1s);
  idle.clear();
  setrlimit(RLIMIT_NOFILE, &files);
}

/// Who has sent a part of a request stays; who sends nothing makes room.
TEST(HttpListener, IdleConnectionsGoBeforeThoseAtWork) {
  const Leading leading{{.connections = 3}};
  HttpPeer slow{leading.address()};
  slow.send("GET /leader HT");
  HttpPeer kept{leading.address()};
  kept.send(leaderRequest);
  EXPECT_EQ(kept.reply().value().status, 200);
  HttpPeer silent{leading.address()};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(leading.address(), "/leader").status, 200) << i;
  slow.send("TP/1.1\r\n\r\n");
  EXPECT_EQ(slow.reply().value().status, 200);
}

TEST(HttpListener, SlowRequestIsEndedWith408) {
  const Leading leading{{.requestTime = 1s}};
  HttpPeer peer{leading.address()};
  peer.send("GET /leader HT");
  EXPECT_EQ(peer.reply().value().status, 408);
  peer.finishSending();
  EXPECT_TRUE(peer.closed());
  HttpPeer silent{leading.address()};
  EXPECT_TRUE(silent.closed()) << "it sent nothing, so nothing is answered";
}

TEST(HttpListener, IdleConnectionIsClosed) {
  const Leading leading{{.idleTime = 500ms}};
  HttpPeer peer{leading.address()};
  peer.send(leaderRequest);
  EXPECT_EQ(peer.reply().value().status, 200);
  EXPECT_TRUE(peer.closed());
}

TEST(HttpListener, NewConnectionTakesThePlaceOfTheOneThatWaitsLongest) {
  const Leading leading{{.connections = 3}};
  HttpPeer first{leading.address()};
  first.send(leaderRequest);
  EXPECT_EQ(first.reply().value().status, 200);
  HttpPeer second{leading.address()}, third{leading.address()};
  for (HttpPeer* peer : {&second, &third}) {
    peer->send(leaderRequest);
    EXPECT_EQ(peer->reply().value().status, 200);
  }
  EXPECT_EQ(ask(leading.address(), "/leader").status, 200) << "the fourth";
  EXPECT_TRUE(first.closed());
  third.send(leaderRequest);
  EXPECT_EQ(third.reply().value().status, 200) << "it waited less long";
}

/// Each asks for megabytes and reads nothing, so its answers fill the system's buffers.
TEST(HttpListener, NewConnectionTakesThePlaceOfOneThatReadsNoAnswer) {
  const Leading leading{{.connections = 3, .requestTime = 60s}};
  std::string many;
  for (int i = 0; i < 3'000; ++i) many += "GET / HTTP/1.1\r\n\r\n";
  std::vector<std::unique_ptr<HttpPeer>> greedy;
  for (int i = 0; i < 3; ++i) {
    greedy.push_back(std::make_unique<HttpPeer>(leading.address()));
    greedy.back()->send(many);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(leading.address(), "/leader", "GET", 10s).status, 200);
}

TEST(HttpListener, DescriptorTableThatIsFullCostsNoConnectionThatThereIs) {
  const Leading leading;
  HttpPeer known{leading.address()};
  known.send(leaderRequest);
  ASSERT_EQ(known.reply().value().status, 200);
  HttpPeer waits{leading.address()};
  std::vector<UniqueFd> all;
  for (UniqueFd one{dup(0)}; one; one = UniqueFd{dup(0)}) all.push_back(std::move(one));
  ASSERT_EQ(errno, EMFILE);
  known.send(leaderRequest);
  EXPECT_EQ(known.reply().value().status, 200);
  all.clear();
  waits.send(leaderRequest);
  EXPECT_EQ(waits.reply().value().status, 200) << "it is served as soon as there is a descriptor";
}

#if !defined(__SANITIZE_ADDRESS__)  // UndefinedBehaviorSanitizer needs descriptors to look at memory
/// Its thread needs one descriptor more than its start.
TEST(HttpListener, ThatHasNoDescriptorForItsThreadAnswersAsSoonAsThereIsOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{std::min<rlim_t>(before.rlim_cur, 100), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::promise<std::string> told;
  const Logger logger{LogLevel::warn, [&](LogLevel, std::string_view line) { told.set_value(std::string{line}); }};
  std::vector<UniqueFd> all;
  for (UniqueFd one{dup(0)}; one; one = UniqueFd{dup(0)}) all.push_back(std::move(one));
  std::optional<HttpListener> http;
  while (!http && !all.empty()) {
    all.pop_back();
    try {
      auto made = HttpListener::start({.listen = anyPort, .logger = logger});
      if (made) http.emplace(*std::move(made));
    } catch (const std::exception&) {
      continue;
    }
  }
  ASSERT_TRUE(http);
  auto line = told.get_future();
  EXPECT_EQ(line.wait_for(20s), std::future_status::ready);
  all.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(ask(http->address(), "/livez").status, 200);
  ASSERT_EQ(line.wait_for(0s), std::future_status::ready);
  EXPECT_TRUE(line.get().starts_with("http: no connection is accepted for now: ")) << "said once";
}
#endif

TEST(HttpListener, CallbackThatBlocksForEverDoesNotStopTheAnswers) {
  std::promise<void> release;
  auto released = release.get_future().share();
  Listener blocks;
  blocks.onElected = [released](const Leadership&) { released.wait(); };
  blocks.onLeaderChanged = [released](const std::optional<LeaderInfo>&) { released.wait(); };
  LeaderElector elector{groupOver(makeMemoryStore(), 500ms), blocks};
  const auto http = std::make_unique<HttpListener>(listener());
  http->watch(elector.view());
  elector.start();
  ASSERT_TRUE(eventually([&] { return ask(http->address(), "/leader").status == 200; }));
  elector.requestStop();
  EXPECT_TRUE(eventually([&] { return ask(http->address(), "/leader").status == 503; }));
  EXPECT_NE(ask(http->address(), "/history").body.find("\"reason\":\"stopped\""), std::string::npos);
  EXPECT_EQ(ask(http->address(), "/livez").status, 200);
  EXPECT_EQ(ask(http->address(), "/metrics").status, 200);
  release.set_value();
}

/// The log sink is called on the renewal thread. While it blocks, no thread of the library does anything.
TEST(HttpListener, AnswersTrulyWhileTheRenewalThreadHangs) {
  std::promise<void> release;
  auto released = release.get_future().share();
  std::atomic<bool> hangs{false};
  const Logger logger{LogLevel::trace, [released, &hangs](LogLevel, std::string_view line) {
                        if (line.find("elected with") == std::string_view::npos) return;
                        hangs.store(true);
                        released.wait();
                      }};
  LeaderElector elector{groupOver(makeMemoryStore(), 300ms, logger)};
  const auto http = std::make_unique<HttpListener>(listener({.stallPatience = 1s}));
  http->watch(elector.view());
  elector.start();
  ASSERT_TRUE(eventually([&] { return hangs.load(); }));
  EXPECT_TRUE(eventually([&] { return ask(http->address(), "/leader").status == 503; })) << "the lease has run out";
  EXPECT_TRUE(eventually([&] { return ask(http->address(), "/livez").status == 503; }));
  EXPECT_EQ(ask(http->address(), "/metrics").status, 200);
  EXPECT_EQ(ask(http->address(), "/status").status, 200);
  release.set_value();
  EXPECT_TRUE(eventually([&] { return ask(http->address(), "/livez").status == 200; }));
}

TEST(HttpListener, ListensOnIpv6AndTellsThePort) {
  const Leading leading{{.listen = "[::1]:0"}};
  EXPECT_TRUE(leading.address().starts_with("[::1]:")) << leading.address();
  EXPECT_EQ(ask(leading.address(), "/leader").status, 200);
}

class UnixSocket : public testing::Test {
 protected:
  UnixSocket() {
    std::string pattern = testing::TempDir() + "tenure-ops-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/s";
  }
  ~UnixSocket() override { std::filesystem::remove_all(folder_); }

  void leaveStale() const {
    const UniqueFd dead{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un name{AF_UNIX, {}};
    path_.copy(name.sun_path, sizeof name.sun_path - 1);
    EXPECT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  std::string folder_, path_;
};

TEST_F(UnixSocket, IsForUserAndGroupAndGoesWithTheListener) {
  {
    const Leading leading{{.listen = "unix:" + path_}};
    EXPECT_EQ(ask(leading.address(), "/leader").status, 200);
    struct stat found {};
    ASSERT_EQ(stat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777U, 0660U);
    const auto second = HttpListener::start({.listen = "unix:" + path_});
    ASSERT_FALSE(second) << "somebody listens";
    EXPECT_NE(second.error().front().message.find("another process listens there"), std::string::npos);
    EXPECT_EQ(ask(leading.address(), "/leader").status, 200) << "and goes on listening";
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixSocket, OfADeadProcessIsReplaced) {
  leaveStale();
  const Leading leading{{.listen = "unix:" + path_}};
  EXPECT_EQ(ask(leading.address(), "/leader").status, 200);
}

/// Each opens the directory for itself, so threads of one process compete as processes do.
TEST_F(UnixSocket, OfADeadProcessIsReplacedByOneOfThoseWhoTryAtTheSameTime) {
  for (int round = 0; round < 25; ++round) {
    leaveStale();
    std::barrier together{4};
    std::vector<std::optional<HttpListener>> got(4);
    std::vector<std::thread> all;
    all.reserve(got.size());
    for (auto& each : got) {
      all.emplace_back([&] {
        together.arrive_and_wait();
        if (auto made = HttpListener::start({.listen = "unix:" + path_})) each = std::move(*made);
      });
    }
    for (std::thread& each : all) each.join();
    const auto listens = [](const auto& each) { return each.has_value(); };
    ASSERT_EQ(std::count_if(got.begin(), got.end(), listens), 1) << "in round " << round;
    ASSERT_EQ(ask("unix:" + path_, "/livez").status, 200) << "in round " << round;
  }
}

TEST_F(UnixSocket, OfALockedDirectoryIsAFaultAndNoWaitWithoutEnd) {
  const UniqueFd directory{open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_EQ(flock(directory.get(), LOCK_EX), 0);
  const auto refused = HttpListener::start({.listen = "unix:" + path_});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().front().message.find("holds a lock on the directory"), std::string::npos);
}

TEST_F(UnixSocket, NeverReplacesAnythingElse) {
  std::ofstream{path_} << "precious";
  const auto refused = HttpListener::start({.listen = "unix:" + path_});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().front().message.find("is not a socket"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path_), 8U);
  const auto nowhere = HttpListener::start({.listen = "unix:" + folder_ + "/no/s"});
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().front().message.find("directory does not exist"), std::string::npos);
}

TEST(HttpListener, PortThatIsTakenIsAFaultThatSaysWhatToDo) {
  const HttpListener first = listener();
  const auto second = HttpListener::start({.listen = first.address()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().field, "listen");
  EXPECT_NE(second.error().front().message.find("ss -ltnp"), std::string::npos) << second.error().front().message;
}

TEST(HttpListener, NoDescriptorIsInheritedByProgramsThatAreExecuted) {
  const Leading leading;
  HttpPeer peer{leading.address()};
  peer.send(leaderRequest);
  ASSERT_EQ(peer.reply().value().status, 200);
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const int fd = std::stoi(entry.path().filename().string());
    std::error_code gone;
    const std::string what = std::filesystem::read_symlink(entry.path(), gone).string();
    if (gone || !what.starts_with("socket:") || fd == peer.descriptor()) continue;
    ++sockets;
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << fd << " is " << what;
  }
  EXPECT_GE(sockets, 2) << "the listening one and the connection";
}

TEST(HttpListener, HistoryIsReadByTheClient) {
  Leading leading;
  leading.elector_.stop();
  const auto text = ops::askListener(leading.address(), "/history", 5s);
  ASSERT_TRUE(text) << text.error().message;
  const auto groups = ops::parseHistory(*text);
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->at(0).events.size(), 2U);
  EXPECT_EQ(groups->at(0).events[1].reason, RevokeReason::stopped);
  const auto missing = ops::askListener(leading.address(), "/nothing", 5s);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("404 Not Found"), std::string::npos) << missing.error().message;
  EXPECT_THROW(static_cast<void>(missing.value()), std::runtime_error);
}

TEST(HttpListener, ClientSaysWhereNobodyListens) {
  std::string gone;
  {
    const HttpListener http = listener();
    gone = http.address();
  }
  const auto answer = ops::askListener(gone, "/history", 5s);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("nothing listens on " + gone), std::string::npos) << answer.error().message;
}

TEST(HttpListener, ClientTakesNoAnswerWithoutAnEndAndNoWordThatSteersATerminal) {
  const LyingListener endless{"HTTP/1.1 200 OK\r\n\r\n" + std::string(1U << 20U, ' '), true};
  const auto much = ops::askListener(endless.address(), "/status", 20s);
  ASSERT_FALSE(much);
  EXPECT_NE(much.error().message.find("cannot ask " + endless.address()), std::string::npos) << much.error().message;
  for (const std::string& answer : {"HTTP/1.1 500 \x1b[2J\x9b" + std::string(70'000, 'x') + "\r\n\r\n",
                                    std::string{"HTTP/1.\r\n\r\n"}, std::string{"\x1b[2J"}, std::string{}}) {
    const LyingListener liar{answer};
    const auto told = ops::askListener(liar.address(), "/status", 20s);
    ASSERT_FALSE(told);
    EXPECT_LT(told.error().message.size(), 300U);
    for (const char c : told.error().message) ASSERT_TRUE(c >= 0x20 && c < 0x7F) << told.error().message;
  }
}

TEST_F(UnixSocket, IsNoLinkAndNoDirectory) {
  const auto refused = [&] {
    const auto made = HttpListener::start({.listen = "unix:" + path_});
    return made ? std::string{} : made.error().front().message;
  };
  std::filesystem::create_directory(path_);
  EXPECT_NE(refused().find("is not a socket"), std::string::npos) << refused();
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(folder_ + "/elsewhere", path_);
  EXPECT_NE(refused().find("is not a socket"), std::string::npos) << refused();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere"));
  std::filesystem::remove(path_);
  std::ofstream{path_} << "x";
  path_ += "/below";
  EXPECT_NE(refused(), "") << "a file is no directory";
}

TEST(HttpListenerOptions, AreCheckedTogether) {
  const OptionFaults faults = ops::faultsOf(ops::ListenerOptions{.listen = "nowhere",
                                                                 .connections = 0,
                                                                 .requestTime = std::chrono::milliseconds{0},
                                                                 .idleTime = std::chrono::milliseconds{0},
                                                                 .stallPatience = std::chrono::milliseconds{1}});
  EXPECT_EQ(faults.size(), 5U);
  for (const auto time : {24h + 1ms, std::chrono::milliseconds::max()}) {
    EXPECT_EQ(ops::faultsOf({.listen = anyPort, .requestTime = time, .idleTime = time, .stallPatience = time}).size(),
              3U);
  }
  EXPECT_TRUE(ops::faultsOf({.listen = anyPort, .requestTime = 24h, .idleTime = 24h, .stallPatience = 24h}).empty());
  EXPECT_TRUE(ops::faultsOf(ops::ListenerOptions{.listen = "127.0.0.1:0"}).empty());
}

}  // namespace
}  // namespace tenure::test
