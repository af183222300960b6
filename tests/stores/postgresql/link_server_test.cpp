// The link to servers whose settings a test changes: passwords, standbys that are missing, several hosts, restarts.
#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "lockcore/net/ip_address.hpp"
#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/own_server.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using postgresql_store::JobReply;
using postgresql_store::StatementId;
using Commit = JobReply::Commit;
using Cause = JobReply::Cause;

/// Accepts connections, as the kernel does for any listening socket, and never says a word.
class SilentServer {
 public:
  SilentServer() : fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at_;
    const bool ready = bind(fd_, reinterpret_cast<sockaddr*>(&at_), size) == 0 && listen(fd_, 16) == 0 &&
                       getsockname(fd_, reinterpret_cast<sockaddr*>(&at_), &size) == 0;
    if (!ready) throw std::runtime_error{"no silent server"};
  }
  ~SilentServer() { close(fd_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  [[nodiscard]] bool wasCalled() const {
    pollfd look{fd_, POLLIN, 0};
    return poll(&look, 1, 0) == 1;
  }
  [[nodiscard]] std::string port() const { return std::to_string(ntohs(at_.sin_port)); }

 private:
  int fd_;
  sockaddr_in at_{};
};

/// Agrees to TLS, and says nothing after that.
class TlsOffer {
 public:
  TlsOffer() : fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at_;
    const bool ready = bind(fd_, reinterpret_cast<sockaddr*>(&at_), size) == 0 && listen(fd_, 16) == 0 &&
                       getsockname(fd_, reinterpret_cast<sockaddr*>(&at_), &size) == 0;
    if (!ready) throw std::runtime_error{"no server"};
    thread_ = std::thread{[this] {
      for (int peer = accept(fd_, nullptr, nullptr); peer >= 0; peer = accept(fd_, nullptr, nullptr)) {
        std::array<char, 8> request{};
        if (read(peer, request.data(), request.size()) == 8) (void)!write(peer, "S", 1);
        (void)!read(peer, request.data(), request.size());
        close(peer);
      }
    }};
  }
  ~TlsOffer() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  TlsOffer(const TlsOffer&) = delete;
  TlsOffer& operator=(const TlsOffer&) = delete;
  [[nodiscard]] std::string port() const { return std::to_string(ntohs(at_.sin_port)); }

 private:
  int fd_;
  sockaddr_in at_{};
  std::thread thread_{};
};

net::LookupResult loopback(const std::string& host) {
  if (host == "unknown.test") return net::LookupFault{"no address is known for the name unknown.test"};
  return net::Addresses{*net::parseIpAddress("127.0.0.1")};
}

PostgresqlStoreOptions byTcp(const OwnServer& server, const std::string& host = "127.0.0.1") {
  return {.host = host, .port = server.port(), .database = "postgres", .user = "tenure", .sslMode = "disable"};
}

TEST(PostgresqlServer, AWrongPasswordIsToldAsCredentialsAndIsInNoText) {
  const OwnServer server{"host all guarded 127.0.0.1/32 scram-sha-256"};
  Sql{server.connection()}.exec("CREATE ROLE guarded LOGIN PASSWORD 'right-one'");
  const TempDir directory;
  const auto passfile = [&](const std::string& password) {
    std::ofstream{directory.file("pass")} << "*:*:*:guarded:" << password << '\n';
    chmod(directory.file("pass").c_str(), 0600);
  };
  PostgresqlStoreOptions options = byTcp(server);
  options.user = "guarded";
  options.passfile = directory.file("pass");
  TestLink link{options};
  const StatementId one = link.add("SELECT 1");

  const JobReply without = link.call({.statements = {{one}}});
  EXPECT_EQ(without.commit, Commit::notSent);
  EXPECT_EQ(without.cause, Cause::credentials) << toString(without);

  passfile("wrong-one");
  const JobReply wrong = link.call({.statements = {{one}}});
  EXPECT_EQ(wrong.commit, Commit::notSent);
  EXPECT_EQ(wrong.cause, Cause::credentials);
  EXPECT_EQ(wrong.error.value_or(postgresql_store::ServerError{}).sqlState, "28P01") << toString(wrong);
  EXPECT_EQ(toString(wrong).find("wrong-one"), std::string::npos);

  passfile("right-one");
  EXPECT_EQ(link.value(one), "1");
}

