// What `tenure fence proxy` says when it does not start.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::test {
namespace {

class FenceProxyCommand : public GroupFixture {
 protected:
  [[nodiscard]] Finished start(const std::string& listen, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"fence",      "proxy",
                                   "--listen",   listen,
                                   "--upstream", "http://127.0.0.1:1",
                                   "--lease",    "b",
                                   "--memory",   directory_.file("fence.db")};
    words.insert(words.end(), more.begin(), more.end());
    return finish(words);
  }
  static void expectSays(const Finished& done, int code, const std::string& text) {
    EXPECT_EQ(done.code, code) << done.errors;
    EXPECT_NE(done.errors.find(text), std::string::npos) << done.errors;
    EXPECT_EQ(done.errors.find("system:"), std::string::npos) << "words of the library's: " << done.errors;
  }
};

TEST_F(FenceProxyCommand, APortThatIsTakenIsNamed) {
  const UniqueFd taken{socket(AF_INET, SOCK_STREAM, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  ASSERT_EQ(bind(taken.get(), raw, size), 0);
  ASSERT_EQ(listen(taken.get(), 1), 0);
  ASSERT_EQ(getsockname(taken.get(), raw, &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  expectSays(start("127.0.0.1:" + port), cli::exitFailed, "port " + port + " is taken: another process listens on");
}

TEST_F(FenceProxyCommand, AnAddressThatIsNoneOfThisMachinesIsNamed) {
  expectSays(start("203.0.113.7:0"), cli::exitFailed, "this machine has no address 203.0.113.7");
  expectSays(start("localhost:0"), cli::exitUsage, "--listen takes an address of this machine and a port");
  expectSays(start("8080"), cli::exitUsage, "--listen takes an address of this machine and a port");
}

TEST_F(FenceProxyCommand, KeysNeedAnAudienceAndAnOwner) {
  directory_.write("keys", "new bm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm4=\n");
  const std::string keys = directory_.file("keys");
  chmod(keys.c_str(), 0600);
  expectSays(start("127.0.0.1:0", {"--keys", keys}), cli::exitUsage, "--audience");
  for (const mode_t mode : {0602U, 0620U, 0662U}) {
    chmod(keys.c_str(), mode);
    expectSays(start("127.0.0.1:0", {"--keys", keys, "--audience", "ledger"}), cli::exitUsage,
               "users other than its owner may add keys to it");
  }
}

TEST_F(FenceProxyCommand, AMemoryThatIsALinkIsNamed) {
  directory_.write("other", "");
  ASSERT_EQ(symlink(directory_.file("other").c_str(), directory_.file("fence.db").c_str()), 0);
  expectSays(start("127.0.0.1:0"), cli::exitFailed, "is a symbolic link; if it were switched");
}

}  // namespace
}  // namespace tenure::test
