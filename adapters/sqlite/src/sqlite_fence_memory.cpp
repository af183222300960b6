#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "adapters/fence/src/fence_memory.hpp"
#include "connection.hpp"
#include "lockcore/sqlite/quiet_look.hpp"

namespace tenure {
namespace {

using sqlite_fence::Connection;
using sqlite_fence::Statement;

constexpr std::chrono::seconds patience{5};

class SqliteFenceMemory final : public FenceMemory {
 public:
  struct Close {
    void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
  };
  using Database = std::unique_ptr<sqlite3, Close>;

  SqliteFenceMemory(std::string file, Database database)
      : file_{std::move(file)}, database_{std::move(database)}, connection_{database_.get(), patience} {}

  [[nodiscard]] std::string describe() const override { return "the fence's table in SQLite database " + file_; }

  [[nodiscard]] FenceResult<std::string> stored(const std::string& lease) override {
    Statement select;
    int code = connection_.prepare("SELECT token FROM main.tenure_fence_guard WHERE lease = ?1", select);
    if (code != SQLITE_OK) return connection_.errorOf("reading the fence's table tenure_fence_guard", code);
    std::string token;
    code = connection_.patiently(readClock(), [&] {
      const int stepped = select.bind(1, lease).step();
      if (stepped == SQLITE_ROW) token = select.bytes(0);
      select.reset();
      return stepped;
    });
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      return connection_.errorOf("reading the fence's table tenure_fence_guard", code);
    }
    return token == "0" ? std::string{} : token;
  }

  [[nodiscard]] FenceResult<void> set(const TermStamp& memory) override {
    if (auto error = errorOf(memory)) return *std::move(error);
    const Instant start = readClock();
    int code = connection_.patiently(start, [this] { return connection_.exec("BEGIN IMMEDIATE"); });
    if (code == SQLITE_OK) code = replace(memory);
    if (code == SQLITE_OK) code = connection_.patiently(start, [this] { return connection_.exec("COMMIT"); });
    if (code == SQLITE_OK) return {};
    FenceError error = connection_.errorOf("setting the fence's table tenure_fence_guard", code);
    if (connection_.inTransaction()) (void)connection_.exec("ROLLBACK");
    return error;
  }

 private:
  /// A new row, because the table's own trigger does not let a token fall.
  int replace(const TermStamp& memory) {
    const std::string since = wallClockTextForDisplay(wallClockMillisForDisplay());
    Statement remove;
    Statement insert;
    int code = connection_.prepare("DELETE FROM main.tenure_fence_guard WHERE lease = ?1", remove);
    if (code == SQLITE_OK) code = remove.bind(1, memory.lease).run();
    if (code != SQLITE_OK) return code;
    code = connection_.prepare(
        "INSERT INTO main.tenure_fence_guard(lease, token, holder, since) VALUES(?1, ?2, ?3, ?4)", insert);
    if (code != SQLITE_OK) return code;
    const auto token = static_cast<std::int64_t>(memory.token.value());
    return insert.bind(1, memory.lease).bind(2, token).bind(3, memory.holder).bind(4, since).run();
  }

  const std::string file_;
  const Database database_;
  Connection connection_;
};

}  // namespace

FenceResult<std::unique_ptr<FenceMemory>> openSqliteFenceMemory(const std::string& file) {
  if (!sqlite::holdsTable(file, "tenure_fence_guard", {"lease", "token", "holder", "since", "ticket"})) {
    const bool isMemory = sqlite::holdsTable(file, "tenure_fence_state", {"clean"});
    return fenceError(
        {ErrorClass::misconfigured,
         "SQLite database " + file + ": " +
             (isMemory ? "this is the memory of an HTTP fence: give it as proxy:FILE"
                       : "there is no such file, or no fence's table tenure_fence_guard in it; nothing was changed")});
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
  SqliteFenceMemory::Database database{raw};
  if (code != SQLITE_OK) {
    return fenceError({ErrorClass::misconfigured, "SQLite database " + file + ": " + sqlite3_errstr(code)});
  }
  auto memory = std::make_unique<SqliteFenceMemory>(file, std::move(database));
  if (const auto readable = memory->stored(""); !readable) return readable.error();
  return std::unique_ptr<FenceMemory>{std::move(memory)};
}

}  // namespace tenure