/// libpq itself would say so on the standard error, with each connection.
TEST(PostgresqlServer, APassfileThatLibpqIgnoresIsToldWithTheRejection) {
  const OwnServer server{"host all guarded 127.0.0.1/32 scram-sha-256"};
  Sql{server.connection()}.exec("CREATE ROLE guarded LOGIN PASSWORD 'right-one'");
  const TempDir directory;
  PostgresqlStoreOptions options = byTcp(server);
  options.user = "guarded";
  options.passfile = directory.file("pass");
  TestLink link{options};
  const StatementId one = link.add("SELECT 1");
  const JobReply missing = link.call({.statements = {{one}}});
  EXPECT_EQ(missing.cause, Cause::credentials) << toString(missing);
  EXPECT_NE(missing.why.find("the passfile " + options.passfile + " cannot be read"), std::string::npos)
      << toString(missing);

  std::ofstream{options.passfile} << "*:*:*:guarded:right-one\n";
  chmod(options.passfile.c_str(), 0644);
  testing::internal::CaptureStderr();
  const JobReply open = link.call({.statements = {{one}}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(open.cause, Cause::credentials) << toString(open);
  EXPECT_NE(open.why.find("the passfile " + options.passfile + " is ignored"), std::string::npos) << toString(open);
  EXPECT_NE(open.why.find("chmod 600"), std::string::npos) << toString(open);

  chmod(options.passfile.c_str(), 0600);
  EXPECT_EQ(link.value(one), "1");
}

/// A mounted secret belongs to root and its group may read it; a passfile of that mode counts for nothing.
TEST(PostgresqlServer, APasswordFileOfAnyModeIsReadForEachConnection) {
  const OwnServer server{"host all guarded 127.0.0.1/32 scram-sha-256"};
  Sql{server.connection()}.exec("CREATE ROLE guarded LOGIN PASSWORD 'right: one'");
  const TempDir directory;
  setenv("PGPASSWORD", "right: one", 1);  // the file wins, even if it is not there
  PostgresqlStoreOptions options = byTcp(server);
  options.user = "guarded";
  options.passwordFile = directory.file("password");
  TestLink link{options};
  const StatementId one = link.add("SELECT 1");
  const JobReply missing = link.call({.statements = {{one}}});
  EXPECT_EQ(missing.cause, Cause::credentials) << toString(missing);
  EXPECT_NE(missing.why.find("the password file " + options.passwordFile + " cannot be read"), std::string::npos)
      << toString(missing);

  std::ofstream{options.passwordFile} << "wrong-one\n";
  chmod(options.passwordFile.c_str(), 0444);
  const JobReply wrong = link.call({.statements = {{one}}});
  EXPECT_EQ(wrong.cause, Cause::credentials) << toString(wrong);
  EXPECT_EQ(wrong.error.value_or(postgresql_store::ServerError{}).sqlState, "28P01") << toString(wrong);
  EXPECT_EQ(toString(wrong).find("wrong-one"), std::string::npos);

  for (const char* text : {"right: one", "right: one\n", "right: one\r\n", "right: one\nnot a part\n"}) {
    std::filesystem::remove(options.passwordFile);
    std::ofstream{options.passwordFile} << text;
    TestLink again{options};
    EXPECT_EQ(again.value(again.add("SELECT 1")), "1") << text;
  }
  EXPECT_EQ(link.value(one), "1") << "the link that was refused before";
  unsetenv("PGPASSWORD");
}

TEST(PostgresqlServer, NoTextAdvisesToSwitchVerificationOff) {
  const TlsOffer server;
  const TempDir directory;
  TestLink link{PostgresqlStoreOptions{.host = "127.0.0.1",
                                       .port = server.port(),
                                       .database = "postgres",
                                       .user = "tenure",
                                       .sslMode = "verify-full",
                                       .sslRootCertificate = directory.file("missing.pem")}};
  const JobReply reply = link.call({.statements = {{link.add("SELECT 1")}}});
  EXPECT_EQ(reply.commit, Commit::notSent);
  EXPECT_NE(reply.why.find(directory.file("missing.pem")), std::string::npos) << toString(reply);
  EXPECT_EQ(reply.why.find("disable"), std::string::npos) << toString(reply);
  EXPECT_NE(reply.why.find("store.sslrootcert names the authorities"), std::string::npos) << toString(reply);
}

TEST(PostgresqlServer, ACancelledWaitForAStandbyIsReportedAsAWarning) {
  const OwnServer server;
  const NumberTable table{server.connection()};
  const Sql admin{server.connection()};
  TestLink link{server.connection()};
  const StatementId insert = link.add("INSERT INTO " + table.name() + " VALUES ($1, 1)");
  const StatementId pid = link.add("SELECT pg_backend_pid()");
  const std::string backend = link.value(pid);
  admin.exec("ALTER SYSTEM SET synchronous_standby_names = 'missing'");
  admin.exec("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return admin.text("SHOW synchronous_standby_names") == "missing"; }));
  ASSERT_EQ(link.value(pid), backend);
  // The process that turns the waiting on may take the setting later than the others.
  std::future<JobReply> future;
  int row = 0;
  ASSERT_TRUE(eventually([&] {
    if (!future.valid() || future.wait_for(0s) == std::future_status::ready) {
      future = link.start({.writes = true, .statements = {{insert, {std::to_string(++row)}}}});
    }
    return admin.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = " + backend) == "1";
  }));
  admin.exec("SELECT pg_cancel_backend(" + backend + ")");
  const JobReply reply = future.get();
  EXPECT_EQ(reply.commit, Commit::done);
  ASSERT_EQ(reply.warnings.size(), 1U) << toString(reply);
  EXPECT_EQ(reply.warnings[0].sqlState, "01000");
  admin.exec("ALTER SYSTEM RESET synchronous_standby_names");
  admin.exec("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return admin.text("SHOW synchronous_standby_names").empty(); }));
}

TEST(PostgresqlServer, AServerThatTurnedReadOnlyIsLeftAndTakenAgain) {
  const OwnServer server;
  const NumberTable table{server.connection()};
  const Sql admin{server.connection()};
  TestLink link{server.connection()};
  const StatementId insert = link.add("INSERT INTO " + table.name() + " VALUES ($1, 1)");
  const StatementId setting = link.add("SHOW default_transaction_read_only");
  const auto turn = [&](const std::string& on) {
    admin.exec("ALTER SYSTEM SET default_transaction_read_only = " + on);
    admin.exec("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] { return admin.text("SHOW default_transaction_read_only") == on; }));
  };
  ASSERT_EQ(link.value(setting), "off");
  turn("on");
  ASSERT_TRUE(eventually([&] { return link.value(setting) == "on"; }));
  const JobReply refused = link.call({.writes = true, .statements = {{insert, {"1"}}}});
  EXPECT_EQ(refused.commit, Commit::rolledBack);
  EXPECT_EQ(refused.error.value_or(postgresql_store::ServerError{}).sqlState, "25006");
  const JobReply next = link.call({.writes = true, .statements = {{insert, {"1"}}}});
  EXPECT_EQ(next.commit, Commit::notSent) << "the connection was dropped: " << toString(next);
  admin.exec("SET default_transaction_read_only = off");
  admin.exec("ALTER SYSTEM RESET default_transaction_read_only");
  admin.exec("SELECT pg_reload_conf()");
  EXPECT_TRUE(eventually([&] {
    return link.call({.writes = true, .statements = {{insert, {"1"}}}}).commit == Commit::done;
  }));
}

TEST(PostgresqlServer, HostsAreTriedInTurnAndOneThatHangsCostsHalfOfTheTime) {
  const OwnServer server;
  const SilentServer silent;
  PostgresqlStoreOptions options = byTcp(server, "127.0.0.1,127.0.0.1,127.0.0.1");
  options.port = silent.port() + ",1," + server.port();
  TestLink link{options};
  const StatementId pid = link.add("SELECT pg_backend_pid()");
  const JobReply reply = link.call({.statements = {{pid}}}, 2000ms);
  EXPECT_EQ(reply.commit, Commit::done) << toString(reply);
  // From now on the one that answered comes first.
  Sql{server.connection()}.exec("SELECT pg_terminate_backend(" + *reply.rows.at(0).at(0).at(0) + ", 10000)");
  const JobReply next = link.call({.statements = {{pid}}}, 500ms);
  EXPECT_EQ(next.commit, Commit::done) << toString(next);
}

/// Accepts, says something at once, and closes.
class RudeServer {
 public:
  RudeServer(std::string words, const std::string& address, const std::string& port)
      : words_{std::move(words)}, fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    inet_pton(AF_INET, address.c_str(), &name.sin_addr);
    socklen_t size = sizeof name;
    auto* raw = reinterpret_cast<sockaddr*>(&name);
    if (bind(fd_, raw, size) != 0 || listen(fd_, 8) != 0 || getsockname(fd_, raw, &size) != 0) std::abort();
    port_ = std::to_string(ntohs(name.sin_port));
    thread_ = std::thread{[this] { serve(); }};
  }
  ~RudeServer() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  RudeServer(const RudeServer&) = delete;
  RudeServer& operator=(const RudeServer&) = delete;
  [[nodiscard]] const std::string& port() const { return port_; }

 private:
  void serve() {
    for (int peer = accept(fd_, nullptr, nullptr); peer >= 0; peer = accept(fd_, nullptr, nullptr)) {
      send(peer, words_.data(), words_.size(), MSG_NOSIGNAL);
      close(peer);
    }
  }

  std::string words_;
  int fd_;
  std::string port_{};
  std::thread thread_{};
};

/// Another server may have taken over the address of one that is gone.
TEST(PostgresqlServer, AHostThatIsNoPostgresqlIsLeft) {
  const OwnServer server;
  for (const std::string& words :
       {std::string{"HTTP/1.1 400 Bad Request\r\n\r\n"}, std::string{"SSH-2.0-x\r\n"}, std::string{}, std::string{"N"},
        std::string{"E\0\0\0\x1cSFATAL\0C28P01\0Mrefused\0\0", 29}}) {
    const RudeServer rude{words, "127.0.0.1", "0"};
    PostgresqlStoreOptions options = byTcp(server, "127.0.0.1,127.0.0.1");
    options.port = rude.port() + "," + server.port();
    TestLink link{options};
    EXPECT_EQ(link.call({.statements = {{link.add("SELECT 1")}}}, 2000ms).commit, Commit::done) << words;
    const RudeServer atOther{words, "127.0.0.2", server.port()};
    TestLink byName{byTcp(server, "db.test"), [](const std::string&) {
                      return net::LookupResult{
                          net::Addresses{*net::parseIpAddress("127.0.0.2"), *net::parseIpAddress("127.0.0.1")}};
                    }};
    EXPECT_EQ(byName.call({.statements = {{byName.add("SELECT 1")}}}, 2000ms).commit, Commit::done) << words;
  }
}

TEST(PostgresqlServer, AnEndlessConnectLeavesNothingSentAndHoldsNobodyBeyondTheJobsTime) {
  const SilentServer silent;
  TestLink link{PostgresqlStoreOptions{.host = "127.0.0.1", .port = silent.port()}};
  const StatementId one = link.add("SELECT 1");
  const auto begun = std::chrono::steady_clock::now();
  const JobReply reply = link.call({.writes = true, .statements = {{one}}}, 300ms);
  EXPECT_EQ(reply.commit, Commit::notSent);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
  EXPECT_FALSE(reply.why.empty());
}

TEST(PostgresqlServer, AJobThatComesDuringAnAttemptHasOneOfItsOwn) {
  const SilentServer silent;
  TestLink link{PostgresqlStoreOptions{.host = "127.0.0.1", .port = silent.port()}};
  const StatementId one = link.add("SELECT 1");
  auto hasty = link.start({.statements = {{one}}}, 300ms);
  ASSERT_TRUE(eventually([&] { return silent.wasCalled(); }));
  auto patient = link.start({.statements = {{one}}}, 1500ms);
  EXPECT_EQ(hasty.get().commit, Commit::notSent);
  EXPECT_EQ(patient.wait_for(600ms), std::future_status::timeout);
  EXPECT_EQ(patient.get().commit, Commit::notSent);
}

TEST(PostgresqlServer, NamesAreLookedUpByTheLinkItself) {
  const OwnServer server;
  {
    TestLink link{byTcp(server, "db.test"), loopback};
    EXPECT_EQ(link.value(link.add("SELECT 1")), "1");
  }
  TestLink link{byTcp(server, "unknown.test"), loopback};
  const JobReply reply = link.call({.statements = {{link.add("SELECT 1")}}});
  EXPECT_EQ(reply.commit, Commit::notSent);
  EXPECT_EQ(reply.cause, Cause::misconfigured);
  EXPECT_NE(reply.why.find("unknown.test"), std::string::npos) << reply.why;
}

TEST(PostgresqlServer, ALookupThatHangsHoldsNobodyBeyondTheJobsTime) {
  std::promise<void> end;
  const auto ended = end.get_future().share();
  TestLink link{PostgresqlStoreOptions{.host = "slow.test", .sslMode = "disable"},
                [ended](const std::string&) -> net::LookupResult {
                  ended.wait();
                  return net::LookupFault{"ended"};
                }};
  const JobReply reply = link.call({.statements = {{link.add("SELECT 1")}}}, 300ms);
  EXPECT_EQ(reply.commit, Commit::notSent);
  end.set_value();
}

TEST(PostgresqlServer, ANameIsNotTrustedWithoutTls) {
  const OwnServer server;
  PostgresqlStoreOptions options = byTcp(server, "db.test");
  options.sslMode = "";
  TestLink link{options, loopback};
  const JobReply reply = link.call({.statements = {{link.add("SELECT 1")}}});
  EXPECT_EQ(reply.commit, Commit::notSent) << "this server has no TLS";
  EXPECT_EQ(reply.cause, Cause::misconfigured) << toString(reply);
  EXPECT_NE(reply.why.find("(verify-full): the server needs TLS"), std::string::npos) << reply.why;
}

TEST(PostgresqlServer, ARestartCostsTheJobsOfThatTimeOnly) {
  OwnServer server;
  TestLink link{server.connection()};
  const StatementId one = link.add("SELECT 1");
  ASSERT_EQ(link.value(one), "1");
  server.stop();
  const JobReply down = link.call({.writes = true, .statements = {{one}}}, 5s);
  EXPECT_EQ(down.commit, Commit::notSent) << toString(down);
  server.start();
  EXPECT_EQ(link.call({.statements = {{one}}}, 10s).commit, Commit::done);
}

TEST(PostgresqlServer, TheWholeServerMayFreeze) {
  const OwnServer server;
  const NumberTable table{server.connection()};
  TestLink link{server.connection()};
  const StatementId insert = link.add("INSERT INTO " + table.name() + " VALUES ($1, 1)");
  const StatementId pid = link.add("SELECT pg_backend_pid()");
  const auto postmaster = [&] {
    std::ifstream in{server.directory() + "/data/postmaster.pid"};
    pid_t id = 0;
    in >> id;
    return id;
  }();
  const auto backend = static_cast<pid_t>(std::stol(link.value(pid)));
  kill(postmaster, SIGSTOP);
  kill(backend, SIGSTOP);
  EXPECT_EQ(link.call({.writes = true, .statements = {{insert, {"1"}}}}, 300ms).commit, Commit::unanswered);
  EXPECT_EQ(link.call({.writes = true, .statements = {{insert, {"2"}}}}, 300ms).commit, Commit::notSent);
  kill(postmaster, SIGCONT);
  kill(backend, SIGCONT);
  EXPECT_EQ(link.call({.writes = true, .statements = {{insert, {"3"}}}}, 10s).commit, Commit::done);
  EXPECT_TRUE(eventually([&] { return table.n(1) == "1"; }));
  EXPECT_EQ(table.n(2), "");
}

}  // namespace
}  // namespace tenure::test
