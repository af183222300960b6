// Certificates that are created while the test runs.
#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace tenure::test {

struct Identity {
  std::shared_ptr<X509> certificate{};
  std::shared_ptr<EVP_PKEY> key{};
};

/// Writes it to a PEM file. With a password the key is encrypted.
void writeKey(const Identity& identity, const std::string& path, const std::string& password = {});
void writeCertificate(const Identity& identity, const std::string& path);

/// A certificate authority for the test; only clients that trust caFile() trust its certificates.
class TestAuthority {
 public:
  /// Two of one name whose certificates have no key identifiers cannot both be trusted: OpenSSL takes the first.
  explicit TestAuthority(const std::string& name = "tenure test authority") : TestAuthority{name, nullptr} {}
  /// An intermediate.
  TestAuthority(const std::string& name, const TestAuthority& issuer) : TestAuthority{name, &issuer} {}

  /// `names`: entries as in openssl.cnf, "DNS:localhost" or "IP:127.0.0.1". Valid from yesterday until `days` from now.
  [[nodiscard]] Identity issue(const std::vector<std::string>& names, int days = 1,
                               const char* subject = "tenure test server") const;
  [[nodiscard]] std::string caFile() const { return directory_.file("ca.pem"); }

  [[nodiscard]] const Identity& self() const { return self_; }

 private:
  TestAuthority(const std::string& name, const TestAuthority* issuer);

  TempDir directory_{};
  Identity self_{};
};

}  // namespace tenure::test
