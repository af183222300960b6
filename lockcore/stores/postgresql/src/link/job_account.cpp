#include "job_account.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "lockcore/port/fnv1a.hpp"

namespace tenure::postgresql_store {
namespace {

constexpr std::string_view beginText = "BEGIN ISOLATION LEVEL READ COMMITTED";
constexpr std::string_view commitText = "COMMIT";

struct Setting {
  std::string_view name;
  std::string_view value;
};

/// What the statements depend on, whatever the defaults of the role and the database are. It holds for one transaction,
/// because a pooler gives the connection to others. Not here: what the statements are written not to depend on, such as
/// the forms of times, numbers and bytes.
constexpr std::array localSettings{
    Setting{"synchronous_commit", "$1"},
    Setting{"lock_timeout", "$2"},
    Setting{"statement_timeout", "$3"},
    Setting{"idle_in_transaction_session_timeout", "$4"},
    Setting{"client_min_messages", "'warning'"},
    Setting{"array_nulls", "'on'"},
    Setting{"quote_all_identifiers", "'off'"},  // it is in what readLayout compares
    // A plan of high costs would be compiled, which takes a hundred times as long as the statement.
    Setting{"jit", "'off'"},
    // Each statement finds its rows by an index, whatever the values are, also while the table is small: a plan is
    // kept.
    Setting{"plan_cache_mode", "'force_generic_plan'"},
    Setting{"enable_seqscan", "'off'"},
    Setting{"max_parallel_workers_per_gather", "'0'"},
    Setting{"enable_bitmapscan", "'on'"},
    Setting{"enable_hashjoin", "'on'"},
    Setting{"enable_indexscan", "'on'"},
    Setting{"enable_mergejoin", "'on'"},
    Setting{"enable_nestloop", "'on'"},
    Setting{"enable_sort", "'on'"},
    Setting{"enable_tidscan", "'on'"},
    Setting{"seq_page_cost", "'1'"},
    Setting{"random_page_cost", "'4'"},
    Setting{"cpu_tuple_cost", "'0.01'"},
    Setting{"cpu_index_tuple_cost", "'0.005'"},
    Setting{"cpu_operator_cost", "'0.0025'"},
    // A schema in front of pg_catalog may have operators and types of the same names. The server looks names up when a
    // message arrives, and it has carried out this one by then.
    Setting{"search_path", "'pg_catalog, pg_temp'"},
};
/// Since PostgreSQL 17. An earlier server refuses the name.
constexpr Setting timeOfTransaction{"transaction_timeout", "'0'"};
constexpr int firstWithTimeOfTransaction = 170'000;

/// One message instead of a SET LOCAL for each.
std::string setLocally(bool limitsTransactions) {
  std::string text{"SELECT "};
  const auto add = [&](const Setting& one) {
    text += (text.back() == ' ' ? "" : ", ");
    ((text += "pg_catalog.set_config('") += one.name) += "', ";
    (text += one.value) += ", true)";
  };
  for (const Setting& one : localSettings) add(one);
  if (limitsTransactions) add(timeOfTransaction);
  return text + ", pg_catalog.pg_backend_pid()";
}

constexpr std::size_t mostWarnings = 8;

std::size_t numberIn(const char* text) {
  const std::string_view digits{text};
  std::size_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

Row rowOf(const PGresult& result, int row) {
  Row values;
  for (int column = 0; column < PQnfields(&result); ++column) {
    if (PQgetisnull(&result, row, column) != 0) {
      values.emplace_back();
    } else {
      values.emplace_back(std::in_place, PQgetvalue(&result, row, column),
                          static_cast<std::size_t>(PQgetlength(&result, row, column)));
    }
  }
  return values;
}

}  // namespace

/// A lock or a statement that takes too long ends by an ERROR that still arrives in time, and an ERROR is a clear
/// answer.
std::vector<Value> transactionSettings(const std::string& commitMode, std::chrono::nanoseconds inTime,
                                       std::optional<std::chrono::milliseconds> lockWait) {
  const auto millis = std::max<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(inTime).count(), 8);
  const long long longestWait = millis * 3 / 4;
  const long long wait = lockWait ? std::min<long long>(lockWait->count(), longestWait) : longestWait;
  return {commitMode, std::to_string(wait), std::to_string(millis * 7 / 8), std::to_string(millis)};
}

std::string_view settingsText(int serverVersion) {
  static const std::string usual = setLocally(false);
  static const std::string withTime = setLocally(true);
  return serverVersion >= firstWithTimeOfTransaction ? withTime : usual;
}

std::vector<Message> messagesOf(const Job& job, const StatementText& text, std::string_view settingsSql,
                                const std::vector<Value>& settings) {
  std::vector<Message> messages{{Message::Part::begin, beginText}, {Message::Part::settings, settingsSql, &settings}};
  for (const Statement& one : job.statements) {
    messages.push_back({Message::Part::statement, text(one.id, job.history), &one.values});
  }
  messages.push_back({Message::Part::commit, commitText});
  return messages;
}

JobAccount::JobAccount(std::vector<Message> messages) : messages_{std::move(messages)} {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].part == Message::Part::commit) deciding_ = i;
  }
}

