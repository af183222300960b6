// The PostgreSQL store as it is shipped, in virtual time: the simulation provides the database. It has a primary, of
// which the old one may live on, and standbys that lag behind or acknowledge each commit.
#include "simulation/sim_postgresql.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "lockcore/port/json_text.hpp"
#include "lockcore/port/successor_text.hpp"
#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/store.hpp"
#include "simulation/postgresql/sim_lease_table.hpp"
#include "simulation/sim_store_endpoint.hpp"

namespace tenure::test {
namespace {

using namespace postgresql_store;
using Commit = JobReply::Commit;

const LeaseKey tableKey{"lease"};
const Place place{"simulated", "tenure_lease"};
constexpr std::size_t mostLost = 32;

/// One server: its table, and what its standbys may lack.
struct Server {
  LeaseTable table{};
  std::uint64_t incarnation{0};                  ///< a connection to another one is dead
  std::deque<std::optional<LeaseRow>> before{};  // the states before the last commits, the latest last
  std::size_t unconfirmed{0};                    ///< of the last commits, by the synchronous standby
};

class SimPostgreSql final : public SimService {
 public:
  explicit SimPostgreSql(const PostgreSqlPlan& plan) : plan_{plan}, random_{plan.seed} {
    server_.table.history = "7/1";
    if (plan.counter.isNone()) return;
    LeaseRow row{.name = tableKey.name, .sort = tableKey.sortKey};
    row.counter = static_cast<std::int64_t>(plan.counter.value());
    row.history = row.counterHistory = server_.table.history;
    server_.table.row = std::move(row);
  }

  std::unique_ptr<SimEndpoint> connect(SimSurroundings& world, std::size_t process, SimLife& life) override;

  /// As LeaseStore::remove() does.
  bool erase() override {
    LeaseTable table = server_.table;
    const StoreResult<RowState> seen = leaseFrom(place, table.columns());
    const auto decision = stored::decideRemoval(RecordVersion{table.row->version.value_or("")}, *seen);
    const auto* change = std::get_if<stored::Change>(&decision);
    if (change == nullptr) return false;
    const RowState next = stateAfter(place, *seen, tableKey, *change);
    const Job job = Jobs::write(rowChangeOf(*seen, *change, next), false);
    if (table.run(job.statements.front()).rows.empty()) return false;
    commit(server_, std::move(table), false);
    return true;
  }
  bool put(const LeaseRecord& /*foreign*/) override { return false; }
  bool loseCounter() override { return false; }
  [[nodiscard]] bool counterLost() const override { return false; }
  void requestStepDown(const Successor& successor) override {
    if (!record()) return;
    server_.table.row->resign = server_.table.row->token.value_or(0);
    if (record()->released) return;
    LeaseRecord asked = *record();
    asked.successor = successor;
    server_.table.row->attributes = *attributesToJson(attributesWithSuccessor(asked));
  }

  [[nodiscard]] bool admits(FencingToken token) const override {
    return server_.table.admits(static_cast<std::int64_t>(token.value()));
  }

  std::optional<Promotion> promote(std::size_t commits) override;
  [[nodiscard]] Server& serverOf(bool old) { return old && old_ ? *old_ : server_; }
  JobReply serve(SimSurroundings& world, SimLife& life, Server& server, const Job& job, const AnswerFate& fate);
  [[nodiscard]] bool isPooled() const noexcept { return plan_.pooled; }

 private:
  JobReply run(SimSurroundings& world, SimLife& life, Server& server, const Job& job, const AnswerFate& fate);
  void commit(Server& server, LeaseTable table, bool unconfirmed);
  void refresh();
  [[nodiscard]] bool holdsTerm(TrueTime now);

  PostgreSqlPlan plan_;
  SeededRandom random_;
  Server server_{};
  std::optional<Server> old_{};
  std::uint64_t timeline_{1};
  TrueTime heldUntil_{0};  // by the last writer
};

/// The connections of one process. A job that is lost is not answered until its time is over; a second copy of one does
/// not exist, since a pipeline is one stream of bytes.
class SimDatabase final : public Database {
 public:
  SimDatabase(SimSurroundings& world, std::size_t process, SimLife& life, SimPostgreSql& service)
      : world_{world}, process_{process}, life_{life}, service_{service} {}

