// Renewals, and releases, that wait at the same time are committed together; each keeps its own condition and outcome.
#include <filesystem>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>

#include "faulty_vfs.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using namespace std::chrono_literals;
using Fault = FaultyVfs::Fault;

LeaseKey numberedLease(int lease) { return {"lease-" + std::to_string(lease)}; }

/// Leases 0 to count - 1 of holder a. The store's writer is kept in the answer to another call until all renewals wait
/// behind it, so they are written together. A foreign program has the write lock when they begin.
class WriteBatch : public testing::Test {
 protected:
  void open(int count) {
    store_ = std::make_unique<Store>(path_);
    for (int lease = 0; lease < count; ++lease) (*store_)->apply(acquire(numberedLease(lease), "a"));
  }
  [[nodiscard]] WriteRequest renewalOf(int lease) {
    return renew(numberedLease(lease), "a", {(*store_)->record(numberedLease(lease)).version});
  }
  [[nodiscard]] std::vector<WriteRequest> renewals(int count) {
    std::vector<WriteRequest> out;
    for (int lease = 0; lease < count; ++lease) out.push_back(renewalOf(lease));
    return out;
  }
  [[nodiscard]] std::vector<WriteRequest> releases(int count) {
    std::vector<WriteRequest> out;
    for (int lease = 0; lease < count; ++lease) {
      out.push_back(release(numberedLease(lease), "a", {(*store_)->record(numberedLease(lease)).version}));
    }
    return out;
  }
  std::vector<WriteOutcome> sendWhileLocked(const std::vector<WriteRequest>& requests,
                                            const std::function<void()>& meanwhile = {},
                                            std::chrono::milliseconds timeout = 10s) {
    Signal queued;
    Signal answered;
    store_->raw().write(renew({"no such lease"}, "a", {newVersion()}), {10s}, [&](const WriteOutcome&) {
      answered.set();
      static_cast<void>(queued.wait());
    });
    EXPECT_TRUE(answered.wait());
    Shell foreign{path_};
    foreign.run("BEGIN IMMEDIATE");
    std::vector<decltype((*store_)->startWrite(requests.front(), timeout))> calls;
    for (const WriteRequest& request : requests) calls.push_back((*store_)->startWrite(request, timeout));
    queued.set();
    const Instant begun = readClock();  // by then the writer has opened the file and waits for the lock
    EXPECT_TRUE(eventually([&] { return elapsedForHolder(begun, readClock()) > 50ms; }));
    if (meanwhile) meanwhile();
    foreign.run("COMMIT");
    std::vector<WriteOutcome> outcomes;
    for (auto& call : calls) outcomes.push_back(call->get());
    return outcomes;
  }
  [[nodiscard]] std::string versionOf(int lease) {
    return Shell{path_}.value("SELECT record_version FROM tenure_lease WHERE name = '" + numberedLease(lease).name +
                              "'");
  }

  const test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  std::unique_ptr<Store> store_{};
};

TEST_F(WriteBatch, OneTransactionIsEnoughForManyRenewals) {
  open(100);
  const std::vector<WriteRequest> requests = renewals(100);
  static_cast<void>(Shell{path_}.rows("PRAGMA wal_checkpoint(TRUNCATE)"));
  for (const WriteOutcome& outcome : sendWhileLocked(requests)) {
    EXPECT_TRUE(std::holds_alternative<Applied>(outcome)) << describe(outcome);
  }
  for (int lease = 0; lease < 100; ++lease) {
    EXPECT_EQ(versionOf(lease), requests[static_cast<std::size_t>(lease)].record.version.text());
  }
  // The second column is the number of pages in the log: one transaction writes each changed page once.
  const std::string log = Shell{path_}.rows("PRAGMA wal_checkpoint(PASSIVE)").at(0);
  const int pages = std::stoi(log.substr(log.find('|') + 1));
  EXPECT_LT(pages, 50) << log;
}

TEST_F(WriteBatch, EachKeepsItsOwnConditionAndOutcome) {
  open(7);
  std::vector<WriteRequest> requests = renewals(7);
  requests[2].expected = {newVersion()};
  requests[3].record.holder = "b";
  requests[4].key = {"no such lease"};
  requests[5].key = {"refused#fence"};
  Shell{path_}.run("UPDATE tenure_lease SET lease_ms = -1 WHERE name = 'lease-6'");
  requests.push_back(renewalOf(1));
  requests[7].expected.push_back(requests[1].record.version);  // behind the other renewal of the same lease
  const std::vector<WriteOutcome> outcomes = sendWhileLocked(requests);
  for (const std::size_t good : {0U, 1U, 7U}) {
    EXPECT_TRUE(std::holds_alternative<Applied>(outcomes[good])) << good << ' ' << describe(outcomes[good]);
  }
  for (const std::size_t conflicting : {2U, 3U, 4U}) {
    const auto* conflict = std::get_if<Conflict>(&outcomes[conflicting]);
    ASSERT_NE(conflict, nullptr) << conflicting << ' ' << describe(outcomes[conflicting]);
    ASSERT_TRUE(conflict->current.has_value()) << conflicting;
    EXPECT_EQ(conflict->current->has_value(), conflicting != 4U);
  }
  EXPECT_EQ(errorOf(outcomes[5]).errorClass, ErrorClass::misconfigured);
  EXPECT_EQ(errorOf(outcomes[6]).errorClass, ErrorClass::corrupt);
  EXPECT_EQ(versionOf(1), requests[7].record.version.text());
}

