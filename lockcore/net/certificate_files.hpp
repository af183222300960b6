// Internal: what a client trusts and shows, as PEM text: given so, or in files that others replace while it runs.
#pragma once

#include <array>
#include <string>

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
  FileStamp systemsDirectory{};
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
  using Stamps = std::array<FileStamp, 4>;
  [[nodiscard]] Stamps look() const;
  [[nodiscard]] CertificateTexts readOnce() const;

  TlsFiles files_;
  Stamps seen_{};
};

}  // namespace tenure::net
