#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/name_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/file_rights.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "ownership_write.hpp"
#include "sidecar/sidecar.hpp"
#include "transactions.hpp"
#include "worker.hpp"
#include "write_batch.hpp"

namespace tenure {
namespace {

using namespace sqlite_store;

/// At most one sweep in this time, however many leases are acquired.
constexpr std::chrono::seconds sweepInterval{10};

/// Everything of a store that has threads or files. It has two connections: in WAL mode readers go on while a writer
/// waits for another process's lock, so a candidate still sees who leads.
struct Parts {
  Parts(const Session::Options& options, const Logger& logger)
      : sidecar{options.sidecar},
        writer{"tenure-sqlite-w", options, logger, writeTogether},
        reader{"tenure-sqlite-r", readingOnly(options), logger} {
    Worker::makePeers(writer, reader);
  }

  void stop() {
    sidecar->stop();
    writer.stop();
    reader.stop();
  }

  static Session::Options readingOnly(Session::Options options) {
    options.readsOnly = true;
    return options;
  }

  const std::shared_ptr<Sidecar> sidecar;
  Worker writer;
  Worker reader;
  std::atomic<std::int64_t> sweptAt{-1};  ///< nanoseconds of CLOCK_BOOTTIME; negative: never
  std::shared_ptr<Parts> keptForEver{};   ///< itself, in a forked child; see ~SqliteStore
};

class SqliteStore final : public ExtendedStore {
 public:
  SqliteStore(SqliteStoreOptions options, const Logger& logger)
      : options_{std::move(options)},
        describe_{"sqlite " + options_.path},
        parts_{std::make_shared<Parts>(sessionOptions(describe_, options_, logger), logger)} {}

  ~SqliteStore() override {
    if (mark_.isHere()) {
      parts_->stop();
    } else {
      // The threads exist only in the parent, and SQLite's connections must not be closed here, so no destructor may
      // run.
      parts_->keptForEver = parts_;
    }
  }

  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  [[nodiscard]] std::string describe() const override { return describe_; }

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    parts_->sidecar->willWrite();
    submit(parts_->writer, options, std::move(handler),
           [](Session& session, const Deadline&) { return sqlite_store::ensureSchema(session); });
  }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    submit(parts_->reader, options, std::move(handler),
           [key](Session& session, const Deadline&) { return readLease(session, key); });
  }

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    parts_->sidecar->willWrite();
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    const auto handle = std::make_shared<WriteHandler>(std::move(handler));
    const auto shared = std::make_shared<const WriteRequest>(std::move(request));
    Job job{.deadline = Deadline{systemClock(), options.timeout},
            .run = [parts = parts_, shared, handle](
                       Session& session,
                       const Deadline& deadline) { writeAlone(*parts, session, *shared, *handle, deadline); },
            .refuse = [handle](StoreError error) { (*handle)(Rejected{std::move(error)}); }};
    if (!acquires) makeOneOfMany(job, shared, handle);
    parts_->writer.post(std::move(job));
  }

  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    submit(parts_->reader, options, std::move(handler),
           [prefix = std::move(prefix)](Session& session, const Deadline&) { return listLeases(session, prefix); });
  }

  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    submit(parts_->reader, options, std::move(handler),
           [prefix = std::move(prefix), from = std::move(from)](Session& session, const Deadline&) {
             return sqlite_store::listPage(session, prefix, from);
           });
  }

  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    parts_->sidecar->willWrite();
    submit(parts_->writer, options, std::move(handler),
           [key, request = std::move(request)](Session& session, const Deadline& deadline) {
             return askStepDown(session, key, request, deadline);
           });
  }

  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override {
    parts_->sidecar->willWrite();
    submit(parts_->writer, options, std::move(handler), [key, version](Session& session, const Deadline& deadline) {
      return removeLease(session, key, version, deadline);
    });
  }

  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    submit(parts_->reader, options, std::move(handler),
           [key](Session& session, const Deadline&) { return sqlite_store::readTokens(session, key); });
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    parts_->sidecar->willWrite();
    submit(parts_->writer, options, std::move(handler),
           [key, expected = std::move(expected), token](Session& session, const Deadline& deadline) {
             return sqlite_store::setTokens(session, key, expected, token, deadline);
           });
  }

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return parts_->sidecar->watch(key, std::move(hint));
  }

  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override {
    return parts_->sidecar->watchLoss(hint);
  }

  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override {
    if (!options_.crashNotice) return nullptr;
    return {parts_->sidecar, &parts_->sidecar->deathNotice()};
  }

 private:
  /// A successor removes what a dead holder left, on the reader's thread, because renewals must not wait for it.
  static void sweepSoon(Parts& parts) {
    const std::int64_t now = readClock().boottime.count();
    const std::int64_t last = parts.sweptAt.load();
    if (last >= 0 && now - last < std::chrono::nanoseconds{sweepInterval}.count()) return;
    parts.sweptAt.store(now);
    parts.reader.post(Job{.deadline = Deadline{systemClock(), sweepInterval},
                          .run =
                              [](Session& session, const Deadline&) {
                                sweepSidecar(session);
                                static_cast<void>(session.endCall());
                              },
                          .refuse = [](const StoreError&) {}});
  }

  static Session::Options sessionOptions(const std::string& store, SqliteStoreOptions options, const Logger& logger) {
    options.path = absolute(options.path);
    auto sidecar = std::make_shared<Sidecar>(store, options, logger);
    return {.store = store, .files = std::move(options), .sidecar = std::move(sidecar), .logger = logger};
  }

  /// The working directory may change later (daemons change it); the path is meant relative to the present one.
  static std::string absolute(const std::string& path) {
    std::error_code fault;
    const std::filesystem::path full = detail::workingDirectory(fault) / path;
    return path.empty() || fault ? path : full.string();
  }

  static void writeAlone(Parts& parts, Session& session, const WriteRequest& request, const WriteHandler& handle,
                         const Deadline& deadline) {
    OwnershipWrite write{session, request};
    WriteOutcome outcome = write.perform(deadline);
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    if (acquires && std::holds_alternative<Applied>(outcome)) sweepSoon(parts);
    handle(std::move(outcome));
    write.afterAnswer();
  }

  /// Renewals that wait at the same time are committed together, and so are releases. Of a release the waiting
  /// candidates are notified before (OwnershipWrite::conclude).
  static void makeOneOfMany(Job& job, const std::shared_ptr<const WriteRequest>& request,
                            const std::shared_ptr<WriteHandler>& handle) {
    job.batched = request;
    job.answer = [request, handle](Session& session, WriteOutcome outcome) {
      const bool renewed = request->purpose == WriteRequest::Purpose::renew && std::holds_alternative<Applied>(outcome);
      (*handle)(std::move(outcome));
      if (renewed) session.sidecar().notify(session.files(), request->key);
    };
  }

  template <class Result>
  static Result refusedWith(StoreError error) {
    if constexpr (std::is_same_v<Result, WriteOutcome>) {
      return Rejected{std::move(error)};
    } else {
      return error;
    }
  }

  /// A look at files that nobody had open is done again if somebody opened them meanwhile.
  template <class Result, class Work>
  static Result answerOf(Session& session, const Deadline& deadline, const Work& work) {
    for (int round = 0;; ++round) {
      Result result = work(session, deadline);
      if (session.endCall()) return result;
      if (!session.busyWait().step(round)) break;
    }
    return refusedWith<Result>(session.error(ErrorClass::transient, "the files were changed while they were read"));
  }

  /// Queues `work`. Its result (or the reason why it was not attempted) goes to `handler`.
  template <class Result, class Work>
  void submit(Worker& worker, CallOptions options, std::function<void(Result)> handler, Work work) {
    const auto shared = std::make_shared<std::function<void(Result)>>(std::move(handler));
    worker.post(Job{
        .deadline = Deadline{systemClock(), options.timeout},
        .run = [shared, work = std::move(work)](
                   Session& session,
                   const Deadline& deadline) { (*shared)(answerOf<Result>(session, deadline, work)); },
        .refuse = [shared](StoreError error) { (*shared)(refusedWith<Result>(std::move(error))); },
    });
  }

  const ProcessMark mark_{};
  const SqliteStoreOptions options_;
  const std::string describe_;
  const std::shared_ptr<Parts> parts_;
};

}  // namespace

