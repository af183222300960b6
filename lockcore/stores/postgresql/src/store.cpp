#include "store.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>
#include <utility>

#include <tenure/lockcore/logger.hpp>

#include "lockcore/liveness/local_death_notice.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/fnv1a.hpp"
#include "lockcore/port/stored_key.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/file_rights.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/watch_thread.hpp"
#include "lockcore/stored/register_store.hpp"
#include "renewal_batch.hpp"
#include "statements.hpp"
#include "table_check.hpp"

namespace tenure::postgresql_store {

/// The proof for candidates of this machine that a holder is dead: its liveness file in a directory that they share.
class TermFiles {
 public:
  TermFiles(const std::string& store, const std::string& directory, Logger logger);
  /// Ends the thread that watches.
  ~TermFiles();
  TermFiles(const TermFiles&) = delete;
  TermFiles& operator=(const TermFiles&) = delete;

  [[nodiscard]] DeathNotice& deathNotice() noexcept { return deaths_; }

  /// To be called before a write is sent: while a term is open that names the liveness file, the file stays locked even
  /// if the store is destroyed. The handler that is returned notes the end of the term. An error: the write must not be
  /// sent. The first term of a store also removes the files of processes that died more than an hour ago.
  [[nodiscard]] static StoreResult<WriteHandler> during(const std::shared_ptr<TermFiles>& files,
                                                        const WriteRequest& request, WriteHandler handler);

 private:
  WatchThread watches_;
  liveness::LocalDeathNotice deaths_;
  std::atomic<bool> swept_{false};  ///< dead processes' files were looked through, once in the life of a store
};

namespace {

/// The working directory may change later (daemons change it); the path is meant relative to the present one.
std::string absolute(const std::string& path) {
  std::error_code fault;
  const std::filesystem::path whole = detail::workingDirectory(fault) / path;
  return fault ? path : whole.string();
}

/// The directory may be missing; then its parent is looked at, where it will be made.
StoreResult<std::string> localDirectory(const std::string& store, const std::string& directory) {
  struct statfs system {};
  const std::string parent = std::filesystem::path{directory}.parent_path().string();
  if (statfs(directory.c_str(), &system) != 0 && statfs(parent.c_str(), &system) != 0) return directory;
  if (const auto name = detail::networkFileSystem(static_cast<std::uint32_t>(system.f_type))) {
    return StoreError{ErrorClass::misconfigured,
                      store + ": the directory for liveness files, " + directory + ", is on " + std::string{*name} +
                          ", where a lock proves nothing about a process; give one on a local disk",
                      true};
  }
  return directory;
}

/// Removes what processes left that died long ago. A candidate that misses such a file as proof waits for the lease, so
/// the age may decide alone. It is counted between the times of two files, so no clock is read.
void removeOldFiles(const std::string& directory, const std::string& ownId) {
  constexpr auto old = std::chrono::hours{1};
  struct stat own {};
  if (stat(liveness::livenessFilePath(directory, ownId).c_str(), &own) != 0) return;
  liveness::removeDeadLivenessFiles(directory, [&](const std::string& id) {
    struct stat other {};
    const bool found = stat(liveness::livenessFilePath(directory, id).c_str(), &other) == 0;
    return !found || std::chrono::seconds{own.st_mtime - other.st_mtime} < old;
  });
}

}  // namespace

TermFiles::TermFiles(const std::string& store, const std::string& directory, Logger logger)
    : watches_{std::move(logger)},
      deaths_{{store, [store, path = absolute(directory)] { return localDirectory(store, path); }}, watches_} {}

TermFiles::~TermFiles() { watches_.stop(); }

StoreResult<WriteHandler> TermFiles::during(const std::shared_ptr<TermFiles>& files, const WriteRequest& request,
                                            WriteHandler handler) {
  const bool releases = request.purpose == WriteRequest::Purpose::release;
  if (!releases && !request.record.livenessFile) return handler;
  const liveness::TermName term{request.key, request.record.holder};
  bool opened = false;
  if (!releases) {
    const StoreResult<bool> isNew = files->deaths_.own().openTerm(term, request.record.leaseDuration);
    if (isNew.has_error()) return isNew.error();
    opened = *isNew;
    if (opened && !files->swept_.exchange(true)) {
      const StoreResult<std::string> directory = files->deaths_.place().directory();
      if (directory.has_value()) removeOldFiles(*directory, files->deaths_.own().id());
    }
  }
  return WriteHandler{[files, term, opened, request, handler = std::move(handler)](WriteOutcome outcome) {
    if (liveness::endsTerm(request, opened, outcome)) files->deaths_.own().endTerm(term);
    handler(std::move(outcome));
  }};
}

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
    return watch_ ? watch_(fnv1aOf(key), std::move(hint)) : nullptr;
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
