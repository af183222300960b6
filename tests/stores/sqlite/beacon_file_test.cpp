// A beacon that cannot be written: what its file does not say, no record may say either (step H1 of NewDatabaseRule).
#include "beacon_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using namespace std::chrono_literals;
using sqlite_store::OwnBeacon;

/// While it lives, whatever is written to this descriptor meets a full disk.
class DiskFull {
 public:
  explicit DiskFull(int descriptor) : descriptor_{descriptor}, saved_{dup(descriptor)} {
    const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
    EXPECT_GE(full, 0);
    EXPECT_EQ(dup2(full, descriptor_), descriptor_);
    close(full);
  }
  ~DiskFull() {
    dup2(saved_, descriptor_);
    close(saved_);
  }
  DiskFull(const DiskFull&) = delete;
  DiskFull& operator=(const DiskFull&) = delete;

 private:
  const int descriptor_;
  const int saved_;
};

/// While it lives, no file of this process grows beyond that.
class ShortFiles {
 public:
  explicit ShortFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~ShortFiles() { setrlimit(RLIMIT_FSIZE, &before_); }
  ShortFiles(const ShortFiles&) = delete;
  ShortFiles& operator=(const ShortFiles&) = delete;

 private:
  rlimit before_{};
};

class SqliteBeaconFile : public testing::Test {
 protected:
  /// Of this process, on the beacon of its one store; -1: there is none.
  [[nodiscard]] int descriptorOfBeacon() const {
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      std::error_code gone;  // of the directory itself
      const std::string file = std::filesystem::read_symlink(entry.path(), gone).string();
      if (contains(file, sidecarOf(path_) + "/beacon-")) return std::atoi(entry.path().filename().c_str());
    }
    return -1;
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  Store store_{path_};
};

/// Else a candidate that makes a new database would not wait for that lease, and lead beside its holder.
TEST_F(SqliteBeaconFile, aLeaseThatItCannotStateIsNotWritten) {
  const WriteRequest first = acquire({"a"}, "me");
  const auto lease = first.record.leaseDuration;
  store_->apply(first);
  const int descriptor = descriptorOfBeacon();
  ASSERT_GE(descriptor, 0);
  WriteRequest other = acquire({"b"}, "me");
  other.record.leaseDuration = 2 * lease;
  WriteRequest longer = renew({"a"}, "me", {first.record.version});
  longer.record.leaseDuration = 2 * lease;
  longer.lengthens = true;
  {
    const DiskFull full{descriptor};
    for (const WriteRequest& request : {other, longer}) {
      const WriteOutcome outcome = store_->write(request);
      ASSERT_TRUE(std::holds_alternative<Rejected>(outcome)) << describe(outcome);
      EXPECT_TRUE(contains(errorOf(outcome).message, "/beacon-")) << errorOf(outcome).message;
      EXPECT_TRUE(contains(errorOf(outcome).message, "No space left")) << errorOf(outcome).message;
    }
    EXPECT_FALSE(store_->read({"b"}));
    EXPECT_EQ(store_->record({"a"}).version, first.record.version);
    const WriteRequest same = renew({"a"}, "me", {first.record.version});
    store_->apply(same);  // the file states it already
    longer.expected = {same.record.version};
  }
  store_->apply(other);
  store_->apply(longer);
}

TEST_F(SqliteBeaconFile, oneThatWasNotFilledIsNoneAndIsMadeAtTheNextTry) {
  store_->ensureSchema();
  OwnBeacon beacon{"sqlite", path_};
  const auto left = [&] {
    const std::vector<std::string> files = filesIn(sidecarOf(path_));
    return std::count_if(files.begin(), files.end(), [](const std::string& name) {
      return name.starts_with("beacon-") || name.starts_with("new-");
    });
  };
  const auto before = left();
  std::optional<StoreError> fault;
  {
    const ShortFiles brief{40};
    if (const auto made = beacon.get(); made.has_error()) fault = made.error();
  }
  ASSERT_TRUE(fault);
  EXPECT_TRUE(contains(fault->message, "No space left")) << fault->message;
  EXPECT_EQ(left(), before) << "nothing is left of it";
  const auto made = beacon.get();
  ASSERT_TRUE(made.has_value()) << made.error().message;
  int trouble = 0;
  const auto file = sqlite_store::openBeaconToLook(sqlite_store::beaconPath(sidecarOf(path_), made->id));
  EXPECT_EQ(sqlite_store::statedLease(file, trouble), 0ms);
}

}  // namespace
}  // namespace tenure::sqlite_test