TEST_F(WriteBatch, OneTransactionIsEnoughForManyReleasesAndEachLeaseIsFree) {
  open(100);
  std::vector<WriteRequest> requests = releases(100);
  requests[7].expected = {newVersion()};
  requests[8].removes = true;
  static_cast<void>(Shell{path_}.rows("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::vector<WriteOutcome> outcomes = sendWhileLocked(requests);
  for (std::size_t lease = 0; lease < 100; ++lease) {
    EXPECT_EQ(std::holds_alternative<Applied>(outcomes[lease]), lease != 7)
        << lease << ' ' << describe(outcomes[lease]);
  }
  EXPECT_EQ(Shell{path_}.value("SELECT count(*) FROM tenure_lease WHERE state = 'released'"), "98");
  EXPECT_EQ(Shell{path_}.value("SELECT name FROM tenure_lease WHERE state = 'held'"), "lease-7");
  const std::string log = Shell{path_}.rows("PRAGMA wal_checkpoint(PASSIVE)").at(0);
  EXPECT_LT(std::stoi(log.substr(log.find('|') + 1)), 50) << log;
  (*store_)->apply(acquire(numberedLease(3), "b", {requests[3].record.version}));
}

TEST_F(WriteBatch, ThoseWhoWaitAreNotifiedOfEachReleaseBeforeItIsAnswered) {
  open(3);
  Store waiting{path_};
  std::vector<std::shared_ptr<Signal>> hints;
  std::vector<std::shared_ptr<void>> watches;
  for (int lease = 0; lease < 3; ++lease) {
    hints.push_back(std::make_shared<Signal>());
    watches.push_back(waiting.raw().watch(numberedLease(lease), [hint = hints.back()] { hint->set(); }));
  }
  for (const WriteOutcome& outcome : sendWhileLocked(releases(3))) {
    EXPECT_TRUE(std::holds_alternative<Applied>(outcome)) << describe(outcome);
  }
  for (const auto& hint : hints) EXPECT_TRUE(hint->wait());
}

TEST_F(WriteBatch, OneWhoseTimeIsOverFailsAlone) {
  open(4);
  const std::vector<WriteRequest> requests = renewals(4);
  Shell foreign{path_};
  foreign.run("BEGIN IMMEDIATE");
  const auto first = (*store_)->startWrite(requests[0], 10s);
  const auto second = (*store_)->startWrite(requests[1], 10s);
  const auto late = (*store_)->startWrite(requests[2], 1ms);
  const auto last = (*store_)->startWrite(requests[3], 10s);
  const Instant begun = readClock();
  ASSERT_TRUE(eventually([&] { return elapsedForHolder(begun, readClock()) > 5ms; }));
  foreign.run("COMMIT");
  EXPECT_TRUE(std::holds_alternative<Applied>(first->get()));
  EXPECT_TRUE(std::holds_alternative<Applied>(second->get()));
  EXPECT_TRUE(std::holds_alternative<Rejected>(late->get()));
  EXPECT_TRUE(std::holds_alternative<Applied>(last->get()));
}

TEST_F(WriteBatch, AnExchangedFileIsNoSuccessForAnyOfThem) {
  open(5);
  const std::vector<WriteRequest> requests = renewals(5);
  const auto outcomes = sendWhileLocked(requests, [&] {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::rename(path_ + suffix, path_ + ".old" + suffix);
  });
  for (const WriteOutcome& outcome : outcomes) {
    EXPECT_FALSE(std::holds_alternative<Applied>(outcome)) << describe(outcome);
  }
}

struct BatchFault {
  Fault fault;
  bool sticky;
  bool releases;
};

class WriteBatchFaults : public WriteBatch, public testing::WithParamInterface<BatchFault> {
 protected:
  /// False when everything ended before step `nth`, so that nothing failed.
  bool failAt(int nth) {
    for (const auto& entry : std::filesystem::directory_iterator{directory_.path()}) remove_all(entry.path());
    open(6);
    const std::vector<WriteRequest> requests = GetParam().releases ? releases(6) : renewals(6);
    std::string failed;
    const auto outcomes = sendWhileLocked(
        requests, [&] { vfs_.arm(nth, GetParam().fault, GetParam().sticky); }, 500ms);
    failed = vfs_.disarm();
    store_.reset();
    for (int lease = 0; lease < 6; ++lease) {
      const auto at = static_cast<std::size_t>(lease);
      const bool present = versionOf(lease) == requests[at].record.version.text();
      const WriteOutcome& outcome = outcomes[at];
      EXPECT_TRUE(!std::holds_alternative<Applied>(outcome) || present) << "step " << nth << ' ' << failed;
      EXPECT_TRUE(!std::holds_alternative<Rejected>(outcome) || !present) << "step " << nth << ' ' << failed;
      EXPECT_FALSE(std::holds_alternative<Conflict>(outcome)) << "step " << nth << ' ' << failed;
    }
    return !failed.empty();
  }

  FaultyVfs vfs_;
};

TEST_P(WriteBatchFaults, EveryAnswerIsTrueWhateverFailsUnderTheTransaction) {
  int nth = 1;
  while (failAt(nth)) ++nth;
  EXPECT_GT(nth, 3) << "the faults must have hit something";
}

INSTANTIATE_TEST_SUITE_P(Faults, WriteBatchFaults,
                         testing::Values(BatchFault{Fault::error, false, false}, BatchFault{Fault::error, true, false},
                                         BatchFault{Fault::diskFull, false, false},
                                         BatchFault{Fault::diskFull, true, false},
                                         BatchFault{Fault::afterwards, false, false},
                                         BatchFault{Fault::error, false, true}, BatchFault{Fault::error, true, true},
                                         BatchFault{Fault::diskFull, false, true},
                                         BatchFault{Fault::afterwards, false, true}));

}  // namespace
}  // namespace tenure::sqlite_test