std::shared_ptr<LeaseStore> makeSqliteStore(SqliteStoreOptions options, Logger logger) {
  return std::make_shared<SqliteStore>(std::move(options), logger);
}

namespace {

/// Empty if the path can be the name of a file. Whether there is one is found out by the store, at its first use.
std::string pathFault(const std::string& path) {
  constexpr const char* file = "; give the path of a file, such as ./tenure.db";
  if (path.empty()) return "is missing; give the database file, such as ./tenure.db";
  if (!isUtf8(path)) return inQuotes(path) + " is not UTF-8 text";
  if (std::string fault = faultOfPath(path); !fault.empty()) return fault;
  if (const auto odd = firstOddCharacter(path); odd && odd->kind == OddCharacter::Kind::unseen) {
    return inQuotes(path) + " holds " + odd->text() + " as character " + std::to_string(odd->number) +
           ", which cannot be seen";
  }
  if (path == ":memory:") return inQuotes(path) + " would be a separate database for each connection" + file;
  if (path.starts_with("file:")) return inQuotes(path) + " is a URI" + file;
  const std::string_view name = std::string_view{path}.substr(path.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") return inQuotes(path) + " names a directory; name a file in it";
  return {};
}

}  // namespace

OptionFaults faultsOf(const SqliteStoreOptions& options) {
  OptionFaults faults;
  if (std::string fault = pathFault(options.path); !fault.empty()) faults.push_back({"path", std::move(fault)});
  if (options.mode != 0600 && options.mode != 0640 && options.mode != 0660) {
    faults.push_back({"mode", modeText(options.mode) +
                                  " is not allowed; allowed is 0600, 0640 or 0660, because whoever may read the files "
                                  "can stop all elections"});
  } else if (!options.group.empty() && options.mode == 0600) {
    faults.push_back({"group",
                      "has no rights with mode 0600; give mode 0660 (or 0640, to look only), or leave the "
                      "group out"});
  }
  return faults;
}

}  // namespace tenure
