#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>
#include <tenure/testing/simulation.hpp>

#include "lockcore/port/extended_store.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;

std::string story(const SimulationReport& report) {
  std::string out = report.violation;
  for (const std::string& event : report.lastEvents) out += "\n  " + event;
  return out;
}

SimulationReport over(const std::shared_ptr<LeaseStore>& store, const SimulationOptions& options) {
  return simulate([&] { return store; }, options);
}

TEST(SimulationTest, ElectionsOverTheMemoryStoreKeepEveryRule) {
  SimulationReport all;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto report =
        over(makeMemoryStore(), {.seed = seed, .candidates = 1 + static_cast<unsigned>(seed % 5), .leases = 60});
    ASSERT_EQ(report.violation, "") << "seed " << seed << story(report);
    all.terms += report.terms;
    all.lost += report.lost;
    all.late += report.late;
    all.freezes += report.freezes;
    all.crashes += report.crashes;
    all.cuts += report.cuts;
  }
  EXPECT_GT(all.terms, 300U);
  for (const std::uint64_t count : {all.lost, all.late, all.freezes, all.crashes, all.cuts}) EXPECT_GT(count, 100U);
}

TEST(SimulationTest, ElectionsOverARealFileKeepEveryRule) {
  const TempDir scratch;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto open = [&] { return makeSqliteStore({.path = scratch.file("leases.db")}); };
    const auto report = simulate(open, {.seed = seed, .leases = 60, .leaseName = "seed-" + std::to_string(seed)});
    ASSERT_EQ(report.violation, "") << "seed " << seed << story(report);
    EXPECT_GT(report.terms, 5U);
  }
}

TEST(SimulationTest, LongLeasesTakeNoLonger) {
  const auto report = over(makeMemoryStore(), {.leases = 60, .lease = std::chrono::hours{24}});
  EXPECT_EQ(report.violation, "") << story(report);
  EXPECT_GT(report.terms, 2U);
}

TEST(SimulationTest, ASeedMakesTheSameRunAgain) {
  const auto first = over(makeMemoryStore(), {.seed = 7});
  const auto second = over(makeMemoryStore(), {.seed = 7});
  EXPECT_EQ(first.violation, "") << story(first);
  EXPECT_EQ(first.lastEvents, second.lastEvents);
  EXPECT_EQ(first.requests, second.requests);
  EXPECT_NE(first.lastEvents, over(makeMemoryStore(), {.seed = 8}).lastEvents);
}

/// Writes whatever is stored.
class Unconditional final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    const LeaseKey key = request.key;
    behind_->read(key, options, [=, behind = behind_, request = std::move(request)](ReadOutcome found) mutable {
      request.expected.clear();
      if (found && *found) request.expected.push_back((*found)->version);
      behind->write(std::move(request), options, std::move(handler));
    });
  }
};

/// Gives the same token to each term.
class SameToken final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, [handler = std::move(handler)](ReadOutcome found) {
      if (found && *found) (*found)->token = FencingToken{7};
      handler(std::move(found));
    });
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    behind_->write(std::move(request), options, [handler = std::move(handler)](WriteOutcome outcome) {
      if (auto* applied = std::get_if<Applied>(&outcome)) applied->token = FencingToken{7};
      auto* conflict = std::get_if<Conflict>(&outcome);
      if (conflict != nullptr && conflict->current && *conflict->current) (*conflict->current)->token = FencingToken{7};
      handler(std::move(outcome));
    });
  }
};

/// Every tenth read shows what the one before showed.
class OldReads final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, [this, handler = std::move(handler)](ReadOutcome found) {
      std::swap(found, before_);
      handler(++reads_ % 10 == 0 ? std::move(found) : before_);
    });
  }

 private:
  ReadOutcome before_{std::optional<LeaseRecord>{}};
  int reads_{0};
};

/// Forgets that a lease was released.
class NeverReleased final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, [handler = std::move(handler)](ReadOutcome found) {
      if (found && *found) (*found)->released = false;
      handler(std::move(found));
    });
  }
};

