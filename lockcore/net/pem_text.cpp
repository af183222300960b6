#include "pem_text.hpp"

#include <limits>
#include <memory>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdexcept>

#include "tls_faults.hpp"

namespace tenure::net {
namespace {

struct FreePem {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(STACK_OF(X509_INFO) * all) const noexcept { sk_X509_INFO_pop_free(all, X509_INFO_free); }
};
using Text = std::unique_ptr<BIO, FreePem>;
using Certificate = std::unique_ptr<X509, FreePem>;
using Key = std::unique_ptr<EVP_PKEY, FreePem>;
using Objects = std::unique_ptr<STACK_OF(X509_INFO), FreePem>;

[[noreturn]] void refuse(const PemText& pem, const std::string& why) {
  throw std::runtime_error(pem.name + ": " + why + " (" + lastTlsError() + "); it must be PEM");
}

Text opened(const PemText& pem) {
  const bool fits = pem.text.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  Text bio{fits ? BIO_new_mem_buf(pem.text.data(), static_cast<int>(pem.text.size())) : nullptr};
  if (!bio) refuse(pem, "it cannot be read");
  ERR_clear_error();
  return bio;
}

/// Nobody is there to be asked.
int noPassword(char* /*room*/, int /*size*/, int /*writes*/, void* wasAsked) {
  if (wasAsked != nullptr) *static_cast<bool*>(wasAsked) = true;
  return -1;
}

Certificate next(BIO& text) { return Certificate{PEM_read_bio_X509_AUX(&text, nullptr, noPassword, nullptr)}; }

/// The end of the text counts as an error. Any other one means that something in it is broken.
bool isAtEnd() {
  const unsigned long code = ERR_peek_last_error();
  const bool end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  if (end) ERR_clear_error();
  return end;
}

Key keyIn(const PemText& pem) {
  bool isEncrypted = false;
  const Text bio = opened(pem);
  Key key{PEM_read_bio_PrivateKey(bio.get(), nullptr, noPassword, &isEncrypted)};
  if (!key && isEncrypted) {
    ERR_clear_error();
    throw std::runtime_error(pem.name + ": it is encrypted, and this process cannot ask for its password; give it " +
                             "decrypted, and let only its owner read it");
  }
  if (!key) refuse(pem, "no private key can be read from it");
  return key;
}

}  // namespace

void trustText(ssl_ctx_st& context, const PemText& authorities) {
  const Text text = opened(authorities);
  const Objects found{PEM_X509_INFO_read_bio(text.get(), nullptr, noPassword, nullptr)};
  if (!found) refuse(authorities, "one of its certificates is broken");
  X509_STORE* store = SSL_CTX_get_cert_store(&context);
  int count = 0;
  for (int i = 0; i < sk_X509_INFO_num(found.get()); ++i) {
    const X509_INFO* one = sk_X509_INFO_value(found.get(), i);
    if (one->x509 != nullptr) count += X509_STORE_add_cert(store, one->x509);
  }
  if (count == 0) refuse(authorities, "no certificate can be read from it");
  ERR_clear_error();
}

void introduceText(ssl_ctx_st& context, const PemText& certificates, const PemText& key) {
  const Text text = opened(certificates);
  const Certificate own = next(*text);
  if (!own || SSL_CTX_use_certificate(&context, own.get()) != 1) {
    refuse(certificates, "no certificate can be read from it");
  }
  while (const Certificate one = next(*text)) {
    if (SSL_CTX_add1_chain_cert(&context, one.get()) != 1) refuse(certificates, "its chain cannot be used");
  }
  if (!isAtEnd()) refuse(certificates, "a certificate of its chain is broken");
  const Key secret = keyIn(key);
  const bool good = SSL_CTX_use_PrivateKey(&context, secret.get()) == 1 && SSL_CTX_check_private_key(&context) == 1;
  ERR_clear_error();
  if (good) return;
  throw std::runtime_error(key.name + ": it belongs to another certificate than " + certificates.name);
}

}  // namespace tenure::net
