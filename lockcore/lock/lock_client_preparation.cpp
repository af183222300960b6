// What a client's first acquisitions wait for: its liveness file and the store's schema.
#include <exception>
#include <utility>

#include <tenure/lockcore/lease_store.hpp>

#include "lock_client_impl.hpp"

namespace tenure {

/// Done once for a client, not for each lock: finds the liveness file of this process, and checks the schema (until it
/// is good). The first acquisitions wait for this.
void LockClient::Impl::prepare() {
  bool first = false;
  {
    const std::lock_guard lock{mutex_};
    if (schema_ == Schema::good || schema_ == Schema::asked) return;
    first = schema_ == Schema::unasked;
    schema_ = Schema::asked;
  }
  if (first) findBeacon();
  askSchema();
}

/// Creating the liveness file is file work: not on the renewal thread, and not on a thread that must not block.
void LockClient::Impl::findBeacon() {
  std::shared_ptr<DeathNotice> notice;
  try {
    notice = common_->store->deathNotice();
  } catch (const std::exception& error) {
    common_->logger.log(LogLevel::warn,
                        std::string{"no death notice for this client: the store threw: "} + error.what());
  } catch (...) {
    common_->logger.log(LogLevel::warn, "no death notice for this client: the store threw no std::exception");
  }
  if (!notice) return beaconFound(std::nullopt);
  ThreadPool::forCallbacks()->post([self = shared_from_this(), notice] {
    std::string what = "the store threw something that is no std::exception";
    try {
      StoreResult<Beacon> beacon = notice->beacon();
      if (beacon) return self->beaconFound(*beacon);
      what = beacon.error().message;
    } catch (const std::exception& error) {
      what = std::string{"the store threw: "} + error.what();
    } catch (...) {
    }
    self->common_->logger.log(LogLevel::warn, "no death notice for this client: " + what);
    self->beaconFound(std::nullopt);
  });
}

void LockClient::Impl::beaconFound(std::optional<Beacon> beacon) {
  {
    const std::lock_guard lock{mutex_};
    beacon_ = std::move(beacon);
    beaconKnown_ = true;
  }
  startIfPrepared();
}

void LockClient::Impl::askSchema() {
  const auto answer = [weak = weak_from_this()](const StoreStatus& status) {
    if (const auto self = weak.lock()) self->schemaAnswered(status);
  };
  try {
    common_->store->ensureSchema({options_.lease.duration}, answer);
  } catch (const std::exception& error) {
    answer(StoreError{ErrorClass::transient, std::string{"the store threw: "} + error.what()});
  } catch (...) {
    answer(StoreError{ErrorClass::transient, "the store threw something that is no std::exception"});
  }
}

/// If the schema is not in order, the reads will report it, and the next acquisition has it checked again.
void LockClient::Impl::schemaAnswered(const StoreStatus& status) {
  if (!isHere()) return;
  {
    const std::lock_guard lock{mutex_};
    schema_ = status.has_value() ? Schema::good : Schema::bad;
  }
  if (status.has_error()) {
    common_->logger.log(LogLevel::warn,
                        "the store is not ready" + std::string{tillWhen(status.error())} + status.error().message);
  }
  startIfPrepared();
}

void LockClient::Impl::startIfPrepared() {
  std::vector<SessionPtr> ready;
  std::optional<Beacon> beacon;
  {
    const std::lock_guard lock{mutex_};
    prepared_ = prepared_ || (beaconKnown_ && (schema_ == Schema::good || schema_ == Schema::bad));
    if (!prepared_) return;
    ready.swap(unprepared_);
    beacon = beacon_;
  }
  for (const SessionPtr& session : ready) session->start(beacon);
}

}  // namespace tenure
