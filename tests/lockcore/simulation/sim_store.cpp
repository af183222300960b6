#include "lockcore/simulation/sim_store.hpp"

#include <algorithm>

namespace tenure::test {

WriteOutcome SimStore::write(const WriteRequest& request) {
  if (!holds(request)) return Conflict{record_};
  LeaseRecord next = request.record;
  if (request.purpose == WriteRequest::Purpose::acquire) {
    next.token = nextToken(request);
    counter_ = next.token;
    stepDown_ = FencingToken{};
  } else {
    next.token = record_ ? record_->token : next.token;
  }
  next.released = request.purpose == WriteRequest::Purpose::release;
  record_ = std::move(next);
  return Applied{record_->token, stepDown_ == record_->token};
}

bool SimStore::holds(const WriteRequest& request) const {
  const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
  if (sabotage_ == Sabotage::noCondition || (sabotage_ == Sabotage::noRenewCondition && !acquires)) return true;
  if (!record_) return acquires && request.expected.empty();
  if (!acquires && record_->holder != request.record.holder) return false;
  return std::find(request.expected.begin(), request.expected.end(), record_->version) != request.expected.end();
}

FencingToken SimStore::nextToken(const WriteRequest& request) const {
  if (sabotage_ == Sabotage::tokenRestarts)
    return record_ && !record_->released ? record_->token.next() : FencingToken{1};
  return std::max({counter_, request.tokenFloor, record_ ? record_->token : FencingToken{}}).next();
}

void SimStore::requestStepDown() noexcept {
  if (record_) stepDown_ = record_->token;
}

}  // namespace tenure::test
