#include "record_changes.hpp"

#include <utility>

namespace tenure {

RecordChanges::Wanted& RecordChanges::wanted() {
  if (!wanted_) wanted_ = std::make_unique<Wanted>();
  return *wanted_;
}

void RecordChanges::ask(const event::Renew& event) {
  if (event.data) wanted().data = event.data;
  hasPayload_ = hasPayload_ || event.data;
  wanted().ticket = ticket_ = event.ticket;
}

void RecordChanges::ask(const event::Release& event) {
  if (!event.data) return;
  wanted().data = event.data;
  hasPayload_ = true;
}

void RecordChanges::putInto(WriteRequest& write) const {
  if (!wanted_ || !wanted_->data) return;
  write.record.data = *wanted_->data;
  write.dataRule = DataRule::replace;
}

std::optional<std::uint64_t> RecordChanges::answer(std::uint64_t ticket) noexcept {
  if (ticket <= answered_) return std::nullopt;
  return std::exchange(answered_, ticket) + 1;
}

void RecordChanges::written(std::uint64_t ticket) {
  if (wanted_ && wanted_->ticket <= ticket) wanted_.reset();
}

}  // namespace tenure
