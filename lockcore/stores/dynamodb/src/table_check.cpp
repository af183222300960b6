#include "table_check.hpp"

#include "table_shape.hpp"

namespace tenure::dynamodb_store {

void TableCheck::pass(const Deadline& deadline, Continuation continuation) {
  if (passed_) return continuation(std::nullopt);
  if (joins(deadline, continuation)) return;
  auto own = std::make_shared<Waiting>(Waiting{deadline, {}});
  {
    const std::lock_guard lock{mutex_};
    own->others.push_back(std::move(continuation));
    if (!current_) current_ = own;
  }
  send(core_, "DescribeTable", describeTableRequest(core_->layout), deadline,
       [self = shared_from_this(), own](const aws::JsonOutcome& outcome) {
         const auto verdict = self->verdictOn(outcome);
         if (!verdict) self->passed_ = true;
         std::vector<Continuation> waiting;
         {
           const std::lock_guard lock{self->mutex_};
           waiting.swap(own->others);
           if (self->current_ == own) self->current_.reset();
         }
         for (const Continuation& next : waiting) next(verdict);
       });
}

/// A caller that has less time than the request under way sends its own request, so that no caller is answered late.
bool TableCheck::joins(const Deadline& deadline, Continuation& continuation) {
  const std::lock_guard lock{mutex_};
  if (!current_ || current_->until.left() > deadline.left()) return false;
  current_->others.push_back(std::move(continuation));
  return true;
}

std::optional<StoreError> TableCheck::verdictOn(const aws::JsonOutcome& outcome) {
  auto reply = parseReply({core_->where, "examining the table"}, outcome);
  if (reply.has_error()) {
    const Fault& fault = reply.error();
    const bool notTold = fault.name.starts_with("AccessDenied") || fault.name == "UnknownOperationException";
    if (!notTold) return fault.error;
    core_->logger.log(LogLevel::warn, fault.error.message +
                                          ". Continuing without the check that the table is of one region and has the "
                                          "configured keys (dynamodb:DescribeTable)");
    return std::nullopt;
  }
  const auto state = tableStateIn(core_->layout, core_->where, *reply);
  if (state.has_error()) return state.error();
  if (*state == TableState::ready) return std::nullopt;
  return StoreError{ErrorClass::transient, core_->where + ": the table is still being created"};
}

}  // namespace tenure::dynamodb_store
