#include "judge.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lockcore/stores/postgresql/src/statements.hpp"

namespace tenure::postgresql_store {
namespace {

using Commit = JobReply::Commit;

StoreError errorIn(const Call& call, const JobReply& reply) {
  if (reply.error) return errorOf(call, *reply.error);
  return errorOf(call, reply.cause, reply.why);
}

/// Every server of this protocol says so in a severity that is not translated.
bool endsConnection(const ServerError& serverError) { return serverError.severity != "ERROR"; }

/// What stands between here and the server says that it has lost the server, or whoever answers does not know what
/// became of the COMMIT. The COMMIT is under way when the first error is seen, so it may have been carried out.
bool leavesOpen(const ServerError& serverError) {
  return endsConnection(serverError) || serverError.sqlState.starts_with("08") || serverError.sqlState == "40003";
}

}  // namespace

Verdict verdictOnWrite(const Call& call, const JobReply& reply) {
  switch (reply.commit) {
    case Commit::notSent:
      return {Fate::notApplied, errorIn(call, reply)};
    case Commit::rolledBack:
      if (reply.error && leavesOpen(*reply.error)) return {Fate::unknown, errorIn(call, reply)};
      return {Fate::notApplied, errorIn(call, reply)};
    case Commit::unanswered:
      return {Fate::unknown, errorIn(call, reply)};
    case Commit::done:
      break;
  }
  if (reply.warnings.empty()) return {Fate::committed, {}};
  StoreError error = errorOf(call, reply.warnings.front());
  error.errorClass = ErrorClass::transient;
  error.message += ". It may be lost if this server is";
  return {Fate::unknown, std::move(error)};
}

std::optional<StoreError> faultOfRead(const Call& call, const JobReply& reply) {
  if (reply.commit == Commit::done) return std::nullopt;
  return errorIn(call, reply);
}

bool mayGoWithoutHistory(const Job& job, const JobReply& reply) noexcept {
  return job.history && reply.commit == Commit::rolledBack && reply.error && !endsConnection(*reply.error) &&
         mayLackHistory(*reply.error);
}

bool wasKeptOut(const JobReply& reply) noexcept {
  return reply.commit == Commit::rolledBack && reply.error && reply.error->sqlState == "55P03" && reply.rows.empty();
}

namespace {

constexpr auto transient = ErrorClass::transient;
constexpr auto throttled = ErrorClass::throttled;
constexpr auto credentials = ErrorClass::credentials;
constexpr auto misconfigured = ErrorClass::misconfigured;

constexpr std::string_view makeTable =
    "The table {table} is missing or is not as tenure needs it. `tenure store sql` prints what creates it; check "
    "schema and table in the options as well";
constexpr std::string_view noSuchObject =
    "A setting in PGOPTIONS or in `options`, or an object that the table {table} needs, does not exist on this server";
constexpr std::string_view standby =
    "The server is a standby or read-only. Give all servers in the connection string with "
    "target_session_attrs=primary; "
    "if it is the primary, set default_transaction_read_only = off for this role and database";
constexpr std::string_view full = "The server is out of resources; look at its disk, memory and log";
constexpr std::string_view slots =
    "All connections of the server, the database or the role are taken: raise max_connections or the role's connection "
    "limit, or put a pooler between";
constexpr std::string_view password =
    "Check user and password (store.password_file, store.passfile, service file or PGPASSWORD), and pg_hba.conf of the "
    "server";
constexpr std::string_view shortly = "The server is starting, stopping or recovering";
constexpr std::string_view encoding = "Names and attributes need a database with encoding UTF8";
constexpr std::string_view tooLong =
    "Name and sort key are too long together for PostgreSQL's index, which takes about 2,700 bytes";

/// Sorted by state.
constexpr std::array rules{
    StateRule{"0A000", misconfigured, "Something between here and the server does not know this feature"},
    StateRule{"0LP01", credentials, ""},
    StateRule{"0P000", misconfigured, "The role does not exist"},
    StateRule{"21000", misconfigured, makeTable},
    StateRule{"22021", misconfigured, encoding},
    StateRule{"22P05", misconfigured, encoding},
    StateRule{"23505", transient, "Another client has made the row at the same moment"},
    StateRule{"25006", transient, standby},
    StateRule{"26000", transient, "A prepared statement is not there, or not as it was; it is not used again"},
    StateRule{"28000", credentials, password},
    StateRule{"28P01", credentials, password},
    StateRule{"3D000", misconfigured, "The database does not exist: check its name, or create it"},
    StateRule{"3F000", misconfigured, "The schema does not exist: check its name, or create it"},
    StateRule{"40001", transient, ""},
    StateRule{"40003", transient, ""},
    StateRule{"40P01", transient, ""},
    StateRule{
        "42501", credentials,
        "The role may not do this: GRANT USAGE on the schema, and SELECT, INSERT, UPDATE on {table}; `tenure store "
        "sql` prints the statements. To create the table, it needs CREATE on the schema. If row-level security refuses "
        "this: ALTER TABLE ... DISABLE ROW LEVEL SECURITY"},
    StateRule{"42601", misconfigured, "The server does not understand the statement; PostgreSQL 14 or later is needed"},
    StateRule{"42703", misconfigured, makeTable},
    StateRule{"42704", misconfigured, noSuchObject},
    StateRule{"42804", misconfigured, makeTable},
    StateRule{"42883", misconfigured, "The server lacks a function; PostgreSQL 14 or later is needed"},
    StateRule{"42P01", misconfigured, makeTable},
    StateRule{"42P10", misconfigured, makeTable},
    StateRule{"53000", throttled, full},
    StateRule{"53100", throttled, full},
    StateRule{"53200", throttled, full},
    StateRule{"53300", throttled, slots},
    StateRule{"53400", throttled, full},
    StateRule{"54000", misconfigured, tooLong},
    StateRule{"55000", transient, standby},
    StateRule{"55P03", transient, "Another transaction has locked the lease's row or the table"},
    StateRule{"57014", transient, "The statement was not served in the call's time, or it was cancelled"},
    StateRule{"57P01", transient, shortly},
    StateRule{"57P02", transient, shortly},
    StateRule{"57P03", transient, shortly},
    StateRule{"57P04", misconfigured, "The database was dropped"},
    StateRule{"58P01", throttled, full},
};
static_assert(std::is_sorted(rules.begin(), rules.end(),
                             [](const StateRule& a, const StateRule& b) { return a.state < b.state; }));

/// By the first two letters, where the code is not listed above.
constexpr std::array classRules{
    StateRule{"08", transient, "The connection failed"},
    StateRule{"0A", misconfigured, ""},
    StateRule{"22", misconfigured, "tenure and the table disagree about a value; is it the right table?"},
    StateRule{"23", misconfigured, "A constraint that was added to the table refuses this; remove it"},
    StateRule{"25", transient, ""},
    StateRule{"28", credentials, password},
    StateRule{"40", transient, ""},
    StateRule{"42", misconfigured, makeTable},
    StateRule{"53", throttled, full},
    StateRule{"54", misconfigured, ""},
    StateRule{"55", transient, ""},
    StateRule{"57", transient, shortly},
    StateRule{"58", transient, full},
    StateRule{"P0", misconfigured, "A trigger or a rule on the table refuses this; remove it"},
    StateRule{"XX", transient, "Look at the server's log"},
};

constexpr StateRule unknown{"", transient, ""};

std::string withNames(std::string_view advice, const Call& call) {
  std::string text{advice};
  constexpr std::string_view place = "{table}";
  if (const std::size_t at = text.find(place); at != std::string::npos) {
    text.replace(at, place.size(), qualifiedName(call.schema, call.table));
  }
  return text;
}

/// The server's own message: one line, not too long.
std::string oneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  constexpr std::size_t longest = 400;
  if (text.size() > longest) {
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.resize(end);
    text += "...";
  }
  return text;
}

}  // namespace

