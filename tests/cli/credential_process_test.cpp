// A program that gives credentials, started by a command of the program.
#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

using CredentialProcess = GroupFixture;

/// Some parents ignore SIGCHLD, and what they start inherits that. It must not cost the exit code.
TEST_F(CredentialProcess, ItsExitCodeIsSeenWhereSigchldWasIgnored) {
  directory_.write("aws", "[profile p]\ncredential_process = sh -c 'exit 3'\n");
  directory_.write(
      "group.yaml",
      "group: test-group\ncandidate: { id: bob }\n"
      "store: { type: dynamodb, table: locks, region: local, profile: p, endpoint: \"http://127.0.0.1:1\" }\n");
  SubprocessOptions options = as("bob");
  options.environment["AWS_CONFIG_FILE"] = directory_.file("aws");
  std::vector<std::string> command{"env", "--ignore-signal=CHLD"};
  for (const std::string& word : tenure({"status", "--config", config()})) command.push_back(word);
  const Finished status = runToEnd(command, options);
  EXPECT_EQ(status.code, cli::exitStore) << status.errors;
  EXPECT_NE(status.errors.find("ended with exit code 3"), std::string::npos) << status.errors;
}

}  // namespace
}  // namespace tenure::test