class Silent final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler handler) override {
    kept_ = std::move(handler);
  }

 private:
  ReadHandler kept_{};
};

class AnswersTwice final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, [handler = std::move(handler)](const ReadOutcome& found) {
      handler(found);
      handler(found);
    });
  }
};

class AnswersInside final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler handler) override {
    handler(std::optional<LeaseRecord>{});
  }
};

class Throws final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler /*handler*/) override {
    throw std::runtime_error{"no such host"};
  }
};

class ThrowsAnything final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler /*handler*/) override { throw 42; }
};

/// As `Throws`, in the call that comes first.
class ThrowsAtTheStart final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void ensureSchema(CallOptions /*options*/, StatusHandler /*handler*/) override {
    throw std::runtime_error{"no such table"};
  }
};

/// Answers in the end, but does not return before.
class Blocks final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    std::this_thread::sleep_for(milliseconds{250});  // lint-allow(sleep): the fault that is to be found
    behind_->read(key, options, std::move(handler));
  }
};

/// A record that no condition can name.
class NoVersion final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, [handler = std::move(handler)](ReadOutcome found) {
      if (found && !*found) found = std::optional{LeaseRecord{.holder = "nobody"}};
      handler(std::move(found));
    });
  }
};

class AlwaysBusy final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    behind_->read(request.key, options, [handler = std::move(handler)](const ReadOutcome&) {
      handler(Rejected{{ErrorClass::transient, "busy"}});
    });
  }
};

template <class Broken>
std::string violationOf(milliseconds patience = SimulationOptions{}.patience) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto report =
        over(std::make_shared<Broken>(makeMemoryStore()), {.seed = seed, .leases = 60, .patience = patience});
    if (!report.violation.empty()) return report.violation;
  }
  return "none was found";
}

TEST(SimulationTest, BrokenStoresAreFound) {
  EXPECT_NE(violationOf<Unconditional>().find("was carried out, which expected"), std::string::npos)
      << violationOf<Unconditional>();
  EXPECT_NE(violationOf<SameToken>().find("got the fencing token 7, and there was 7 before"), std::string::npos)
      << violationOf<SameToken>();
  EXPECT_NE(violationOf<OldReads>().find("the store showed "), std::string::npos) << violationOf<OldReads>();
  EXPECT_NE(violationOf<NeverReleased>().find("with another released than was written"), std::string::npos)
      << violationOf<NeverReleased>();
  EXPECT_NE(violationOf<Silent>(milliseconds{200}).find("the store gave no answer in 200 ms"), std::string::npos);
  EXPECT_NE(violationOf<AnswersTwice>().find("the store answered a call twice"), std::string::npos);
  EXPECT_NE(violationOf<AnswersInside>().find("the store answered inside the call"), std::string::npos);
  EXPECT_NE(violationOf<Throws>().find("the store threw an exception: no such host"), std::string::npos);
  EXPECT_NE(violationOf<ThrowsAnything>().find("the store threw something that is not a std::exception"),
            std::string::npos);
  EXPECT_NE(violationOf<ThrowsAtTheStart>().find("the store threw an exception: no such table"), std::string::npos);
  EXPECT_NE(violationOf<Blocks>(milliseconds{200}).find("the store gave no answer in 200 ms"), std::string::npos);
  EXPECT_NE(violationOf<NoVersion>().find("a record without a version"), std::string::npos) << violationOf<NoVersion>();
  EXPECT_NE(violationOf<AlwaysBusy>().find("there is no leader 8 leases after the last fault"), std::string::npos);
}

TEST(SimulationTest, OptionsOutOfRangeAreRefused) {
  const auto store = makeMemoryStore();
  EXPECT_THROW(static_cast<void>(over(store, {.candidates = 0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(over(store, {.leases = 0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(over(store, {.lease = milliseconds{1}})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(over(store, {.leases = 100'000, .lease = std::chrono::hours{24}})),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(over(store, {.lease = milliseconds::max()})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(over(store, {.leaseName = ""})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(over(store, {.patience = milliseconds{0}})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(over(nullptr, {})), std::invalid_argument);
}

}  // namespace
}  // namespace tenure::test
