// How options become settings of libpq, and which options are refused.
#include "lockcore/stores/postgresql/src/link/connection_settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "lockcore/net/system_bundle.hpp"
#include "lockcore/stores/postgresql/src/link/options_check.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using postgresql_store::Destination;
using postgresql_store::destinationOf;
using postgresql_store::Host;
using postgresql_store::jobSettings;
using postgresql_store::listenSettings;
using postgresql_store::Settings;
using postgresql_store::settingsFor;

/// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_{name} { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string valueOf(const Settings& settings, const std::string& keyword) {
  const auto at = settings.find(keyword);
  return at == settings.end() ? std::string{"-"} : at->second;
}

std::string tlsOf(const PostgresqlStoreOptions& options) {
  return valueOf(destinationOf(jobSettings(options)).settings, "sslmode");
}

std::vector<std::string> fieldsAtFault(const PostgresqlStoreOptions& options) {
  std::vector<std::string> fields;
  for (const auto& fault : faultsOf(options)) fields.push_back(fault.field);
  return fields;
}

TEST(PostgresqlSettings, APartWinsOverTheStringInBothForms) {
  for (const char* text : {"host=db1 port=6000 dbname=jobs user=me", "postgresql://me@db1:6000/jobs"}) {
    const Settings settings = jobSettings({.connection = text, .port = "7000", .database = "other"});
    EXPECT_EQ(valueOf(settings, "host"), "db1");
    EXPECT_EQ(valueOf(settings, "port"), "7000");
    EXPECT_EQ(valueOf(settings, "dbname"), "other");
    EXPECT_EQ(valueOf(settings, "user"), "me");
    const Settings all = destinationOf(settings).settings;
    EXPECT_EQ(valueOf(all, "target_session_attrs"), "read-write");
    EXPECT_EQ(valueOf(all, "client_encoding"), "UTF8");
  }
}

TEST(PostgresqlSettings, TheListenerTakesWhatItsOwnStringDoesNotSay) {
  const Settings settings = listenSettings({.connection = "host=pooler hostaddr=10.0.0.1 port=6432 dbname=jobs",
                                            .user = "me",
                                            .listen = "host=db1 port=5432"});
  EXPECT_EQ(valueOf(settings, "host"), "db1");
  EXPECT_EQ(valueOf(settings, "hostaddr"), "-");
  EXPECT_EQ(valueOf(settings, "port"), "5432");
  EXPECT_EQ(valueOf(settings, "dbname"), "jobs");
  EXPECT_EQ(valueOf(settings, "user"), "me");
}

TEST(PostgresqlSettings, HostsComeApartAndEachHasItsPort) {
  const Destination destination =
      destinationOf(jobSettings({.connection = "host=db1,/run/pg,10.0.0.3 port=1,2,3 dbname=jobs"}));
  ASSERT_EQ(destination.fault, "");
  ASSERT_EQ(destination.hosts.size(), 3U);
  EXPECT_TRUE(destination.hosts[0].needsLookup());
  EXPECT_FALSE(destination.hosts[1].needsLookup());
  EXPECT_FALSE(destination.hosts[2].needsLookup());
  EXPECT_EQ(postgresql_store::toString(destination.hosts), "db1:1, /run/pg, 10.0.0.3:3");
  EXPECT_EQ(destination.database, "jobs");
  Host found = destination.hosts[0];
  found.address = "10.0.0.1";
  const Settings one = settingsFor(destination, found);
  EXPECT_EQ(valueOf(one, "host"), "db1");
  EXPECT_EQ(valueOf(one, "hostaddr"), "10.0.0.1");
  EXPECT_EQ(valueOf(one, "port"), "1");
}

/// Alone, an empty value would be filled from the environment: libpq fills the list as a whole, before it is split.
TEST(PostgresqlSettings, WhatAListLeavesEmptyIsLibpqsOwnDefault) {
  const Variable host{"PGHOST", "192.0.2.1"}, port{"PGPORT", "15432"};
  const Destination ports = destinationOf(jobSettings({.connection = "host=10.0.0.1,10.0.0.2 port=1,"}));
  EXPECT_EQ(postgresql_store::toString(ports.hosts), "10.0.0.1:1, 10.0.0.2:5432");
  const Destination sockets = destinationOf(jobSettings({.connection = "host=,/nonexist port=15432"}));
  ASSERT_EQ(sockets.hosts.size(), 2U);
  EXPECT_TRUE(sockets.hosts[0].name.starts_with('/')) << sockets.hosts[0].name;
  EXPECT_EQ(sockets.hosts[1].name, "/nonexist");
  const Variable address{"PGHOSTADDR", "192.0.2.9,"};
  const Destination both = destinationOf(jobSettings({.connection = "host=db1,10.0.0.2"}));
  ASSERT_EQ(both.hosts.size(), 2U) << both.fault;
  EXPECT_EQ(both.hosts[0].address, "192.0.2.9");
  EXPECT_EQ(both.hosts[1].address, "10.0.0.2");
  const Variable socket{"PGHOSTADDR", ",192.0.2.9"};
  const Destination local = destinationOf(jobSettings({.connection = "host=/run/pg,db1"}));
  ASSERT_EQ(local.hosts.size(), 2U) << local.fault;
  EXPECT_EQ(local.hosts[0].address, "");
  const Settings alone = settingsFor(local, local.hosts[0]);
  EXPECT_EQ(valueOf(alone, "host"), "/run/pg,/run/pg") << "one host would get both addresses of the environment";
  EXPECT_EQ(valueOf(alone, "hostaddr"), ",");
  const Variable unnamed{"PGHOST", ",db1"};
  const Destination addressed = destinationOf(jobSettings({.connection = "hostaddr=192.0.2.1,192.0.2.2"}));
  ASSERT_EQ(addressed.hosts.size(), 2U) << addressed.fault;
  EXPECT_EQ(addressed.hosts[0].name, "192.0.2.1");
}