  void run(Job job, std::chrono::nanoseconds timeout, JobHandler handler) override {
    // Nobody listens here, and the store sends its last one while its process ends.
    if (job.statements.front().id == StatementId::notify) return;
    struct Call {
      JobHandler handler;
      int copies{0};
      std::uint64_t incarnation{0};
    };
    const auto call = std::make_shared<Call>(Call{std::move(handler)});
    call->incarnation = service_.serverOf(world_.isAtOldPrimary(process_)).incarnation;
    const auto answer = [call](JobReply reply) {
      if (const JobHandler once = std::exchange(call->handler, nullptr)) once(std::move(reply));
    };
    world_.exchange(
        process_, life_, timeout,
        [world = &world_, life = &life_, service = &service_, process = process_, job = std::move(job), call,
         answer](const AnswerFate& fate) -> SimSurroundings::Task {
          Server& server = service->serverOf(world->isAtOldPrimary(process));
          const bool cut = server.incarnation != call->incarnation && !service->isPooled();
          if (fate.deferred || cut) return [answer] { answer(cutOff()); };
          if (call->copies++ > 0) return [] {};
          return [answer, reply = service->serve(*world, *life, server, job, fate)] { answer(reply); };
        },
        [answer] {
          JobReply reply = cutOff();
          reply.why = "timed out";
          answer(std::move(reply));
        });
  }
  [[nodiscard]] std::string describe() const override { return "simulated"; }

  static JobReply cutOff() {
    JobReply reply;
    reply.commit = Commit::unanswered;
    reply.cause = JobReply::Cause::transient;
    reply.why = "the connection was closed";
    return reply;
  }

