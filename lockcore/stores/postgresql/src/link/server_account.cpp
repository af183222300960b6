#include "server_account.hpp"

#include <vector>

#include <tenure/lockcore/clock.hpp>

#include "connection_settings.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "pg_handles.hpp"

namespace tenure::postgresql_store {
namespace {

ConnectionHandle connected(Settings settings) {
  settings["connect_timeout"] = "5";
  std::vector<const char*> names, values;
  for (const auto& [name, value] : settings) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  return ConnectionHandle{PQconnectdbParams(names.data(), values.data(), 0)};
}

/// By how much its clock is ahead of the one here.
std::optional<std::chrono::milliseconds> aheadOf(PGconn* connection) {
  const std::int64_t sent = wallClockMillisForDisplay();
  const ResultHandle result{
      PQexec(connection, "SELECT floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint")};
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK || PQntuples(result.get()) != 1) return std::nullopt;
  const auto millis = numberFrom<std::int64_t>(PQgetvalue(result.get(), 0, 0));
  if (!millis) return std::nullopt;
  return std::chrono::milliseconds{*millis - (sent + wallClockMillisForDisplay()) / 2};
}

}  // namespace

ServerAccount askServerItself(const PostgresqlStoreOptions& options) {
  const Destination destination = destinationOf(jobSettings(options), options.passwordFile);
  if (!destination.passwordFault.empty()) return {.fault = destination.passwordFault};
  ServerAccount account{.fault = destination.fault};
  for (const Host& host : destination.hosts) {
    const ConnectionHandle connection = connected(settingsFor(destination, host));
    if (PQstatus(connection.get()) != CONNECTION_OK) {
      account.fault = lastErrorOf(connection.get());
      continue;
    }
    const char* version = PQparameterStatus(connection.get(), "server_version");
    return {.version = version != nullptr ? version : "", .ahead = aheadOf(connection.get())};
  }
  return account;
}

std::string libraryVersion() {
  const int number = PQlibVersion();  // 150014 is 15.14
  return std::to_string(number / 10'000) + '.' + std::to_string(number % 10'000);
}

}  // namespace tenure::postgresql_store
