// A liveness file that cannot be written: no candidate leads without having stated its lease, a leader continues, and
// nobody takes the remains for a proof of death.
#include <filesystem>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/liveness/liveness_file.hpp"
#include "stores/sqlite/actor.hpp"
#include "stores/sqlite/sqlite_support.hpp"
#include "stores/sqlite/system_calls.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using std::chrono::milliseconds;

class SqliteLivenessFileError : public testing::Test {
 protected:
  /// Follows the record while `happens`, and until the watch thread has proven the death of another holder.
  template <class Event>
  void expectNoProof(Store& store, const LeaseRecord& record, Event happens) {
    Signal proven;
    const auto handle =
        extended(store.raw())->deathNotice()->follow(record, [&](const RecordVersion&) { proven.set(); });
    happens();
    Actor shortLived{path_};
    ASSERT_EQ(shortLived.ask("livenessFile"), "ok");
    const std::string another = "another" + std::to_string(++others_);
    ASSERT_TRUE(contains(shortLived.ask("acquire " + another + " b"), "applied"));
    Signal settled;
    const auto other =
        extended(store.raw())->deathNotice()->follow(store->record({another}), [&](const RecordVersion&) {
          settled.set();
        });
    shortLived.kill();
    ASSERT_TRUE(settled.wait());
    EXPECT_EQ(proven.count(), 0);
  }
  [[nodiscard]] std::vector<std::string> livenessFiles() const {
    std::vector<std::string> out;
    for (const std::string& name : filesIn(sidecarOf(path_))) {
      if (name.starts_with("beacon-") || name.starts_with("new-")) out.push_back(name);
    }
    return out;
  }

  int others_{0};
  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
};

TEST_F(SqliteLivenessFileError, aDiskThatIsFullRefusesTheAcquisitionAndLeavesNoLivenessFile) {
  Store store{path_};
  for (const std::size_t room : {0U, 20U}) {
    const HookedCalls full{{.roomForLivenessFile = room}};
    const auto livenessFile = extended(store.raw())->deathNotice()->livenessFile();
    ASSERT_TRUE(livenessFile.has_error());
    EXPECT_EQ(livenessFile.error().errorClass, ErrorClass::transient);
    EXPECT_TRUE(contains(livenessFile.error().message, "No space left"))
        << room << ": " << livenessFile.error().message;
    const StoreError refused = errorOf(store->write(acquire({"lease"}, "a")));
    EXPECT_TRUE(contains(refused.message, "No space left")) << room << ": " << refused.message;
    EXPECT_FALSE(store->read({"lease"}).has_value()) << "nobody leads";
    EXPECT_EQ(livenessFiles(), std::vector<std::string>{}) << "a half of one would be found unlocked one day";
  }
  EXPECT_TRUE(std::holds_alternative<Applied>(store->write(acquire({"lease"}, "a")))) << "there is room again";
}

TEST_F(SqliteLivenessFileError, aLongerLeaseThatCannotBeStatedIsRefusedAndTheTermGoesOn) {
  Store store{path_};
  const LivenessFile livenessFile = extended(store.raw())->deathNotice()->livenessFile().value();
  WriteRequest first = acquire({"lease"}, "a");
  first.record.livenessFile = livenessFile;
  const milliseconds lease = first.record.leaseDuration;
  store->apply(std::move(first));
  const LeaseRecord held = store->record({"lease"});
  for (const std::size_t room : {0U, 20U}) {
    const HookedCalls full{{.roomForLivenessFile = room}};
    WriteRequest longer = renew({"lease"}, "a", {held.version});
    longer.record.leaseDuration = lease * 2;
    const StoreError refused = errorOf(store->write(std::move(longer)));
    EXPECT_TRUE(contains(refused.message, "No space left")) << room << ": " << refused.message;
    EXPECT_EQ(store->record({"lease"}).version, held.version) << "nothing was committed";
    EXPECT_EQ(store->record({"lease"}).leaseDuration, lease);
  }
  const HookedCalls full{{.roomForLivenessFile = 0}};
  WriteRequest same = renew({"lease"}, "a", {held.version});
  same.record.livenessFile = livenessFile;
  EXPECT_TRUE(std::holds_alternative<Applied>(store->write(std::move(same)))) << "it states that lease already";
}

TEST_F(SqliteLivenessFileError, aDirectoryThatIsDeletedEndsNoTermAndProvesNothing) {
  Actor holder{path_};
  ASSERT_EQ(holder.ask("livenessFile"), "ok");
  const std::string acquired = holder.ask("acquire lease a");
  ASSERT_TRUE(contains(acquired, "applied 1 ")) << acquired;
  Store store{path_};
  const LeaseRecord record = store->record({"lease"});
  expectNoProof(store, record, [&] {
    std::filesystem::remove_all(sidecarOf(path_));
    const std::string renewed = holder.ask("renew lease a " + record.version.text());
    EXPECT_TRUE(contains(renewed, "applied 1 ")) << renewed << ' ' << holder.ask("error");
    holder.kill();
  });
  expectNoProof(store, store->record({"lease"}), [] {});
}

TEST_F(SqliteLivenessFileError, whoMayNotWriteIntoTheDirectoryIsRefusedInPlainWordsUntilHeMay) {
  {
    Store store{path_};
    store->ensureSchema();
  }
  for (const std::string& file : {path_, directory_.path().string(), sidecarOf(path_)}) {
    std::filesystem::permissions(file, std::filesystem::perms{0777});
  }
  std::filesystem::permissions(sidecarOf(path_), std::filesystem::perms{0555});
  Actor actor{path_};
  ASSERT_EQ(actor.ask("nobody"), "ok");
  EXPECT_EQ(actor.ask("acquire lease a"), "rejected");
  const std::string message = actor.ask("error");
  EXPECT_TRUE(contains(message, sidecarOf(path_)) && contains(message, "Permission denied")) << message;
  EXPECT_EQ(actor.ask("read lease"), "-");
  std::filesystem::permissions(sidecarOf(path_), std::filesystem::perms{0777});
  const std::string acquired = actor.ask("acquire lease a");
  ASSERT_TRUE(contains(acquired, "applied 1 ")) << acquired << actor.ask("error");
  std::filesystem::permissions(sidecarOf(path_), std::filesystem::perms{0555});
  const std::string version = acquired.substr(std::string{"applied 1 "}.size());
  EXPECT_TRUE(contains(actor.ask("renew lease a " + version), "applied 1 ")) << "a leader goes on";
}

}  // namespace
}  // namespace tenure::sqlite_test
