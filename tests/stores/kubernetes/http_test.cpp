// The gateway over HTTP, before a server that follows a script.
#include <atomic>
#include <fstream>
#include <future>

#include <gtest/gtest.h>

#include "lockcore/kubernetes/http_gateway.hpp"
#include "lockcore/net/client_hooks.hpp"
#include "net/test_server.hpp"
#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;

constexpr test::Eventually eventually{20s, 0s};

std::string response(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Answers each request with what `answer` says, and keeps the requests.
class ScriptedServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;
  explicit ScriptedServer(Answer answer)
      : server_{[this, answer = std::move(answer)](test::Peer& peer) {
          for (std::string request = peer.readRequest(); !request.empty(); request = peer.readRequest()) {
            {
              const std::lock_guard lock{mutex_};
              requests_.push_back(request);
            }
            const std::string reply = answer(request);
            if (reply.empty()) return peer.close();
            if (!peer.write(reply)) return;
          }
        }} {}

  [[nodiscard]] KubernetesStoreOptions options(const std::string& path = {}) const {
    return {.server = "http://127.0.0.1:" + std::to_string(server_.port()) + path, .inNamespace = "n"};
  }
  [[nodiscard]] std::vector<std::string> requests() {
    const std::lock_guard lock{mutex_};
    return requests_;
  }

 private:
  std::mutex mutex_{};
  std::vector<std::string> requests_{};
  test::TestServer server_;
};

Outcome ask(Gateway& gateway, Request request, std::chrono::nanoseconds timeout = 10s) {
  auto promise = std::make_shared<std::promise<Outcome>>();
  auto future = promise->get_future();
  gateway.call(std::move(request), timeout, [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  if (future.wait_for(30s) != std::future_status::ready) throw std::runtime_error("the handler was not called");
  return future.get();
}

TEST(KubernetesHttp, requestsGoBelowThePathOfTheServer) {
  ScriptedServer server{[](const std::string&) { return response("200 OK", "", "{}"); }};
  const auto gateway = makeHttpGateway(server.options("/k8s/clusters/c-1/"));
  ASSERT_TRUE(ask(*gateway, {"PUT", "/apis/x", "{1}"}).has_value());
  ASSERT_TRUE(ask(*gateway, {"GET", "/apis/x?y=z"}).has_value());
  ASSERT_TRUE(ask(*gateway, {"PATCH", "/apis/x", "{2}", false, "application/merge-patch+json"}).has_value());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_TRUE(requests[0].starts_with("PUT /k8s/clusters/c-1/apis/x HTTP/1.1\r\n")) << requests[0];
  EXPECT_NE(requests[0].find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_NE(requests[0].find("Accept: application/json\r\n"), std::string::npos);
  EXPECT_EQ(requests[0].find("Authorization"), std::string::npos) << "no token, no header";
  EXPECT_TRUE(requests[1].starts_with("GET /k8s/clusters/c-1/apis/x?y=z HTTP/1.1\r\n")) << requests[1];
  EXPECT_EQ(requests[1].find("Content-Type"), std::string::npos);
  EXPECT_NE(requests[2].find("Content-Type: application/merge-patch+json\r\n"), std::string::npos);
}

/// A kubeconfig's proxy-url counts for each request, those to loopback too.
TEST(KubernetesHttp, allRequestsGoThroughTheProxyOfTheOptions) {
  ScriptedServer proxy{[](const std::string&) { return response("200 OK", "", R"({"kind":"Lease"})"); }};
  KubernetesStoreOptions options{.server = "http://127.0.0.1:1", .inNamespace = "n"};
  options.proxy = proxy.options().server;
  ASSERT_TRUE(ask(*makeHttpGateway(options), {"GET", "/apis/x"}).has_value());
  EXPECT_TRUE(proxy.requests().at(0).starts_with("GET http://127.0.0.1:1/apis/x HTTP/1.1\r\n")) << proxy.requests()[0];
}

/// Something else answers at the first of two addresses: each call but the first goes to the other one.
TEST(KubernetesHttp, anAddressThatIsNoApiServerIsLeft) {
  const std::string lease = R"({"kind":"Lease","metadata":{}})";
  const auto serving = [](std::string reply, std::atomic<int>& asked) {
    return [reply = std::move(reply), &asked](test::Peer& peer) {
      while (!peer.readRequest().empty()) {
        ++asked;
        if (!peer.write(reply)) return;
      }
    };
  };
  for (const std::string& strange : {response("200 OK", "", "<html>please log in</html>"),
                                     response("404 Not Found", "", "no"), response("502 Bad Gateway", "", "{}")}) {
    std::atomic<int> good{0}, bad{0};
    test::TestServer real{serving(response("200 OK", "", lease), good)};
    test::TestServer other{serving(strange, bad), {.v6 = true, .port = real.port()}};
    const auto client =
        net::makeHttpClient({}, {.lookup = [](const std::string&) {
                              return net::Addresses{*net::parseIpAddress("::1"), *net::parseIpAddress("127.0.0.1")};
                            }});
    const std::string url = "http://api.test:" + std::to_string(real.port());
    const auto gateway = makeHttpGateway({.server = url, .inNamespace = "n"}, {}, client);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask(*gateway, {"GET", "/apis/x"}).has_value());
    EXPECT_EQ(bad, 1);
    EXPECT_EQ(good, 4);
  }
}

class KubernetesRefused : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream{file_} << text; }
  /// A server that lets in this token alone. The options skip the check that a token needs TLS.
  [[nodiscard]] KubernetesStoreOptions options() const {
    KubernetesStoreOptions options = server_.options();
    options.tokenFile = file_;
    return options;
  }

  const test::TempDir directory_{};
  const std::string file_ = directory_.file("token");
  ScriptedServer server_{[](const std::string& request) {
    const bool good = request.find("Authorization: Bearer good\r\n") != std::string::npos;
    return good ? response("200 OK", "", "{}") : response("401 Unauthorized", "", R"({"status":"Failure"})");
  }};
};

