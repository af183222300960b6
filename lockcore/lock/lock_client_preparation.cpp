// What a client's first acquisitions wait for: its liveness file and the store's schema.
#include <utility>

#include "lock_client_impl.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/runtime/user_code.hpp"

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
  if (first) {
    const auto onScheduler = [this](std::function<void()> task) {
      if (const auto loop = scheduler()) loop->post(std::move(task));
    };
    common_->findLivenessFile({common_->candidate, options_.lease.duration, onScheduler},
                              [self = shared_from_this()](std::optional<LivenessFile> livenessFile) {
                                self->livenessFileFound(std::move(livenessFile));
                              });
  }
  askSchema();
}

void LockClient::Impl::livenessFileFound(std::optional<LivenessFile> livenessFile) {
  {
    const std::lock_guard lock{mutex_};
    livenessFile_ = std::move(livenessFile);
    livenessFileKnown_ = true;
  }
  startIfPrepared();
}

void LockClient::Impl::askSchema() {
  const auto answer = [weak = weak_from_this()](const StoreStatus& status) {
    if (const auto self = weak.lock()) self->schemaAnswered(readable(status));
  };
  const auto error = storeErrorOf([&] { common_->store->ensureSchema({options_.lease.duration}, answer); });
  if (error) answer(*error);
}

/// If the schema is not in order, the reads will report it, and the next acquisition has it checked again.
void LockClient::Impl::schemaAnswered(const StoreStatus& status) {
  if (!isHere()) return;
  {
    const std::lock_guard lock{mutex_};
    schema_ = status.has_value() ? Schema::good : Schema::bad;
  }
  if (status.has_error()) {
    common_->logger.log(LogLevel::warn, "the store is not ready" + std::string{whatHappensNext(status.error())} +
                                            status.error().message);
  }
  startIfPrepared();
}

void LockClient::Impl::startIfPrepared() {
  std::vector<SessionPtr> ready;
  std::optional<LivenessFile> livenessFile;
  {
    const std::lock_guard lock{mutex_};
    prepared_ = prepared_ || (livenessFileKnown_ && (schema_ == Schema::good || schema_ == Schema::bad));
    if (!prepared_) return;
    ready.swap(unprepared_);
    livenessFile = livenessFile_;
  }
  for (const SessionPtr& session : ready) session->start(livenessFile);
}

}  // namespace tenure
