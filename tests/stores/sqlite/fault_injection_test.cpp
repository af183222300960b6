// Each script of writes with a failure at every step: the answers must be true, now and after recovery.
#include <filesystem>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "faulty_vfs.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using Fault = FaultyVfs::Fault;

/// One write, and every step of it fails in turn, on a database that `prepare` created.
struct Script {
  std::string name;
  std::function<void(Store&)> prepare;
  std::function<WriteRequest(Store&)> write;
};

const LeaseKey key{"lease"};

const Script scripts[] = {
    {"acquireInAFreshFile", [](Store&) {}, [](Store&) { return acquire(key, "a"); }},
    {"acquireAReleasedLease",
     [](Store& store) {
       store->apply(acquire(key, "b"));
       store->apply(release(key, "b", {store->record(key).version}));
     },
     [](Store& store) { return acquire(key, "a", {store->record(key).version}); }},
    {"renew", [](Store& store) { store->apply(acquire(key, "a")); },
     [](Store& store) { return renew(key, "a", {store->record(key).version}); }},
    {"release", [](Store& store) { store->apply(acquire(key, "a")); },
     [](Store& store) { return release(key, "a", {store->record(key).version}); }},
    {"renewManyPages", [](Store& store) { store->apply(acquire(key, "a")); },
     [](Store& store) {
       WriteRequest request = renew(key, "a", {store->record(key).version});
       request.record.data.assign(60'000, 'x');
       return request;
     }},
};

struct Case {
  const Script* script;
  Fault fault;
  bool sticky;
};

class SqliteFaults : public testing::TestWithParam<Case> {
 protected:
  /// The version that a reader finds, or nothing.
  static std::string storedVersion(const std::string& path) {
    Store store{path};
    ReadOutcome record = store->startRead(key)->get();
    if (record.has_error()) {
      store->ensureSchema();  // a store that only looks recovers no log and undoes no journal
      record = store->startRead(key)->get();
    }
    return record.value() && !(*record)->vanished ? (*record)->version.text() : "";
  }

  /// The files as a crash of the machine at this moment would leave them, if every write had reached the disk: the next
  /// process that opens them has to recover them.
  static std::string copyFor(const std::string& path, const std::string& suffix) {
    std::string copy = path + suffix;
    std::error_code none;
    std::filesystem::copy_file(path, copy, none);
    std::filesystem::copy_file(path + "-wal", copy + "-wal", none);
    return copy;
  }

  static void judge(const WriteOutcome& outcome, bool present, const std::string& when) {
    EXPECT_TRUE(!std::holds_alternative<Applied>(outcome) || present) << when << ": applied, but not there";
    EXPECT_TRUE(!std::holds_alternative<Rejected>(outcome) || !present) << when << ": rejected, but there";
    EXPECT_FALSE(std::holds_alternative<Conflict>(outcome)) << when << ": " << describe(outcome);
  }

  /// False when the write ended before step `nth`, so that nothing failed.
  bool failAt(int nth) {
    const test::TempDir directory;
    const std::string path = directory.file("leases.db");
    const auto& [script, fault, sticky] = GetParam();
    std::string wanted;
    std::string failed;
    std::optional<WriteOutcome> outcome;
    std::string recovered;
    {
      Store store{path};
      script->prepare(store);
      WriteRequest request = script->write(store);
      wanted = request.record.version.text();
      vfs_.arm(nth, fault, sticky);
      outcome = store->startWrite(std::move(request), std::chrono::milliseconds{500})->get();
      failed = vfs_.disarm();
      recovered = copyFor(path, "-crash");
      const std::string at =
          script->name + ", step " + std::to_string(nth) + " (" + failed + "), " + describe(*outcome);
      judge(*outcome, storedVersion(path) == wanted, at + ", seen by others");
    }
    const std::string at = script->name + ", step " + std::to_string(nth) + " (" + failed + "), " + describe(*outcome);
    judge(*outcome, storedVersion(path) == wanted, at + ", after closing");
    judge(*outcome, storedVersion(recovered) == wanted, at + ", after recovery");
    if (!failed.empty()) steps_.insert(failed);
    return !failed.empty();
  }

  FaultyVfs vfs_;
  std::set<std::string> steps_;
};

TEST_P(SqliteFaults, theAnswerIsTrue) {
  int nth = 1;
  while (failAt(nth)) ++nth;
  EXPECT_GT(nth, 3) << "the faults must have hit something";
  EXPECT_TRUE(steps_.contains("write"));
  EXPECT_TRUE(steps_.contains("sync"));
  EXPECT_TRUE(steps_.contains("shm lock"));
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Script& script : scripts) {
    for (const Fault fault : {Fault::error, Fault::diskFull, Fault::afterwards}) {
      for (const bool sticky : {false, true}) out.push_back({&script, fault, sticky});
    }
  }
  return out;
}

std::string nameOf(const testing::TestParamInfo<Case>& info) {
  const char* const faults[] = {"Error", "DiskFull", "Afterwards"};
  return info.param.script->name + faults[static_cast<int>(info.param.fault)] + (info.param.sticky ? "Sticky" : "Once");
}

INSTANTIATE_TEST_SUITE_P(EachStep, SqliteFaults, testing::ValuesIn(cases()), nameOf);

TEST(SqliteFaultyDisk, theStoreGoesOnWhenTheFaultHasPassed) {
  FaultyVfs vfs;
  const test::TempDir directory;
  Store store{directory.file("leases.db")};
  store->apply(acquire(key, "a"));
  for (const Fault fault : {Fault::error, Fault::diskFull, Fault::afterwards}) {
    vfs.arm(1, fault, true);
    const WriteOutcome outcome = store->write(renew(key, "a", {store->record(key).version}));
    EXPECT_EQ(errorOf(outcome).errorClass, ErrorClass::transient) << describe(outcome);
    EXPECT_NE(vfs.disarm(), "");
    store->apply(renew(key, "a", {store->record(key).version}));
  }
}

TEST(SqliteFaultyDisk, aFullDiskIsCalledFull) {
  FaultyVfs vfs;
  const test::TempDir directory;
  Store store{directory.file("leases.db")};
  store->apply(acquire(key, "a"));
  for (int nth = 1;; ++nth) {
    vfs.arm(nth, Fault::diskFull, false);
    const WriteOutcome outcome = store->write(renew(key, "a", {store->record(key).version}));
    const std::string failed = vfs.disarm();
    ASSERT_NE(failed, "") << "no write was hit";
    if (failed != "write") continue;
    EXPECT_TRUE(contains(errorOf(outcome).message, "is full; free space")) << errorOf(outcome).message;
    return;
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
