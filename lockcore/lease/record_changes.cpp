#include "record_changes.hpp"

#include <utility>

namespace tenure {

RecordChanges::Wanted& RecordChanges::wanted() {
  if (!wanted_) wanted_ = std::make_unique<Wanted>();
  return *wanted_;
}

void RecordChanges::want(const std::optional<std::string>& data) {
  if (!data) return;
  wanted().data = data;
  ++dataNumber_;
  hasPayload_ = true;
}

void RecordChanges::ask(const event::Renew& event) {
  want(event.data);
  wanted().ticket = ticket_ = event.ticket;
}

void RecordChanges::ask(const event::Release& event) {
  want(event.data);
  holdNothingBack();
}

void RecordChanges::putInto(WriteRequest& write) const {
  if (!wanted_ || !wanted_->data || leavesOut()) return;
  write.record.data = *wanted_->data;
  write.dataRule = DataRule::replace;
}

void RecordChanges::stateIn(WrittenRight& right) const {
  const bool some = wanted_ && wanted_->data;
  right.leavesOut = leavesOut();
  right.ticket = some && right.leavesOut ? wanted_->refused : ticket_;
  right.data = some && !right.leavesOut ? dataNumber_ : 0;
}

std::optional<std::uint64_t> RecordChanges::answer(std::uint64_t ticket) noexcept {
  if (ticket <= answered_) return std::nullopt;
  return std::exchange(answered_, ticket) + 1;
}

void RecordChanges::written(const WrittenRight& right) {
  if (!wanted_) return;
  if (right.leavesOut) wanted_->leftOut = false;
  if (wanted_->ticket <= right.ticket) wanted_.reset();
}

bool RecordChanges::leaveOut(const WrittenRight& right, const StoreError& why) {
  if (!wanted_ || right.data == 0) return false;
  if (right.data == dataNumber_) wanted_->data.reset();
  wanted_->error = why;
  wanted_->refused = right.ticket;
  wanted_->leftOut = true;
  return true;
}

void RecordChanges::holdNothingBack() noexcept {
  if (wanted_ && wanted_->data) wanted_->leftOut = false;
}

std::optional<StoreError> RecordChanges::error() const { return wanted_ ? wanted_->error : std::nullopt; }

}  // namespace tenure
