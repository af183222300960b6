#include "lockcore/fault_store.hpp"

#include <stdexcept>
#include <utility>

#include <tenure/lockcore/stores/memory_store.hpp>

namespace tenure::test {

using namespace std::chrono_literals;

namespace {

void throwIfMeant(Fault fault) {
  if (fault == Fault::throws || fault == Fault::throwsApplied) throw std::runtime_error("injected");
  if (fault == Fault::throwsOddly) throw 42;
}

bool isApplied(Fault fault) {
  return fault == Fault::none || fault == Fault::unknownApplied || fault == Fault::neverApplied ||
         fault == Fault::answeredTwice || fault == Fault::answeredLate;
}

}  // namespace

FaultStore::FaultStore(std::shared_ptr<ManualScheduler> scheduler)
    : scheduler_{std::move(scheduler)}, inner_{makeMemoryStore(side_)} {}

void FaultStore::failAt(std::size_t call, Fault fault, ErrorClass errorClass) {
  plan_.insert_or_assign(call, Planned{fault, errorClass});
}

std::optional<FaultStore::Planned> FaultStore::next() {
  const auto planned = plan_.find(++calls_);
  if (planned == plan_.end()) return std::nullopt;
  return planned->second;
}

ReadOutcome FaultStore::readNow(const LeaseKey& key) {
  const std::lock_guard lock{mutex_};
  std::optional<ReadOutcome> outcome;
  inner_->read(key, {}, [&](ReadOutcome o) { outcome = std::move(o); });
  side_->runReady();
  return outcome.value();
}

WriteOutcome FaultStore::writeNow(const WriteRequest& request) {
  const std::lock_guard lock{mutex_};
  std::optional<WriteOutcome> outcome;
  inner_->write(request, {}, [&](WriteOutcome o) { outcome = std::move(o); });
  side_->runReady();
  return outcome.value();
}

WriteOutcome FaultStore::requestStepDownNow(const LeaseKey& key, FencingToken token) {
  std::optional<WriteOutcome> outcome;
  inner_->requestStepDown(key, token, {}, [&](WriteOutcome o) { outcome = std::move(o); });
  side_->runReady();
  return outcome.value();
}

template <class Outcome>
void FaultStore::answer(Fault fault, std::function<void(Outcome)> handler, Outcome outcome) {
  if (fault == Fault::neverApplied || fault == Fault::neverLost) return;
  auto tell = [handler = std::move(handler), outcome = std::move(outcome)] { handler(outcome); };
  if (fault == Fault::answeredLate) {
    scheduler_->post([scheduler = scheduler_.get(), tell] { scheduler->schedule(20s, tell); });
    return;
  }
  scheduler_->post(tell);
  if (fault == Fault::answeredTwice) scheduler_->post(tell);
}

void FaultStore::read(const LeaseKey& key, CallOptions, ReadHandler handler) {
  const std::lock_guard lock{mutex_};
  const Planned planned = next().value_or(Planned{Fault::none, ErrorClass::transient});
  ++reads_;
  throwIfMeant(planned.fault);
  const bool works =
      planned.fault == Fault::none || planned.fault == Fault::answeredTwice || planned.fault == Fault::answeredLate;
  answer<ReadOutcome>(planned.fault, std::move(handler),
                      works ? readNow(key) : ReadOutcome{StoreError{planned.errorClass, "injected"}});
}

void FaultStore::write(WriteRequest request, CallOptions, WriteHandler handler) {
  const std::lock_guard lock{mutex_};
  const Planned planned = next().value_or(Planned{Fault::none, ErrorClass::transient});
  const bool loses = lossy_ && request.purpose == WriteRequest::Purpose::renew && ++renewals_ % 2 == 0;
  if (planned.fault == Fault::throwsApplied) writeNow(request);
  throwIfMeant(planned.fault);
  const StoreError error{planned.errorClass, "injected"};
  WriteOutcome outcome = Unknown{error};
  if (isApplied(planned.fault)) {
    const WriteOutcome truth = writeNow(request);
    const bool hidden = lossy_ && std::holds_alternative<Conflict>(truth);
    if (planned.fault != Fault::unknownApplied && !loses) outcome = hidden ? WriteOutcome{Conflict{}} : truth;
  } else if (planned.fault == Fault::rejected) {
    outcome = Rejected{error};
  } else if (planned.fault == Fault::conflict) {
    outcome = Conflict{readNow(request.key).value()};
  } else if (planned.fault == Fault::conflictHidden) {
    outcome = Conflict{};
  }
  answer<WriteOutcome>(planned.fault, std::move(handler), std::move(outcome));
}

void FaultStore::ensureSchema(CallOptions, StatusHandler handler) {
  answer<StoreStatus>(Fault::none, std::move(handler), StoreStatus{});
}

void FaultStore::list(std::string prefix, CallOptions options, ListHandler handler) {
  const std::lock_guard lock{mutex_};
  std::optional<ListOutcome> outcome;
  inner_->list(std::move(prefix), options, [&](ListOutcome o) { outcome = std::move(o); });
  side_->runReady();
  answer<ListOutcome>(Fault::none, std::move(handler), outcome.value());
}

void FaultStore::requestStepDown(const LeaseKey& key, FencingToken token, CallOptions, WriteHandler handler) {
  answer<WriteOutcome>(Fault::none, std::move(handler), requestStepDownNow(key, token));
}

void FaultStore::remove(const LeaseKey& key, RecordVersion version, CallOptions, WriteHandler handler) {
  std::optional<WriteOutcome> outcome;
  inner_->remove(key, std::move(version), {}, [&](WriteOutcome o) { outcome = std::move(o); });
  side_->runReady();
  answer<WriteOutcome>(Fault::none, std::move(handler), outcome.value());
}

std::shared_ptr<void> FaultStore::watch(const LeaseKey&, std::function<void()> hint) {
  return onWatch ? onWatch(std::move(hint)) : nullptr;
}

std::shared_ptr<void> FaultStore::watchLoss(std::function<void()>) {
  if (onWatchLoss) onWatchLoss();
  return nullptr;
}

std::shared_ptr<DeathNotice> FaultStore::deathNotice() { return onDeathNotice ? onDeathNotice() : nullptr; }

}  // namespace tenure::test
