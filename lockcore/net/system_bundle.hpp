// Internal: the file in which a Linux system keeps the authorities that it trusts, without OpenSSL.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <unistd.h>

namespace tenure::net {

/// In Go's order (crypto/x509/root_linux.go): Debian, Fedora, SUSE, OpenELEC, RHEL, Alpine.
inline constexpr std::array bundlesOfSystems{"/etc/ssl/certs/ca-certificates.crt",
                                             "/etc/pki/tls/certs/ca-bundle.crt",
                                             "/etc/ssl/ca-bundle.pem",
                                             "/etc/pki/tls/cacert.pem",
                                             "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                             "/etc/ssl/cert.pem"};

/// The first of them that this process may read; empty: none.
[[nodiscard]] inline std::string systemBundle() {
  const auto* const found = std::find_if(bundlesOfSystems.begin(), bundlesOfSystems.end(),
                                         [](const char* path) { return access(path, R_OK) == 0; });
  return found == bundlesOfSystems.end() ? std::string{} : *found;
}

}  // namespace tenure::net
