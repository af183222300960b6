// Every file in wrong/ with the exact messages in its .expected file. TENURE_UPDATE=1 writes the latter.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "config/test_files.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

namespace fs = std::filesystem;

fs::path wrongDirectory() { return test::sourceDirectory() / "tests" / "config" / "wrong"; }

std::vector<fs::path> filesIn(const fs::path& directory, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator{directory}) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One message a line; only the name of the file, so that the text does not depend on the place of the tree.
std::string messagesOf(const ConfigFaults& faults) {
  std::string out;
  for (ConfigFault fault : faults) {
    fault.file = fs::path{fault.file}.filename().string();
    out += toString(fault) + "\n";
  }
  return out;
}

class WrongFiles : public testing::Test {
 protected:
  void SetUp() override {
    test::unsetVariable("TENURE_TEST_UNSET");
    test::unsetVariable("TENURE_TEST_UNSET_TOO");
    test::setVariable("TENURE_TEST_SET", "set");
    test::setVariable("TENURE_TEST_WORD", "ten seconds");
  }
};

TEST_F(WrongFiles, EachGivesItsExactMessages) {
  const auto files = filesIn(wrongDirectory(), ".yaml");
  EXPECT_GE(files.size(), 30U);
  for (const fs::path& file : files) {
    const auto config = loadGroupConfig(file);
    if (config) {
      ADD_FAILURE() << file << " was accepted";
      continue;
    }
    const std::string messages = messagesOf(config.error());
    const fs::path expected = fs::path{file}.replace_extension(".expected");
    if (test::updating()) test::writeFile(expected, messages);
    if (!fs::exists(expected)) {
      ADD_FAILURE() << expected << " is missing; the messages are:\n" << messages;
      continue;
    }
    EXPECT_EQ(messages, test::textOf(expected)) << file;
  }
}

TEST_F(WrongFiles, NoExpectationIsWithoutItsFile) {
  for (const fs::path& expected : filesIn(wrongDirectory(), ".expected")) {
    EXPECT_TRUE(fs::exists(fs::path{expected}.replace_extension(".yaml"))) << expected;
  }
}

TEST_F(WrongFiles, EveryMessageHasAPlaceAndTheyComeInOrder) {
  for (const fs::path& file : filesIn(wrongDirectory(), ".yaml")) {
    const auto config = loadGroupConfig(file);
    ASSERT_FALSE(config);
    std::pair<int, int> last{0, 0};
    for (const ConfigFault& fault : config.error()) {
      EXPECT_EQ(fault.file, file.string());
      EXPECT_LE(last, (std::pair{fault.line, fault.column})) << fault;
      last = {fault.line, fault.column};
      if (file.stem() == "comments_only") continue;  // a fault of the file as a whole
      EXPECT_GT(fault.line, 0) << fault;
      EXPECT_GT(fault.column, 0) << fault;
    }
  }
}

TEST_F(WrongFiles, LoadingThemTouchesNothing) {
  const test::TempDir directory;
  for (const fs::path& file : filesIn(wrongDirectory(), ".yaml"))
    fs::copy_file(file, directory.file(file.filename().string()));
  const auto listing = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator{directory.path()}) names.insert(entry.path().string());
    return names;
  };
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  const auto names = listing();
  for (const std::string& name : names) {
    EXPECT_FALSE(loadGroup(name)) << name;
  }
  EXPECT_EQ(listing(), names);
  fs::current_path(before);
}

}  // namespace
}  // namespace tenure
