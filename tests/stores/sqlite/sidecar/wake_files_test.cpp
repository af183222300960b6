#include "lockcore/stores/sqlite/src/sidecar/wake_files.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tenure::sqlite_store {
namespace {

// Processes of different versions must always agree on the names.
TEST(WakeFiles, theNamesOfFilesNeverChange) {
  EXPECT_EQ(fileNameOf({"billing"}), "78e5356459c27254");
  EXPECT_EQ(fileNameOf({"billing", "eu"}), "d5e8b52eafc7a6c2");
  EXPECT_EQ(wakeFilePath("/dir/.db.tenure", {"billing"}), "/dir/.db.tenure/wake-78e5356459c27254");
}

TEST(WakeFiles, differentLeasesHaveDifferentFiles) {
  const std::set<std::string> names{fileNameOf({"ab", "c"}), fileNameOf({"a", "bc"}), fileNameOf({"abc"}),
                                    fileNameOf({"ABC"}),     fileNameOf({"a/b"}),     fileNameOf({"../../etc/passwd"})};
  EXPECT_EQ(names.size(), 6U);
  for (const std::string& name : names) EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace tenure::sqlite_store
