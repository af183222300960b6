#include "election/fault_store.hpp"

#include <stdexcept>
#include <utility>

#include <tenure/lockcore/lease_store.hpp>

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

/// Posts, because handlers are never called inside the call.
template <class Handler, class Outcome>
void answer(const std::shared_ptr<Scheduler>& scheduler, Handler handler, Outcome outcome) {
  scheduler->post([handler = std::move(handler), outcome = std::move(outcome)] { handler(outcome); });
}

/// A handler that passes its outcome on after a delay. Called on the scheduler.
template <class Outcome>
std::function<void(Outcome)> later(const std::shared_ptr<Scheduler>& scheduler, std::chrono::nanoseconds delay,
                                   std::function<void(Outcome)> handler) {
  return [weak = std::weak_ptr{scheduler}, delay, handler = std::move(handler)](const Outcome& outcome) {
    if (const auto alive = weak.lock()) alive->schedule(delay, [handler, outcome] { handler(outcome); });
  };
}

}  // namespace

FaultStore::FaultStore(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Scheduler> scheduler)
    : behind_{std::move(behind)}, scheduler_{std::move(scheduler)} {}

void FaultStore::set(Operation operation, Fault fault) {
  const std::lock_guard lock{mutex_};
  faults_[indexOf(operation)] = fault;
}

void FaultStore::setAll(Fault fault) {
  const std::lock_guard lock{mutex_};
  faults_.fill(fault);
}

void FaultStore::delayBy(std::chrono::nanoseconds delay) {
  const std::lock_guard lock{mutex_};
  delay_ = delay;
}

void FaultStore::setError(StoreError error) {
  const std::lock_guard lock{mutex_};
  error_ = std::move(error);
}

void FaultStore::setDeathNotice(std::function<std::shared_ptr<DeathNotice>()> maker) {
  const std::lock_guard lock{mutex_};
  deathNotice_ = std::move(maker);
}

int FaultStore::calls(Operation operation) const {
  const std::lock_guard lock{mutex_};
  return calls_[indexOf(operation)];
}

int FaultStore::calls() const {
  const std::lock_guard lock{mutex_};
  int all = 0;
  for (const int calls : calls_) all += calls;
  return all;
}

FaultStore::Verdict FaultStore::judge(Operation operation) {
  const std::lock_guard lock{mutex_};
  ++calls_[indexOf(operation)];
  return {faults_[indexOf(operation)], error_, delay_};
}

void FaultStore::ensureSchema(CallOptions options, StatusHandler handler) {
  behind_->ensureSchema(options, std::move(handler));
}

void FaultStore::read(const LeaseKey& key, CallOptions options, ReadHandler handler) {
  const Verdict verdict = judge(Operation::read);
  switch (verdict.fault) {
    case Fault::none:
      return behind_->read(key, options, std::move(handler));
    case Fault::fail:
    case Fault::dropRequest:
    case Fault::dropReply:
      return answer(scheduler_, std::move(handler), ReadOutcome{verdict.error});
    case Fault::hang:
    case Fault::hangBefore:
      return;
    case Fault::throwing:
    case Fault::throwsLate:
      throw std::runtime_error{"thrown by read"};
    case Fault::delay:
      return behind_->read(key, options, later(scheduler_, verdict.delay, std::move(handler)));
  }
}

void FaultStore::write(WriteRequest request, CallOptions options, WriteHandler handler) {
  const Verdict verdict = judge(operationOf(request.purpose));
  const auto unknown = [verdict, handler](const WriteOutcome&) { handler(Unknown{verdict.error}); };
  switch (verdict.fault) {
    case Fault::none:
      return behind_->write(std::move(request), options, std::move(handler));
    case Fault::fail:
      return answer(scheduler_, std::move(handler), WriteOutcome{Rejected{verdict.error}});
    case Fault::dropRequest:
      return answer(scheduler_, std::move(handler), WriteOutcome{Unknown{verdict.error}});
    case Fault::dropReply:
      return behind_->write(std::move(request), options, unknown);
    case Fault::hang:
      return behind_->write(std::move(request), options, [](const WriteOutcome&) {});
    case Fault::hangBefore:
      return;
    case Fault::throwsLate:
      behind_->write(std::move(request), options, [](const WriteOutcome&) {});
      [[fallthrough]];
    case Fault::throwing:
      throw std::runtime_error{"thrown by write"};
    case Fault::delay:
      return behind_->write(std::move(request), options, later(scheduler_, verdict.delay, std::move(handler)));
  }
}

void FaultStore::list(std::string prefix, CallOptions options, ListHandler handler) {
  behind_->list(std::move(prefix), options, std::move(handler));
}

void FaultStore::requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) {
  behind_->requestStepDown(key, token, options, std::move(handler));
}

std::shared_ptr<void> FaultStore::watch(const LeaseKey& key, std::function<void()> hint) {
  if (watchFault_ == Fault::throwing) throw std::runtime_error{"thrown by watch"};
  return watchFault_ == Fault::none ? behind_->watch(key, std::move(hint)) : nullptr;
}

std::shared_ptr<DeathNotice> FaultStore::deathNotice() {
  std::function<std::shared_ptr<DeathNotice>()> maker;
  {
    const std::lock_guard lock{mutex_};
    maker = deathNotice_;
  }
  return maker ? maker() : behind_->deathNotice();
}

}  // namespace tenure::test
