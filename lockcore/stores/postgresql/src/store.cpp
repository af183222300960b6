#include "store.hpp"

#include <cstddef>
#include <utility>

#include "lockcore/port/stored_key.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/stored/register_store.hpp"
#include "renewal_batch.hpp"
#include "statements.hpp"
#include "table_check.hpp"
#include "term_files.hpp"

namespace tenure::postgresql_store {
namespace {

/// PostgreSQL ends a value at 1 GB, and data travels as two digits a byte.
constexpr std::size_t largestPayload = std::size_t{256} << 20U;

/// The row of a read; empty: it was not answered.
std::optional<StoreResult<RowState>> leaseIn(const StoreCore& core, const JobReply& reply) {
  if (reply.rows.empty() || reply.rows.front().empty()) return std::nullopt;
  return leaseFrom(core.place(), reply.rows.front().front());
}

ListedLease listed(RowState lease) {
  std::string warning = lease.record.has_value() ? disagreementIn(tokensFrom(lease.row)) : std::string{};
  if (lease.record.has_error()) return {std::move(lease.key), lease.record.error(), std::move(warning)};
  return {std::move(lease.key), std::move((*lease.record)->record), std::move(warning)};
}

/// All rows of the answer. A row that is not understood is reported beside the good ones.
PageOutcome pageFrom(const StoreCore& core, const JobReply& reply) {
  if (auto fault = faultOfRead(core.call("listing leases"), reply)) return std::move(*fault);
  ListPage page;
  if (reply.rows.empty()) return page;
  std::vector<ListedLease>& leases = page.leases;
  for (const Row& row : reply.rows.front()) {
    auto lease = leaseFrom(core.place(), row);
    if (lease.has_error()) return lease.error();
    if (lease->row[versionColumn]) leases.push_back(listed(std::move(*lease)));
  }
  if (leases.size() <= leasesOfAPage) return page;
  page.next = placeOf(leases.back().key);
  leases.pop_back();
  return page;
}

/// A row for each lease. A swap is a transaction of one statement.
class PostgresqlRegister final : public stored::Register, public stored::RegisterExtras {
 public:
  PostgresqlRegister(CorePtr core, std::shared_ptr<RenewalBatcher> renewals, StoreParts& parts)
      : core_{std::move(core)}, renewals_{std::move(renewals)}, watch_{std::move(parts.watch)} {}

  /// Candidates of this machine learn from its liveness file in `directory` that a holder is dead.
  void keepFilesIn(const std::string& directory, Logger logger) {
    files_ = std::make_shared<TermFiles>(core_->where(), directory, std::move(logger));
  }

  [[nodiscard]] const std::string& where() const noexcept override { return core_->where(); }

  void prepare(const CallDeadline& deadline, StatusHandler handler) override {
    ensureTable(core_, deadline, std::move(handler));
  }

  void load(const stored::RegisterCall& call, stored::LoadHandler handler) override {
    StoreCore::run(core_, Jobs::read(call.key), call.deadline,
                   [core = core_, what = call.text(), handler = std::move(handler)](const JobReply& reply) {
                     const Call reading = core->call(what);
                     if (auto fault = faultOfRead(reading, reply)) return handler(std::move(*fault));
                     auto found = leaseIn(*core, reply);
                     if (!found) return handler(errorOf(reading, JobReply::Cause::transient, "the answer has no row"));
                     if (found->has_error()) return handler(found->error());
                     handler(stored::LoadedLease{std::make_shared<const RowState>(std::move(**found))});
                   });
  }

  void swap(const stored::RegisterCall& call, const stored::LoadedLease& seen, stored::Change change,
            stored::SwapHandler handler) override {
    auto one = swapOf(*core_, call, std::static_pointer_cast<const RowState>(seen), change, std::move(handler));
    // In a forked child, nobody would send what waits for others.
    const bool joins = call.own && mark_.isHere() && Jobs::mayJoin(one->change);
    if (joins) return renewals_->add(std::move(one));
    perform(core_, one);
  }

  /// One row more than a page has, where the next one begins. One statement for all would keep a connection, and a
  /// snapshot of the table, for as long as the table is big.
  void scan(const std::string& prefix, const std::string& from, const CallDeadline& deadline,
            stored::ScanHandler handler) override {
    const auto first = from.empty() ? LeaseKey{prefix, ""} : keyAt(from);
    if (!first) {
      return core_->post(std::move(handler),
                         PageOutcome{StoreError{ErrorClass::misconfigured,
                                                core_->where() + ": \"" + from +
                                                    "\" is not a place in a listing; give the `next` of a page"}});
    }
    StoreCore::run(
        core_, Jobs::list(prefix, *first, leasesOfAPage + 1), deadline,
        [core = core_, handler = std::move(handler)](const JobReply& reply) { handler(pageFrom(*core, reply)); });
  }

  [[nodiscard]] StoreResult<StoredTokens> tokensOf(const LeaseKey& /*key*/,
                                                   const stored::StoredLease& lease) const override {
    return tokensFrom(static_cast<const RowState&>(lease).row);
  }

  [[nodiscard]] std::size_t mostPayload() const noexcept override { return largestPayload; }

  [[nodiscard]] bool keepsReads() const noexcept override { return true; }

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return watch_ ? watch_(payloadOf(key), std::move(hint)) : nullptr;
  }

  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override {
    if (!files_) return nullptr;
    return {files_, &files_->deathNotice()};
  }

  [[nodiscard]] StoreStatus beforeWrite(const WriteRequest& request, WriteHandler& handler) override {
    if (!files_) return {};
    auto during = TermFiles::during(files_, request, handler);
    if (during.has_error()) return during.error();
    handler = std::move(*during);
    return {};
  }

 private:
  const ProcessMark mark_{};
  const CorePtr core_;
  const std::shared_ptr<RenewalBatcher> renewals_;
  const std::function<std::shared_ptr<void>(std::string, std::function<void()>)> watch_;
  std::shared_ptr<TermFiles> files_{};
};

/// The database for as long as there is a store. At its end, what waits for other renewals is answered, and what waits
/// for other notifications is sent; a forked child has no thread for it.
std::shared_ptr<void> untilTheEnd(std::shared_ptr<Database> database, CorePtr core,
                                  std::shared_ptr<RenewalBatcher> renewals) {
  Database* const any = database.get();
  return {any, [database = std::move(database), core = std::move(core), renewals = std::move(renewals),
                mark = ProcessMark{}](void*) mutable {
            if (mark.isHere()) {
              core->notifier().sendRest();
              renewals->close();
            }
            database.reset();
          }};
}

}  // namespace

std::shared_ptr<LeaseStore> makeStore(const PostgresqlStoreOptions& options, StoreParts parts) {
  const auto core = std::make_shared<StoreCore>(parts.database, parts.database->describe(), options.schema,
                                                options.table, parts.logger, parts.scheduler);
  const auto renewals = std::make_shared<RenewalBatcher>(core);
  auto leases = std::make_shared<PostgresqlRegister>(core, renewals, parts);
  if (!options.livenessDirectory.empty()) leases->keepFilesIn(options.livenessDirectory, parts.logger);
  return stored::makeRegisterStore({.leases = leases,
                                    .scheduler = std::move(parts.scheduler),
                                    .connection = untilTheEnd(std::move(parts.database), core, renewals),
                                    .extras = leases});
}

}  // namespace tenure::postgresql_store
