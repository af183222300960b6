// Successors clear up behind the dead, and never touch what a living process holds.
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "sqlite_support.hpp"
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
  [[nodiscard]] std::size_t claims() const { return claimFilesOf(path_).size(); }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
};

TEST_F(SqliteSweep, theBeaconsAndClaimsOfTheDeadGoWithTheNextTerm) {
  std::vector<std::unique_ptr<Actor>> dead;
  for (int i = 0; i < 3; ++i) {
    dead.push_back(std::make_unique<Actor>(path_));
    ASSERT_EQ(dead.back()->ask("beacon"), "ok");
    ASSERT_TRUE(contains(dead.back()->ask("acquire lease" + std::to_string(i) + " a"), "applied"));
  }
  Actor living{path_};
  ASSERT_EQ(living.ask("beacon"), "ok");
  EXPECT_EQ(count("beacon-"), 4U);
  EXPECT_EQ(claims(), 3U);
  for (const auto& actor : dead) actor->kill();

  // Two leases are taken over by other processes; the third one's record still refers to its dead holder's beacon.
  Actor successor{path_};
  Store store{path_};
  for (const char* name : {"lease0", "lease1"}) {
    ASSERT_TRUE(contains(successor.ask(std::string{"acquire "} + name + " b " + store->record({name}).version.text()),
                         "applied"));
  }
  store->apply(acquire({"mine"}, "c"));
  EXPECT_TRUE(eventually([&] { return count("beacon-") == 4 && claims() == 3; }))
      << "living: one candidate, two holders; dead: one that is referred to";
  EXPECT_NE(successor.ask("read lease2"), "-");
  EXPECT_TRUE(contains(living.ask("acquire more a"), "applied"));
}

TEST_F(SqliteSweep, abandonedDraftsGoAndOthersFilesStay) {
  const std::string id = "0123456789abcdef0123456789abcdef";
  const std::string sidecar = sidecarOf(path_);
  std::filesystem::create_directories(sidecar + "/claims/00");
  std::ofstream{sidecar + "/new-" + id} << id << '\n';
  std::ofstream{sidecar + "/new-" + std::string(32, '0')} << "";  // empty: may be about to be locked
  std::ofstream{sidecar + "/claims/00/new-0011223344556677-" + id} << "{";
  std::ofstream{sidecar + "/beacon-README"} << "a stranger's";
  std::ofstream{sidecar + "/notes.txt"} << "a stranger's";
  Store store{path_};
  store->apply(acquire({"lease"}, "a"));
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(sidecar + "/new-" + id); }));
  EXPECT_EQ(claims(), 1U) << "only the living one";
  EXPECT_TRUE(std::filesystem::exists(sidecar + "/new-" + std::string(32, '0')));
  EXPECT_TRUE(std::filesystem::exists(sidecar + "/beacon-README"));
  EXPECT_TRUE(std::filesystem::exists(sidecar + "/notes.txt"));
}

}  // namespace
}  // namespace tenure::sqlite_test