TEST_F(KubernetesRefused, aRequestIsRepeatedOnceWithTheTokenThatThereIsNow) {
  write("old");
  const auto gateway = makeHttpGateway(options());
  EXPECT_EQ(ask(*gateway, {"PUT", "/x", "{}"}).value().status, 401) << "there is no other one";
  EXPECT_EQ(server_.requests().size(), 1U);
  write("good");
  EXPECT_EQ(ask(*gateway, {"PUT", "/x", "{}"}).value().status, 200);
  EXPECT_EQ(server_.requests().size(), 3U);
  write("old");
  EXPECT_EQ(ask(*gateway, {"PUT", "/x", "{}"}).value().status, 200) << "it is good for a minute yet";
}

TEST_F(KubernetesRefused, aSecondRejectionIsTheAnswer) {
  write("old");
  const auto gateway = makeHttpGateway(options());
  EXPECT_EQ(ask(*gateway, {"GET", "/x"}).value().status, 401);
  write("also old");
  write("older");
  EXPECT_EQ(ask(*gateway, {"GET", "/x"}).value().status, 401);
  EXPECT_EQ(server_.requests().size(), 3U);
}

TEST_F(KubernetesRefused, withoutATokenNothingIsSent) {
  const auto gateway = makeHttpGateway(options());
  const Outcome outcome = ask(*gateway, {"PUT", "/x", "{}"});
  ASSERT_FALSE(outcome);
  EXPECT_FALSE(outcome.error().maybeSent);
  EXPECT_EQ(outcome.error().error.errorClass, ErrorClass::credentials);
}

