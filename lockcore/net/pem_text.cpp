#include "pem_text.hpp"

#include <limits>
#include <memory>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdexcept>

namespace tenure::net {
namespace {

struct FreePem {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
using Text = std::unique_ptr<BIO, FreePem>;
using Certificate = std::unique_ptr<X509, FreePem>;
using Key = std::unique_ptr<EVP_PKEY, FreePem>;

Text opened(const std::string& text) {
  const bool fits = text.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  Text bio{fits ? BIO_new_mem_buf(text.data(), static_cast<int>(text.size())) : nullptr};
  if (!bio) throw std::runtime_error("a PEM text cannot be read");
  return bio;
}

/// Nobody is there to be asked.
int noPassword(char* /*room*/, int /*size*/, int /*writes*/, void* wasAsked) {
  if (wasAsked != nullptr) *static_cast<bool*>(wasAsked) = true;
  return -1;
}

Certificate next(BIO& text) { return Certificate{PEM_read_bio_X509(&text, nullptr, noPassword, nullptr)}; }

[[noreturn]] void refuse(const std::string& what) {
  ERR_clear_error();
  throw std::runtime_error(what);
}

Key keyIn(const std::string& text) {
  bool isEncrypted = false;
  const Text bio = opened(text);
  Key key{PEM_read_bio_PrivateKey(bio.get(), nullptr, noPassword, &isEncrypted)};
  if (isEncrypted) refuse("the key of the client certificate (given as text) is encrypted; give it decrypted");
  if (!key) refuse("the key of the client certificate (given as text) is no PEM private key");
  return key;
}

}  // namespace

void trustText(ssl_ctx_st& context, const std::string& certificates) {
  const Text text = opened(certificates);
  X509_STORE* store = SSL_CTX_get_cert_store(&context);
  int count = 0;
  while (const Certificate one = next(*text)) count += X509_STORE_add_cert(store, one.get());
  ERR_clear_error();  // the end of the text counts as one
  if (count == 0) refuse("no certificate can be read from the CA certificates (given as text); they must be PEM");
}

void introduceText(ssl_ctx_st& context, const std::string& certificates, const std::string& key) {
  const Text text = opened(certificates);
  const Certificate own = next(*text);
  if (!own || SSL_CTX_use_certificate(&context, own.get()) != 1) {
    refuse("no certificate can be read from the client certificate (given as text); it must be PEM");
  }
  while (const Certificate one = next(*text)) {
    if (SSL_CTX_add1_chain_cert(&context, one.get()) != 1) refuse("the client certificate's chain cannot be used");
  }
  ERR_clear_error();
  const bool good = SSL_CTX_use_PrivateKey(&context, keyIn(key).get()) == 1;
  if (!good || SSL_CTX_check_private_key(&context) != 1) {
    refuse("the key (given as text) belongs to another certificate than the client certificate");
  }
}

}  // namespace tenure::net
