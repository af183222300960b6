// Successors remove the files of dead processes, and never touch files that a living process holds.
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sys/file.h>

#include <gtest/gtest.h>

#include "lockcore/runtime/unique_fd.hpp"
#include "stores/sqlite/actor.hpp"
#include "stores/sqlite/sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteSweep : public testing::Test {
 protected:
  [[nodiscard]] std::size_t count(const std::string& prefix) const {
    std::size_t found = 0;
    for (const std::string& name : filesIn(sidecarOf(path_))) found += name.starts_with(prefix) ? 1U : 0U;
    return found;
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
};

TEST_F(SqliteSweep, theLivenessFilesOfTheDeadGoWithTheNextTerm) {
  std::vector<std::unique_ptr<Actor>> dead;
  for (int i = 0; i < 3; ++i) {
    dead.push_back(std::make_unique<Actor>(path_));
    ASSERT_EQ(dead.back()->ask("livenessFile"), "ok");
    ASSERT_TRUE(contains(dead.back()->ask("acquire lease" + std::to_string(i) + " a"), "applied"));
  }
  Actor living{path_};
  ASSERT_EQ(living.ask("livenessFile"), "ok");
  EXPECT_EQ(count("beacon-"), 4U);
  for (const auto& actor : dead) actor->kill();

  // Two leases are taken over by other processes; the third one's record still refers to its dead holder's liveness
  // file.
  Actor successor{path_};
  Store store{path_};
  for (const char* name : {"lease0", "lease1"}) {
    ASSERT_TRUE(contains(successor.ask(std::string{"acquire "} + name + " b " + store->record({name}).version.text()),
                         "applied"));
  }
  store->apply(acquire({"mine"}, "c"));
  EXPECT_TRUE(eventually([&] { return count("beacon-") == 4; }))
      << "living: one candidate, two holders; dead: one that is referred to";
  EXPECT_NE(successor.ask("read lease2"), "-");
  EXPECT_TRUE(contains(living.ask("acquire more a"), "applied"));
}

TEST_F(SqliteSweep, abandonedDraftsGoAndOthersFilesStay) {
  const std::string id = "0123456789abcdef0123456789abcdef";
  const std::string sidecar = sidecarOf(path_);
  std::filesystem::create_directories(sidecar);
  std::ofstream{sidecar + "/new-" + id} << id << '\n';
  std::ofstream{sidecar + "/new-" + std::string(32, '0')} << "";  // empty: a process may be about to lock it
  std::ofstream{sidecar + "/beacon-README"} << "a stranger's";
  std::ofstream{sidecar + "/notes.txt"} << "a stranger's";
  Store store{path_};
  store->apply(acquire({"lease"}, "a"));
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(sidecar + "/new-" + id); }));
  EXPECT_TRUE(std::filesystem::exists(sidecar + "/new-" + std::string(32, '0')));
  EXPECT_TRUE(std::filesystem::exists(sidecar + "/beacon-README"));
  EXPECT_TRUE(std::filesystem::exists(sidecar + "/notes.txt"));
}

TEST_F(SqliteSweep, theClaimsOfOlderReleasesGoOnceTheirProcessesHave) {
  const std::string id = "0123456789abcdef0123456789abcdef";
  const std::string claims = sidecarOf(path_) + "/claims";
  Store { path_ } -> ensureSchema();
  std::filesystem::create_directories(claims + "/00");
  std::ofstream{claims + "/00/0011223344556677-" + id} << "{";
  const std::string livenessFile = sidecarOf(path_) + "/beacon-" + id;
  std::ofstream{livenessFile} << id << '\n';
  {
    const UniqueFd older{open(livenessFile.c_str(), O_RDONLY | O_CLOEXEC)};
    ASSERT_EQ(flock(older.get(), LOCK_EX | LOCK_NB), 0);
    Store store{path_};
    store->ensureSchema();
    std::ofstream{sidecarOf(path_) + "/new-" + id} << id;  // it is removed: the sweep has run
    store->apply(acquire({"lease"}, "a"));
    EXPECT_TRUE(eventually([&] { return count("new-") == 0; }));
    EXPECT_TRUE(std::filesystem::exists(claims + "/00")) << "its process looks there";
  }
  Store store{path_};
  store->apply(acquire({"another"}, "a"));
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(claims); }));
}

}  // namespace
}  // namespace tenure::sqlite_test