TEST_F(KubernetesRefused, aStreamShowsTheNewTokenNextTime) {
  write("old");
  const auto gateway = makeHttpGateway(options());
  std::promise<Ending> first;
  auto stream = gateway->stream("/x", 30s, {[](std::string_view) {}, [&](Ending end) { first.set_value(end); }});
  const Ending ending = first.get_future().get();
  EXPECT_EQ(ending.status, 401);
  EXPECT_NE(ending.body.find("Failure"), std::string::npos);
  write("good");
  EXPECT_EQ(ask(*gateway, {"GET", "/x"}).value().status, 200);
  std::promise<Ending> second;
  stream = gateway->stream("/x", 30s, {[](std::string_view) {}, [&](Ending end) { second.set_value(end); }});
  EXPECT_EQ(second.get_future().get().status, 0) << "accepted";
}

/// What can wait is not sent while the server asks for patience. A renewal cannot wait.
TEST(KubernetesHttp, whereTheServerAsksForPatienceReadsWait) {
  std::atomic<bool> busy{true};
  ScriptedServer server{[&](const std::string&) {
    return busy ? response("429 Too Many Requests", "Retry-After: 1\r\n", "{}") : response("200 OK", "", "{}");
  }};
  const auto gateway = makeHttpGateway(server.options());
  EXPECT_EQ(ask(*gateway, {"GET", "/x", {}, true}).value().status, 429);
  busy = false;
  const Outcome kept = ask(*gateway, {"GET", "/x", {}, true});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().error.errorClass, ErrorClass::throttled);
  EXPECT_FALSE(kept.error().maybeSent);
  EXPECT_EQ(ask(*gateway, {"PUT", "/x", "{}"}).value().status, 200);
  EXPECT_EQ(server.requests().size(), 2U);
  EXPECT_TRUE(eventually([&] { return ask(*gateway, {"GET", "/x", {}, true}).has_value(); })) << "a second later";
}

TEST(KubernetesHttp, aRetryAfterOfAllTimeAsksForPatienceAndNotForThePast) {
  for (const std::string seconds : {"31", "9223372036", "9223372037", "9223372036854775807"}) {
    ScriptedServer server{[&](const std::string&) {
      return response("429 Too Many Requests", "Retry-After: " + seconds + "\r\n", "{}");
    }};
    const auto gateway = makeHttpGateway(server.options());
    EXPECT_EQ(ask(*gateway, {"GET", "/x", {}, true}).value().status, 429) << seconds;
    EXPECT_FALSE(ask(*gateway, {"GET", "/x", {}, true})) << seconds;
    EXPECT_EQ(server.requests().size(), 1U) << seconds;
  }
}

TEST(KubernetesHttp, aRetryAfterThatIsNoneAsksForNothing) {
  std::atomic<int> number{0};
  const std::vector<std::string> headers{"",
                                         "Retry-After: soon\r\n",
                                         "Retry-After: 0\r\n",
                                         "Retry-After: -5\r\n",
                                         "Retry-After: 99999999999999999999\r\n",
                                         "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"};
  ScriptedServer server{[&](const std::string&) {
    return response("429 Too Many Requests", headers[static_cast<std::size_t>(number++) % headers.size()], "{}");
  }};
  const auto gateway = makeHttpGateway(server.options());
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const Outcome outcome = ask(*gateway, {"GET", "/x", {}, true});
    ASSERT_TRUE(outcome) << headers[i];
    EXPECT_EQ(outcome->status, 429);
  }
}

TEST(KubernetesHttp, aCutConnectionIsToldApartFromOneThatNeverWas) {
  ScriptedServer cuts{[](const std::string&) { return std::string{}; }};
  const Outcome cut = ask(*makeHttpGateway(cuts.options()), {"PUT", "/x", "{}"});
  ASSERT_FALSE(cut);
  EXPECT_TRUE(cut.error().maybeSent) << "it has left this process";
  EXPECT_EQ(cut.error().error.errorClass, ErrorClass::transient);
  const std::string nobody = "http://127.0.0.1:" + std::to_string(test::closedPort());
  const Outcome refused = ask(*makeHttpGateway({.server = nobody, .inNamespace = "n"}), {"PUT", "/x", "{}"});
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().maybeSent);
}

