// The program over a real API server, as users that may do more or less.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

/// All tests share a namespace, so each has a name of its own.
class CliKubernetesTest : public GroupFixture {
 protected:
  CliKubernetesTest() {
    static int made = 0;
    name_ = "cli-" + std::to_string(getpid()) + "-" + std::to_string(++made);
    write("tenure");
  }

  [[nodiscard]] static std::string kubeconfig() {
    const char* path = std::getenv("TENURE_TEST_KUBERNETES");  // NOLINT(concurrency-mt-unsafe)
    if (path == nullptr) throw std::runtime_error("TENURE_TEST_KUBERNETES is not set");
    return path;
  }

  void write(const std::string& context, const std::string& path = kubeconfig()) const {
    directory_.write("group.yaml",
                     "group: " + name_ +
                         "\nlease: { duration: 6s, heartbeat: 500ms }\nstore:\n  type: kubernetes\n  kubeconfig: " +
                         path + "\n  context: " + context + "\n");
  }
  void expectRefused(const std::string& words) const {
    const Finished refused = finish({"check", "--connect", config()});
    EXPECT_EQ(refused.code, cli::exitStore) << refused.output << refused.errors;
    EXPECT_NE(refused.errors.find(words), std::string::npos) << refused.errors;
  }

  std::string name_{};
};

TEST_F(CliKubernetesTest, ElectsAsTheUserOfAContext) {
  for (const char* context : {"tenure", "certificate", "account"}) {
    SCOPED_TRACE(context);
    write(context);
    const Finished ready = finish({"check", "--connect", config()});
    EXPECT_EQ(ready.code, cli::exitOk) << ready.errors;
    EXPECT_NE(ready.output.find("which is reached and ready"), std::string::npos) << ready.output;
    EXPECT_EQ(finish({"status", config()}).code, cli::exitNobody);
    const Finished led = finish({"run", "--config", config(), "--once", "--", "/bin/echo", "hello"});
    EXPECT_EQ(led.code, cli::exitOk) << led.errors;
    EXPECT_EQ(led.output, "hello\n");
  }
}

TEST_F(CliKubernetesTest, TheDoctorMeasuresAndTellsTheVersionOfTheServer) {
  const Finished done = finish({"doctor", config(), "--write", "--json"});
  for (const char* part : {R"("name":"store.answer","grade":"ok")", R"("name":"clock.skew","grade":"ok")",
                           R"("writes":{"calls":)", R"("server_version":"Kubernetes v1.)"}) {
    EXPECT_NE(done.output.find(part), std::string::npos) << part << ": " << done.output << done.errors;
  }
  EXPECT_EQ(finish({"lock", "list", "--config", config()}).output.find("tenure-doctor"), std::string::npos);
}

TEST_F(CliKubernetesTest, ALeaderIsShownAndResigns) {
  Subprocess leader{run({}, actingJob()), as("first")};
  const auto shown = [&] { return finish({"status", config()}); };
  ASSERT_TRUE(eventually([&] { return shown().code == cli::exitOk; }));
  EXPECT_NE(shown().output.find("namespace tenure-test"), std::string::npos) << shown().output;
  EXPECT_EQ(finishAhead(std::chrono::seconds{60}, {"status", config()}).code, cli::exitOk) << "by a wrong clock";
  const Finished resigned = finish({"resign", config()});
  EXPECT_EQ(resigned.code, cli::exitOk) << resigned.errors;
}

TEST_F(CliKubernetesTest, LocksAreTakenShownAndListed) {
  const auto lock = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "lock");
    words.insert(words.end(), {"--store", "kubernetes", "--kubeconfig", kubeconfig(), "--context", "tenure"});
    return finish(words);
  };
  const Finished token = lock({"acquire", name_});
  ASSERT_EQ(token.code, cli::exitOk) << token.errors;
  EXPECT_EQ(lock({"acquire", name_, "--wait", "0s"}).code, cli::exitBusy);
  EXPECT_EQ(lock({"show", name_}).code, cli::exitOk);
  const Finished list = lock({"list"});
  EXPECT_EQ(list.code, cli::exitOk) << list.errors;
  EXPECT_NE(list.output.find(name_), std::string::npos) << list.output;
  std::string text = token.output;
  text.pop_back();
  EXPECT_EQ(lock({"release", text}).code, cli::exitOk);
}

TEST_F(CliKubernetesTest, CheckSaysWhichRightsAreMissing) {
  write("outsider");
  expectRefused(
      "the user may not get, update leases (coordination.k8s.io) there. Bind a Role with the verbs get, "
      "create, update, list and watch on leases in this namespace");
}

TEST_F(CliKubernetesTest, CheckSaysThatTheServerIsNotThere) {
  directory_.write("group.yaml",
                   "group: g\nlease: { duration: 2s }\nstore: { type: kubernetes, namespace: jobs, "
                   "server: \"http://127.0.0.1:9\" }\n");
  expectRefused("Kubernetes at http://127.0.0.1:9, namespace jobs: asking for the user's rights");
}

TEST_F(CliKubernetesTest, AFaultOfTheKubeconfigFileIsToldWithItsPlace) {
  write("elsewhere");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"check", "--connect", config()},
                                                {"status", config()},
                                                {"run", "--config", config(), "--", "/bin/true"}}) {
    const Finished refused = finish(words);
    EXPECT_NE(refused.code, cli::exitOk) << words.front();
    EXPECT_NE(refused.errors.find("contexts: has no \"elsewhere\""), std::string::npos) << refused.errors;
    EXPECT_EQ(refused.errors.find("terminate called"), std::string::npos) << refused.errors;
  }
  write("tenure", "./missing");
  const Finished missing = finish({"check", "--connect", config()});
  EXPECT_NE(missing.errors.find("/missing: "), std::string::npos) << missing.errors;
  EXPECT_NE(missing.errors.find("check the path of the kubeconfig file"), std::string::npos) << missing.errors;
}

TEST_F(CliKubernetesTest, OutsideOfAPodAServerIsAskedFor) {
  directory_.write("group.yaml", "group: g\nstore: { type: kubernetes }\n");
  const Finished refused = finish({"check", "--connect", config()});
  EXPECT_NE(refused.errors.find("this process does not run in a pod (KUBERNETES_SERVICE_HOST is not set); give the "
                                "server, or a kubeconfig file"),
            std::string::npos)
      << refused.errors;
}

}  // namespace
}  // namespace tenure::test
