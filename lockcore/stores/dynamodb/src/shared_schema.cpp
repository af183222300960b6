#include "shared_schema.hpp"

#include "schema_flow.hpp"

namespace tenure::dynamodb_store {

void SharedSchema::ensure(const Deadline& deadline, StatusHandler handler) {
  const CorePtr core = core_;  // a handler may destroy the store, and this object with it, before the call is over
  std::shared_ptr<Look> own;
  {
    std::unique_lock lock{mutex_};
    if (wasSeenGood()) {
      lock.unlock();
      return core->scheduler->post([handler = std::move(handler)] { handler(StoreStatus{}); });
    }
    if (current_ && current_->until.left() <= deadline.left()) {
      current_->waiting.push_back(std::move(handler));
      return;
    }
    own = current_ = std::make_shared<Look>(Look{deadline, {}});
    own->waiting.push_back(std::move(handler));
  }
  const auto done = [self = shared_from_this(), own](const StoreStatus& status) { self->finished(own, status); };
  std::make_shared<SchemaFlow>(core_, check_, deadline, done)->start();
}

bool SharedSchema::wasSeenGood() const {
  return goodAt_ && elapsedForHolder(*goodAt_, core_->scheduler->now()) < std::chrono::seconds{30};
}

void SharedSchema::finished(const std::shared_ptr<Look>& look, const StoreStatus& status) {
  std::vector<StatusHandler> waiting;
  {
    const std::lock_guard lock{mutex_};
    if (status) goodAt_ = core_->scheduler->now();
    if (current_ == look) current_.reset();
    waiting.swap(look->waiting);
  }
  for (const StatusHandler& handler : waiting) handler(status);
}

}  // namespace tenure::dynamodb_store
