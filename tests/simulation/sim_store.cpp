#include "simulation/sim_store.hpp"

#include <algorithm>
#include <deque>

#include "lockcore/port/store_checks.hpp"
#include "lockcore/stores/memory/src/memory_table.hpp"

namespace tenure::test {
namespace {

/// One row, as a replicated database keeps it. Without histories it is a plain register with a counter.
class ModelStore final : public SimStore {
 public:
  ModelStore(Sabotage sabotage, bool histories, FencingToken counter) : sabotage_{sabotage}, histories_{histories} {
    row_.counter = counter;
    row_.history = present();
  }

  WriteOutcome write(const WriteRequest& request) override {
    if (!holds(request)) return Conflict{told()};
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    if (auto refused = errorOfFloor(request, known())) return Rejected{*std::move(refused)};
    Row next = row_;
    LeaseRecord record = request.record;
    record.data = mergedData(request.dataRule, record.data, row_.record ? &row_.record->data : nullptr);
    if (acquires) {
      record.token = nextToken(request);
      next.counter = record.token;
      next.openLease = record.leaseDuration;
      next.stepDown = FencingToken{};
      record.successor = {};
      next.history = present();
    } else {
      record.token = row_.record ? row_.record->token : record.token;
      if (row_.record && record.successor.name.empty()) record.successor = row_.record->successor;
      if (request.lengthens) next.openLease = std::max(next.openLease, record.leaseDuration);
    }
    record.released = request.purpose == WriteRequest::Purpose::release;
    const Applied applied{record.token, next.stepDown == record.token};
    next.lastLease = record.leaseDuration;
    next.record = std::move(record);
    if (next.record->released && request.removes) removeFrom(next);
    commit(std::move(next));
    return applied;
  }
  bool erase() override {
    Row next = row_;
    next.record.reset();
    commit(std::move(next));
    return true;
  }
  bool put(const LeaseRecord& foreign) override {
    if (histories_) return false;
    Row next = row_;
    next.record = foreign;
    commit(std::move(next));
    return true;
  }
  bool loseCounter() override {
    if (histories_) return false;
    row_.counter = FencingToken{};
    row_.openLease = std::chrono::milliseconds{0};
    return true;
  }
  bool counterLost() const override { return !histories_ && row_.counter.isNone(); }
  void requestStepDown(const Successor& successor) override {
    if (!row_.record) return;
    row_.stepDown = row_.record->token;
    if (!row_.record->released) row_.record->successor = successor;
  }
  std::unique_ptr<SimStore> copy() const override { return histories_ ? std::make_unique<ModelStore>(*this) : nullptr; }
  std::optional<Promotion> promote(std::size_t commits) override {
    if (!histories_) return std::nullopt;
    Promotion promotion{.longest = row_.lastLease};
    for (; promotion.lost < commits && !before_.empty(); ++promotion.lost) {
      row_ = std::move(before_.back());
      before_.pop_back();
      promotion.longest = std::max(promotion.longest, row_.lastLease);
    }
    ++timeline_;
    tell();
    if (told()) promotion.waited = told()->leaseDuration;
    return promotion;
  }

 private:
  struct Row {
    std::optional<LeaseRecord> record{};
    FencingToken counter{};
    std::chrono::milliseconds openLease{0};
    std::chrono::milliseconds lastLease{0};  // outlives the record
    FencingToken stepDown{};
    std::uint64_t history{0};  // of the last acquisition; a renewal may have been sent before the promotion
  };

