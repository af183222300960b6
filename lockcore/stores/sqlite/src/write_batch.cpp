#include "write_batch.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <sqlite3.h>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/port/store_checks.hpp"
#include "ownership_write.hpp"
#include "transaction.hpp"

namespace tenure::sqlite_store {
namespace {

class Batch {
 public:
  Batch(Session& session, const std::vector<BatchedWrite>& batch)
      : session_{session}, batch_{batch}, outcomes_(batch.size()) {
    for (const BatchedWrite& each : batch_) writes_.emplace_back(session_, each.request);
  }

  std::vector<WriteOutcome> perform() {
    commitTogether();
    std::vector<WriteOutcome> out;
    out.reserve(outcomes_.size());
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      // A request without an outcome was not reached, because its transaction ended early.
      out.push_back(outcomes_[i] ? *std::move(outcomes_[i]) : alone(i));
    }
    return out;
  }

 private:
  [[nodiscard]] WriteOutcome alone(std::size_t i) {
    const BusyWait::Guard guard{session_.busyWait(), batch_[i].deadline};
    return OwnershipWrite{session_, batch_[i].request}.perform(batch_[i].deadline);
  }

  /// The wait for the write lock ends at the earliest of the deadlines.
  [[nodiscard]] Deadline first() const {
    return std::min_element(
               batch_.begin(), batch_.end(),
               [](const BatchedWrite& a, const BatchedWrite& b) { return a.deadline.left() < b.deadline.left(); })
        ->deadline;
  }

  [[nodiscard]] std::string nameOfBatch() const {
    return std::string{doing(batch_.front().request.purpose)} + ' ' + std::to_string(batch_.size()) +
           " leases together";
  }

  void commitTogether() {
    const Deadline deadline = first();
    const BusyWait::Guard guard{session_.busyWait(), deadline};
    const StoreResult<bool> ready = session_.open(Session::Need::existing);
    if (ready.has_error() || !*ready) return;  // each request finds out the reason for itself
    std::vector<std::size_t> written;
    {
      Transaction transaction{session_, nameOfBatch()};
      if (transaction.begin(deadline)) return;  // requests that still have time try again
      if (!writeAll(written)) return;
      if (auto fault = transaction.commit()) {
        for (const std::size_t i : written) outcomes_[i] = writes_[i].conclude(*fault);
        return;
      }
    }
    // To be asked before the first of them looks at the file that is there now, because that look opens it.
    const bool unchanged = session_.filesUnchanged();
    for (const std::size_t i : written)
      outcomes_[i] = writes_[i].concludeCommitted(*std::move(outcomes_[i]), unchanged);
  }

  /// False: the transaction is gone, and nothing of it was written.
  bool writeAll(std::vector<std::size_t>& written) {
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      WriteOutcome outcome = writes_[i].writeInOpenTransaction();
      const bool gone = session_.connection().raw() == nullptr || !session_.connection().inTransaction();
      if (gone) {
        for (const std::size_t each : written) outcomes_[each].reset();
        return false;
      }
      const bool isWritten = std::holds_alternative<Applied>(outcome);
      outcomes_[i] = isWritten ? std::move(outcome) : writes_[i].conclude(std::move(outcome));
      if (isWritten) written.push_back(i);
    }
    return true;
  }

  Session& session_;
  const std::vector<BatchedWrite>& batch_;
  std::deque<OwnershipWrite> writes_{};
  std::vector<std::optional<WriteOutcome>> outcomes_;
};

}  // namespace

std::vector<WriteOutcome> writeTogether(Session& session, const std::vector<BatchedWrite>& batch) {
  return Batch{session, batch}.perform();
}

}  // namespace tenure::sqlite_store
