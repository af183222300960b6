// What the tests of the link to PostgreSQL share: statements of their own, calls that wait for their answer, and a
// plain connection beside them that shows what the table really holds.
#pragma once

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lockcore/stores/postgresql/src/link/link.hpp"
#include "support/eventually.hpp"

#include <libpq-fe.h>

namespace tenure::test {

inline constexpr Eventually eventually{std::chrono::seconds{20}};

/// The server that all tests share; throws if there is none.
[[nodiscard]] std::string sharedServer();

/// A name that nobody else has.
[[nodiscard]] std::string freshName(const std::string& prefix);

/// A blocking connection. Errors throw, and so fail the test.
class Sql {
 public:
  explicit Sql(const std::string& connection = sharedServer());
  [[nodiscard]] std::vector<std::vector<std::string>> rows(const std::string& sql) const;
  [[nodiscard]] std::string text(const std::string& sql) const;
  void exec(const std::string& sql) const { (void)rows(sql); }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

/// A table (id int primary key, n int) of the test's own.
class NumberTable {
 public:
  explicit NumberTable(const std::string& connection = sharedServer());
  ~NumberTable();
  NumberTable(const NumberTable&) = delete;
  NumberTable& operator=(const NumberTable&) = delete;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Empty: there is no such row.
  [[nodiscard]] std::string n(int id) const;
  [[nodiscard]] const Sql& sql() const noexcept { return sql_; }

 private:
  Sql sql_;
  std::string name_;
};

/// A log that tests can read.
class LogLines {
 public:
  [[nodiscard]] Logger logger();
  [[nodiscard]] std::size_t count(const std::string& part) const;
  [[nodiscard]] std::string all() const;

 private:
  mutable std::mutex mutex_{};
  std::vector<std::string> lines_{};
};

/// A link with statements of the test's own, which get their ids as they come.
class TestLink {
 public:
  using Job = postgresql_store::Job;
  using JobReply = postgresql_store::JobReply;
  using Statement = postgresql_store::Statement;
  using StatementId = postgresql_store::StatementId;

  explicit TestLink(PostgresqlStoreOptions options, net::Lookup lookup = net::systemLookup, Job warmUp = {});
  explicit TestLink(const std::string& connection = sharedServer())
      : TestLink{PostgresqlStoreOptions{.connection = connection}} {}

  /// Before the first job.
  [[nodiscard]] StatementId add(const std::string& sql);

  [[nodiscard]] postgresql_store::Link& link() { return *link_; }
  [[nodiscard]] std::future<JobReply> start(Job job, std::chrono::milliseconds timeout = std::chrono::seconds{10});
  [[nodiscard]] JobReply call(Job job, std::chrono::milliseconds timeout = std::chrono::seconds{10});
  /// The one value that a read gives; throws where it fails.
  [[nodiscard]] std::string value(StatementId id);
  void destroy() { link_.reset(); }

  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }
  LogLines log{};

 private:
  using Texts = std::array<std::string, postgresql_store::statementCount>;
  std::shared_ptr<Texts> texts_{std::make_shared<Texts>()};
  std::size_t used_{0};
  const std::string channel_{freshName("channel")};
  std::shared_ptr<postgresql_store::Link> link_;
};

[[nodiscard]] std::string nameOf(postgresql_store::JobReply::Commit commit);

/// Everything that a reply says, for messages of tests.
[[nodiscard]] std::string toString(const postgresql_store::JobReply& reply);

}  // namespace tenure::test