  [[nodiscard]] std::uint64_t present() const { return histories_ ? timeline_ : 0; }
  [[nodiscard]] std::string presentText() const { return histories_ ? "1/" + std::to_string(timeline_) : ""; }
  [[nodiscard]] bool exists() const { return !row_.counter.isNone() || row_.record; }
  [[nodiscard]] bool inherited() const { return exists() && row_.history != present(); }
  [[nodiscard]] bool holds(const WriteRequest& request) const {
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    if (sabotage_ == Sabotage::noCondition || (sabotage_ == Sabotage::noRenewCondition && !acquires)) return true;
    if (!told()) return acquires && request.expected.empty();
    if (!acquires && (!row_.record || row_.record->holder != request.record.holder)) return false;
    return std::any_of(request.expected.begin(), request.expected.end(), [&](const RecordVersion& version) {
      if (version != told()->version) return false;
      return version.history().empty() ? !acquires || !inherited() : version.history() == presentText();
    });
  }
  static void removeFrom(Row& row) {
    row.counter = std::max(row.counter, row.record->token);  // the copy in the record is deleted with it
    row.openLease = std::chrono::milliseconds{0};
    row.record.reset();
  }
  void commit(Row next) {
    if (histories_) before_.push_back(std::move(row_));
    if (before_.size() > mostLost) before_.pop_front();
    row_ = std::move(next);
    tell();
  }
  /// A release that marks the record leaves the counter as it was, as DynamoDB's does; the memory store's closes the
  /// term.
  void tell() {
    std::optional<LeaseRecord> told = row_.record;
    const bool open = row_.openLease.count() > 0 && sabotage_ != Sabotage::openTermUntold;
    if (!told && open) told = vanishedRecord(row_.counter, row_.openLease);
    if (!told && inherited() && row_.lastLease.count() > 0) told = vanishedRecord(row_.counter, row_.lastLease);
    if (told) {
      told->version = RecordVersion{told->version.text(), presentText()};
      told->inherited = inherited();
    }
    now(row_.record, std::move(told));
  }
  [[nodiscard]] FencingToken highest() const {
    return std::max(row_.counter, row_.record ? row_.record->token : FencingToken{});
  }
  /// The highest token that may have been given out. Each history has a block of its own, so those that were lost
  /// count too.
  [[nodiscard]] FencingToken known() const {
    if (row_.history == present()) return highest();
    const std::uint64_t behind = exists() ? timeline_ - row_.history : 0;
    const std::uint64_t block = std::max((highest().value() >> blockBits) + behind, timeline_ - 1);
    return FencingToken{block << blockBits};
  }
  [[nodiscard]] FencingToken nextToken(const WriteRequest& request) const {
    if (sabotage_ == Sabotage::tokenRestarts) {
      return row_.record && !row_.record->released ? row_.record->token.next() : FencingToken{1};
    }
    return std::max(known(), request.tokenFloor).next();
  }

  static constexpr unsigned blockBits = 40;
  static constexpr std::size_t mostLost = 32;

  Sabotage sabotage_;
  bool histories_;
  std::uint64_t timeline_{1};
  Row row_{};
  std::deque<Row> before_{};  // what lagging standbys have, the latest last
};

class MemoryTableStore final : public SimStore {
 public:
  WriteOutcome write(const WriteRequest& request) override {
    WriteOutcome outcome = table_.change(
        request.key, [&](const stored::StoredLease& lease) { return decideWrite("memory", request, lease); });
    if (std::holds_alternative<Applied>(outcome)) refresh();
    return outcome;
  }
  /// Uses the store's own removal: there is no other access to the table.
  bool erase() override {
    const WriteOutcome outcome = table_.change(
        key_, [&](const stored::StoredLease& lease) { return stored::decideRemoval(record()->version, lease); });
    if (!std::holds_alternative<Applied>(outcome)) return false;
    refresh();
    return true;
  }
  bool put(const LeaseRecord& /*foreign*/) override { return false; }
  bool loseCounter() override { return false; }
  bool counterLost() const override { return false; }
  void requestStepDown(const Successor& successor) override {
    if (!record()) return;
    const StepDownRequest request{record()->token, successor};
    static_cast<void>(
        table_.change(key_, [&](const stored::StoredLease& lease) { return stored::decideStepDown(request, lease); }));
  }

 private:
  void refresh() {
    std::optional<LeaseRecord> told = table_.at(key_).answer().value();
    now(told && told->vanished ? std::nullopt : told, told);
  }

  const LeaseKey key_{"lease"};
  MemoryTable table_;
};

}  // namespace

const std::optional<LeaseRecord>& SimTruth::earlier(std::size_t back) const {
  return history_[(next_ + history_.size() - 1 - back % history_.size()) % history_.size()];
}

void SimTruth::now(std::optional<LeaseRecord> record, std::optional<LeaseRecord> told) {
  record_ = std::move(record);
  history_[next_++ % history_.size()] = std::exchange(told_, std::move(told));
}

std::unique_ptr<SimStore> makeModelStore(Sabotage sabotage, bool histories, FencingToken counter) {
  return std::make_unique<ModelStore>(sabotage, histories, counter);
}
std::unique_ptr<SimStore> makeMemoryTableStore() { return std::make_unique<MemoryTableStore>(); }

}  // namespace tenure::test
