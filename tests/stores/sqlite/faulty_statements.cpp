// A layer between the product and SQLite that makes the n-th statement fail (fault_plan.hpp): "prepare", "step",
// "exec". The linker redirects the calls to this file (LINKER:--wrap), so the product contains nothing for it.
#include <sqlite3.h>

#include "fault_plan.hpp"

// --wrap dictates the names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" {
int __real_sqlite3_step(sqlite3_stmt* statement);
int __real_sqlite3_exec(sqlite3* database, const char* sql, int (*row)(void*, int, char**, char**), void* context,
                        char** message);
int __real_sqlite3_prepare_v3(sqlite3* database, const char* sql, int size, unsigned flags, sqlite3_stmt** out,
                              const char** tail);
}

namespace {

using tenure::sqlite_test::FaultKind;

template <class Operation>
int guarded(const char* name, sqlite3* database, const Operation& operation) {
  const auto failure = tenure::sqlite_test::failureOf(name, SQLITE_IOERR);
  if (!failure) return operation();
  if (failure->kind == FaultKind::afterwards) static_cast<void>(operation());
  if (failure->kind == FaultKind::rollsBack && sqlite3_get_autocommit(database) == 0) {
    static_cast<void>(__real_sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr));
  }
  return failure->code;
}

}  // namespace

extern "C" {

int __wrap_sqlite3_step(sqlite3_stmt* statement) {
  return guarded("step", sqlite3_db_handle(statement), [&] { return __real_sqlite3_step(statement); });
}

int __wrap_sqlite3_exec(sqlite3* database, const char* sql, int (*row)(void*, int, char**, char**), void* context,
                        char** message) {
  return guarded("exec", database, [&] { return __real_sqlite3_exec(database, sql, row, context, message); });
}

int __wrap_sqlite3_prepare_v3(sqlite3* database, const char* sql, int size, unsigned flags, sqlite3_stmt** out,
                              const char** tail) {
  *out = nullptr;
  const auto failure = tenure::sqlite_test::failureOf("prepare", SQLITE_IOERR);
  return failure ? failure->code : __real_sqlite3_prepare_v3(database, sql, size, flags, out, tail);
}
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
