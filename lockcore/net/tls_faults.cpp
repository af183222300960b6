#include "tls_faults.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "lockcore/port/quoted_text.hpp"

namespace tenure::net {
namespace {

constexpr std::size_t longestName = 200;

/// Alerts that a server sends because of the client's certificate (RFC 8446, 6.2; 41 is that of older servers).
constexpr std::array aboutCertificates{
    SSL_AD_NO_CERTIFICATE,      SSL_AD_BAD_CERTIFICATE,     SSL_AD_UNSUPPORTED_CERTIFICATE,
    SSL_AD_CERTIFICATE_REVOKED, SSL_AD_CERTIFICATE_EXPIRED, SSL_AD_CERTIFICATE_UNKNOWN,
    SSL_AD_UNKNOWN_CA,          SSL_AD_ACCESS_DENIED,       SSL_AD_CERTIFICATE_REQUIRED};

using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string textIn(BIO& memory) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(&memory, &bytes);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string{};
}

/// The peer chose it, so it is printed as any foreign text.
std::string nameOf(const X509_NAME* name) {
  const Memory memory{BIO_new(BIO_s_mem()), BIO_free};
  if (!memory || X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253) < 0) return "?";
  return inQuotes(textIn(*memory), longestName);
}

std::string wordsOf(unsigned long code) {
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "OpenSSL error " + std::to_string(code);
}

}  // namespace

std::string lastTlsError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  return wordsOf(code);
}

std::string describe(const x509_st& certificate) {
  std::string text =
      nameOf(X509_get_subject_name(&certificate)) + ", issued by " + nameOf(X509_get_issuer_name(&certificate));
  const Memory memory{BIO_new(BIO_s_mem()), BIO_free};
  if (memory && ASN1_TIME_print(memory.get(), X509_get0_notAfter(&certificate)) == 1) {
    text += ", valid until " + textIn(*memory);
  }
  return text;
}

std::string alertAboutOurs(bool demanded) {
  const unsigned long code = ERR_peek_error();
  const int alert = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET : -1;
  const bool isAbout = std::find(aboutCertificates.begin(), aboutCertificates.end(), alert) != aboutCertificates.end();
  return isAbout || (demanded && alert >= 0) ? wordsOf(code) : std::string{};
}

std::string certificateFault(long verdict, const std::string& certificate, const std::string& host,
                             const std::string& authorities) {
  std::string hint = "; check the certificate of the server";
  if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID) {
    hint += " and the clock of this machine";
  } else if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    hint += ": it must be issued for the name " + host;
  } else {
    hint += ", and whether its issuer is in " + authorities;
  }
  return std::string{"the server's certificate was refused ("} + X509_verify_cert_error_string(verdict) + ")" +
         (certificate.empty() ? "" : ": " + certificate) + hint;
}

}  // namespace tenure::net
