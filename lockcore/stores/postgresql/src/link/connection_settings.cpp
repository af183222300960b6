#include "connection_settings.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <netdb.h>
#include <pwd.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "lockcore/net/system_bundle.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure::postgresql_store {
namespace {

constexpr const char* onlyToLook = "tenure-looks-only";

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using OptionList = std::unique_ptr<PQconninfoOption, FreeOptions>;

Settings valuesOf(const PQconninfoOption* options) {
  Settings values;
  for (; options != nullptr && options->keyword != nullptr; ++options) {
    if (options->val != nullptr && *options->val != '\0') values[options->keyword] = options->val;
  }
  return values;
}

std::string compiledIn(const PQconninfoOption* options, std::string_view keyword) {
  for (; options != nullptr && options->keyword != nullptr; ++options) {
    if (keyword == options->keyword && options->compiled != nullptr) return options->compiled;
  }
  return {};
}

/// Null: it is not set, or empty.
const char* valueIn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

void setUnlessEmpty(Settings& settings, const char* keyword, const std::string& value) {
  if (!value.empty()) settings[keyword] = value;
}

/// A value in a service file that is libpq's default cannot be told from it. An empty variable counts as not set.
bool isChosen(const PQconninfoOption* options, std::string_view keyword, const Settings& given) {
  const auto textOf = [](const char* text) { return std::string_view{text == nullptr ? "" : text}; };
  while (options != nullptr && options->keyword != nullptr && keyword != options->keyword) ++options;
  if (options == nullptr || options->keyword == nullptr || given.contains(options->keyword)) return true;
  if (textOf(options->val).empty()) return false;
  return (options->envvar != nullptr && valueIn(options->envvar) != nullptr) ||
         textOf(options->val) != textOf(options->compiled);
}

/// libpq tells what it makes of environment, service file and defaults only for a connection that it was asked to make.
/// So it is asked for one with an impossible wish, which it refuses before it contacts anybody. The password keeps it
/// from looking into the passfile.
ConnectionHandle refusedFor(const char* wish, Settings settings) {
  settings["password"] = "none";
  // libpq would judge it by its own default of sslmode.
  if (PQlibVersion() >= 170'000) settings["sslnegotiation"] = "postgres";
  settings[wish] = onlyToLook;
  return startConnecting(settings);
}

/// With what every connection has where nobody says otherwise. A dead line is noticed within seconds. Where a Kerberos
/// ticket lies about, libpq would ask a ticket server for an encrypted connection, and block.
Settings withOurs(Settings settings) {
  const OptionList options{PQconninfo(refusedFor("sslmode", settings).get())};
  Settings found = valuesOf(options.get());
  for (const auto& [keyword, value] : {std::pair{"fallback_application_name", "tenure"},
                                       {"target_session_attrs", "read-write"},
                                       {"keepalives_idle", "5"},
                                       {"keepalives_interval", "2"},
                                       {"keepalives_count", "3"},
                                       {"tcp_user_timeout", "10000"},
                                       {"gssencmode", "disable"}}) {
    setUnlessEmpty(settings, keyword, isChosen(options.get(), keyword, settings) ? found[keyword] : value);
  }
  settings["client_encoding"] = "UTF8";
  return settings;
}

/// The directory where libpq looks for the socket of a host that is named nowhere.
std::string directoryOfSocket() {
  const ConnectionHandle connection = refusedFor("target_session_attrs", {{"host", ","}, {"hostaddr", ","}});
  const char* const directory = connection ? PQhost(connection.get()) : nullptr;
  return directory == nullptr ? std::string{} : directory;
}

bool isSocket(const std::string& host) { return host.empty() || host.front() == '/' || host.front() == '@'; }

/// As libpq reads it: also `127.1` and `fe80::1%eth0`.
bool isAddress(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return false;
  freeaddrinfo(list);
  return true;
}

/// libpq takes its own default for what a list leaves empty. Alone, an empty value would be filled from the environment
/// or the service file, and lead elsewhere.
void fillGaps(std::vector<Host>& hosts, const Settings& found, const std::string& defaultPort) {
  for (Host& host : hosts) {
    if (found.contains("port") && host.port.empty()) host.port = defaultPort;
    if (found.contains("hostaddr") && host.address.empty() && isAddress(host.name)) host.address = host.name;
    if (host.name.empty() && host.address.empty() && (found.contains("host") || found.contains("hostaddr"))) {
      host.name = directoryOfSocket();
    }
    if (host.name.empty() && found.contains("host")) host.name = host.address;
  }
}

/// libpq has checked that the lists fit together.
std::vector<Host> hostsIn(const Settings& found) {
  const auto list = [&](const char* keyword) {
    const auto at = found.find(keyword);
    return at == found.end() ? std::vector<std::string_view>{} : split(at->second, ',');
  };
  const auto names = list("host"), addresses = list("hostaddr"), ports = list("port");
  std::vector<Host> hosts(std::max<std::size_t>({names.size(), addresses.size(), 1}));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (i < names.size()) hosts[i].name = names[i];
    if (i < addresses.size()) hosts[i].address = addresses[i];
    if (!ports.empty()) hosts[i].port = ports.size() == 1 ? ports[0] : ports[i];
  }
  return hosts;
}

bool isAName(const std::string& host) { return !isSocket(host) && !isAddress(host); }

/// Whoever names authorities wants them asked, which `prefer` never does.
bool isVerified(const Host& host, bool namesAuthorities) {
  return isAName(host.name) || (namesAuthorities && (!host.address.empty() || !isSocket(host.name)));
}

/// The value of `sslrootcert` that names the system's authorities. libpq knows it from release 16 on.
constexpr const char* systemsAuthorities = "system";

/// As OpenSSL finds them. libpq asks it from release 16 on, and reads one file alone before.
void takeSystemsList(Destination& destination, bool isNamed) {
  Settings& settings = destination.settings;
  const char* const file = valueIn("SSL_CERT_FILE");
  const char* const directory = valueIn("SSL_CERT_DIR");
  const bool asksOpenSsl = PQlibVersion() >= 160'000;
  const std::filesystem::path bundle = net::systemBundle();
  std::error_code isElsewhere;
  if (directory != nullptr && asksOpenSsl) {
    settings["sslrootcert"] = systemsAuthorities;
  } else if (file != nullptr) {
    settings["sslrootcert"] = file;
  } else if (directory != nullptr && !std::filesystem::equivalent(bundle.parent_path(), directory, isElsewhere)) {
    destination.fault =
        "SSL_CERT_DIR is set, which libpq reads from release 16 on; name a file in SSL_CERT_FILE or sslrootcert";
  } else if (!bundle.empty()) {
    settings["sslrootcert"] = bundle;
  } else if (isNamed && !asksOpenSsl) {
    destination.fault =
        "sslrootcert=system, and this system has no list of authorities; install the package "
        "ca-certificates, or set SSL_CERT_FILE";
  }
}

/// libpq's own default comes first. Everybody can get a certificate of a public authority, so it proves something only
/// together with the host's name, also with a libpq that would look for a file called `system`.
void chooseAuthorities(Destination& destination, const std::string& mode, bool isSystem) {
  const std::string ofUser = inHome(".postgresql/root.crt");
  const bool isAbsent = access(ofUser.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
  if (!isSystem && (mode == "verify-ca" || !isAbsent)) {
    setUnlessEmpty(destination.settings, "sslrootcert", ofUser);
  } else if (mode == "verify-full") {
    takeSystemsList(destination, isSystem);
  } else if (isSystem) {
    destination.fault = "sslrootcert=system needs sslmode=verify-full, and sslmode is " + mode +
                        "; leave sslmode out, or name a file with your own authorities";
  }
}

void chooseTls(Destination& destination, const Settings& found, bool isModeChosen) {
  Settings& settings = destination.settings;
  const auto named = found.find("sslrootcert");
  const bool isSystem = named != found.end() && named->second == systemsAuthorities;
  const auto at = found.find("sslmode");
  std::string mode = at == found.end() ? std::string{"prefer"} : at->second;
  if (!isModeChosen) {
    for (const Host& host : destination.hosts) {
      if (isSystem || isVerified(host, named != found.end())) mode = "verify-full";
    }
  }
  settings["sslmode"] = mode;
  if (destination.fault.empty() && (isSystem || named == found.end())) chooseAuthorities(destination, mode, isSystem);
}

/// The key of a connection that needs TLS; empty: none, or libpq may go on without one.
std::string keyIn(const Settings& found, const std::string& mode) {
  if (mode != "require" && !mode.starts_with("verify-")) return {};
  // libpq reads a key only for a certificate that is there.
  const auto use = found.find("sslcertmode");
  const auto certificate = found.find("sslcert");
  const std::string file = certificate != found.end() ? certificate->second : inHome(".postgresql/postgresql.crt");
  if ((use != found.end() && use->second == "disable") || access(file.c_str(), F_OK) != 0) return {};
  const auto named = found.find("sslkey");
  return named != found.end() ? named->second : inHome(".postgresql/postgresql.key");
}

/// A file that libpq would ignore with a warning on the standard error is not shown to it. It passes over one that is
/// not there without a word.
void choosePassfile(Destination& destination, const Settings& found) {
  const PassfileState state = passfileState(found);
  destination.passfileFault = state.fault;
  if (state.wouldWarn) destination.settings["passfile"] = "/dev/null/none";
}

}  // namespace

std::string inHome(const std::string& name) {
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return home + ('/' + name);
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known = getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? found->pw_dir + ('/' + name) : std::string{};
}

std::string faultOfTarget(const Settings& settings) {
  const auto wish = settings.find("target_session_attrs");
  if (wish == settings.end() || wish->second == "read-write" || wish->second == "primary") return {};
  return "target_session_attrs=" + wish->second +
         "; leases need a primary: leave it out, or set it to read-write or primary";
}

bool Host::needsLookup() const { return address.empty() && isAName(name); }

std::optional<Settings> settingsIn(const std::string& connectionString) {
  char* fault = nullptr;
  const OptionList options{PQconninfoParse(connectionString.c_str(), &fault)};
  PQfreemem(fault);
  if (!options) return std::nullopt;
  return valuesOf(options.get());
}

Settings jobSettings(const PostgresqlStoreOptions& options) {
  Settings settings = settingsIn(options.connection).value_or(Settings{});
  if (!options.host.empty()) settings.erase("hostaddr");
  setUnlessEmpty(settings, "host", options.host);
  setUnlessEmpty(settings, "port", options.port);
  setUnlessEmpty(settings, "dbname", options.database);
  setUnlessEmpty(settings, "user", options.user);
  setUnlessEmpty(settings, "passfile", options.passfile);
  setUnlessEmpty(settings, "service", options.service);
  setUnlessEmpty(settings, "sslmode", options.sslMode);
  setUnlessEmpty(settings, "sslrootcert", options.sslRootCertificate);
  setUnlessEmpty(settings, "sslcert", options.sslCertificate);
  setUnlessEmpty(settings, "sslkey", options.sslKey);
  return settings;
}

Settings listenSettings(const PostgresqlStoreOptions& options) {
  Settings settings = jobSettings(options);
  const Settings own = settingsIn(options.listen).value_or(Settings{});
  if (own.contains("host")) settings.erase("hostaddr");
  for (const auto& [keyword, value] : own) settings[keyword] = value;
  return settings;
}

ConnectionHandle startConnecting(const Settings& settings) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : settings) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  occupyStandardDescriptors();
  return ConnectionHandle{PQconnectStartParams(keywords.data(), values.data(), 0)};
}

