#include "store_core.hpp"

#include <utility>

#include "statements.hpp"

namespace tenure::postgresql_store {

StoreCore::StoreCore(std::weak_ptr<Database> database, std::string where, std::string schema, std::string table,
                     Logger logger, std::shared_ptr<Scheduler> scheduler)
    : database_{std::move(database)},
      where_{std::move(where)},
      schema_{std::move(schema)},
      table_{std::move(table)},
      place_{where_, qualifiedName(schema_, table_)},
      jobs_{channelOf(schema_, table_)},
      logger_{std::move(logger)},
      scheduler_{std::move(scheduler)} {}

void StoreCore::run(const CorePtr& core, Job job, const Deadline& deadline, JobHandler handler) {
  const auto database = core->database_.lock();
  if (!database) {
    JobReply gone;
    gone.trouble = "the store was destroyed";
    gone.cause = JobReply::Cause::transient;
    return handler(std::move(gone));
  }
  job.history = core->hasHistory_.load();
  if (!job.history) return database->run(std::move(job), deadline.left(), std::move(handler));
  auto again = std::make_shared<Job>(job);
  database->run(std::move(job), deadline.left(),
                [core, again, deadline, handler = std::move(handler)](JobReply reply) mutable {
                  if (!refusedHistory(*again, reply)) return handler(std::move(reply));
                  core->sendAgain(core, std::move(*again), deadline, std::move(handler));
                });
}

void StoreCore::sendAgain(const CorePtr& core, Job job, const Deadline& deadline, JobHandler handler) {
  job.history = false;
  const auto database = database_.lock();
  if (!database) return handler({});
  database->run(std::move(job), deadline.left(), [core, handler = std::move(handler)](JobReply reply) {
    const bool served = reply.commit == JobReply::Commit::done;
    if (served && core->hasHistory_.exchange(false) && core->logger_.wants(LogLevel::warn)) {
      core->logger_.log(LogLevel::warn,
                        core->where_ +
                            ": this server does not tell its timeline (pg_current_wal_lsn), so tenure "
                            "does not notice a promotion. That is right where no commit is ever lost, as "
                            "on Amazon Aurora");
    }
    handler(std::move(reply));
  });
}

}  // namespace tenure::postgresql_store