/// A service of systemd has no HOME. libpq asks for the user's entry then.
TEST(PostgresqlSettings, TheHomeDirectoryIsThatOfTheUserWhereHomeDoesNotSayIt) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("HOME", "/elsewhere", 1);
  EXPECT_EQ(postgresql_store::inHome(".pgpass"), "/elsewhere/.pgpass");
  setenv("HOME", "", 1);
  const std::string ofUser = postgresql_store::inHome(".pgpass");
  EXPECT_TRUE(ofUser.ends_with("/.pgpass") && ofUser != "/elsewhere/.pgpass") << ofUser;
  unsetenv("HOME");
  EXPECT_EQ(postgresql_store::inHome(".pgpass"), ofUser);
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

/// OpenSSL would ask for it on the terminal, and the thread of all connections would wait for somebody to answer.
TEST(PostgresqlSettings, APassphraseIsNeverAskedFor) {
  const PostgresqlStoreOptions options{.connection = "host=10.0.0.1", .sslMode = "require"};
  EXPECT_EQ(valueOf(destinationOf(jobSettings(options)).settings, "sslpassword"), postgresql_store::noPassphrase);
  const TempDir directory;
  std::ofstream{directory.file("services")} << "[jobs]\nsslpassword=secret\n";
  const Variable services{"PGSERVICEFILE", directory.file("services")};
  PostgresqlStoreOptions ofService = options;
  ofService.service = "jobs";
  EXPECT_EQ(valueOf(destinationOf(jobSettings(ofService)).settings, "sslpassword"), "-") << "the service's counts";
}

/// libpq reads a key only for a certificate that is there.
TEST(PostgresqlSettings, AnEncryptedKeyWithoutACertificateIsNotAsked) {
  const TempDir home;
  std::filesystem::create_directory(home.file(".postgresql"));
  std::ofstream{home.file(".postgresql/postgresql.key")} << "-----BEGIN ENCRYPTED PRIVATE KEY-----\n";
  const Variable variable{"HOME", home.path()};
  const PostgresqlStoreOptions options{.connection = "host=10.0.0.1", .sslMode = "require"};
  EXPECT_TRUE(postgresql_store::readLocalFiles(options));
  std::ofstream{home.file(".postgresql/postgresql.crt")} << "-----BEGIN CERTIFICATE-----\n";
  EXPECT_FALSE(postgresql_store::readLocalFiles(options));
}