void JobAccount::take(const PGresult& result) {
  if (answered_ >= messages_.size()) return;
  const ExecStatusType status = PQresultStatus(&result);
  if (status == PGRES_FATAL_ERROR) {
    const ServerError serverError = serverErrorOf(&result);
    if (serverError.severity.empty()) return;  // libpq's own error on the connection
    if (!reply_.error) {
      reply_.error = serverError;
      failed_ = &messages_[answered_];
    }
    // An ERROR undoes the transaction, and the server skips what comes behind it. A FATAL ends the connection and tells
    // nothing about a COMMIT that may have been carried out.
    if (serverError.severity == "ERROR" && answered_ <= deciding_ && !decided_) decided_ = rolledBack_ = true;
    return;
  }
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY) return;
  const Message::Part part = messages_[answered_].part;
  if (part == Message::Part::statement) {
    auto& rows = reply_.rows.emplace_back();
    for (int row = 0; row < PQntuples(&result); ++row) rows.push_back(rowOf(result, row));
    reply_.changed.push_back(numberIn(PQcmdTuples(const_cast<PGresult*>(&result))));
  }
  if (part == Message::Part::prepare) prepared_.push_back(&messages_[answered_]);
  if (part == Message::Part::settings && PQntuples(&result) == 1) {
    serverProcess_ = static_cast<int>(numberIn(PQgetvalue(&result, 0, PQnfields(&result) - 1)));
  }
  if (answered_ != deciding_ || decided_) return;
  decided_ = true;
  // COMMIT of a transaction that has failed answers ROLLBACK, without an error.
  rolledBack_ = std::string_view{PQcmdStatus(const_cast<PGresult*>(&result))} != "COMMIT";
}

void JobAccount::notice(const PGresult& result) {
  ServerError serverError = serverErrorOf(&result);
  if (serverError.severity == "WARNING") {
    if (reply_.warnings.size() < mostWarnings) reply_.warnings.push_back(std::move(serverError));
  } else if ((serverError.severity == "FATAL" || serverError.severity == "PANIC") && !reply_.error) {
    reply_.error = std::move(serverError);
  }
}

/// What was prepared in the same job fits the table, so 0A000 is the statement's own then.
bool JobAccount::lacksPrepared() const {
  if (!rolledBack_ || failed_ == nullptr || failed_->name.empty()) return false;
  const std::string state = errorState();
  const bool isNew = std::any_of(messages_.begin(), messages_.end(), [&](const Message& one) {
    return one.part == Message::Part::prepare && one.name == failed_->name;
  });
  return state == "26000" || state == "42P05" || (state == "0A000" && !isNew);
}

std::string JobAccount::errorState() const { return reply_.error ? reply_.error->sqlState : std::string{}; }

/// Messages are queued in order, and the connection is given up as soon as one cannot be queued. So if the deciding
/// message was not queued, it exists nowhere. If it was, libpq may have sent it at once, and where sending fails it
/// does not tell how much had left (PQflush answers 0 then, too). So everything from there on counts as sent.
JobReply JobAccount::reply() {
  using Commit = JobReply::Commit;
  if (decided_) {
    reply_.commit = rolledBack_ ? Commit::rolledBack : Commit::done;
  } else {
    reply_.commit = queued_ > deciding_ ? Commit::unanswered : Commit::notSent;
  }
  // 0A000 says nothing about functions that the server may lack then.
  if (lacksPrepared()) reply_.error->sqlState = "26000";
  return std::exchange(reply_, {});
}

std::vector<Message> PreparedStatements::in(std::vector<Message> messages) {
  if (!direct_ || useless_) return messages;
  std::vector<Message> out;
  for (Message& message : messages) {
    if (message.values != nullptr && !message.values->empty()) {
      message.name = "tenure_" + fnv1aTwice(message.sql);
      if (!names_.contains(message.name)) out.push_back({Message::Part::prepare, message.sql, nullptr, message.name});
    }
    out.push_back(std::move(message));
  }
  return out;
}

void PreparedStatements::learn(const JobAccount& account, int serverProcess) {
  const int answered = account.serverProcess();
  direct_ = direct_ || (answered != 0 && answered == serverProcess);
  useless_ = useless_ || account.lacksPrepared() || (answered != 0 && answered != serverProcess);
  for (const Message* made : account.prepared()) names_.insert(made->name);
}

}  // namespace tenure::postgresql_store
