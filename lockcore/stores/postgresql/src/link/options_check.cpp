#include "options_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include "connection_settings.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/regular_file.hpp"
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

bool isKeyword(std::string_view name) {
  static const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all{PQconndefaults(), PQconninfoFree};
  for (const PQconninfoOption* one = all.get(); one != nullptr && one->keyword != nullptr; ++one) {
    if (name == one->keyword) return true;
  }
  return false;
}

/// Text that can be shown: a name of this length and alphabet, with nothing before or behind it that makes it a likely
/// part of a password.
bool mayBeShown(std::string_view name, std::string_view before, std::string_view behind) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.size() <= 40 && name.find_first_not_of(letters) == std::string_view::npos &&
         before.find("pass") == std::string_view::npos && behind.find('@') == std::string_view::npos;
}

/// `postgresql+asyncpg://`, `jdbc:postgresql://`; empty: the text begins with no scheme, or with one of libpq's.
std::string foreignScheme(std::string_view text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789+-.:";
  const auto end = text.find("://");
  if (end == std::string_view::npos || end > 40) return {};
  const std::string_view scheme = text.substr(0, end);
  if (scheme.find_first_not_of(letters) != std::string_view::npos) return {};
  return scheme == "postgresql" || scheme == "postgres" ? std::string{} : std::string{text.substr(0, end + 3)};
}

