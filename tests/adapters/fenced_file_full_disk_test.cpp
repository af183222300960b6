// A fenced file on a disk that is full, in a private mount namespace.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/mount.h>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_file.hpp>

#include "support/own_mounts.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

class FencedFileFullDisk : public testing::Test {
 protected:
  /// Runs in a child that has a disk of 1 MiB at disk(), and returns what it says; "no mounts" if it may not have one.
  std::string onASmallDisk(const std::function<void(std::ostream& say)>& body) {
    std::filesystem::create_directory(disk());
    return test::inOwnMounts(directory_, [&](std::ostream& say) {
      if (mount("tmpfs", disk().c_str(), "tmpfs", 0, "size=1m") != 0) return void(say << "no mounts");
      body(say);
    });
  }
  [[nodiscard]] std::string disk() const { return directory_.file("disk"); }
  [[nodiscard]] std::string path() const { return disk() + "/ledger"; }
  [[nodiscard]] std::string names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{disk()}) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    std::string all;
    for (const std::string& name : found) all += name + ' ';
    return all;
  }
  static TermStamp stamp(std::uint64_t token) { return {"billing", FencingToken{token}, "a#1"}; }
  static std::string told(const FenceResult<void>& result) {
    return result.has_error() ? FenceError{result.error()}.message : "written";
  }

  const test::TempDir directory_;
};

TEST_F(FencedFileFullDisk, aReplacementThatDoesNotFitLeavesRoomForWhatDoes) {
  const std::string said = onASmallDisk([this](std::ostream& say) {
    FencedFile file = FencedFile::open(path()).value();
    say << told(file.append(stamp(5), "one\n")) << '\n';
    say << told(file.replace(stamp(5), std::string(1'500'000, 'x'))) << '\n' << names() << '\n';
    say << told(file.append(stamp(5), "two\n")) << '\n';
    say << told(file.append(stamp(5), std::string(1'500'000, 'x'))) << '\n';
    say << told(file.append(stamp(5), "three\n")) << '\n';
    say << told(file.replace(stamp(5), file.read().value() + "four\n")) << '\n' << file.read().value() << names();
  });
  if (said == "no mounts") GTEST_SKIP() << "only root may have mounts";  // lint-allow(skipped-test): says so
  EXPECT_EQ(said, "written\nfile " + path() + ": writing the new content " + path() +
                      ".fence.1 failed: No space left on device; free space\n"
                      "ledger ledger.fence ledger.fence.lock \nwritten\nfile " +
                      path() +
                      ": writing to it failed: No space left on device; free space\nwritten\nwritten\n"
                      "one\ntwo\nthree\nfour\nledger ledger.fence ledger.fence.lock ");
}

/// The content is as large as the free space was.
TEST_F(FencedFileFullDisk, whatAKilledWriterLeftIsClearedBeforeTheNextWrite) {
  const std::string said = onASmallDisk([this](std::ostream& say) {
    FencedFile file = FencedFile::open(path()).value();
    say << told(file.append(stamp(5), "one\n")) << '\n';
    std::ofstream{path() + ".fence.1"} << std::string(1'500'000, 'x');
    say << told(file.append(stamp(5), "two\n")) << '\n' << names();
  });
  if (said == "no mounts") GTEST_SKIP() << "only root may have mounts";  // lint-allow(skipped-test): says so
  EXPECT_EQ(said, "written\nwritten\nledger ledger.fence ledger.fence.lock ");
}

}  // namespace
}  // namespace tenure
