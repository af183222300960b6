#include <utility>

#include "calls.hpp"
#include "table_check.hpp"

namespace tenure::postgresql_store {
namespace {

/// Looks, creates what is missing, and looks again. Several processes may do so at once: of two that create the table
/// at the same moment, the server refuses one by the unique index of a catalogue, even with IF NOT EXISTS.
class SchemaFlow : public std::enable_shared_from_this<SchemaFlow> {
 public:
  SchemaFlow(CorePtr core, const Deadline& deadline, StatusHandler handler)
      : core_{std::move(core)}, deadline_{deadline}, handler_{std::move(handler)} {}

  void look() {
    StoreCore::run(core_, Jobs::readLayout(), deadline_,
                   [self = shared_from_this()](const JobReply& reply) { self->seen(reply); });
  }

 private:
  void seen(const JobReply& reply) {
    const Call call = core_->call("looking at the table");
    if (auto fault = faultOfRead(call, reply)) return handler_(std::move(*fault));
    const bool answered = !reply.rows.empty() && !reply.rows.front().empty();
    const TableState state = tableStateFrom(call, answered ? reply.rows.front().front() : Row{});
    if (state.fault) return handler_(*state.fault);
    if (state.exists) return handler_(StoreStatus{});
    if (tried_) return handler_(*tried_);
    create();
  }

  void create() {
    StoreCore::run(core_, Jobs::createTable(), deadline_, [self = shared_from_this()](const JobReply& reply) {
      const Call call = self->core_->call("creating the table");
      const Verdict verdict = verdictOnWrite(call, reply);
      self->tried_ = verdict.fate == Fate::committed
                         ? StoreError{ErrorClass::transient, call.store + ": the table was made, and is gone again"}
                         : verdict.error;
      self->look();
    });
  }

  const CorePtr core_;
  const Deadline deadline_;
  const StatusHandler handler_;
  std::optional<StoreError> tried_{};  ///< why the table is missing although it was to be created
};

}  // namespace

void ensureSchema(const CorePtr& core, const Deadline& deadline, StatusHandler handler) {
  std::make_shared<SchemaFlow>(core, deadline, std::move(handler))->look();
}

}  // namespace tenure::postgresql_store
