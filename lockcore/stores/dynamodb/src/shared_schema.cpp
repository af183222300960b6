#include "shared_schema.hpp"

#include <algorithm>

#include "table_check.hpp"
#include "table_shape.hpp"

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

namespace {

using namespace std::chrono_literals;

constexpr auto longestPause = 5s;

}  // namespace

SchemaFlow::SchemaFlow(CorePtr core, std::shared_ptr<TableCheck> check, const Deadline& deadline, StatusHandler handler)
    : core_{std::move(core)}, check_{std::move(check)}, deadline_{deadline}, handler_{std::move(handler)} {}

void SchemaFlow::request(std::string_view operation, std::string body, std::string_view doing, Next next) {
  send(core_, operation, std::move(body), deadline_,
       [self = shared_from_this(), doing, next](const aws::JsonOutcome& outcome) {
         (self.get()->*next)(parseReply({self->core_->where, doing}, outcome));
       });
}

void SchemaFlow::describe() {
  request("DescribeTable", describeTableRequest(core_->layout), "examining the table", &SchemaFlow::described);
}

void SchemaFlow::described(const ParsedReply& reply) {
  if (reply.has_error()) {
    const Fault& fault = reply.error();
    if (fault.name == "ResourceNotFoundException") {
      // DescribeTable is eventually consistent: it may not know the new table yet.
      if (isOurs_) return waitThen(&SchemaFlow::describe, "being created");
      if (core_->options.tableOptions.create) return create();
    }
    if (isOurs_ && fault.error.errorClass == ErrorClass::transient) {
      return waitThen(&SchemaFlow::describe, "being created (" + fault.error.message + ')');
    }
    return fail(fault.error);
  }
  const auto state = tableStateIn(core_->layout, core_->where, *reply);
  if (state.has_error()) return fail(state.error());
  if (*state == TableState::creating) return waitThen(&SchemaFlow::describe, "being created");
  if (isOurs_) return configure();
  lookAtTtl();
}

void SchemaFlow::create() {
  core_->logger.log(LogLevel::info, core_->where + ": the table does not exist; creating it");
  request("CreateTable", createTableRequest(core_->layout, core_->options.tableOptions), "creating the table",
          &SchemaFlow::created);
}

void SchemaFlow::created(const ParsedReply& reply) {
  if (reply.has_error()) {
    const Fault& fault = reply.error();
    // Another process was faster; that process also sets the table's options.
    const bool byAnother = fault.name == "ResourceInUseException";
    if (!byAnother && !fault.maybeApplied) return fail(fault.error);
    isOurs_ = !byAnother;
  } else {
    isOurs_ = true;
  }
  waitThen(&SchemaFlow::describe, "being created");
}

/// Polls in growing steps and says so, because a table may take a minute.
void SchemaFlow::waitThen(Step step, const std::string& forWhat) {
  if (deadline_.left() <= pause_) {
    return fail({ErrorClass::transient, core_->where + ": the table is still " + forWhat +
                                            ", and the call timed out; try again later; DynamoDB continues meanwhile"});
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited_).count();
  core_->logger.log(LogLevel::info, core_->where + ": waiting for the table, " + forWhat + " (" +
                                        std::to_string(seconds) + " s so far)");
  waited_ += pause_;
  core_->scheduler->post([self = shared_from_this(), step, pause = pause_] {
    self->core_->scheduler->schedule(pause, [self, step] { (self.get()->*step)(); });
  });
  pause_ = std::min<std::chrono::nanoseconds>(pause_ * 3 / 2, longestPause);
}

void SchemaFlow::configure() {
  core_->logger.log(LogLevel::info, core_->where + ": the table was created and is ACTIVE");
  if (!core_->options.tableOptions.pointInTimeRecovery) return enableTtl();
  request("UpdateContinuousBackups", pointInTimeRecoveryRequest(core_->layout), "enabling point-in-time recovery",
          &SchemaFlow::recoveryEnabled);
}

void SchemaFlow::recoveryEnabled(const ParsedReply& reply) {
  if (reply.has_error()) {
    if (reply.error().name != "ContinuousBackupsUnavailableException") return fail(reply.error().error);
    return waitThen(&SchemaFlow::configure, "not yet ready for point-in-time recovery");
  }
  enableTtl();
}

void SchemaFlow::enableTtl() {
  if (!core_->layout.hasTtl()) return finish();
  request("UpdateTimeToLive", enableTtlRequest(core_->layout), "enabling time to live", &SchemaFlow::ttlEnabled);
}

void SchemaFlow::ttlEnabled(const ParsedReply& reply) {
  // An earlier request of this call, whose answer was lost, may have done it.
  if (reply.has_error() && reply.error().error.message.find("already enabled") == std::string::npos) {
    return fail(reply.error().error);
  }
  finish();
}

void SchemaFlow::lookAtTtl() {
  request("DescribeTimeToLive", describeTableRequest(core_->layout), "examining time to live",
          &SchemaFlow::ttlDescribed);
}

/// A setting that is found here may be dangerous. Failing to find it out is not an error.
void SchemaFlow::ttlDescribed(const ParsedReply& reply) {
  if (reply.has_error()) {
    const Fault& fault = reply.error();
    if (fault.name.empty()) return fail(fault.error);
    core_->logger.log(LogLevel::warn, fault.error.message +
                                          ". Continuing without the check of the table's time to live "
                                          "(dynamodb:DescribeTimeToLive)");
    return finish();
  }
  const std::string attribute = ttlAttributeIn(*reply);
  if (auto refused = ttlError(core_->layout, core_->where, attribute)) return fail(std::move(*refused));
  if (core_->layout.hasTtl() && attribute != core_->layout.nameOf(Attribute::ttl)) {
    core_->logger.log(LogLevel::warn, core_->where + ": the table's time to live " +
                                          (attribute.empty() ? "is off" : "uses " + attribute) +
                                          ", so records are not cleaned up by the configured attribute " +
                                          core_->layout.nameOf(Attribute::ttl));
  }
  finish();
}

void SchemaFlow::finish() {
  check_->markPassed();
  handler_(StoreStatus{});
}

}  // namespace tenure::dynamodb_store