 private:
  SimSurroundings& world_;
  std::size_t process_;
  SimLife& life_;
  SimPostgreSql& service_;
};

std::unique_ptr<SimEndpoint> SimPostgreSql::connect(SimSurroundings& world, std::size_t process, SimLife& life) {
  StoreParts parts;
  parts.database = std::make_shared<SimDatabase>(world, process, life, *this);
  parts.scheduler = std::make_shared<LocalScheduler>(world, process, life);
  return std::make_unique<StoreEndpoint>(tableKey, makeStore({}, std::move(parts)));
}

/// A synchronous standby lacks at most those commits that it has not confirmed.
std::optional<SimTruth::Promotion> SimPostgreSql::promote(std::size_t commits) {
  old_ = server_;
  const auto leaseOf = [](const std::optional<LeaseRow>& row) {
    return std::chrono::milliseconds{row ? row->lease.value_or(0) : 0};
  };
  const std::optional<LeaseRow> was = server_.table.row;
  Promotion promotion{.longest = leaseOf(was)};
  const std::size_t most = plan_.synchronous ? random_.below(server_.unconfirmed + 1) : commits;
  for (; promotion.lost < most && !server_.before.empty(); ++promotion.lost) {
    server_.table.row = std::move(server_.before.back());
    server_.before.pop_back();
    promotion.longest = std::max(promotion.longest, leaseOf(server_.table.row));
  }
  server_.table.history = "7/" + std::to_string(++timeline_);
  server_.incarnation = timeline_;
  server_.unconfirmed = 0;
  heldUntil_ = TrueTime{0};
  const std::optional<LeaseRow>& is = server_.table.row;
  promotion.sameTerm =
      was && is && was->version && is->version && was->token == is->token && was->released == is->released;
  promotion.synchronous = plan_.synchronous;
  refresh();
  if (told()) promotion.waited = told()->leaseDuration;
  return promotion;
}

JobReply refused(Commit commit, const char* severity, const char* sqlState, JobReply::Cause cause) {
  JobReply reply;
  reply.commit = commit;
  reply.error = ServerError{severity, sqlState, "simulated"};
  reply.cause = cause;
  return reply;
}

JobReply SimPostgreSql::serve(SimSurroundings& world, SimLife& life, Server& server, const Job& job,
                              const AnswerFate& fate) {
  using Rejection = AnswerFate::Rejection;
  using Cause = JobReply::Cause;
  const bool early = random_.chance(0.5);
  switch (fate.error) {
    case Rejection::credentials:
      return early ? refused(Commit::notSent, "FATAL", "28P01", Cause::credentials)
                   : refused(Commit::rolledBack, "ERROR", "42501", Cause::none);
    case Rejection::misconfigured:
      return refused(Commit::rolledBack, "ERROR", "42P01", Cause::none);
    case Rejection::throttled:
      return early ? refused(Commit::notSent, "FATAL", "53300", Cause::transient)
                   : refused(Commit::rolledBack, "ERROR", "53100", Cause::none);
    case Rejection::transient:  // mostly a lock
      if (random_.chance(0.2)) return refused(Commit::rolledBack, "ERROR", "40001", Cause::none);
      if (random_.chance(0.2)) return refused(Commit::rolledBack, "ERROR", "55000", Cause::none);  // a standby
      break;
    case Rejection::corrupt:
    case Rejection::none:
      break;
  }
  if (&server != &server_) {
    life.atOldPrimary = true;
    world.misled(life);
  }
  if (!fate.unknown) return run(world, life, server, job, fate);
  // The COMMIT was queued. It was applied or not, and the server ends the connection or it breaks.
  if (early) static_cast<void>(run(world, life, server, job, fate));
  JobReply reply = SimDatabase::cutOff();
  if (random_.chance(0.5)) reply.error = ServerError{"FATAL", "57P01", "simulated"};
  return reply;
}

/// Whether a writer holds the term. The row has not changed since the last commit. So if it admits writers now, another
/// one has begun at every moment since.
bool SimPostgreSql::holdsTerm(TrueTime now) {
  if (plan_.longestWrite == TrueTime{0}) return false;
  const std::optional<LeaseRow>& row = server_.table.row;
  if (row && row->token && server_.table.admits(*row->token)) {
    const auto most = static_cast<std::uint64_t>(plan_.longestWrite.count());
    heldUntil_ = std::max(heldUntil_, now + TrueTime{static_cast<std::int64_t>(random_.below(most))});
  }
  return now < heldUntil_;
}

JobReply SimPostgreSql::run(SimSurroundings& world, SimLife& life, Server& server, const Job& job,
                            const AnswerFate& fate) {
  LeaseTable table = server.table;
  table.locked = job.writes && fate.error == AnswerFate::Rejection::transient;
  table.shared = &server == &server_ && holdsTerm(world.trueTime());
  const bool corrupt = fate.error == AnswerFate::Rejection::corrupt && table.row;
  if (corrupt) table.row->layout = 2;
  JobReply reply;
  reply.commit = Commit::done;
  for (const Statement& statement : job.statements) {
    StatementAnswer answer = table.run(statement);
    if (!answer.sqlState.empty()) {
      reply.commit = Commit::rolledBack;
      reply.error = ServerError{"ERROR", answer.sqlState, "simulated"};
      table.row = server.table.row;
      break;
    }
    reply.changed.push_back(answer.rows.size());
    reply.rows.push_back(std::move(answer.rows));
  }
  if (corrupt || !job.writes || table.row == server.table.row) return reply;
  const bool takes = table.row && (!server.table.row || table.row->token.value_or(0) > server.table.row->counter);
  if (takes && &server == &server_) world.taken();
  const bool sameVersion = server.table.row && table.row && server.table.row->version == table.row->version;
  if (sameVersion && &server == &server_ && table.row->counter != server.table.row->counter) {
    world.announced(life, FencingToken{static_cast<std::uint64_t>(*table.row->token)});
  }
  const bool stillOpen = server.table.row && table.row && server.table.row->token == table.row->token &&
                         !table.row->released.value_or(true);
  if (stillOpen && !sameVersion && server.table.row->counter > *table.row->token) world.renewedAfterAnnouncement(life);
  const bool unconfirmed = plan_.synchronous && fate.unconfirmed;
  commit(server, std::move(table), unconfirmed);
  if (unconfirmed) reply.warnings.push_back({"WARNING", "01000", "simulated"});
  const std::optional<LeaseRow>& row = server.table.row;
  if (!row || !row->version || sameVersion) return reply;
  if (&server == &server_) {
    world.stored(life, RecordVersion{*row->version});
  } else {
    world.storedAtOldPrimary(life, RecordVersion{*row->version}, FencingToken{static_cast<std::uint64_t>(*row->token)});
  }
  return reply;
}

void SimPostgreSql::commit(Server& server, LeaseTable table, bool unconfirmed) {
  server.before.push_back(std::move(server.table.row));
  if (server.before.size() > mostLost) server.before.pop_front();
  server.table.row = std::move(table.row);
  // A commit that is confirmed confirms those before it.
  server.unconfirmed = unconfirmed ? std::min(server.unconfirmed + 1, mostLost) : 0;
  if (&server == &server_) refresh();
}

void SimPostgreSql::refresh() {
  const auto lease = leaseFrom(place, server_.table.columns());
  const ReadOutcome told = lease->answer();
  const auto& record = *lease->record;
  now(record ? std::optional{record->record} : std::nullopt, *told);
}

}  // namespace

std::unique_ptr<SimService> makeSimPostgreSql(const PostgreSqlPlan& plan) {
  return std::make_unique<SimPostgreSql>(plan);
}

}  // namespace tenure::test
