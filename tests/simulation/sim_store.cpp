#include "simulation/sim_store.hpp"

#include <algorithm>

#include <tenure/lockcore/store_checks.hpp>

#include "lockcore/stores/memory/src/memory_table.hpp"

namespace tenure::test {
namespace {

class ModelStore final : public SimStore {
 public:
  explicit ModelStore(Sabotage sabotage) : sabotage_{sabotage} {}

  WriteOutcome write(const WriteRequest& request) override {
    if (!holds(request)) return Conflict{told()};
    if (auto refused = refusalOfFloor(request, highest())) return Rejected{*std::move(refused)};
    LeaseRecord next = request.record;
    if (request.purpose == WriteRequest::Purpose::acquire) {
      next.token = nextToken(request);
      counter_ = next.token;
      openLease_ = next.leaseDuration;
      stepDown_ = FencingToken{};
    } else {
      next.token = record() ? record()->token : next.token;
      if (request.lengthens) openLease_ = std::max(openLease_, next.leaseDuration);
    }
    next.released = request.purpose == WriteRequest::Purpose::release;
    const Applied applied{next.token, stepDown_ == next.token};
    const bool removes = next.released && request.removes;
    if (removes) counter_ = highest();  // the copy in the record is deleted with it
    if (removes) openLease_ = std::chrono::milliseconds{0};
    is(removes ? std::nullopt : std::optional{std::move(next)});
    return applied;
  }
  bool erase() override {
    is(std::nullopt);
    return true;
  }
  bool put(const LeaseRecord& foreign) override {
    is(foreign);
    return true;
  }
  bool loseCounter() override {
    counter_ = FencingToken{};
    openLease_ = std::chrono::milliseconds{0};
    return true;
  }
  bool counterLost() const override { return counter_.isNone(); }
  void requestStepDown() override {
    if (record()) stepDown_ = record()->token;
  }

 private:
  [[nodiscard]] bool holds(const WriteRequest& request) const {
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    if (sabotage_ == Sabotage::noCondition || (sabotage_ == Sabotage::noRenewCondition && !acquires)) return true;
    if (!told()) return acquires && request.expected.empty();
    if (!acquires && (!record() || record()->holder != request.record.holder)) return false;
    return std::find(request.expected.begin(), request.expected.end(), told()->version) != request.expected.end();
  }
  /// A release that marks the record leaves the counter as it was, as DynamoDB's does; the memory store's closes the
  /// term.
  void is(std::optional<LeaseRecord> record) {
    std::optional<LeaseRecord> told = record;
    const bool open = openLease_.count() > 0 && sabotage_ != Sabotage::openTermUntold;
    if (!record && open) told = vanishedRecord(counter_, openLease_);
    now(std::move(record), std::move(told));
  }
  [[nodiscard]] FencingToken highest() const { return std::max(counter_, record() ? record()->token : FencingToken{}); }
  [[nodiscard]] FencingToken nextToken(const WriteRequest& request) const {
    if (sabotage_ == Sabotage::tokenRestarts) {
      return record() && !record()->released ? record()->token.next() : FencingToken{1};
    }
    return std::max(highest(), request.tokenFloor).next();
  }

  Sabotage sabotage_;
  FencingToken counter_{};
  std::chrono::milliseconds openLease_{0};
  FencingToken stepDown_{};
};

class MemoryTableStore final : public SimStore {
 public:
  WriteOutcome write(const WriteRequest& request) override {
    WriteOutcome outcome = table_.write(request);
    if (std::holds_alternative<Applied>(outcome)) refresh();
    return outcome;
  }
  /// Uses the store's own removal: there is no other access to the table.
  bool erase() override {
    if (!std::holds_alternative<Applied>(table_.remove(key_, record()->version))) return false;
    refresh();
    return true;
  }
  bool put(const LeaseRecord& /*foreign*/) override { return false; }
  bool loseCounter() override { return false; }
  bool counterLost() const override { return false; }
  void requestStepDown() override {
    if (record()) static_cast<void>(table_.requestStepDown(key_, record()->token));
  }

 private:
  void refresh() {
    std::optional<LeaseRecord> told = table_.read(key_);
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

std::unique_ptr<SimStore> makeModelStore(Sabotage sabotage) { return std::make_unique<ModelStore>(sabotage); }
std::unique_ptr<SimStore> makeMemoryTableStore() { return std::make_unique<MemoryTableStore>(); }

}  // namespace tenure::test
