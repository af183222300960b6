// The store for users: over libpq.
#include <utility>

#include "jobs.hpp"
#include "link/link.hpp"
#include "statements.hpp"
#include "store.hpp"

namespace tenure {

std::shared_ptr<LeaseStore> makePostgresqlStore(const PostgresqlStoreOptions& options, Logger logger) {
  using namespace postgresql_store;
  const auto statements = std::make_shared<const Statements>(options.schema, options.table);
  const std::shared_ptr<Link> link =
      makeLink({.store = options,
                .text = [statements](StatementId id, bool history) -> const std::string& {
                  return statements->sql(id, history);
                },
                .channel = channelOf(options.schema, options.table),
                .warmUp = Jobs::warmUp(channelOf(options.schema, options.table)),
                .logger = logger});
  const std::weak_ptr<Link> weak = link;
  return makeStore(options, {.database = link,
                             .watch = [weak](std::string payload, std::function<void()> hint) -> std::shared_ptr<void> {
                               const auto alive = weak.lock();
                               return alive ? alive->watch(std::move(payload), std::move(hint)) : nullptr;
                             },
                             .logger = std::move(logger),
                             .scheduler = sharedScheduler()});
}

}  // namespace tenure