const StateRule& ruleOf(std::string_view sqlState) noexcept {
  const auto* const exact = std::lower_bound(rules.begin(), rules.end(), sqlState,
                                             [](const StateRule& rule, std::string_view s) { return rule.state < s; });
  if (exact != rules.end() && exact->state == sqlState) return *exact;
  const auto* const general = std::find_if(classRules.begin(), classRules.end(),
                                           [&](const StateRule& rule) { return sqlState.substr(0, 2) == rule.state; });
  return general != classRules.end() ? *general : unknown;
}

/// 55000 is what a standby says, and Amazon Aurora where its log is not a logical one.
bool mayLackHistory(const ServerError& serverError) noexcept {
  const std::string_view state = serverError.sqlState;
  return state == "0A000" || state == "42883" || state == "55000";
}

StoreError errorOf(const Call& call, const ServerError& serverError) {
  const StateRule& rule = ruleOf(serverError.sqlState);
  std::string text =
      call.store + ": " + call.doing + ": " + oneLine(serverError.message) + " (SQLSTATE " + serverError.sqlState + ")";
  if (!rule.advice.empty()) text += ". " + withNames(rule.advice, call);
  StoreError error{rule.errorClass, std::move(text)};
  error.lacksSchema = serverError.sqlState == "42P01" || serverError.sqlState == "42501";
  return error;
}

StoreError errorOf(const Call& call, JobReply::Cause cause, const std::string& why) {
  const std::string text = call.store + ": " + call.doing + ": " + (why.empty() ? "no answer" : oneLine(why));
  switch (cause) {
    case JobReply::Cause::credentials:
      return {credentials, text};
    case JobReply::Cause::misconfigured:
      return {misconfigured, text};
    case JobReply::Cause::none:
    case JobReply::Cause::transient:
      break;
  }
  return {transient, text};
}

StoreError errorOfToken(const Call& call) {
  return {ErrorClass::corrupt, call.store + ": " + call.doing +
                                   ": the answer has no valid fencing token. Check what is between this program "
                                   "and PostgreSQL, and the row"};
}

}  // namespace tenure::postgresql_store
