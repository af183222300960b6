#include "simulation/sim_store.hpp"

#include <algorithm>

#include "memory_table.hpp"

namespace tenure::test {
namespace {

class ModelStore final : public SimStore {
 public:
  explicit ModelStore(Sabotage sabotage) : sabotage_{sabotage} {}

  WriteOutcome write(const WriteRequest& request) override {
    if (!holds(request)) return Conflict{record()};
    LeaseRecord next = request.record;
    if (request.purpose == WriteRequest::Purpose::acquire) {
      next.token = nextToken(request);
      counter_ = next.token;
      stepDown_ = FencingToken{};
    } else {
      next.token = record() ? record()->token : next.token;
    }
    next.released = request.purpose == WriteRequest::Purpose::release;
    const Applied applied{next.token, stepDown_ == next.token};
    now(std::move(next));
    return applied;
  }
  bool erase() override {
    now(std::nullopt);
    return true;
  }
  bool put(const LeaseRecord& foreign) override {
    now(foreign);
    return true;
  }
  bool loseCounter() override {
    counter_ = FencingToken{};
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
    if (!record()) return acquires && request.expected.empty();
    if (!acquires && record()->holder != request.record.holder) return false;
    return std::find(request.expected.begin(), request.expected.end(), record()->version) != request.expected.end();
  }
  [[nodiscard]] FencingToken nextToken(const WriteRequest& request) const {
    if (sabotage_ == Sabotage::tokenRestarts) {
      return record() && !record()->released ? record()->token.next() : FencingToken{1};
    }
    return std::max({counter_, request.tokenFloor, record() ? record()->token : FencingToken{}}).next();
  }

  Sabotage sabotage_;
  FencingToken counter_{};
  FencingToken stepDown_{};
};

class MemoryTableStore final : public SimStore {
 public:
  WriteOutcome write(const WriteRequest& request) override {
    WriteOutcome outcome = table_.write(request);
    if (std::holds_alternative<Applied>(outcome)) now(table_.read(request.key));
    return outcome;
  }
  bool erase() override { return false; }
  bool put(const LeaseRecord& /*foreign*/) override { return false; }
  bool loseCounter() override { return false; }
  bool counterLost() const override { return false; }
  void requestStepDown() override {
    if (record()) static_cast<void>(table_.requestStepDown(LeaseKey{"lease"}, record()->token));
  }

 private:
  MemoryTable table_;
};

}  // namespace

const std::optional<LeaseRecord>& SimTruth::earlier(std::size_t back) const {
  return history_[(next_ + history_.size() - 1 - back % history_.size()) % history_.size()];
}

void SimTruth::now(std::optional<LeaseRecord> record) {
  history_[next_++ % history_.size()] = std::exchange(record_, std::move(record));
}

std::unique_ptr<SimStore> makeModelStore(Sabotage sabotage) { return std::make_unique<ModelStore>(sabotage); }
std::unique_ptr<SimStore> makeMemoryTableStore() { return std::make_unique<MemoryTableStore>(); }

}  // namespace tenure::test
