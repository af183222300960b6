#include "stores/postgresql/link_support.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "lockcore/runtime/system_random.hpp"

namespace tenure::test {

using postgresql_store::JobReply;

std::string sharedServer() {
  const char* url = std::getenv("TENURE_TEST_POSTGRESQL");
  if (url == nullptr) throw std::runtime_error{"run this by scripts/postgresql_local -- or by ctest"};
  return url;
}

std::string freshName(const std::string& prefix) {
  return prefix + '_' + std::to_string(getpid()) + '_' + std::to_string(SystemRandom{}.next());
}

Sql::Sql(const std::string& connection) : connection_{PQconnectdb(connection.c_str()), &PQfinish} {
  if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(connection_.get())};
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

std::vector<std::vector<std::string>> Sql::rows(const std::string& sql) const {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result{PQexec(connection_.get(), sql.c_str()), &PQclear};
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error{sql + ": " + PQerrorMessage(connection_.get())};
  }
  std::vector<std::vector<std::string>> found;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    auto& columns = found.emplace_back();
    for (int i = 0; i < PQnfields(result.get()); ++i) columns.emplace_back(PQgetvalue(result.get(), row, i));
  }
  return found;
}

std::string Sql::text(const std::string& sql) const { return rows(sql).at(0).at(0); }

NumberTable::NumberTable(const std::string& connection) : sql_{connection}, name_{freshName("public.numbers")} {
  sql_.exec("CREATE TABLE " + name_ + " (id int PRIMARY KEY, n int)");
}

NumberTable::~NumberTable() {
  try {
    sql_.exec("SET lock_timeout = '5s'; SET synchronous_commit = local; DROP TABLE IF EXISTS " + name_);
  } catch (const std::exception&) {  // the server of the test may be gone
  }
}

std::string NumberTable::n(int id) const {
  const auto rows = sql_.rows("SELECT n FROM " + name_ + " WHERE id = " + std::to_string(id));
  return rows.empty() ? std::string{} : rows[0][0];
}

Logger LogLines::logger() {
  return Logger{LogLevel::info, [this](LogLevel, std::string_view line) {
                  const std::lock_guard lock{mutex_};
                  lines_.emplace_back(line);
                }};
}

std::size_t LogLines::count(const std::string& part) const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(std::count_if(
      lines_.begin(), lines_.end(), [&](const auto& line) { return line.find(part) != std::string::npos; }));
}

std::string LogLines::all() const {
  const std::lock_guard lock{mutex_};
  std::string all;
  for (const auto& line : lines_) all += line + '\n';
  return all;
}

TestLink::TestLink(PostgresqlStoreOptions options, net::Lookup lookup, Job warmUp) {
  (*texts_)[static_cast<std::size_t>(StatementId::notify)] = "SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p";
  link_ = postgresql_store::makeLink({.store = std::move(options),
                                      .text = [texts = texts_](StatementId id, bool) -> const std::string& {
                                        return (*texts)[static_cast<std::size_t>(id)];
                                      },
                                      .channel = channel_,
                                      .warmUp = std::move(warmUp),
                                      .logger = log.logger(),
                                      .lookup = std::move(lookup)});
}

TestLink::StatementId TestLink::add(const std::string& sql) {
  if (used_ == static_cast<std::size_t>(StatementId::notify)) ++used_;
  texts_->at(used_) = sql;
  return static_cast<StatementId>(used_++);
}

std::future<JobReply> TestLink::start(Job job, std::chrono::milliseconds timeout) {
  auto promise = std::make_shared<std::promise<JobReply>>();
  auto future = promise->get_future();
  // A second call would throw, and so end the test.
  link_->run(std::move(job), timeout, [promise](JobReply reply) { promise->set_value(std::move(reply)); });
  return future;
}

JobReply TestLink::call(Job job, std::chrono::milliseconds timeout) { return start(std::move(job), timeout).get(); }

std::string TestLink::value(StatementId id) {
  const JobReply reply = call({.statements = {{id}}});
  if (reply.commit != JobReply::Commit::done) throw std::runtime_error{toString(reply)};
  return reply.rows.at(0).at(0).at(0).value_or("NULL");
}

std::string nameOf(JobReply::Commit commit) {
  constexpr std::array names{"notSent", "unanswered", "done", "rolledBack"};
  return names.at(static_cast<std::size_t>(commit));
}

std::string toString(const JobReply& reply) {
  std::string text = nameOf(reply.commit);
  if (reply.error) text += ", " + reply.error->severity + ' ' + reply.error->sqlState + ": " + reply.error->message;
  for (const auto& warning : reply.warnings) text += ", WARNING " + warning.sqlState + ": " + warning.message;
  return text + (reply.why.empty() ? "" : ", error: " + reply.why);
}

}  // namespace tenure::test