TEST(KubernetesHttp, oneObjectMayHaveFewerBytesThanAPage) {
  ScriptedServer server{[](const std::string&) { return response("200 OK", "", std::string(6U << 20U, ' ')); }};
  const auto gateway = makeHttpGateway(server.options());
  EXPECT_FALSE(ask(*gateway, {"GET", "/x"}));
  EXPECT_TRUE(ask(*gateway, {.method = "GET", .target = "/x", .lists = true}));
}

TEST(KubernetesHttp, aServerThatSaysNothingIsUnknownInTime) {
  test::TestServer silent{[](test::Peer& peer) { peer.waitForEnd(); }};
  const auto gateway =
      makeHttpGateway({.server = "http://127.0.0.1:" + std::to_string(silent.port()), .inNamespace = "n"});
  const Outcome outcome = ask(*gateway, {"PUT", "/x", "{}"}, 300ms);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().maybeSent);
}

TEST(KubernetesHttp, itsEndAnswersWhatIsUnderWay) {
  test::TestServer silent{[](test::Peer& peer) { peer.waitForEnd(); }};
  auto gateway = makeHttpGateway({.server = "http://127.0.0.1:" + std::to_string(silent.port()), .inNamespace = "n"});
  std::promise<Outcome> promise;
  gateway->call({"PUT", "/x", "{}"}, 30s, [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
  ASSERT_TRUE(eventually([&] { return silent.open() == 1; }));
  gateway.reset();
  auto future = promise.get_future();
  ASSERT_EQ(future.wait_for(10s), std::future_status::ready);
  EXPECT_FALSE(future.get());
}

TEST(KubernetesHttp, aWatchWhoseLineIsTooLongSaysSo) {
  test::TestServer server{[](test::Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n500000\r\n" + std::string(0x500000, ' '));
    peer.waitForEnd();
  }};
  const auto gateway =
      makeHttpGateway({.server = "http://127.0.0.1:" + std::to_string(server.port()), .inNamespace = "n"});
  std::promise<Ending> ended;
  const auto stream = gateway->stream("/x?watch=1", 30s,
                                      {[](std::string_view) {}, [&](Ending end) { ended.set_value(std::move(end)); }});
  EXPECT_TRUE(ended.get_future().get().lineTooLong);
}

TEST(KubernetesHttp, linesOfAWatchComeOneByOne) {
  std::promise<void> goOn;
  test::TestServer server{[went = goOn.get_future().share()](test::Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\"}\r\n1\r\n\n\r\n8\r\n{\"b\"}\n{\"\r\n");
    went.wait();
    peer.write("4\r\nc\"}\n\r\n0\r\n\r\n");
    peer.waitForEnd();
  }};
  const auto gateway =
      makeHttpGateway({.server = "http://127.0.0.1:" + std::to_string(server.port()), .inNamespace = "n"});
  std::mutex mutex;
  std::vector<std::string> lines;
  std::promise<Ending> ended;
  const auto stream = gateway->stream("/x?watch=1", 30s,
                                      {[&](std::string_view line) {
                                         const std::lock_guard lock{mutex};
                                         lines.emplace_back(line);
                                       },
                                       [&](Ending end) { ended.set_value(std::move(end)); }});
  const auto has = [&](std::size_t count) {
    const std::lock_guard lock{mutex};
    return lines.size() == count;
  };
  EXPECT_TRUE(eventually([&] { return has(2); }));
  goOn.set_value();
  EXPECT_EQ(ended.get_future().get().status, 0);
  EXPECT_EQ(lines, (std::vector<std::string>{"{\"a\"}", "{\"b\"}", "{\"c\"}"}));
}

}  // namespace
}  // namespace tenure::kubernetes_store
