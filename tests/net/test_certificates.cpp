#include "test_certificates.hpp"

#include <atomic>
#include <cstdio>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdexcept>

namespace tenure::test {
namespace {

std::shared_ptr<EVP_PKEY> newKey() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

void setName(X509_NAME* name, const char* text) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text), -1, -1, 0);
}

void addExtension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  if (extension == nullptr) throw std::runtime_error("no extension " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::shared_ptr<X509> newCertificate(const char* subject, EVP_PKEY* key, int days) {
  static std::atomic<long> serial{1};
  std::shared_ptr<X509> made{X509_new(), X509_free};
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -24L * 3600 * 10);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 24L * 3600 * days);
  X509_set_pubkey(made.get(), key);
  setName(X509_get_subject_name(made.get()), subject);
  return made;
}

std::unique_ptr<FILE, int (*)(FILE*)> newFile(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file{std::fopen(path.c_str(), "we"), std::fclose};
  if (!file) throw std::runtime_error("no file " + path);
  return file;
}

}  // namespace

void writeKey(const Identity& identity, const std::string& path, const std::string& password) {
  const auto* word = reinterpret_cast<const unsigned char*>(password.data());
  const EVP_CIPHER* cipher = password.empty() ? nullptr : EVP_aes_256_cbc();
  PEM_write_PrivateKey(newFile(path).get(), identity.key.get(), cipher, word, static_cast<int>(password.size()),
                       nullptr, nullptr);
}

void writeCertificate(const Identity& identity, const std::string& path) {
  PEM_write_X509(newFile(path).get(), identity.certificate.get());
}

TestAuthority::TestAuthority(const std::string& name, const TestAuthority* issuer) {
  self_.key = newKey();
  self_.certificate = newCertificate(name.c_str(), self_.key.get(), 2);
  const Identity& by = issuer != nullptr ? issuer->self_ : self_;
  X509_set_issuer_name(self_.certificate.get(), X509_get_subject_name(by.certificate.get()));
  addExtension(self_.certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(self_.certificate.get(), by.key.get(), EVP_sha256());
  const std::unique_ptr<FILE, int (*)(FILE*)> file{std::fopen(caFile().c_str(), "we"), std::fclose};
  if (!file || PEM_write_X509(file.get(), self_.certificate.get()) != 1) throw std::runtime_error("no CA file");
}

Identity TestAuthority::issue(const std::vector<std::string>& names, int days, const char* subject) const {
  Identity made{nullptr, newKey()};
  made.certificate = newCertificate(subject, made.key.get(), days);
  X509_set_issuer_name(made.certificate.get(), X509_get_subject_name(self_.certificate.get()));
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name;
  if (!all.empty()) addExtension(made.certificate.get(), NID_subject_alt_name, all);
  X509_sign(made.certificate.get(), self_.key.get(), EVP_sha256());
  return made;
}

}  // namespace tenure::test
