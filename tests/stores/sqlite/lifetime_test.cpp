// Stores that are destroyed in inconvenient places: in their own handlers, and in forked children.
#include <filesystem>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "actor.hpp"
#include "lockcore/liveness/liveness_file.hpp"
#include "lockcore/port/extended_store.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteLifetime : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<LeaseStore> open() const { return makeSqliteStore({.path = path_}); }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const CallOptions options_{patience};
};

TEST_F(SqliteLifetime, theLastReferenceMayGoInAHandler) {
  for (int round = 0; round < 20; ++round) {
    auto held = std::make_shared<std::shared_ptr<LeaseStore>>(open());
    Signal done;
    Signal others;
    LeaseStore& store = **held;
    const auto drop = [held, &done] {
      held->reset();
      done.set();
    };
    // The others are queued behind the call that destroys the store, or run beside it; each must be answered all the
    // same.
    store.read({"x"}, options_, [&](const ReadOutcome&) { others.set(); });
    store.write(acquire({"x"}, "a"), options_, [&](const WriteOutcome&) { others.set(); });
    if (round % 2 == 0) {
      store.read({"lease"}, options_, [drop](const ReadOutcome&) { drop(); });
    } else {
      store.write(acquire({"lease" + std::to_string(round)}, "a"), options_, [drop](const WriteOutcome&) { drop(); });
    }
    held.reset();  // `drop` has the last reference
    ASSERT_TRUE(done.wait());
    EXPECT_TRUE(eventually([&] { return others.count() == 2; }));
  }
}

/// While it lives no thread can be started: there is no memory for a stack of that size.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_init(&attributes_);
    pthread_attr_getstacksize(&attributes_, &before_);
    set(std::size_t{1} << 47U);
  }
  ~NoThreads() {
    set(before_);
    pthread_attr_destroy(&attributes_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  void set(std::size_t size) {
    EXPECT_EQ(pthread_attr_setstacksize(&attributes_, size), 0);
    EXPECT_EQ(pthread_setattr_default_np(&attributes_), 0);
  }
  pthread_attr_t attributes_{};
  std::size_t before_{0};
};

TEST_F(SqliteLifetime, aStoreThatGetsNoThreadSaysSoOnceAndAnswersOnceThereIsOne) {
  std::vector<std::string> told;
  const Logger logger{LogLevel::warn, [&](LogLevel, std::string_view line) { told.emplace_back(line); }};
  Signal answered;
  const auto store = makeSqliteStore({.path = path_}, logger);
  const auto read = [&] { store->read({"lease"}, options_, [&](const ReadOutcome&) { answered.set(); }); };
  {
    const NoThreads limit;
    read();
    read();
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(contains(told[0], "no thread can be started (Resource temporarily unavailable)")) << told[0];
  EXPECT_EQ(answered.count(), 0) << "never inside the call";
  read();
  EXPECT_TRUE(eventually([&] { return answered.count() == 3; }));
}

TEST_F(SqliteLifetime, theLastReferenceMayBeWhatAHandlerHolds) {
  Signal done;
  auto store = open();
  LeaseStore* const raw = store.get();
  struct Tell {
    explicit Tell(Signal* toSet) : signal{toSet} {}
    Signal* signal;
    ~Tell() { signal->set(); }
  };
  raw->read({"lease"}, options_,
            [store = std::move(store), tell = std::make_shared<Tell>(&done)](const ReadOutcome&) {});
  EXPECT_TRUE(done.wait());
}

TEST_F(SqliteLifetime, theLastReferenceMayGoInAHint) {
  auto held = std::make_shared<std::shared_ptr<LeaseStore>>(open());
  Signal called;
  Signal done;
  (*held)->ensureSchema(options_, [](const StoreStatus&) {});  // a store that only looks makes no file to watch
  const std::shared_ptr<void> handle = (*held)->watch({"lease"}, [held, &called, &done] {
    if (!called.wait()) return;  // the store must outlive the call itself
    held->reset();
    done.set();
  });
  called.set();
  EXPECT_TRUE(done.wait());
}

TEST_F(SqliteLifetime, aHintMayDropItsOwnHandle) {
  const auto store = open();
  const auto handle = std::make_shared<std::shared_ptr<void>>();
  Signal armed;
  Signal done;
  store->ensureSchema(options_, [](const StoreStatus&) {});
  *handle = store->watch({"lease"}, [&, handle] {
    if (!armed.wait()) return;
    handle->reset();
    done.set();
  });
  armed.set();
  ASSERT_TRUE(done.wait());
  store->write(acquire({"lease"}, "a"), options_, [](const WriteOutcome&) {});
  Signal other;
  const auto last = store->watch({"other"}, [&] { other.set(); });
  ASSERT_TRUE(other.wait());
  EXPECT_EQ(done.count(), 1);
}

TEST_F(SqliteLifetime, aHandleMayOutliveItsStore) {
  Signal hints;
  auto store = open();
  store->ensureSchema(options_, [](const StoreStatus&) {});
  auto handle = store->watch({"lease"}, [&] { hints.set(); });
  auto notice = extended(store)->deathNotice();
  ASSERT_TRUE(hints.wait());
  store.reset();
  EXPECT_EQ(notice->follow(recordOf("a"), [](const RecordVersion&) {}), nullptr);
  handle.reset();
  notice.reset();
}

// In a forked child nothing of the store runs, and its destruction does not affect the parent.
TEST_F(SqliteLifetime, aForkedChildHarmsNothing) {
  auto store = std::make_unique<Store>(path_);
  auto handle = store->raw().watch({"lease"}, [] {});
  const LivenessFile livenessFile = extended(store->raw())->deathNotice()->livenessFile().value();
  (*store)->apply(acquire({"lease"}, "a"));
  const std::string file = liveness::livenessFilePath(sidecarOf(path_), livenessFile.id);
  const pid_t child = fork();
  if (child == 0) {
    handle.reset();
    extended(store->raw())->deathNotice().reset();
    store.reset();
    _exit(std::filesystem::exists(file) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(std::filesystem::exists(path_ + "-wal")) << "the child must not have closed the database";
  (*store)->apply(renew({"lease"}, "a", {(*store)->record({"lease"}).version}));
  Store other{path_};
  EXPECT_EQ(other->record({"lease"}).holder, "a");
  const UniqueFd look = liveness::openLivenessFileToLook(file);
  EXPECT_EQ(liveness::probeLivenessFile(look), liveness::LockState::held) << "still the parent's";
}

}  // namespace
}  // namespace tenure::sqlite_test
