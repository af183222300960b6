// Internal: TLS as a filter between two byte streams. Only tls.cpp knows OpenSSL.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>

#include "lockcore/runtime/regular_file.hpp"
#include "pem_text.hpp"

namespace tenure::net {

/// Paths of PEM files, or their contents. Without a CA it is the system's trust store; an empty certificate is none.
struct TlsFiles {
  std::string caFile{};
  std::string certificate{};
  std::string key{};
  std::string caText{};
  std::string certificateText{};
  std::string keyText{};
};

/// All of it at one moment.
struct CertificateTexts {
  PemText authorities{};
  /// The authorities are those of the system, which OpenSSL reads itself. The texts show whether it must do so again,
  /// which takes the client's thread 30 ms or more.
  bool ofSystem{false};
  std::vector<FileStamp> systemsDirectories{};
  PemText certificate{};
  PemText key{};

  friend bool operator==(const CertificateTexts&, const CertificateTexts&) = default;
};

class CertificateFiles {
 public:
  explicit CertificateFiles(TlsFiles files) : files_{std::move(files)} {}

  /// Whether one of them was written, or is another file, since read() began. Costs a look at each.
  [[nodiscard]] bool changed() const { return look() != seen_; }

  /// Files of one directory are read through one look at where that directory is. Kubernetes mounts a Secret as links
  /// through a directory that it replaces as one, so a certificate never gets the key of another version. Throws
  /// std::runtime_error, which names the file.
  [[nodiscard]] CertificateTexts read();

 private:
  using Stamps = std::vector<FileStamp>;
  [[nodiscard]] Stamps look() const;
  [[nodiscard]] CertificateTexts readOnce() const;

  TlsFiles files_;
  Stamps seen_{};
};

/// Where the system's authorities are: what SSL_CERT_FILE and SSL_CERT_DIR name, or what OpenSSL was built with where
/// they are not set or empty. If this system has neither of the latter, the file is systemBundle().
[[nodiscard]] std::string systemsFile();
[[nodiscard]] std::vector<std::string> systemsDirectories();

/// The files of the directories that SSL_CERT_DIR lists; none if it is not set or empty.
[[nodiscard]] std::vector<std::string> filesOfSystemsDirectories();

/// Must be called before anything else here uses OpenSSL. It prevents OpenSSL's clean-up when main() has returned. A
/// client that was destroyed by one of its own threads cannot wait for that thread. The thread may still be signing or
/// closing a connection then, and would use what the clean-up has freed. The system takes the memory back. No effect if
/// the program itself has initialised OpenSSL before, without OPENSSL_INIT_NO_ATEXIT. Such a program should destroy all
/// objects of tenure before main() returns, and not in a callback.
TENURE_API void leaveOpenSslAtExit() noexcept;

/// One TLS connection. Every call appends to `out` what is to be sent.
class TlsSession {
 public:
  enum class State {
    more,    ///< needs more bytes to continue
    ready,   ///< the handshake is done (handshake() only)
    ended,   ///< the peer ended the stream in an orderly way
    failed,  ///< why() says the reason
  };

  virtual ~TlsSession() = default;
  [[nodiscard]] virtual State handshake(std::string_view received, std::string& out) = 0;
  [[nodiscard]] virtual State read(std::string_view received, std::string& plain, std::string& out) = 0;
  /// False if the session is broken.
  [[nodiscard]] virtual bool write(std::string_view plain, std::string& out) = 0;
  [[nodiscard]] virtual const std::string& why() const = 0;
  /// After `failed`: the peer ended it because of this side's certificate, or because there is none. With TLS 1.3 it
  /// says so after the handshake, when it is read.
  [[nodiscard]] virtual bool isOursRefused() const = 0;
  /// Another certificate of this side is in use since. A server may judge the old one at every request (kube-apiserver
  /// does), and refuse it once its time is over.
  [[nodiscard]] virtual bool showsOldCertificate() const = 0;
};

/// Trust store, the client's own certificate, and session tickets. Belongs to one thread once it is made.
class TlsContext {
 public:
  /// Throws std::runtime_error if a file cannot be used, or if OpenSSL refuses to work. The logger is told when files
  /// have changed.
  [[nodiscard]] static std::unique_ptr<TlsContext> make(TlsFiles files, Logger logger);
  virtual ~TlsContext() = default;

  /// For a connection to this host. The certificate must contain this name (or address). Files that have changed since
  /// the last connection are read again, and all of them after a handshake that failed: the time and size of a file do
  /// not show every change. Files that cannot be used (half of them may have been written) change nothing: what was
  /// read before stays in use. Sessions that exist already are not touched.
  [[nodiscard]] virtual std::unique_ptr<TlsSession> session(const std::string& host, std::uint16_t port) = 0;
  /// The same look at the files, for connections that stay open; at most once a second of this clock.
  virtual void look(std::chrono::nanoseconds now) = 0;
};

}  // namespace tenure::net
