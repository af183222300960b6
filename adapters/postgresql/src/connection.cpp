#include "connection.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <tenure/adapters/postgresql_fence_sql.hpp>

#include "lockcore/runtime/plain_locale.hpp"

namespace tenure::postgresql_fence {
namespace {

std::string inOneLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// A server's message begins with "ERROR:  ", which adds nothing to our text.
std::string messageOf(PGconn* connection, const PGresult* result) {
  if (result != nullptr) {
    if (const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY); primary != nullptr) {
      return inOneLine(primary);
    }
  }
  std::string text = inOneLine(PQerrorMessage(connection));
  return text.empty() ? "no answer" : text;
}

/// libpq's own notice receiver, which calls the notice processor and needs no argument. Each new connection has it,
/// also one that is not made, because it has no connection string.
PQnoticeReceiver usualReceiver() {
  static const PQnoticeReceiver usual = [] {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> none{PQconnectStart("none"), &PQfinish};
    return PQsetNoticeReceiver(none.get(), nullptr, nullptr);
  }();
  return usual;
}

/// A warning with a context comes from code that the statement runs, such as a deferred trigger.
bool isServersWarning(const PGresult* notice) {
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity != nullptr && std::string_view{severity} == "WARNING" &&
         PQresultErrorField(notice, PG_DIAG_CONTEXT) == nullptr;
}

std::string adviceFor(std::string_view state) {
  if (state == "40001" || state == "40P01") return "; roll back and make the whole write again";
  if (state == "55P03") return "; another writer held the lock for the whole lockTimeout";
  if (state == "25006") return "; this server takes no writes, so connect to the primary";
  if (state == "42501")
    return "; grant SELECT, INSERT and UPDATE on tenure_fence_guard to the writer's role, and SELECT and "
           "UPDATE (renewed_at) on the leaseTable if there is one";
  return {};
}

}  // namespace

bool isDone(const PGresult* result) noexcept {
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
    case PGRES_EMPTY_QUERY:
      return true;
    default:
      return false;
  }
}

std::string sqlState(const PGresult* result) {
  const char* state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state == nullptr ? std::string{} : std::string{state};
}

bool isRetriable(std::string_view state) noexcept { return state == "40001" || state == "40P01" || state == "55P03"; }

ErrorClass classOf(std::string_view state) noexcept {
  // Class 08: connection; 40: rollback; 57: operator's intervention (shutdown, cancel, time-out); 58: the system.
  constexpr std::array<std::string_view, 4> transientClasses{"08", "40", "57", "58"};
  const std::string_view kind = state.substr(0, 2);
  if (state.empty() || state == "55P03" || state == "25P03") return ErrorClass::transient;
  if (state == "42501" || kind == "28") return ErrorClass::credentials;
  if (kind == "53")
    return state == "53300" ? ErrorClass::throttled : ErrorClass::transient;  // resources; 53300: sessions
  if (state == postgresqlDamagedState) return ErrorClass::corrupt;
  if (kind == "XX") return state == "XX000" ? ErrorClass::transient : ErrorClass::corrupt;
  const bool passes = std::find(transientClasses.begin(), transientClasses.end(), kind) != transientClasses.end();
  return passes ? ErrorClass::transient : ErrorClass::misconfigured;
}

Result Connection::exec(const std::string& sql) const {
  const PlainLocale plain;  // libpq words its errors while it works, not when it is asked for them
  return Result{PQexec(connection_, sql.c_str())};
}

bool Connection::hearsWarnings() const {
  return PQsetNoticeReceiver(connection_, nullptr, nullptr) == usualReceiver();  // which changes nothing
}

Result Connection::execHearing(const std::string& sql, std::string& warning) const {
  const auto hear = [](void* heard, const PGresult* notice) {
    if (isServersWarning(notice)) *static_cast<std::string*>(heard) = messageOf(nullptr, notice);
    usualReceiver()(nullptr, notice);
  };
  PQsetNoticeReceiver(connection_, hear, &warning);
  Result result = exec(sql);
  PQsetNoticeReceiver(connection_, usualReceiver(), nullptr);
  return result;
}

std::vector<Result> Connection::execAll(const std::string& sql) const {
  const PlainLocale plain;
  std::vector<Result> answers;
  if (PQsendQuery(connection_, sql.c_str()) == 1) {
    for (Result answer{PQgetResult(connection_)}; answer; answer = Result{PQgetResult(connection_)}) {
      answers.push_back(std::move(answer));
    }
  }
  if (answers.empty()) answers.emplace_back();
  return answers;
}

std::string Connection::quoted(const std::string& text, Quote quote) const {
  const std::unique_ptr<char, decltype(&PQfreemem)> made{quote(connection_, text.data(), text.size()), &PQfreemem};
  return made == nullptr ? std::string{} : std::string{made.get()};
}

FenceError Connection::errorOf(const std::string& what, const PGresult* result, bool mayBeWritten) const {
  const std::string state = sqlState(result);
  std::string text = what + " failed: " + messageOf(connection_, result);
  if (!state.empty()) text += " (SQLSTATE " + state + ')';
  if (PQstatus(connection_) == CONNECTION_BAD) text += "; the connection is lost, so make a new one or PQreset this";
  text += adviceFor(state);
  return fenceError({classOf(state), name() + ": " + text}, mayBeWritten);
}

FenceError Connection::misuse(const std::string& text, bool mayBeWritten) const {
  return fenceError({ErrorClass::misconfigured, name() + ": " + text}, mayBeWritten);
}

std::string Connection::name() const {
  const auto known = [](const char* text) { return text == nullptr ? std::string{} : std::string{text}; };
  return "PostgreSQL database " + known(PQdb(connection_)) + " at " + known(PQhost(connection_));
}

}  // namespace tenure::postgresql_fence
