// What the store asks of a database: small transactions of known statements, and a truthful account of what came back.
// link/ implements it over libpq; the simulation implements it in memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tenure::postgresql_store {

/// A value in text format; empty: NULL.
using Value = std::optional<std::string>;
using Row = std::vector<Value>;

/// The statements of the store. statements.hpp has the SQL of each, and says which values it takes and which columns it
/// returns.
enum class StatementId {
  readLease,   ///< the row and the present history
  readLeases,  ///< the same for many
  listLeases,
  updateTerm,       ///< a change that leaves the token: it passes writers that hold the term
  updateTerms,      ///< many renewals; a row that somebody has locked is left out
  endTerm,          ///< a change that takes the record away, against writers
  beginTerm,        ///< a change to another token, against writers, in the history that was seen
  updateInHistory,  ///< a change that leaves the token, in the history that was seen
  insertRow,        ///< the same where there is no row
  notify,           ///< tells listeners something
  readLayout,       ///< whether the table is there, and of which kind
  createTable,
};
inline constexpr std::size_t statementCount = static_cast<std::size_t>(StatementId::createTable) + 1;

struct Statement {
  StatementId id;
  std::vector<Value> values{};
};

/// One transaction, sent in one flush: the statements between BEGIN, the settings that they depend on, and COMMIT.
struct Job {
  bool writes{false};
  /// Whether the statements ask for the server's history; false once it has refused to tell it (0A000, 42883).
  bool history{true};
  /// It does not wait behind jobs that are not urgent: a connection is kept for such jobs.
  bool urgent{false};
  /// A wait for a lock of somebody else's ends after this time; empty: it may last nearly as long as the job.
  std::optional<std::chrono::milliseconds> lockWait{};
  std::vector<Statement> statements{};
};

/// What the server said beside or instead of rows.
struct ServerError {
  std::string severity{};  ///< never translated: ERROR, FATAL, PANIC, WARNING, ...
  std::string sqlState{};
  std::string message{};  ///< for people only
};

/// What became of a job. Every part states what was seen, and nothing that was concluded.
struct JobReply {
  /// How far the COMMIT came.
  enum class Commit {
    notSent,     ///< not a byte of it left this process, so it never takes effect
    unanswered,  ///< it may have left, and its answer was not seen
    done,        ///< the server answered COMMIT
    rolledBack,  ///< the server answered that it has rolled back, or an ERROR before or at COMMIT
  };
  Commit commit{Commit::notSent};
  std::vector<std::vector<Row>> rows{};  ///< of `statements`, as far as they were answered without an error
  std::vector<std::size_t> changed{};    ///< how many rows each answered statement of `statements` changed or returned
  std::optional<ServerError> error{};    ///< the first ERROR, FATAL or PANIC
  std::vector<ServerError> warnings{};   ///< the first ones that came with severity WARNING
  std::string why{};                     ///< for people: why the connection ended or was not made, or that time was up
  /// An error of a kind that waiting does not repair soon (a refused password, an unknown name, a bad certificate).
  enum class Cause { none, transient, credentials, misconfigured } cause{Cause::none};
};

using JobHandler = std::function<void(JobReply)>;

class Database {
 public:
  virtual ~Database() = default;

  /// Returns at once; any thread. The handler is called exactly once, on the database's thread, never inside this call;
  /// with `notSent` or `unanswered` when `timeout` has passed since this call, or when the database is destroyed. No
  /// job waits for more than a moment behind another one that the server has not answered, beyond the bound on
  /// connections. A job that is out
  /// of time is never cancelled at the server: its connection is dropped.
  virtual void run(Job job, std::chrono::nanoseconds timeout, JobHandler handler) = 0;

  /// For people, without secrets: `postgresql jobs at db1:5432, table public.tenure_lease`.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tenure::postgresql_store
