#include "filesystem_checks.hpp"

#include <gtest/gtest.h>

namespace tenure::sqlite_store {
namespace {

// Magic numbers as in linux/magic.h, repeated here so that a slip in the table is seen.
TEST(NetworkFileSystem, areNamed) {
  EXPECT_EQ(networkFileSystem(0x6969), "NFS");
  EXPECT_EQ(networkFileSystem(0x517B), "SMB");
  EXPECT_EQ(networkFileSystem(0xFF534D42), "CIFS");
  EXPECT_EQ(networkFileSystem(0xFE534D42), "SMB2");
  EXPECT_EQ(networkFileSystem(0x01021997), "9P");
  EXPECT_EQ(networkFileSystem(0x65735546), "FUSE");
  EXPECT_EQ(networkFileSystem(0x00C36400), "Ceph");
  EXPECT_EQ(networkFileSystem(0x5346414F), "AFS");
  EXPECT_EQ(networkFileSystem(0x0BD00BD0), "Lustre");
}

TEST(NetworkFileSystem, localOnesAreAllowed) {
  for (const std::uint32_t local :
       {0xEF53U /* ext4 */, 0x58465342U /* xfs */, 0x9123683EU /* btrfs */, 0x01021994U /* tmpfs */,
        0x794C7630U /* overlayfs */, 0x2FC12FC1U /* zfs */, 0xF2F52010U /* f2fs */, 0x858458F6U /* ramfs */}) {
    EXPECT_EQ(networkFileSystem(local), std::nullopt) << std::hex << local;
  }
}

}  // namespace
}  // namespace tenure::sqlite_store
