// A database on a network file system: two machines could both lead, because its locks hold on one machine only.
#include <gtest/gtest.h>

#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"
#include "system_calls.hpp"

namespace tenure::sqlite_test {
namespace {

constexpr long nfs = 0x6969;
constexpr long ext4 = 0xEF53;

TEST(SqliteNetworkFileSystem, isRefusedBeforeAnythingIsMadeThere) {
  const test::TempDir directory;
  const std::string path = directory.file("leases.db");
  Store store{path};
  {
    const HookedCalls remote{{.fileSystemType = nfs}};
    const StoreError refused = errorOf(store->write(acquire({"lease"}, "a")));
    EXPECT_EQ(refused.errorClass, ErrorClass::misconfigured);
    EXPECT_TRUE(refused.permanent) << "waiting does not mend it";
    EXPECT_TRUE(contains(refused.message, directory.path().string() + " is on NFS")) << refused.message;
    EXPECT_TRUE(contains(refused.message, "put the file on a local disk")) << refused.message;
    EXPECT_EQ(filesIn(directory.path().string()), std::vector<std::string>{});
  }
  const HookedCalls local{{.fileSystemType = ext4}};
  EXPECT_TRUE(std::holds_alternative<Applied>(store->write(acquire({"lease"}, "a"))));
}

}  // namespace
}  // namespace tenure::sqlite_test
