// The program over real members of etcd: with users and TLS, with a user that may do less, without room, and without a
// quorum.
#include <string>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"
#include "etcd/etcd_cluster.hpp"

namespace tenure::test {
namespace {

class CliEtcdTest : public GroupFixture {
 protected:
  /// A lease of two seconds in this cluster, or another one.
  void write(const EtcdCluster& cluster, const std::string& keys = {},
             const std::string& lease = "duration: 2s") const {
    std::string endpoints;
    for (const std::string& url : cluster.endpoints()) endpoints += (endpoints.empty() ? "\"" : ", \"") + url + '"';
    directory_.write("group.yaml", "group: billing\nlease: { " + lease + " }\nstore:\n  type: etcd\n  endpoints: [" +
                                       endpoints + "]\n" + keys);
  }
  [[nodiscard]] static std::string tlsKeys(const EtcdCluster& cluster) {
    return "  ca_file: " + cluster.caFile() + "\n  certificate: " + cluster.certificate() +
           "\n  key: " + cluster.key() + "\n";
  }
  [[nodiscard]] static std::string userKeys(const EtcdCluster& cluster) {
    return "  user: " + cluster.user() + "\n  password_file: " + cluster.passwordFile() + "\n";
  }

  void expectRefused(const std::string& words) const {
    const Finished refused = finish({"check", "--connect", config()});
    EXPECT_EQ(refused.code, cli::exitStore) << refused.output << refused.errors;
    EXPECT_NE(refused.errors.find(words), std::string::npos) << refused.errors;
  }
};

TEST_F(CliEtcdTest, ElectsWithUsersAndTls) {
  const EtcdCluster cluster{{"--members", "3", "--tls", "--users"}};
  write(cluster, tlsKeys(cluster) + userKeys(cluster));
  const Finished ready = finish({"check", "--connect", config()});
  EXPECT_EQ(ready.code, cli::exitOk) << ready.errors;
  EXPECT_NE(ready.output.find("which is reached and ready"), std::string::npos) << ready.output;
  const Finished nobody = finish({"status", config()});
  EXPECT_EQ(nobody.code, cli::exitNobody) << nobody.errors;
  const Finished led = finish({"run", "--config", config(), "--once", "--", "/bin/echo", "hello"});
  EXPECT_EQ(led.code, cli::exitOk) << led.errors;
  EXPECT_EQ(led.output, "hello\n");
}

TEST_F(CliEtcdTest, LocksAreTakenShownAndListed) {
  const EtcdCluster cluster{{"--members", "1"}};
  write(cluster, "  prefix: /jobs\n");
  const std::string url = cluster.endpoints().front();
  const Finished token = finish({"lock", "acquire", "report", "--endpoints", url, "--prefix", "/jobs"});
  ASSERT_EQ(token.code, cli::exitOk) << token.errors;
  EXPECT_EQ(finish({"lock", "acquire", "report", "--config", config(), "--wait", "0s"}).code, cli::exitBusy);
  EXPECT_EQ(finish({"lock", "show", "report", "--config", config()}).code, cli::exitOk);
  const Finished list = finish({"lock", "list", "--config", config()});
  EXPECT_EQ(list.code, cli::exitOk) << list.errors;
  EXPECT_NE(list.output.find("report"), std::string::npos) << list.output;
  const Finished elsewhere = finish({"lock", "list", "--store", "etcd", "--endpoints", url});
  EXPECT_EQ(elsewhere.output.find("report"), std::string::npos) << "another prefix is another place";
}

TEST_F(CliEtcdTest, ALeaderResigns) {
  const EtcdCluster cluster{{"--members", "1"}};
  write(cluster, {}, "duration: 6s, heartbeat: 500ms");  // status waits for a renewal for half of it
  Subprocess leader{run({}, actingJob()), as("first")};
  const auto leads = [&] { return finish({"status", config()}).code == cli::exitOk; };
  ASSERT_TRUE(eventually(leads));
  EXPECT_EQ(finishAhead(std::chrono::seconds{60}, {"status", config()}).code, cli::exitOk) << "by a wrong clock";
  const Finished resigned = finish({"resign", config()});
  EXPECT_EQ(resigned.code, cli::exitOk) << resigned.errors;
}

TEST_F(CliEtcdTest, CheckSaysThatAUserIsMissing) {
  const EtcdCluster cluster{{"--members", "1", "--users"}};
  write(cluster);
  expectRefused("If the cluster has users, give the store one, with its password file");
}

TEST_F(CliEtcdTest, CheckSaysThatThePasswordIsWrong) {
  const EtcdCluster cluster{{"--members", "1", "--users"}};
  directory_.write("password", "not-this\n");
  write(cluster, "  user: " + cluster.user() + "\n  password_file: ./password\n");
  expectRefused("refused user \"" + cluster.user() + "\"; check the user, and the password in ");
  const Finished refused = finish({"check", "--connect", config()});
  EXPECT_EQ(refused.errors.find("not-this"), std::string::npos) << refused.errors;
}

TEST_F(CliEtcdTest, TheDoctorMeasuresAndTellsTheVersionOfTheServer) {
  const EtcdCluster cluster{{"--members", "1", "--tls", "--users"}};
  write(cluster, tlsKeys(cluster) + userKeys(cluster));
  lengthenLease();
  const Finished done = finish({"doctor", config(), "--write", "--json"});
  for (const char* part : {R"("name":"store.reads","grade":"ok")", R"("name":"store.writes","grade":"ok")",
                           R"("name":"clock.skew","grade":"ok")", R"("server_version":"etcd 3.)"}) {
    EXPECT_NE(done.output.find(part), std::string::npos) << part << ": " << done.output << done.errors;
  }
  EXPECT_EQ(finish({"lock", "list", "--config", config()}).output.find("tenure-doctor"), std::string::npos);
}

/// Of a user that may only read elsewhere nothing is found out by a read.
TEST_F(CliEtcdTest, CheckSaysThatTheRoleMayNotWriteThere) {
  const EtcdCluster cluster{{"--members", "1", "--users"}};
  write(cluster, "  prefix: /other\n" + userKeys(cluster));
  expectRefused("etcdctl role grant-permission ROLE readwrite PREFIX/ --prefix=true");
}

TEST_F(CliEtcdTest, CheckSaysThatTheDatabaseIsFullThoughItCanBeRead) {
  const EtcdCluster cluster{{"--members", "1", "--set", "quota-backend-bytes=65536"}};
  write(cluster);
  EXPECT_EQ(finish({"check", "--connect", config()}).code, cli::exitOk);
  const std::string data(20'000, 'x');
  for (int i = 0; i < 20; ++i) {
    const std::string name = "filler" + std::to_string(i);
    if (finish({"lock", "acquire", name, "--config", config(), "--data", data, "--wait", "0s"}).code != cli::exitOk)
      break;
  }
  expectRefused("etcdctl alarm list");
  EXPECT_EQ(finish({"lock", "list", "--config", config()}).code, cli::exitOk) << "reads go on";
}

TEST_F(CliEtcdTest, CheckSaysThatTheMajorityIsGone) {
  EtcdCluster cluster{{"--members", "3"}};
  write(cluster);
  cluster.kill(0);
  EXPECT_EQ(finish({"check", "--connect", config()}).code, cli::exitOk) << "one of three is not missed";
  cluster.kill(1);
  const Finished refused = finish({"check", "--connect", config()});
  EXPECT_EQ(refused.code, cli::exitStore) << refused.output << refused.errors;
  EXPECT_NE(refused.errors.find(cluster.endpoints()[0]), std::string::npos) << refused.errors;
}

}  // namespace
}  // namespace tenure::test
