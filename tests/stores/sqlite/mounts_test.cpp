// A database file that is itself a mount, in a private mount namespace.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "sqlite_support.hpp"
#include "support/own_mounts.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteMounts : public testing::Test {
 protected:
  void SetUp() override {
    if (test::mayHaveMounts(directory_)) return;
    GTEST_SKIP() << "only root may have mounts of its own";  // lint-allow(skipped-test): says so
  }

  std::string inOwnMounts(const std::function<void(std::ostream& say)>& body) {
    return test::inOwnMounts(directory_, body);
  }

  static bool bind(const std::string& from, const std::string& to) { return test::bindMount(from, to); }

  /// "applied", or the message of the rejection.
  static std::string acquisition(const std::string& path, const std::string& holder) {
    Store store{path};
    const auto seen = store->startRead({"lease"})->get();
    if (seen.has_error()) return seen.error().message;
    const WriteOutcome outcome = store->write(acquire({"lease"}, holder));
    if (std::holds_alternative<Applied>(outcome)) return "applied";
    const auto* rejected = std::get_if<Rejected>(&outcome);
    return rejected != nullptr ? rejected->error.message : describe(outcome);
  }

  test::TempDir directory_;
  const std::string here_ = directory_.file("here");
  const std::string there_ = directory_.file("there");
};

TEST_F(SqliteMounts, aFileThatIsMountedAloneIsRefused) {
  std::filesystem::create_directory(here_);
  std::filesystem::create_directory(there_);
  const std::string said = inOwnMounts([&](std::ostream& say) {
    say << acquisition(here_ + "/leases.db", "a") << '\n';
    std::ofstream{there_ + "/leases.db"} << "";
    if (!bind(here_ + "/leases.db", there_ + "/leases.db")) say << "not bound";
    say << acquisition(there_ + "/leases.db", "b");
  });
  EXPECT_TRUE(contains(said,
                       "applied\n"
                       "sqlite " +
                           there_))
      << said;
  for (const std::string& part : {there_ + "/leases.db is a separate mount", std::string{"docker -v"},
                                  std::string{"subPath"}, "Mount the whole directory " + there_ + " instead"}) {
    EXPECT_TRUE(contains(said, part)) << said << "\nlacks " << part;
  }
}

TEST_F(SqliteMounts, soAreItsLogAndItsSidecar) {
  std::filesystem::create_directory(here_);
  for (const std::string name : {"leases.db-wal", "leases.db-shm", ".leases.db.tenure"}) {
    const std::string said = inOwnMounts([&](std::ostream& say) {
      const std::string target = here_ + '/' + name;
      if (name.front() == '.') {
        std::filesystem::create_directory(target);
        std::filesystem::create_directory(there_);
      } else {
        std::ofstream{target} << "";
        std::ofstream{there_} << "";
      }
      if (!bind(there_, target)) say << "not bound";
      say << acquisition(here_ + "/leases.db", "a");
    });
    std::filesystem::remove_all(there_);
    std::filesystem::remove_all(here_ + '/' + name);
    EXPECT_TRUE(contains(said, name + " is a separate mount")) << said;
  }
}

TEST_F(SqliteMounts, aDirectoryThatIsMountedWholeElectsOne) {
  std::filesystem::create_directory(here_);
  std::filesystem::create_directory(there_);
  const std::string said = inOwnMounts([&](std::ostream& say) {
    if (!bind(here_, there_)) say << "not bound";
    Store one{here_ + "/leases.db"};
    Store two{there_ + "/leases.db"};
    one->apply(acquire({"lease"}, "a"));
    say << two->record({"lease"}).holder << ' ' << describe(two->write(acquire({"lease"}, "b"))).substr(0, 8);
  });
  EXPECT_EQ(said, "a Conflict");
}

TEST_F(SqliteMounts, aHolderNoticesThatItsFileBecameAMount) {
  std::filesystem::create_directory(here_);
  const std::string said = inOwnMounts([&](std::ostream& say) {
    const std::string path = here_ + "/leases.db";
    Store store{path};
    store->apply(acquire({"lease"}, "a"));
    const RecordVersion version = store->record({"lease"}).version;
    if (!bind(path, path)) say << "not bound";
    say << errorOf(store->write(renew({"lease"}, "a", {version}))).message;
  });
  EXPECT_TRUE(contains(said, "is a separate mount")) << said;
}

}  // namespace
}  // namespace tenure::sqlite_test
