#include "lockcore/stores/sqlite/src/sidecar/wake_files.hpp"

#include <ctime>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/port/fnv1a.hpp"
#include "lockcore/stores/sqlite/src/sidecar/loss_watch.hpp"

namespace tenure::sqlite_store {
namespace {

// Processes of different versions must always agree on the names.
TEST(WakeFiles, theNamesOfFilesNeverChange) {
  EXPECT_EQ(fnv1aOf({"billing"}), "78e5356459c27254");
  EXPECT_EQ(fnv1aOf({"billing", "eu"}), "d5e8b52eafc7a6c2");
  EXPECT_EQ(wakeFilePath("/dir/.db.tenure", {"billing"}), "/dir/.db.tenure/wake-78e5356459c27254");
}

TEST(WakeFiles, differentLeasesHaveDifferentFiles) {
  const std::set<std::string> names{fnv1aOf({"ab", "c"}), fnv1aOf({"a", "bc"}), fnv1aOf({"abc"}),
                                    fnv1aOf({"ABC"}),     fnv1aOf({"a/b"}),     fnv1aOf({"../../etc/passwd"})};
  EXPECT_EQ(names.size(), 6U);
  for (const std::string& name : names) EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
}

double secondsOfThisThread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// Each looked through those of all others: of 10,000 electors that stopped together some were not released in time.
TEST(LossWatch, thousandsOfHoldersLeaveAsQuicklyAsOne) {
  LossWatch watch{"store", "/no/such/database"};
  std::vector<std::shared_ptr<void>> holders;
  for (int i = 0; i < 60'000; ++i) holders.push_back(watch.add([] {}));
  const double before = secondsOfThisThread();
  holders.clear();
  EXPECT_LT(secondsOfThisThread() - before, 1.0);
}

}  // namespace
}  // namespace tenure::sqlite_store
