#include "store_core.hpp"

#include <utility>

#include "statements.hpp"

namespace tenure::postgresql_store {

StoreCore::StoreCore(std::weak_ptr<Database> database, std::string where, std::string schema, std::string table,
                     Logger logger, std::shared_ptr<Scheduler> scheduler)
    : database_{database},
      where_{std::move(where)},
      schema_{std::move(schema)},
      table_{std::move(table)},
      place_{where_, qualifiedName(schema_, table_)},
      notifier_{std::make_shared<Notifier>(std::move(database), channelOf(schema_, table_))},
      logger_{std::move(logger)},
      scheduler_{std::move(scheduler)} {}

void StoreCore::run(const CorePtr& core, Job job, const Deadline& deadline, JobHandler handler) {
  const auto database = core->database_.lock();
  if (!database) {
    JobReply gone;
    gone.why = "the store was destroyed";
    gone.cause = JobReply::Cause::transient;
    return handler(std::move(gone));
  }
  job.history = core->hasHistory_.load();
  if (!job.history) return database->run(std::move(job), deadline.left(), std::move(handler));
  auto again = std::make_shared<Job>(job);
  database->run(std::move(job), deadline.left(),
                [core, again, deadline, handler = std::move(handler)](JobReply reply) mutable {
                  if (reply.commit == JobReply::Commit::done) core->perhapsNone_ = 0;
                  if (!mayGoWithoutHistory(*again, reply)) return handler(std::move(reply));
                  core->sendAgain(core, std::move(*again), deadline, std::move(handler));
                });
}

void StoreCore::sendAgain(const CorePtr& core, Job job, const Deadline& deadline, JobHandler handler) {
  job.history = false;
  const auto database = database_.lock();
  if (!database) return handler({});
  database->run(std::move(job), deadline.left(), [core, handler = std::move(handler)](JobReply reply) {
    if (reply.commit == JobReply::Commit::done) core->servedWithoutHistory();
    handler(std::move(reply));
  });
}

/// A standby refuses the functions too, and may be promoted before the job comes again without them; and a trigger on
/// the table may have made the error. So a rejection counts only when it has come several times in a row.
void StoreCore::servedWithoutHistory() {
  constexpr int enough = 3;
  if (++perhapsNone_ < enough) return;
  if (!hasHistory_.exchange(false) || !logger_.wants(LogLevel::warn)) return;
  logger_.log(LogLevel::warn, where_ +
                                  ": this server does not report its timeline (pg_current_wal_lsn), so tenure does not "
                                  "notice a promotion. That is right where no commit is ever lost, as on Amazon "
                                  "Aurora");
}

}  // namespace tenure::postgresql_store