/// The first parameter of the URL that libpq does not know; empty: there is none, or it may not be shown.
std::string_view strangerInUrl(std::string_view text) {
  for (auto at = text.find('?'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    const std::string_view name = rest.substr(0, rest.find_first_of("=&"));
    if (isKeyword(name) || name == "ssl") continue;
    return mayBeShown(name, text.substr(0, at), rest) ? name : std::string_view{};
  }
  return {};
}

/// The same for keywords: words without quotes, as most strings have them.
std::string_view strangerInWords(std::string_view text) {
  for (auto sign = text.find('='); sign != std::string_view::npos; sign = text.find('=', sign + 1)) {
    const auto last = text.substr(0, sign).find_last_not_of(" \t\n");
    if (last == std::string_view::npos) return {};
    const auto blank = text.substr(0, last + 1).find_last_of(" \t\n");
    const auto first = blank == std::string_view::npos ? 0 : blank + 1;
    const std::string_view name = text.substr(first, last + 1 - first);
    if (isKeyword(name)) continue;
    return mayBeShown(name, text.substr(0, first), {}) ? name : std::string_view{};
  }
  return {};
}

/// What is wrong with a string that libpq refuses. Its own account may quote a password, so this one is made of what
/// cannot be a part of one.
std::string whyNoConnection(const std::string& text) {
  if (const std::string scheme = foreignScheme(text); !scheme.empty())
    return "begins with " + inQuotes(scheme) + ", which is another program's; libpq's URLs begin with postgresql://";
  const bool isUrl = text.starts_with("postgresql://") || text.starts_with("postgres://");
  const std::string name{isUrl ? strangerInUrl(text) : strangerInWords(text)};
  if (!name.empty()) {
    return "has the parameter " + inQuotes(name) + ", which is none of libpq's; leave it out";
  }
  return "is not a connection string that libpq understands; give it as `host=db1 dbname=jobs` or as "
         "`postgresql://user@db1/jobs`, with %xx for special characters of a URL's parts";
}

/// libpq passes over white space round the number.
bool isPort(std::string_view text) {
  text = trimmed(text, " \t\r\n\v\f");
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

/// An "@" behind the host: the name or the password before it has a "/" that is not escaped, and libpq takes its rest
/// for port or database, which it quotes.
bool mayHoldSecret(const std::string& connection) {
  const auto host = connection.find("://");
  const auto slash = host == std::string::npos ? host : connection.find('/', host + 3);
  return slash != std::string::npos && connection.find('@', slash) != std::string::npos;
}

/// One for all hosts or one for each; an empty one is libpq's default.
bool arePorts(std::string_view list) {
  for (bool more = true; more;) {
    const auto comma = list.find(',');
    const std::string_view port = list.substr(0, comma);
    if (!port.empty() && !isPort(port)) return false;
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return true;
}

constexpr const char* unescapedSlash =
    "it has an \"@\" behind its host; a \"/\" in the user's name is written %2F, and a password is not allowed here";

/// libpq sees it only when it connects, and quotes it then: it may be a part of a password.
void checkPortIn(const char* field, const std::string& text, const Settings& settings, OptionFaults& faults) {
  const auto port = settings.find("port");
  if (port == settings.end() || arePorts(port->second)) return;
  faults.push_back({field, mayHoldSecret(text) ? std::string{"cannot be used: "} + unescapedSlash
                                               : "has a port that is not a number from 1 to 65535"});
}

void checkConnection(const char* field, const std::string& text, OptionFaults& faults) {
  if (text.empty()) return;
  if (!isPlainText(text)) return faults.push_back({field, "is not UTF-8 text without NUL"});
  const auto settings = settingsIn(text);
  if (!settings) return faults.push_back({field, whyNoConnection(text)});
  checkPortIn(field, text, *settings, faults);
  for (const char* secret : {"password", "sslpassword"}) {
    if (settings->contains(secret)) {
      faults.push_back({field, "contains a " + std::string{secret} +
                                   ", which others could read in logs and process lists; put it into a file "
                                   "(store.password_file or store.passfile), a service file or PGPASSWORD"});
    }
  }
  if (const auto fault = postgresql_store::faultOfTarget(*settings); !fault.empty()) {
    faults.push_back({field, "has " + fault});
  }
  if (settings->contains("replication")) faults.push_back({field, "asks for replication, which a store does not use"});
}

void checkPorts(const PostgresqlStoreOptions& options, OptionFaults& faults) {
  if (options.port.empty()) return;
  if (!arePorts(options.port)) {
    return faults.push_back({"port", "is " + inQuotes(options.port) + "; a port is a number from 1 to 65535"});
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
  for (const auto& [field, text] :
       {std::pair{"database", &options.database}, {"user", &options.user}, {"service", &options.service}}) {
    if (!isPlainText(*text)) faults.push_back({field, "is not UTF-8 text without NUL"});
  }
  for (const auto& [field, path] : {std::pair{"host", &options.host},  // it may be the directory of a socket
                                    {"passfile", &options.passfile},
                                    {"passwordFile", &options.passwordFile},
                                    {"sslRootCertificate", &options.sslRootCertificate},
                                    {"sslCertificate", &options.sslCertificate},
                                    {"sslKey", &options.sslKey},
                                    {"livenessDirectory", &options.livenessDirectory}}) {
    if (std::string fault = faultOfPath(*path); !fault.empty()) faults.push_back({field, std::move(fault)});
  }
}

/// libpq would pass over the file with lines in silence.
void checkPasswords(const PostgresqlStoreOptions& options, OptionFaults& faults) {
  if (options.passwordFile.empty()) return;
  const std::string both = ", and a password file is given (store.password_file); give one of them";
  if (!options.passfile.empty()) faults.push_back({"passfile", "is given" + both});
  for (const auto& [field, text] : {std::pair{"connection", &options.connection}, {"listen", &options.listen}}) {
    const auto settings = settingsIn(*text);
    if (settings && settings->contains("passfile")) faults.push_back({field, "has a passfile" + both});
  }
}

/// What is left when each option is right by itself: lists that do not fit together.
void checkTogether(const PostgresqlStoreOptions& options, OptionFaults& faults) {
  if (!faults.empty() || !options.service.empty()) return;
  const auto settings = settingsIn(options.connection);
  if (settings && settings->contains("service")) return;
  const auto destination = postgresql_store::destinationOf(postgresql_store::jobSettings(options));
  if (destination.fault.empty()) return;
  faults.push_back(
      {"connection", "cannot be used: " + (mayHoldSecret(options.connection) ? unescapedSlash : destination.fault)});
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
  checkPasswords(options, faults);
  checkIdentifier("schema", options.schema, faults);
  checkIdentifier("table", options.table, faults);
  checkNoDot(options.table, faults);
  checkTogether(options, faults);
  return faults;
}

void postgresql_store::checkOptions(const PostgresqlStoreOptions& options) {
  throwIfFaulty("PostgreSQL store", faultsOf(options));
}

}  // namespace tenure