/// libpq refuses this wish last of all, so an answer without it is a fault of the settings.
Destination destinationOf(const Settings& given, const std::string& passwordFile) {
  Destination destination{.settings = withOurs(given)};
  const ConnectionHandle connection = refusedFor("target_session_attrs", destination.settings);
  if (!connection) return {.fault = "out of memory"};
  const std::string answer = lastErrorOf(connection.get());
  if (answer.find(onlyToLook) == std::string::npos) destination.fault = answer;
  if (const std::string fault = faultOfTarget(destination.settings); destination.fault.empty() && !fault.empty()) {
    destination.fault = "the service file or PGTARGETSESSIONATTRS has " + fault;
  }
  const OptionList options{PQconninfo(connection.get())};
  const Settings found = valuesOf(options.get());
  if (const auto at = found.find("dbname"); at != found.end()) destination.database = at->second;
  if (destination.fault.empty()) {
    destination.hosts = hostsIn(found);
    fillGaps(destination.hosts, found, compiledIn(options.get(), "port"));
  }
  destination.hasAddresses = found.contains("hostaddr");
  chooseTls(destination, found, isChosen(options.get(), "sslmode", destination.settings));
  // Without a passphrase, OpenSSL would ask for one on the terminal, and block the thread of all connections.
  if (!found.contains("sslpassword")) {
    destination.settings["sslpassword"] = noPassphrase;
    destination.lockedKey = keyIn(found, destination.settings["sslmode"]);
  }
  if (passwordFile.empty()) {
    choosePassfile(destination, found);
  } else if (auto password = passwordIn(passwordFile)) {
    destination.settings["password"] = *std::move(password);
  } else {
    destination.passwordFault = password.error().message;
  }
  for (const char* keyword : {"host", "hostaddr", "port"}) destination.settings.erase(keyword);
  return destination;
}

Settings settingsFor(const Destination& destination, const Host& host) {
  Settings settings = destination.settings;
  setUnlessEmpty(settings, "host", host.name);
  setUnlessEmpty(settings, "hostaddr", host.address);
  setUnlessEmpty(settings, "port", host.port);
  if (host.address.empty() && destination.hasAddresses) {
    // An empty address alone would be filled from the environment; a list of empty ones is not.
    settings["hostaddr"] = ",";
    settings["host"] = host.name + ',' + host.name;
  }
  return settings;
}

std::string toString(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    const std::string& shown = host.name.empty() ? host.address : host.name;
    text += (text.empty() ? "" : ", ") + (shown.empty() ? std::string{"its local socket"} : shown);
    if (!shown.empty() && shown.front() != '/' && !host.port.empty()) text += ':' + host.port;
  }
  return inOneLine(text.c_str());
}

}  // namespace tenure::postgresql_store
