// The two writes that `fence` compares on PostgreSQL.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/fence.hpp>

namespace tenure::bench {

/// Writes one row in one transaction, in a table of its own. The table ends with the object.
class PostgresqlWrites {
 public:
  PostgresqlWrites(const std::string& url, TermStamp stamp);
  ~PostgresqlWrites();
  PostgresqlWrites(const PostgresqlWrites&) = delete;
  PostgresqlWrites& operator=(const PostgresqlWrites&) = delete;

  void bare();
  void fenced();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::bench
