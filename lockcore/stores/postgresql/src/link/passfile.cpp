#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "connection_settings.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "options_check.hpp"

namespace tenure::postgresql_store {
namespace {

struct Passfile {
  std::string path{};
  bool isNamed{false};  ///< by somebody; the one of libpq's default may be missing
};

Passfile passfileIn(const Settings& found) {
  if (const auto at = found.find("passfile"); at != found.end()) return {at->second, true};
  return {inHome(".pgpass"), false};
}

}  // namespace

PassfileState passfileState(const Settings& found) {
  const Passfile file = passfileIn(found);
  const std::string name = "the passfile " + inOneLine(file.path.c_str());
  struct stat seen {};
  if (file.path.empty()) return {};
  if (stat(file.path.c_str(), &seen) != 0) {
    return {file.isNamed ? name + " cannot be read" : std::string{}, false};
  }
  if (!S_ISREG(seen.st_mode)) return {name + " is ignored, because it is not a plain file", true};
  if ((seen.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return {name +
                " is ignored, because users other than its owner may use it: chmod 600, or give the password alone in "
                "store.password_file, which may have any mode",
            true};
  }
  if (access(file.path.c_str(), R_OK) != 0) return {name + " cannot be read by this user", false};
  return {};
}

namespace {

constexpr std::size_t longestPem = std::size_t{16} << 20U;  // a system's bundle has 0.2 MiB

/// Empty: libpq may be able to use it.
std::optional<StoreError> certificateFault(const char* keyword, const std::string& path) {
  const std::string name = keyword + (" " + inOneLine(path.c_str()));
  const auto text = regularFile(path, longestPem);
  if (!text) {
    return StoreError{ErrorClass::misconfigured, name + " " + text.error().why, !text.error().bySystem};
  }
  const bool mayBeBinary = std::string_view{keyword} == "sslkey";  // libpq reads DER too
  if (!text->empty() && (mayBeBinary || text->find("-----BEGIN ") != std::string::npos)) return std::nullopt;
  return StoreError{ErrorClass::misconfigured, name + ": there is nothing in it in PEM form", true};
}

/// With one of these lines OpenSSL needs a passphrase. libpq has no default for it.
bool isEncrypted(const std::string& key) {
  return key.find("-----BEGIN ENCRYPTED PRIVATE KEY-----") != std::string::npos ||
         key.find("Proc-Type: 4,ENCRYPTED") != std::string::npos;
}

std::optional<StoreError> passphraseFault(const std::string& key) {
  const auto text = regularFile(key, longestPem);
  if (key.empty() || !text || !isEncrypted(*text)) return std::nullopt;
  return StoreError{ErrorClass::misconfigured,
                    "sslkey " + inOneLine(key.c_str()) +
                        " is encrypted, and nothing gives its passphrase: put sslpassword into the service file, or "
                        "decrypt the key (openssl pkey)",
                    true};
}

/// Where libpq goes on without TLS, its files do not count.
bool needsTls(const Settings& settings) {
  const auto mode = settings.find("sslmode");
  return mode != settings.end() && (mode->second == "require" || mode->second.starts_with("verify-"));
}

}  // namespace

StoreStatus readLocalFiles(const PostgresqlStoreOptions& options) {
  const Destination found = destinationOf(jobSettings(options));
  if (!found.fault.empty()) {
    const bool unreadable = found.fault.find("syntax error in service file") != std::string::npos;
    return StoreError{ErrorClass::misconfigured, found.fault, unreadable};
  }
  for (const char* keyword : {"sslrootcert", "sslcert", "sslkey"}) {
    const auto named = found.settings.find(keyword);
    const bool counts = needsTls(found.settings) && named != found.settings.end() && named->second != "system";
    if (!counts) continue;
    if (auto fault = certificateFault(keyword, named->second)) return *std::move(fault);
  }
  if (auto fault = passphraseFault(found.lockedKey)) return *std::move(fault);
  if (!options.passwordFile.empty()) {
    if (const auto password = passwordIn(options.passwordFile); !password) return password.error();
  }
  if (!found.passfileFault.empty()) return StoreError{ErrorClass::credentials, found.passfileFault};
  return {};
}

}  // namespace tenure::postgresql_store
