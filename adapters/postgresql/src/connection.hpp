// Thin helpers over the caller's connection.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/fence.hpp>

#include <libpq-fe.h>

namespace tenure::postgresql_fence {

struct Clear {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

/// Whether a statement succeeded.
[[nodiscard]] bool isDone(const PGresult* result) noexcept;
/// Empty if the server did not say it, because the connection is gone.
[[nodiscard]] std::string sqlState(const PGresult* result);
/// By SQLSTATE (PostgreSQL's appendix A); an empty one is transient.
[[nodiscard]] ErrorClass classOf(std::string_view sqlState) noexcept;
/// A serialization failure, a deadlock, or a lock that did not come in time: the same write may succeed when it is
/// repeated.
[[nodiscard]] bool isRetriable(std::string_view sqlState) noexcept;

class Connection {
 public:
  explicit Connection(PGconn* connection) noexcept : connection_{connection} {}

  [[nodiscard]] PGconn* raw() const noexcept { return connection_; }
  [[nodiscard]] PGTransactionStatusType state() const noexcept { return PQtransactionStatus(connection_); }
  /// One request for all statements in the text. Returns the answer to the last one, or to the one that failed.
  [[nodiscard]] Result exec(const std::string& sql) const;
  /// The same with the answers to all statements, up to the one that failed. Never empty; a null one is no answer.
  [[nodiscard]] std::vector<Result> execAll(const std::string& sql) const;
  /// Whether execHearing() may be called: the connection has libpq's own notice receiver. libpq does not tell the
  /// argument of another one, without which nobody can call it or put it back.
  [[nodiscard]] bool hearsWarnings() const;
  /// exec(), and the server's own warning if there is one. The caller's notice processor hears it too.
  [[nodiscard]] Result execHearing(const std::string& sql, std::string& warning) const;
  /// The text as a literal, with its quotes; empty if it is not text in the connection's encoding.
  [[nodiscard]] std::string literal(const std::string& text) const { return quoted(text, &PQescapeLiteral); }
  [[nodiscard]] std::string identifier(const std::string& text) const { return quoted(text, &PQescapeIdentifier); }

  /// For people.
  [[nodiscard]] std::string name() const;
  /// What went wrong in the last request.
  [[nodiscard]] FenceError errorOf(const std::string& what, const PGresult* result, bool mayBeWritten = false) const;
  /// An error of our own with the database's name.
  [[nodiscard]] FenceError misuse(const std::string& text, bool mayBeWritten = false) const;

 private:
  using Quote = char* (*)(PGconn*, const char*, std::size_t);
  [[nodiscard]] std::string quoted(const std::string& text, Quote quote) const;

  PGconn* connection_;
};

}  // namespace tenure::postgresql_fence