TEST(PostgresqlSettings, AnEncryptedKeyWithoutItsPassphraseIsRefusedByName) {
  const TempDir directory;
  std::ofstream{directory.file("c.pem")} << "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
  for (const char* first : {"-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
                            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"}) {
    std::ofstream{directory.file("k.pem")} << first << "AA==\n";
    const auto status = postgresql_store::readLocalFiles({.connection = "host=10.0.0.1",
                                                          .sslMode = "require",
                                                          .sslCertificate = directory.file("c.pem"),
                                                          .sslKey = directory.file("k.pem")});
    ASSERT_TRUE(status.has_error());
    EXPECT_NE(status.error().message.find("is encrypted"), std::string::npos) << status.error().message;
    std::ofstream{directory.file("services")} << "[jobs]\nsslmode=require\nsslcert=" << directory.file("c.pem")
                                              << "\nsslkey=" << directory.file("k.pem") << '\n';
    const Variable services{"PGSERVICEFILE", directory.file("services")};
    const auto ofService = postgresql_store::readLocalFiles({.connection = "host=10.0.0.1 service=jobs"});
    ASSERT_TRUE(ofService.has_error());
    EXPECT_NE(ofService.error().message.find("is encrypted"), std::string::npos) << ofService.error().message;
  }
}

TEST(PostgresqlSettings, AGivenAddressNeedsNoLookup) {
  for (const char* address : {"::1", "127.1", "fe80::1%lo", "fe80::1%1"}) {
    EXPECT_FALSE(destinationOf(jobSettings({.host = address})).hosts.at(0).needsLookup()) << address;
  }
  const Destination destination = destinationOf(jobSettings({.connection = "host=db1 hostaddr=10.0.0.1"}));
  ASSERT_EQ(destination.hosts.size(), 1U);
  EXPECT_FALSE(destination.hosts[0].needsLookup());
}

TEST(PostgresqlSettings, ANameIsVerifiedUnlessSomebodyChoseOtherwise) {
  EXPECT_EQ(tlsOf({.host = "db1"}), "verify-full");
  EXPECT_EQ(tlsOf({.host = "10.0.0.1,db1"}), "verify-full");
  EXPECT_EQ(tlsOf({.host = "10.0.0.1"}), "prefer");
  EXPECT_EQ(tlsOf({.host = "::1"}), "prefer");
  EXPECT_EQ(tlsOf({.host = "127.1"}), "prefer");
  EXPECT_EQ(tlsOf({.connection = "postgresql://u@[fe80::1%25lo]/d"}), "prefer");
  EXPECT_EQ(tlsOf({.host = "/run/pg"}), "prefer");
  EXPECT_EQ(tlsOf({.host = "10.0.0.1", .sslRootCertificate = "/own.crt"}), "verify-full");
  EXPECT_EQ(tlsOf({.connection = "hostaddr=10.0.0.1 sslrootcert=/own.crt"}), "verify-full");
  EXPECT_EQ(tlsOf({.host = "/run/pg", .sslRootCertificate = "/own.crt"}), "prefer");
  EXPECT_EQ(tlsOf({.host = "db1", .sslMode = "require"}), "require");
  EXPECT_EQ(tlsOf({.connection = "host=db1 sslmode=prefer"}), "prefer");
  const Variable variable{"PGSSLMODE", "disable"};
  const Settings byEnvironment = destinationOf(jobSettings({.host = "db1"})).settings;
  EXPECT_EQ(valueOf(byEnvironment, "sslmode"), "disable");
}

TEST(PostgresqlSettings, AuthoritiesThatAreNamedAnywhereAreAsked) {
  const Variable authorities{"PGSSLROOTCERT", "/own.crt"};
  EXPECT_EQ(tlsOf({.host = "10.0.0.1"}), "verify-full");
  EXPECT_EQ(tlsOf({.host = "/run/pg"}), "prefer");
}

TEST(PostgresqlSettings, AnEmptyVariableIsNotSet) {
  const Variable wish{"PGTARGETSESSIONATTRS", ""};
  const Variable kerberos{"PGGSSENCMODE", ""};
  const auto found = destinationOf(jobSettings({.host = "db1"}));
  EXPECT_EQ(found.fault, "");
  EXPECT_EQ(valueOf(found.settings, "target_session_attrs"), "read-write");
  EXPECT_EQ(valueOf(found.settings, "gssencmode"), "disable");
}

TEST(PostgresqlSettings, ThereIsAListOfAuthoritiesWhereCertificatesAreVerified) {
  const TempDir home;
  const Variable variable{"HOME", home.path().string()};
  EXPECT_NE(valueOf(destinationOf(jobSettings({.host = "db1"})).settings, "sslrootcert"), "-");
  EXPECT_EQ(valueOf(destinationOf(jobSettings({.host = "10.0.0.1"})).settings, "sslrootcert"), "-");
  const auto own = destinationOf(jobSettings({.host = "db1", .sslRootCertificate = "/own.crt"}));
  EXPECT_EQ(valueOf(own.settings, "sslrootcert"), "/own.crt");
}

/// Everybody can get a certificate of a public authority, and verify-ca does not look at its name.
TEST(PostgresqlSettings, VerifyCaTrustsNoAuthorityOfTheSystem) {
  const TempDir home;
  const Variable variable{"HOME", home.path().string()};
  const PostgresqlStoreOptions options{.host = "db1", .sslMode = "verify-ca"};
  EXPECT_EQ(valueOf(destinationOf(jobSettings(options)).settings, "sslrootcert"), home.file(".postgresql/root.crt"));
  const auto status = postgresql_store::readLocalFiles(options);
  ASSERT_TRUE(status.has_error());
  EXPECT_NE(status.error().message.find(home.file(".postgresql/root.crt")), std::string::npos);
  const Variable byEnvironment{"PGSSLMODE", "verify-ca"};
  EXPECT_TRUE(postgresql_store::readLocalFiles({.host = "db1"}).has_error());
}

/// A user whom no permission stops, root, becomes another one.
class AsNobody {
 public:
  AsNobody() {
    if (user_ == 0 && setresuid(65534, 65534, 0) != 0) throw std::runtime_error("setresuid failed");
  }
  ~AsNobody() {
    if (user_ == 0 && setresuid(0, 0, 0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t user_{geteuid()};
};

/// libpq looks whether it is there, and refuses to go on without it.
TEST(PostgresqlSettings, AnUnreadableListOfTheUserIsNotReplacedByTheSystems) {
  const TempDir home;
  std::filesystem::permissions(home.path(), std::filesystem::perms{0755});
  const std::string own = home.file(".postgresql/root.crt");
  std::filesystem::create_directory(home.file(".postgresql"));
  std::ofstream{own} << "-----BEGIN CERTIFICATE-----\n";
  std::filesystem::permissions(own, std::filesystem::perms::none);
  const Variable variable{"HOME", home.path().string()};
  const AsNobody nobody;
  for (const char* mode : {"", "require", "verify-ca", "verify-full"}) {
    const PostgresqlStoreOptions options{.host = "db1", .sslMode = mode};
    EXPECT_EQ(valueOf(destinationOf(jobSettings(options)).settings, "sslrootcert"), own) << mode;
    const auto status = postgresql_store::readLocalFiles(options);
    ASSERT_TRUE(status.has_error()) << mode;
    EXPECT_NE(status.error().message.find(own + " cannot be read"), std::string::npos) << status.error().message;
  }
}

/// libpq 15 would look for a file of this name.
TEST(PostgresqlSettings, SystemMeansTheSystemsAuthoritiesWhereverItIsSaid) {
  const TempDir directory;
  std::ofstream{directory.file("services")} << "[jobs]\nhost=10.0.0.1\nsslrootcert=system\n"
                                            << "[weak]\nhost=10.0.0.1\nsslrootcert=system\nsslmode=require\n";
  const Variable services{"PGSERVICEFILE", directory.file("services")}, list{"SSL_CERT_FILE", "/the/list"},
      unset{"SSL_CERT_DIR", ""};
  const auto expectSystem = [](const Settings& settings) {
    const Destination found = destinationOf(settings);
    EXPECT_EQ(found.fault, "");
    EXPECT_EQ(valueOf(found.settings, "sslrootcert"), "/the/list");
    EXPECT_EQ(valueOf(found.settings, "sslmode"), "verify-full");
  };
  expectSystem(jobSettings({.host = "10.0.0.1", .sslRootCertificate = "system"}));
  expectSystem(jobSettings({.host = "/run/pg", .sslRootCertificate = "system"}));
  expectSystem(jobSettings({.connection = "host=db1 sslrootcert=system"}));
  expectSystem(jobSettings({.connection = "postgresql://10.0.0.1/jobs?sslmode=verify-full&sslrootcert=system"}));
  expectSystem(jobSettings({.service = "jobs"}));
  expectSystem(listenSettings({.connection = "host=10.0.0.1", .listen = "sslrootcert=system"}));
  EXPECT_NE(destinationOf(jobSettings({.service = "weak"})).fault.find("sslrootcert=system"), std::string::npos);
  for (const char* weak : {"disable", "allow", "prefer", "require", "verify-ca"}) {
    const OptionFaults faults = faultsOf({.host = "db1", .sslMode = weak, .sslRootCertificate = "system"});
    ASSERT_EQ(faults.size(), 1U) << weak;
    EXPECT_NE(faults[0].message.find("sslrootcert=system"), std::string::npos);  // libpq 16 says it in its own words
    EXPECT_NE(faults[0].message.find("verify-full"), std::string::npos);
  }
  const Variable variable{"PGSSLROOTCERT", "system"};
  expectSystem(jobSettings({.host = "10.0.0.1"}));
  EXPECT_EQ(
      valueOf(destinationOf(jobSettings({.host = "db1", .sslRootCertificate = "./system"})).settings, "sslrootcert"),
      "./system");
}

/// The variable excludes the system's list. libpq 15 reads no directories.
TEST(PostgresqlSettings, ADirectoryOfAuthoritiesIsNotReplacedByTheSystemsList) {
  const TempDir home;
  const Variable variable{"HOME", home.path().string()}, unset{"SSL_CERT_FILE", ""};
  const bool readsIt = PQlibVersion() >= 160'000;
  const auto listIn = [](const char* named) {
    const Destination found = destinationOf(jobSettings({.host = "db1", .sslRootCertificate = named}));
    return found.fault.empty() ? valueOf(found.settings, "sslrootcert") : found.fault.substr(0, 19);
  };
  for (const char* named : {"", "system"}) {
    const Variable empty{"SSL_CERT_DIR", ""};
    EXPECT_EQ(listIn(named), net::systemBundle());
    const Variable own{"SSL_CERT_DIR", home.path().string()};
    EXPECT_EQ(listIn(named), readsIt ? "system" : "SSL_CERT_DIR is set");
    const Variable systems{"SSL_CERT_DIR", std::filesystem::path{net::systemBundle()}.parent_path().string() + "/"};
    EXPECT_EQ(listIn(named), readsIt ? "system" : net::systemBundle());
  }
  const Variable own{"SSL_CERT_DIR", home.path().string()}, file{"SSL_CERT_FILE", "/the/list"};
  EXPECT_EQ(listIn(""), readsIt ? "system" : "/the/list");
}

TEST(PostgresqlOptions, AStringThatLibpqRefusesNamesTheParameterAndNeverASecret) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c : {Case{"postgresql://u@h/j?pgbouncer=true", "\"pgbouncer\""},
                        Case{"postgresql://u@h/j?sslmode=disable&connection_limit=1", "\"connection_limit\""},
                        Case{"postgresql://u@h/j?schema=public", "\"schema\""},
                        Case{"postgres://u@h/j?supa=base-pooler.x", "\"supa\""},
                        Case{"postgresql://u@h/j?a=b?c=d", "\"a\""},
                        Case{"postgresql://u@h/j?sslmode=require&Channel_Binding=x", "\"Channel_Binding\""},
                        Case{"host=h port=1 pool_max_conns=3", "\"pool_max_conns\""},
                        Case{"host = h  pool = 3", "\"pool\""},
                        Case{"postgresql+asyncpg://u@h/j", "\"postgresql+asyncpg://\""},
                        Case{"postgresql+psycopg2://u:s3same@h/j", "\"postgresql+psycopg2://\""},
                        Case{"jdbc:postgresql://h/j?user=u&password=s3same", "\"jdbc:postgresql://\""},
                        Case{"mysql://u:s3same@h/j", "\"mysql://\""},
                        Case{"postgres://u%zz@h/j", "is not a connection string"},
                        Case{"host=h port = 1 dbname", "is not a connection string"},
                        Case{"postgresql://u:a/b?s3same=x@h/j", "is not a connection string"},
                        Case{"postgresql://h/j?password=x&s3same=y", "is not a connection string"},
                        Case{"password=x s3same=y", "is not a connection string"},
                        Case{"postgresql://u:s3same/b@h/j", "behind its host"},
                        Case{"postgresql://u:p/s3same@h:x/j", "behind its host"},
                        Case{"postgresql://u@h:word/j", "has a port that is not a number"},
                        Case{"host=h,h2 port=1,70000", "has a port that is not a number"}}) {
    const OptionFaults faults = faultsOf({.connection = c.text});
    ASSERT_EQ(faults.size(), 1U) << c.text;
    EXPECT_NE(faults[0].message.find(c.says), std::string::npos) << c.text << ": " << faults[0].message;
    EXPECT_EQ(faults[0].message.find("s3same"), std::string::npos) << faults[0].message;
  }
}

Settings valuesOf(PGconn* connection) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all{PQconninfo(connection), PQconninfoFree};
  Settings out;
  for (const PQconninfoOption* one = all.get(); one->keyword != nullptr; ++one) {
    if (one->val != nullptr && *one->val != '\0') out[one->keyword] = one->val;
  }
  return out;
}

/// What libpq would connect to with this string; nothing if it refuses it.
std::optional<Settings> libpqReads(const std::string& text) {
  // What is neither a URL nor keywords would be the name of a database below.
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed{PQconninfoParse(text.c_str(), nullptr),
                                                                            PQconninfoFree};
  if (!parsed) return std::nullopt;
  // The wish is refused last of all, before anybody is asked; the password keeps libpq from a passfile.
  const char* const names[] = {"dbname", "target_session_attrs", "password", nullptr};
  const char* const values[] = {text.c_str(), "a test looks", "none", nullptr};
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection{PQconnectStartParams(names, values, 1), PQfinish};
  if (std::string{PQerrorMessage(connection.get())}.find("a test looks") == std::string::npos) return std::nullopt;
  return valuesOf(connection.get());
}

/// `host:port` of each, as libpq pairs them.
std::string placesIn(const Settings& found) {
  const auto list = [&](const char* name) {
    std::vector<std::string> out;
    std::stringstream in{found.contains(name) ? found.at(name) + ",end" : "end"};
    for (std::string one; std::getline(in, one, ',');) out.push_back(one);
    out.pop_back();
    return out;
  };
  const auto hosts = list("host"), addresses = list("hostaddr"), ports = list("port");
  std::string out;
  for (std::size_t i = 0; i < std::max<std::size_t>({hosts.size(), addresses.size(), 1}); ++i) {
    out += (i < hosts.size() ? hosts[i] : "") + "|" + (i < addresses.size() ? addresses[i] : "") + "|";
    const std::string port = ports.empty() ? "" : ports.size() == 1 ? ports[0] : ports[i];
    out += (port.empty() && !ports.empty() ? "5432" : port) + " ";
  }
  return out;
}

/// The same values, but for what the store sets in each connection.
void expectReadAsByLibpq(const std::string& text, const Settings& wanted, const Destination& found) {
  std::string places;
  for (const Host& host : found.hosts) places += host.name + "|" + host.address + "|" + host.port + " ";
  EXPECT_EQ(places, placesIn(wanted)) << text;
  EXPECT_EQ(found.database, wanted.contains("dbname") ? wanted.at("dbname") : "") << text;
  for (const char* name : {"user", "passfile", "options", "application_name", "connect_timeout", "sslcert", "sslkey",
                           "channel_binding", "krbsrvname", "requirepeer", "ssl_min_protocol_version", "sslcrl"}) {
    const std::string said = valueOf(found.settings, name);
    EXPECT_TRUE(said == "-" || said == valueOf(wanted, name)) << text << ": " << name << " " << said;
  }
  if (valueOf(wanted, "sslmode") != "prefer") {
    const std::string mode = valueOf(found.settings, "sslmode");
    EXPECT_TRUE(mode == valueOf(wanted, "sslmode") || mode == "-") << text << ": " << mode;
  }
}

/// libpq itself is the judge: what it refuses is refused, and what is not refused with a reason means the same.
TEST(PostgresqlSettings, ConnectionStringsMeanWhatTheyMeanToLibpq) {
  struct Row {
    const char* text;
    const char* refused = "";  ///< by tenure alone, and why
  };
  const Row rows[] = {
      {"postgresql://"},
      {"postgres://"},
      {"postgresql://h"},
      {"postgresql://h/"},
      {"postgresql:///j"},
      {"postgresql://u@h/j"},
      {"postgresql://u@/j"},
      {"postgresql://h:6000/j"},
      {"postgresql://:6000/j"},
      {"postgresql://h1,h2,h3/j"},
      {"postgresql://h1:1,h2,h3:3/j"},
      {"postgresql://u%40corp@h/my%20jobs"},
      {"postgresql://[::1]:6000/j"},
      {"postgresql://[fe80::1%25eth0]/j"},
      {"postgresql://[::1/j"},
      {"postgresql://%2Frun%2Fpg:6000/j"},
      {"postgresql:///j?host=/run/pg&port=6000"},
      {"postgresql://h/j?host=h2"},
      {"postgresql://h/j?hostaddr=10.0.0.1"},
      {"postgresql://h/j?ssl=true"},
      {"postgresql://h/j?ssl=false"},
      {"postgresql://h/j?sslmode=require&channel_binding=prefer"},
      {"postgresql://h/j?application_name=a%20b&connect_timeout=7"},
      {"postgresql://h/j?options=-c%20work_mem%3D1MB%20--cluster%3Dx"},
      {"postgresql://h/j?sslmode=no-verify"},
      {"postgresql://h/j?connect_timeout=soon"},
      {"postgresql://h/j?pgbouncer=true"},
      {"postgresql://h/j?sslmode"},
      {"postgresql://h/j?a=b?c=d"},
      {"postgresql://h/j?"},
      {"postgresql://h/j?&"},
      {"postgresql://u%zz@h/j"},
      {"postgresql://u%00@h/j"},
      {"postgresql://h:word/j", "has a port that is not a number"},
      {"postgresql://h:0/j", "has a port that is not a number"},
      {"postgresql://h:70000/j", "has a port that is not a number"},
      {"postgresql://u:secret@h/j", "contains a password"},
      {"postgresql://h/j?password=secret", "contains a password"},
      {"postgresql://h/j?target_session_attrs=any", "leases need a primary"},
      {"postgresql://h/j?target_session_attrs=read-write"},
      {"PostgreSQL://h/j"},
      {"postgresql+psycopg2://h/j"},
      {"jdbc:postgresql://h/j"},
      {"host=h port=6000 dbname=j user=u"},
      {"host = h port = 6000"},
      {"host=h\tport=6000\ndbname=j"},
      {"host='h' dbname='my jobs' user='o\\'neil'"},
      {"dbname=my\\ jobs host=h"},
      {"host=h dbname=''"},
      {"host= dbname=j"},
      {"host=h1,h2 port=1,2"},
      {"host=h1,h2 port=' 1 ,2\t'"},
      {"host=h port='60 00'", "has a port that is not a number"},
      {"host=h1,h2 port=1,2,3"},
      {"host=h1,h2 hostaddr=10.0.0.1"},
      {"hostaddr=10.0.0.1,10.0.0.2 port=6000"},
      {"host=h host=h2"},
      {"host=@abstract dbname=j"},
      {"host=/run/pg,10.0.0.1 port=,6000"},
      {"host=h dbname"},
      {"host=h 'dbname'=j"},
      {"host='h"},
      {"host=h pool=3"},
      {"HOST=h"},
      {"host=h requirepeer=postgres krbsrvname=p ssl_min_protocol_version=TLSv1.3 sslcrl=/crl"},
      {"host=h passfile=/p sslcert=/c sslkey=/k"},
      {"host=h ssl_min_protocol_version=TLSv9"},
      {"host=h dbname=postgresql://other/k", "has a URL as its dbname"},
      {"host=h dbname=a=b"},
      {"host=h user=u=v"},
      {"host=h replication=database", "asks for replication"},
      {"jobs=1"},
      {"=h"},
      {" host=h "},
  };
  for (const Row& row : rows) {
    const auto judged = libpqReads(row.text);
    const OptionFaults faults = faultsOf({.connection = row.text});
    if (*row.refused != '\0') {
      ASSERT_EQ(faults.size(), 1U) << row.text;
      EXPECT_NE(faults[0].message.find(row.refused), std::string::npos) << row.text << ": " << faults[0].message;
      continue;
    }
    EXPECT_EQ(faults.empty(), judged.has_value()) << row.text << (faults.empty() ? "" : ": " + faults[0].message);
    if (!faults.empty() || !judged) continue;
    expectReadAsByLibpq(row.text, *judged, destinationOf(jobSettings({.connection = row.text})));
  }
}

TEST(PostgresqlSettings, ServiceFilesMeanWhatTheyMeanToLibpq) {
  const TempDir directory;
  const Variable services{"PGSERVICEFILE", directory.file("services")};
  std::size_t accepted = 0;
  for (const char* text : {
           "[jobs]\nhost=h\nport=6000\ndbname=j\nuser=u\n",
           "[jobs]\nhost=h",
           "[jobs]\r\nhost=h\r\nport=6000\r\n",
           "# note\n\n[other]\nhost=x\n[jobs]\n# note\nhost=h\n",
           "[jobs]\nhost=h\n[jobs]\nhost=second\n",
           "[jobs]\nhost=h\nhost=h2\n",
           "[jobs]\nhost = h\n",
           "[jobs]\n  host=h\n",
           "[jobs]\nhost=h  \n",
           "[jobs]\nhost=h # note\n",
           "[jobs]\nhost='h'\n",
           "[jobs]\nhost=h1,h2\nport=1,2\n",
           "[jobs]\nhost=h1,h2\nport=1,2,3\n",
           "[jobs]\nhost=h\npool=3\n",
           "[jobs]\nhost=h\nservice=other\n",
           "[jobs]\nhost\n",
           "[jobs]\nhost=\nport=6000\n",
           "[ jobs ]\nhost=h\n",
           "[Jobs]\nhost=h\n",
           "[jobs]x\nhost=h\n",
           " [jobs]\nhost=h\n",
           "[jobs]\nsslmode=verify-ca\nhost=h\napplication_name=a b\n",
           "[jobs]\noptions=-c work_mem=1MB\nhost=h\n",
           "[jobs]\nhost=postgresql://u@h/j\n",
           "[jobs]\n",
           "",
           "\xEF\xBB\xBF[jobs]\nhost=h\n",
       }) {
    std::ofstream{directory.file("services")} << text;
    const auto judged = libpqReads("service=jobs");
    const Destination found = destinationOf(jobSettings({.service = "jobs"}));
    EXPECT_EQ(found.fault.empty(), judged.has_value()) << text << ": " << found.fault;
    if (!found.fault.empty() || !judged) continue;
    ++accepted;
    expectReadAsByLibpq(text, *judged, found);
  }
  EXPECT_GE(accepted, 15U);
}

TEST(PostgresqlSettings, AServiceSaysWhereToGo) {
  const TempDir directory;
  std::ofstream{directory.file("services")} << "[jobs]\nhost=db7,db8\nport=6001\ndbname=jobs\nsslmode=require\n";
  const Variable variable{"PGSERVICEFILE", directory.file("services")};
  const Destination destination = destinationOf(jobSettings({.service = "jobs"}));
  ASSERT_EQ(destination.fault, "");
  EXPECT_EQ(postgresql_store::toString(destination.hosts), "db7:6001, db8:6001");
  EXPECT_EQ(destination.database, "jobs");
  EXPECT_EQ(valueOf(destination.settings, "sslmode"), "require") << "the service file's own";
  EXPECT_NE(destinationOf(jobSettings({.service = "nowhere"})).fault, "");
}

/// What libpq makes of the settings that it is given; the wish keeps it from asking anybody.
Settings takenByLibpq(const PostgresqlStoreOptions& options) {
  Settings settings = destinationOf(jobSettings(options)).settings;
  settings["sslmode"] = "a test looks";
  return valuesOf(postgresql_store::startConnecting(settings).get());
}

/// Encryption that was demanded would be switched off.
TEST(PostgresqlSettings, WhatAServiceOrTheEnvironmentSaysWinsOverTenuresOwnDefaults) {
  const TempDir directory;
  std::ofstream{directory.file("services")}
      << "[plain]\nhost=h\n[standby]\nhost=h\ntarget_session_attrs=standby\n[jobs]\nhost=h\ngssencmode=require\n"
      << "keepalives_idle=60\ntcp_user_timeout=0\ntarget_session_attrs=primary\nfallback_application_name=jobs\n";
  const Variable services{"PGSERVICEFILE", directory.file("services")};
  const Settings plain = takenByLibpq({.service = "plain"}), said = takenByLibpq({.service = "jobs"});
  struct Row {
    const char* keyword;
    const char* ours;
    const char* said;
  };
  for (const Row& row :
       {Row{"gssencmode", "disable", "require"}, Row{"keepalives_idle", "5", "60"},
        Row{"keepalives_interval", "2", "2"}, Row{"keepalives_count", "3", "3"}, Row{"tcp_user_timeout", "10000", "0"},
        Row{"target_session_attrs", "read-write", "primary"}, Row{"fallback_application_name", "tenure", "jobs"}}) {
    EXPECT_EQ(valueOf(plain, row.keyword), row.ours) << row.keyword;
    EXPECT_EQ(valueOf(said, row.keyword), row.said) << row.keyword;
  }
  const auto ofStandby = destinationOf(jobSettings({.service = "standby"})).fault;
  EXPECT_NE(ofStandby.find("target_session_attrs=standby; leases need a primary"), std::string::npos) << ofStandby;
  const Variable encryption{"PGGSSENCMODE", "prefer"};
  EXPECT_EQ(valueOf(takenByLibpq({.host = "h"}), "gssencmode"), "prefer");
  const Variable primary{"PGTARGETSESSIONATTRS", "primary"};
  EXPECT_EQ(valueOf(takenByLibpq({.host = "h"}), "target_session_attrs"), "primary");
  const Variable standby{"PGTARGETSESSIONATTRS", "prefer-standby"};
  EXPECT_NE(destinationOf(jobSettings({.host = "h"})).fault, "");
}

TEST(PostgresqlOptions, GoodOnesHaveNoFault) {
  EXPECT_EQ(faultsOf(PostgresqlStoreOptions{}), OptionFaults{});
  EXPECT_EQ(faultsOf({.connection = "postgresql://me@db1,db2/jobs", .passfile = "/pass", .schema = "my \"schema"}),
            OptionFaults{});
}

TEST(PostgresqlOptions, AKeyBelongsToACertificateThatTheStringOrAServiceMayName) {
  EXPECT_EQ(faultsOf({.connection = "host=db1 sslcert=/crt", .sslKey = "/key"}), OptionFaults{});
  EXPECT_EQ(faultsOf({.service = "jobs", .sslKey = "/key"}), OptionFaults{});
}

TEST(PostgresqlOptions, EachFaultNamesItsField) {
  using Fields = std::vector<std::string>;
  EXPECT_EQ(fieldsAtFault({.connection = "host=db1 nonsense"}), Fields{"connection"});
  EXPECT_EQ(fieldsAtFault({.connection = "host=db1 target_session_attrs=any"}), Fields{"connection"});
  EXPECT_EQ(fieldsAtFault({.connection = "host=a,b port=1,2,3"}), Fields{"connection"});
  EXPECT_EQ(fieldsAtFault({.listen = "hots=db1"}), Fields{"listen"});
  EXPECT_EQ(fieldsAtFault({.port = "0"}), Fields{"port"});
  EXPECT_EQ(fieldsAtFault({.port = "1 2"}), Fields{"port"});
  EXPECT_EQ(fieldsAtFault({.host = "a,b", .port = " 1, 2 "}), Fields{});
  EXPECT_EQ(fieldsAtFault({.host = "a", .port = "1,2"}), Fields{"port"});
  EXPECT_EQ(fieldsAtFault({.sslMode = "yes"}), Fields{"sslMode"});
  EXPECT_EQ(fieldsAtFault({.sslKey = "/key"}), Fields{"sslCertificate"});
  EXPECT_EQ(fieldsAtFault({.schema = "", .table = std::string(64, 'x')}), (Fields{"schema", "table"}));
}

/// A quoted name may have a dot, so the server would take the whole for a table in the schema public.
TEST(PostgresqlOptions, ATableWithADotIsRefusedWithAHintAtTheSchema) {
  const OptionFaults faults = faultsOf({.table = "locks.tenure_lease"});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].field, "table");
  EXPECT_EQ(
      faults[0].message,
      "is \"locks.tenure_lease\"; it must be the table's name alone, without a dot: the schema is an option of its "
      "own (store.schema)");
}

