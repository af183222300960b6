
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <openssl/x509.h>
#include <stdexcept>
#include <system_error>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/file_access.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "system_bundle.hpp"
#include "tls.hpp"

namespace tenure::net {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longestFile = std::size_t{16} << 20U;  // a system's bundle has 0.2 MiB

/// Reads files, each directory opened once.
class Reader {
 public:
  std::string read(const std::string& name, const std::string& path) {
    const fs::path place = placeOf(path);
    const int directory = opened(place.parent_path());
    // Where the directory cannot be opened, the whole path tells what is wrong.
    auto text = directory >= 0 ? regularFile(place.filename().string(), longestFile, directory)
                               : regularFile(path, longestFile);
    if (!text && text.error().bySystem) throw UnusableHere(name + " " + text.error().why);
    if (!text) throw std::runtime_error(name + " " + text.error().why);
    return *std::move(text);
  }

 private:
  /// One step of a link is followed: `tls.crt -> ..data/tls.crt`.
  static fs::path placeOf(const fs::path& path) {
    std::error_code isNoLink;
    const fs::path target = fs::read_symlink(path, isNoLink);
    return isNoLink ? path : path.parent_path() / target;
  }

  int opened(const fs::path& directory) {
    const std::string name = directory.empty() ? "." : directory.string();
    const auto [known, fresh] = directories_.try_emplace(name);
    if (fresh) known->second.reset(::open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return known->second.get();
  }

  std::map<std::string, UniqueFd> directories_{};
};

/// Null: it is not set. Go and curl do not distinguish an empty variable from that.
const char* placeIn(const char* variable) {
  const char* const named = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): OpenSSL does the same
  return named == nullptr || *named == '\0' ? nullptr : named;
}

/// Where the system's authorities are: SSL_CERT_FILE, SSL_CERT_DIR, or what OpenSSL was built with.
std::string systemsPlace(const char* variable, const char* builtIn) {
  const char* const named = placeIn(variable);
  return named != nullptr ? named : builtIn;
}

}  // namespace

std::string systemsFile() {
  std::string file = systemsPlace(X509_get_default_cert_file_env(), X509_get_default_cert_file());
  // An OpenSSL that was built for another system looks in places that this system does not have.
  std::error_code unreadable;
  const bool isBuiltIn = file == X509_get_default_cert_file();
  if (!isBuiltIn || fs::exists(file, unreadable) || fs::exists(X509_get_default_cert_dir(), unreadable)) return file;
  const std::string bundle = systemBundle();
  return bundle.empty() ? file : bundle;
}

std::vector<std::string> systemsDirectories() {
  const std::string list = systemsPlace(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
  std::vector<std::string> out;
  for (const std::string_view directory : split(list, ':')) {
    if (!directory.empty()) out.emplace_back(directory);
  }
  return out;
}

namespace {

std::vector<FileStamp> stampsOfSystemsDirectories() {
  std::vector<FileStamp> out;
  for (const std::string& directory : systemsDirectories()) out.push_back(stampOf(directory));
  return out;
}

/// Empty where there is no such file: there may be a directory alone.
std::string systemsText() {
  auto text = regularFile(systemsFile(), longestFile);
  return text ? *std::move(text) : std::string{};
}

}  // namespace

std::vector<std::string> filesOfSystemsDirectories() {
  std::vector<std::string> out;
  if (placeIn(X509_get_default_cert_dir_env()) == nullptr) return out;
  for (const std::string& directory : systemsDirectories()) {
    std::error_code error;
    for (fs::directory_iterator at{directory, error}; !error && at != fs::directory_iterator{}; at.increment(error)) {
      std::error_code gone;
      if (at->is_regular_file(gone)) out.push_back(at->path().string());
    }
  }
  return out;
}

CertificateFiles::Stamps CertificateFiles::look() const {
  Stamps stamps(3);
  const auto stamp = [](const std::string& path) { return path.empty() ? FileStamp{} : stampOf(path); };
  stamps[0] = stamp(files_.certificate);
  stamps[1] = stamp(files_.key);
  if (!files_.caText.empty()) return stamps;
  if (!files_.caFile.empty()) {
    stamps[2] = stamp(files_.caFile);
    return stamps;
  }
  stamps[2] = stampOf(systemsFile());
  const std::vector<FileStamp> directories = stampsOfSystemsDirectories();
  stamps.insert(stamps.end(), directories.begin(), directories.end());
  return stamps;
}

/// A directory that was replaced as one is often removed at once. Whoever has opened it before finds nothing, and tries
/// again.
CertificateTexts CertificateFiles::read() {
  constexpr int mostTries = 5;
  for (int tries = 1;; ++tries) {
    seen_ = look();
    try {
      return readOnce();
    } catch (const std::runtime_error&) {
      if (tries == mostTries || !changed()) throw;
    }
  }
}

CertificateTexts CertificateFiles::readOnce() const {
  Reader reader;
  CertificateTexts texts;
  const auto take = [&](PemText& into, const std::string& text, const std::string& path, const std::string& asText,
                        const std::string& asFile) {
    if (!text.empty()) {
      into = {asText + " (given as text)", text};
    } else if (!path.empty()) {
      into.name = asFile;
      into.text = reader.read(asFile, path);
    }
  };
  take(texts.authorities, files_.caText, files_.caFile, "CA certificates", "CA file " + files_.caFile);
  texts.ofSystem = texts.authorities.name.empty();
  if (texts.ofSystem) {
    texts.authorities = {"the system's trust store", systemsText()};
    texts.systemsDirectories = stampsOfSystemsDirectories();
  }
  take(texts.certificate, files_.certificateText, files_.certificate, "client certificate",
       "client certificate " + files_.certificate);
  take(texts.key, files_.keyText, files_.key, "key of the client certificate",
       "key " + files_.key + " of the client certificate");
  if (texts.key.name.empty() && !texts.certificate.name.empty()) {
    throw std::runtime_error(texts.certificate.name + ": its key is missing; give both");
  }
  if (texts.certificate.name.empty() && !texts.key.name.empty()) {
    throw std::runtime_error(texts.key.name + ": the certificate is missing; a key needs one");
  }
  return texts;
}

}  // namespace tenure::net
