#include "support/fault_store.hpp"

#include <numeric>
#include <stdexcept>
#include <variant>

namespace tenure::test {
namespace {

std::size_t indexOf(Operation operation) { return static_cast<std::size_t>(operation); }

Operation operationOf(WriteRequest::Purpose purpose) {
  switch (purpose) {
    case WriteRequest::Purpose::acquire:
      return Operation::acquire;
    case WriteRequest::Purpose::renew:
      return Operation::renew;
    case WriteRequest::Purpose::release:
      break;
  }
  return Operation::release;
}

[[noreturn]] void throwFor(Fault fault) {
  if (fault == Fault::throwsOddly) throw 42;
  throw std::runtime_error{"injected"};
}

/// Posts, because handlers are never called inside the call.
template <class Handler, class Outcome>
void answer(Scheduler& scheduler, Handler handler, Outcome outcome) {
  scheduler.post([handler = std::move(handler), outcome = std::move(outcome)] { handler(outcome); });
}

/// The handler of a caller that is shown no record by conflicts, and is left without an answer if `losesAnswer`.
WriteHandler lossy(WriteHandler handler, bool losesAnswer, StoreError error) {
  return [handler = std::move(handler), losesAnswer, error = std::move(error)](const WriteOutcome& outcome) {
    if (losesAnswer) return handler(Unknown{error});
    handler(std::holds_alternative<Conflict>(outcome) ? WriteOutcome{Conflict{}} : outcome);
  };
}

}  // namespace

void FaultStore::set(Operation operation, Fault fault) {
  const std::lock_guard lock{mutex_};
  faults_[indexOf(operation)] = fault;
}

void FaultStore::setAll(Fault fault) {
  const std::lock_guard lock{mutex_};
  faults_.fill(fault);
}

void FaultStore::failAt(std::size_t call, Fault fault, ErrorClass errorClass) {
  const std::lock_guard lock{mutex_};
  plan_.insert_or_assign(call, std::pair{fault, errorClass});
}

void FaultStore::delayBy(std::chrono::nanoseconds delay) {
  const std::lock_guard lock{mutex_};
  delay_ = delay;
}

void FaultStore::setError(StoreError error) {
  const std::lock_guard lock{mutex_};
  error_ = std::move(error);
}

void FaultStore::beLossy() {
  const std::lock_guard lock{mutex_};
  lossy_ = true;
}

std::size_t FaultStore::calls(Operation operation) const {
  const std::lock_guard lock{mutex_};
  return calls_[indexOf(operation)];
}

std::size_t FaultStore::calls() const {
  const std::lock_guard lock{mutex_};
  return allCalls();
}

std::size_t FaultStore::allCalls() const { return std::accumulate(calls_.begin(), calls_.end(), std::size_t{0}); }

FaultStore::Verdict FaultStore::judge(Operation operation) {
  const std::lock_guard lock{mutex_};
  ++calls_[indexOf(operation)];
  const bool losesAnswer = lossy_ && operation == Operation::renew && ++renewals_ % 2 == 0;
  const auto planned = plan_.find(allCalls());
  if (planned == plan_.end()) return {faults_[indexOf(operation)], error_, delay_, lossy_, losesAnswer};
  const auto [fault, errorClass] = planned->second;
  return {fault, {errorClass, "injected fault"}, delay_, lossy_, losesAnswer};
}

/// What the store behind is given in place of `handler`. Called on the scheduler.
template <class Outcome>
std::function<void(Outcome)> FaultStore::onAnswer(const Verdict& verdict, std::function<void(Outcome)> handler) const {
  if (verdict.fault == Fault::answeredTwice) {
    return [handler = std::move(handler)](const Outcome& outcome) {
      handler(outcome);
      handler(outcome);
    };
  }
  if (verdict.fault == Fault::answeredLate) {
    return [weak = std::weak_ptr{scheduler_}, delay = verdict.delay,
            handler = std::move(handler)](const Outcome& outcome) {
      if (const auto alive = weak.lock()) alive->schedule(delay, [handler, outcome] { handler(outcome); });
    };
  }
  return handler;
}

void FaultStore::read(const LeaseKey& key, CallOptions options, ReadHandler handler) {
  const Verdict verdict = judge(Operation::read);
  switch (verdict.fault) {
    case Fault::none:
    case Fault::answeredTwice:
    case Fault::answeredLate:
      return behind_->read(key, options, onAnswer(verdict, std::move(handler)));
    case Fault::throws:
    case Fault::throwsOddly:
    case Fault::throwsApplied:
      throwFor(verdict.fault);
    case Fault::neverApplied:
    case Fault::neverLost:
      return;
    case Fault::rejected:
    case Fault::unknownApplied:
    case Fault::unknownLost:
    case Fault::conflict:
    case Fault::conflictHidden:
      return answer(*scheduler_, std::move(handler), ReadOutcome{verdict.error});
  }
}

void FaultStore::write(WriteRequest request, CallOptions options, WriteHandler handler) {
  const Verdict verdict = judge(operationOf(request.purpose));
  const auto unheard = [](const WriteOutcome&) {};
  switch (verdict.fault) {
    case Fault::none:
    case Fault::answeredTwice:
    case Fault::answeredLate:
      if (verdict.hidesConflicts) handler = lossy(std::move(handler), verdict.losesAnswer, verdict.error);
      return behind_->write(std::move(request), options, onAnswer(verdict, std::move(handler)));
    case Fault::throwsApplied:
      behind_->write(std::move(request), options, unheard);
      [[fallthrough]];
    case Fault::throws:
    case Fault::throwsOddly:
      throwFor(verdict.fault);
    case Fault::rejected:
      return answer(*scheduler_, std::move(handler), WriteOutcome{Rejected{verdict.error}});
    case Fault::unknownApplied:
      return behind_->write(std::move(request), options,
                            [verdict, handler](const WriteOutcome&) { handler(Unknown{verdict.error}); });
    case Fault::unknownLost:
      return answer(*scheduler_, std::move(handler), WriteOutcome{Unknown{verdict.error}});
    case Fault::conflict:
      return behind_->read(request.key, options,
                           [handler](const ReadOutcome& found) { handler(Conflict{found.value()}); });
    case Fault::conflictHidden:
      return answer(*scheduler_, std::move(handler), WriteOutcome{Conflict{}});
    case Fault::neverApplied:
      return behind_->write(std::move(request), options, unheard);
    case Fault::neverLost:
      return;
  }
}

std::string FaultStore::describe() const {
  if (onDescribe) onDescribe();
  return behind_->describe();
}

OptionFaults FaultStore::faultsOfPayload(const LeaseKey& key, const std::string& data,
                                         const std::map<std::string, std::string>& attributes) const {
  if (onFaultsOfPayload) onFaultsOfPayload();
  return behind_->faultsOfPayload(key, data, attributes);
}

std::shared_ptr<void> FaultStore::watch(const LeaseKey& key, std::function<void()> hint) {
  return onWatch ? onWatch(std::move(hint)) : behind_->watch(key, std::move(hint));
}

std::shared_ptr<void> FaultStore::watchLoss(std::function<void()> hint) {
  if (onWatchLoss) onWatchLoss();
  return behind_->watchLoss(std::move(hint));
}

std::shared_ptr<DeathNotice> FaultStore::deathNotice() {
  return onDeathNotice ? onDeathNotice() : behind_->deathNotice();
}

}  // namespace tenure::test
