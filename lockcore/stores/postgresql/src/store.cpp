#include "store.hpp"

#include <cstddef>
#include <utility>

#include <tenure/lockcore/store_checks.hpp>

#include "calls.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "renewal_batch.hpp"
#include "term_files.hpp"

namespace tenure::postgresql_store {
namespace {

/// PostgreSQL ends a value at 1 GB, and data travels as two digits a byte.
constexpr std::size_t mostData = std::size_t{256} << 20U;

/// A thin shell: calls become jobs. A call under way lives in its handlers, so it is answered even when the store is
/// gone.
class PostgresqlStore final : public LeaseStore {
 public:
  PostgresqlStore(const PostgresqlStoreOptions& options, StoreParts parts)
      : database_{std::move(parts.database)},
        watch_{std::move(parts.watch)},
        core_{std::make_shared<StoreCore>(database_, database_->describe(), options.schema, options.table, parts.logger,
                                          std::move(parts.scheduler))},
        renewals_{std::make_shared<RenewalBatcher>(core_)} {
    if (!options.livenessDirectory.empty()) {
      files_ = std::make_shared<TermFiles>(core_->where(), options.livenessDirectory, std::move(parts.logger));
    }
  }

  ~PostgresqlStore() override {
    if (mark_.isHere()) core_->notifier().sendRest();  // a forked child has no thread for it
  }
  PostgresqlStore(const PostgresqlStore&) = delete;
  PostgresqlStore& operator=(const PostgresqlStore&) = delete;

  [[nodiscard]] std::string describe() const override { return core_->where(); }

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    postgresql_store::ensureSchema(core_, core_->deadline(options.timeout), std::move(handler));
  }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    if (auto refused = refusalOf(key)) return core_->post(std::move(handler), ReadOutcome{*std::move(refused)});
    readLease(core_, key, core_->deadline(options.timeout), std::move(handler));
  }

  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    OptionFaults faults = LeaseStore::faultsOfPayload(key, data, attributes);
    if (data.size() > mostData) faults.push_back({"data", "PostgreSQL takes at most 256 MiB here"});
    return faults;
  }

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (auto refused = refusalOf(request)) return refuse(std::move(handler), *std::move(refused));
    if (files_) {
      auto noting = TermFiles::during(files_, request, handler);
      if (noting.has_error()) return refuse(std::move(handler), noting.error());
      handler = std::move(*noting);
    }
    const Deadline deadline = core_->deadline(options.timeout);
    // In a forked child, nobody would send what waits for others.
    if (Jobs::mayJoin(request) && mark_.isHere())
      return renewals_->add(std::move(request), deadline, std::move(handler));
    writeLease(core_, std::move(request), deadline, std::move(handler));
  }

  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    if (auto refused = refusalOfPrefix(prefix)) return core_->post(std::move(handler), ListOutcome{*refused});
    listLeases(core_, prefix, core_->deadline(options.timeout), std::move(handler));
  }

  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    if (auto refused = refusalOfPrefix(prefix)) return core_->post(std::move(handler), PageOutcome{*refused});
    postgresql_store::listPage(core_, prefix, from, core_->deadline(options.timeout), std::move(handler));
  }

  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override {
    if (auto refused = refusalOf(key)) return refuse(std::move(handler), *std::move(refused));
    // No term has a greater one, and the server could not compare with it.
    const FencingToken asked = token > maxFencingToken ? FencingToken{} : token;
    askToStepDown(core_, key, asked, core_->deadline(options.timeout), std::move(handler));
  }

  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override {
    if (auto refused = refusalOf(key)) return refuse(std::move(handler), *std::move(refused));
    removeLease(core_, key, version, core_->deadline(options.timeout), std::move(handler));
  }

  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    if (auto refused = refusalOf(key)) return core_->post(std::move(handler), StoreResult<StoredTokens>{*refused});
    postgresql_store::readTokens(core_, key, core_->deadline(options.timeout), std::move(handler));
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    if (auto refused = refusalOfRecovery(key, token)) return refuse(std::move(handler), *std::move(refused));
    postgresql_store::setTokens(core_, key, expected, token, core_->deadline(options.timeout), std::move(handler));
  }

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return watch_ ? watch_(payloadOf(key), std::move(hint)) : nullptr;
  }

  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override {
    if (!files_) return nullptr;
    return {files_, &files_->deathNotice()};
  }

 private:
  void refuse(WriteHandler handler, StoreError error) const {
    core_->post(std::move(handler), WriteOutcome{Rejected{std::move(error)}});
  }

  [[nodiscard]] std::optional<StoreError> refusalOfPrefix(const std::string& prefix) const {
    if (isUtf8(prefix) && prefix.find('\0') == std::string::npos) return std::nullopt;
    return StoreError{ErrorClass::misconfigured, core_->where() + ": the prefix is not UTF-8 text without NUL"};
  }

  const ProcessMark mark_{};
  const std::shared_ptr<Database> database_;
  const std::function<std::shared_ptr<void>(std::string, std::function<void()>)> watch_;
  const CorePtr core_;
  const std::shared_ptr<RenewalBatcher> renewals_;
  std::shared_ptr<TermFiles> files_{};
};

}  // namespace

std::shared_ptr<LeaseStore> makeStore(const PostgresqlStoreOptions& options, StoreParts parts) {
  return std::make_shared<PostgresqlStore>(options, std::move(parts));
}

}  // namespace tenure::postgresql_store
