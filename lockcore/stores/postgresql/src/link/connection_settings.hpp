// The options as settings of libpq, and what libpq makes of them together with its environment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "pg_handles.hpp"

namespace tenure::postgresql_store {

/// libpq's settings by keyword.
using Settings = std::map<std::string, std::string>;

/// What a connection string says; empty if it is none. libpq's own account of the fault is left out, because it may
/// quote a password.
[[nodiscard]] std::optional<Settings> settingsIn(const std::string& connectionString);

/// What is wrong with the wish for a kind of server; empty: nothing.
[[nodiscard]] std::string faultOfTarget(const Settings& settings);

/// The string and the parts together.
[[nodiscard]] Settings jobSettings(const PostgresqlStoreOptions& options);
/// The same for the connection that listens.
[[nodiscard]] Settings listenSettings(const PostgresqlStoreOptions& options);

/// One server to be tried.
struct Host {
  std::string name{};     ///< as the user gave it: a name, an address or the directory of a socket; may be empty
  std::string address{};  ///< empty: `name` is not a name, or has to be looked up
  std::string port{};     ///< empty: libpq's default

  /// Its address has to be looked up.
  [[nodiscard]] bool needsLookup() const;
};

/// Where the settings lead, after environment variables, service file, and defaults of libpq and of the store.
struct Destination {
  Settings settings{};  ///< without host, hostaddr and port
  std::vector<Host> hosts{};
  bool hasAddresses{false};  ///< `hostaddr` is given, perhaps not for every host
  std::string database{};
  std::string fault{};          ///< not empty: the settings are wrong, and why
  std::string passwordFault{};  ///< not empty: the password file has none, and why
  std::string passfileFault{};  ///< why no password comes from the passfile
  std::string lockedKey{};      ///< the client's key if no passphrase is given; it may not need one
};

/// Reads the service file, if there is one, and the password file, if there is one; asks nobody. What they say may
/// change from one call to the next.
[[nodiscard]] Destination destinationOf(const Settings& given, const std::string& passwordFile = {});

/// The value of `sslpassword` if none is given. It opens no key, and stops OpenSSL from asking on the terminal.
inline constexpr const char* noPassphrase = " ";

/// A file in the user's home directory, as libpq finds it: HOME, else the entry of the effective user. Empty: there is
/// no such directory.
[[nodiscard]] std::string inHome(const std::string& name);

/// `settings` for one host alone.
[[nodiscard]] Settings settingsFor(const Destination& destination, const Host& host);

/// A connection in its first state. Nothing blocks if the host needs no lookup.
[[nodiscard]] ConnectionHandle startConnecting(const Settings& settings);

/// `db1:5432, db2:5432`.
[[nodiscard]] std::string toString(const std::vector<Host>& hosts);

/// Whether libpq would read the file with the password (passfile.cpp).
struct PassfileState {
  std::string fault{};    ///< why no password comes from it; empty: nothing is known to be wrong
  bool wouldWarn{false};  ///< libpq would say so on the standard error, with each connection
};

/// `found`: what libpq makes of options and environment.
[[nodiscard]] PassfileState passfileState(const Settings& found);

}  // namespace tenure::postgresql_store
