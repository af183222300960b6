#include "options_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "connection_settings.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"

namespace tenure {
namespace {

using postgresql_store::isIdentifier;
using postgresql_store::maxIdentifierBytes;
using postgresql_store::Settings;
using postgresql_store::settingsIn;

std::size_t countIn(const std::string& list) {
  return static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1;
}

void checkConnection(const char* field, const std::string& text, OptionFaults& faults) {
  if (text.empty()) return;
  if (!isPlainText(text)) return faults.push_back({field, "is not UTF-8 text without NUL"});
  const auto settings = settingsIn(text);
  if (!settings) {
    return faults.push_back({field,
                             "is no connection string that libpq understands; give it as `host=db1 dbname=jobs` or as "
                             "`postgresql://user@db1/jobs`"});
  }
  for (const char* secret : {"password", "sslpassword"}) {
    if (settings->contains(secret)) {
      faults.push_back(
          {field, "contains a " + std::string{secret} +
                      ", which others could read in logs and process lists; put it into a passfile, a service "
                      "file or PGPASSWORD"});
    }
  }
  const auto wish = settings->find("target_session_attrs");
  if (wish != settings->end() && wish->second != "read-write" && wish->second != "primary") {
    faults.push_back({field, "has target_session_attrs=" + wish->second +
                                 "; leases need a primary: leave it out, or set it to read-write or primary"});
  }
  if (settings->contains("replication")) faults.push_back({field, "asks for replication, which a store does not use"});
}

bool isPort(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

void checkPorts(const PostgresqlStoreOptions& options, OptionFaults& faults) {
  if (options.port.empty()) return;
  std::string_view rest = options.port;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    if (!isPort(rest.substr(0, comma))) {
      return faults.push_back({"port", "is " + inQuotes(options.port) + "; a port is a number from 1 to 65535"});
    }
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  const std::size_t ports = countIn(options.port);
  const std::size_t hosts = countIn(options.host);
  if (ports > 1 && !options.host.empty() && ports != hosts) {
    faults.push_back({"port", "has " + std::to_string(ports) + " ports for " + std::to_string(hosts) +
                                  (hosts == 1 ? " host" : " hosts") + "; give one for all, or one for each"});
  }
}

void checkTls(const PostgresqlStoreOptions& options, OptionFaults& faults) {
  constexpr std::array modes{"", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"};
  if (std::find(modes.begin(), modes.end(), options.sslMode) == modes.end()) {
    faults.push_back({"sslMode", "is " + inQuotes(options.sslMode) +
                                     "; it must be disable, allow, prefer, require, verify-ca or verify-full"});
  }
  const auto settings = settingsIn(options.connection);
  const bool mayComeFromAService =
      (!options.service.empty() && isPlainText(options.service)) || (settings && settings->contains("service"));
  const bool hasCertificate =
      !options.sslCertificate.empty() || mayComeFromAService || (settings && settings->contains("sslcert"));
  if (!options.sslKey.empty() && !hasCertificate) {
    faults.push_back({"sslCertificate", "is missing; the key belongs to a certificate"});
  }
}

/// A URL in the wrong option would be shown with its password wherever the store is named.
void checkNoUrl(const char* field, const std::string& text, OptionFaults& faults) {
  if (text.find("://") == std::string::npos) return;
  faults.push_back({field, "is a URL; give it as connection, without a password"});
}

/// The same for what the strings say, of whose content nothing may be shown.
void checkNoUrlIn(const char* field, const std::string& text, OptionFaults& faults) {
  const auto settings = settingsIn(text);
  if (!settings) return;
  for (const char* keyword : {"host", "dbname"}) {
    const auto at = settings->find(keyword);
    if (at == settings->end() || at->second.find("://") == std::string::npos) continue;
    faults.push_back({field, "has a URL as its " + std::string{keyword} + "; give either a URL alone or keywords"});
  }
}

void checkIdentifier(const char* field, const std::string& name, OptionFaults& faults) {
  if (!isIdentifier(name)) {
    faults.push_back({field, "must be 1 to " + std::to_string(maxIdentifierBytes) +
                                 " bytes of UTF-8 text without control characters; it is " + inQuotes(name)});
  }
}

/// Names are quoted, so the server would make such a table, in another schema than was meant.
void checkNoDot(const std::string& table, OptionFaults& faults) {
  if (table.find('.') == std::string::npos) return;
  faults.push_back({"table", "is " + inQuotes(table) +
                                 "; it must be the table's name alone, without a dot: the schema is an option of its "
                                 "own (store.schema)"});
}

void checkTexts(const PostgresqlStoreOptions& options, OptionFaults& faults) {
  const std::array<std::pair<const char*, const std::string*>, 8> texts{
      {{"host", &options.host},
       {"database", &options.database},
       {"user", &options.user},
       {"passfile", &options.passfile},
       {"service", &options.service},
       {"sslRootCertificate", &options.sslRootCertificate},
       {"sslCertificate", &options.sslCertificate},
       {"sslKey", &options.sslKey}}};
  for (const auto& [field, text] : texts) {
    if (!isPlainText(*text)) faults.push_back({field, "is not UTF-8 text without NUL"});
  }
}

/// What is left when each option is right by itself: lists that do not fit together.
void checkTogether(const PostgresqlStoreOptions& options, OptionFaults& faults) {
  if (!faults.empty() || !options.service.empty()) return;
  const auto settings = settingsIn(options.connection);
  if (settings && settings->contains("service")) return;
  const auto destination = postgresql_store::destinationOf(postgresql_store::jobSettings(options));
  if (!destination.fault.empty()) faults.push_back({"connection", "cannot be used: " + destination.fault});
}

}  // namespace

OptionFaults faultsOf(const PostgresqlStoreOptions& options) {
  OptionFaults faults;
  checkConnection("connection", options.connection, faults);
  checkConnection("listen", options.listen, faults);
  checkNoUrlIn("connection", options.connection, faults);
  checkNoUrlIn("listen", options.listen, faults);
  checkNoUrl("host", options.host, faults);
  checkNoUrl("database", options.database, faults);
  checkTexts(options, faults);
  checkPorts(options, faults);
  checkTls(options, faults);
  checkIdentifier("schema", options.schema, faults);
  checkIdentifier("table", options.table, faults);
  checkNoDot(options.table, faults);
  if (!isPlainText(options.livenessDirectory)) {
    faults.push_back({"livenessDirectory", "is not UTF-8 text without NUL"});
  }
  checkTogether(options, faults);
  return faults;
}

void postgresql_store::checkOptions(const PostgresqlStoreOptions& options) {
  const OptionFaults faults = faultsOf(options);
  if (faults.empty()) return;
  std::string message{"PostgreSQL store: "};
  for (const OptionFault& fault : faults) {
    message += (&fault == faults.data() ? "" : "; ") + fault.field + " " + fault.message;
  }
  throw std::invalid_argument{message};
}

}  // namespace tenure