TEST(PostgresqlOptions, ANameWithControlCharactersIsRefused) {
  for (const char* name : {"a\nb", "a\x1b[31mb", "\x7f"}) {
    const OptionFaults faults = faultsOf({.schema = name, .table = name});
    ASSERT_EQ(faults.size(), 2U);
    for (const auto& fault : faults) {
      EXPECT_NE(fault.message.find("without control characters"), std::string::npos) << fault.message;
    }
  }
}

TEST(PostgresqlOptions, ManyPortsForOneHostAreSaidInGoodEnglish) {
  const OptionFaults faults = faultsOf({.host = "a", .port = "1,2"});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "has 2 ports for 1 host; give one for all, or one for each");
}

TEST(PostgresqlSql, ARoleThatIsNoRoleGetsNoGrant) {
  for (const std::string& role :
       {std::string{"public"}, std::string{"none"}, std::string(64, 'r'), std::string{"a\nb"}}) {
    EXPECT_THROW((void)postgresqlSchemaSql({}, role), std::invalid_argument) << role;
  }
  for (const std::string& role :
       {std::string{}, std::string(63, 'r'), std::string{"Public"}, std::string{"my \"role"}}) {
    EXPECT_NE(postgresqlSchemaSql({}, role), "") << role;
  }
}

TEST(PostgresqlOptions, APasswordInAStringIsRefusedAndNeverShown) {
  for (const char* text : {"host=db1 password=s3cret", "postgresql://me:s3cret@db1/jobs", "host=db1 password='s3cret",
                           "postgresql://me:s3cret%ZZ@db1/jobs", "host=db1 s3cret", "sslpassword=s3cret"}) {
    for (const auto& options : {PostgresqlStoreOptions{.connection = text}, PostgresqlStoreOptions{.listen = text}}) {
      const OptionFaults faults = faultsOf(options);
      EXPECT_EQ(faults.size(), 1U) << text;
      for (const auto& fault : faults) EXPECT_EQ(fault.message.find("s3cret"), std::string::npos) << fault.message;
    }
  }
  for (const auto& options : {PostgresqlStoreOptions{.host = "postgresql://me:s3cret@db1/jobs"},
                              PostgresqlStoreOptions{.database = "postgresql://me:s3cret@db1/jobs"},
                              PostgresqlStoreOptions{.connection = "host=postgresql://me:s3cret@db1/jobs"},
                              PostgresqlStoreOptions{.listen = "dbname=postgresql://me:s3cret@db1/jobs"}}) {
    const OptionFaults faults = faultsOf(options);
    EXPECT_EQ(faults.size(), 1U);
    for (const auto& fault : faults) EXPECT_EQ(fault.message.find("s3cret"), std::string::npos) << fault.message;
  }
  EXPECT_THROW(postgresql_store::checkOptions({.connection = "password=x"}), std::invalid_argument);
}

}  // namespace
}  // namespace tenure::test
