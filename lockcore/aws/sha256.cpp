#include "sha256.hpp"

#include <memory>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdexcept>

#include "lockcore/net/tls.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::aws {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

// Fetched once: OpenSSL 3 searches its providers at each implicit fetch, which costs more than the hash itself. Never
// freed, because a thread that is still signing when main() returns needs it.
const EVP_MD* algorithm() {
  static EVP_MD* const md = (net::leaveOpenSslAtExit(), EVP_MD_fetch(nullptr, "SHA256", nullptr));
  if (md == nullptr)
    throw std::runtime_error("OpenSSL offers no SHA256; check its configuration (openssl list -digest-algorithms)");
  return md;
}

EVP_MD_CTX* context() {
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> own{EVP_MD_CTX_new()};
  return own.get();
}

}  // namespace

Digest sha256(std::initializer_list<std::string_view> parts) {
  Digest out{};
  const EVP_MD* const md = algorithm();  // before the context, which must be destroyed first at the end of the thread
  EVP_MD_CTX* const running = context();
  bool good = running != nullptr && EVP_DigestInit_ex2(running, md, nullptr) == 1;
  for (const std::string_view part : parts) good = good && EVP_DigestUpdate(running, part.data(), part.size()) == 1;
  good = good && EVP_DigestFinal_ex(running, out.data(), nullptr) == 1;
  if (!good) throw std::runtime_error("OpenSSL could not compute SHA256");
  return out;
}

void appendHex(std::string& out, const Digest& digest) {
  std::array<char, 2 * std::tuple_size_v<Digest>> text{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    text[2 * i] = hexDigits[digest[i] >> 4U];
    text[2 * i + 1] = hexDigits[digest[i] & 0xFU];
  }
  out.append(text.data(), text.size());
}

std::string hex(const Digest& digest) {
  std::string out;
  appendHex(out, digest);
  return out;
}

HmacKey::HmacKey(std::string_view key) {
  const Digest hashed = key.size() > blockSize ? sha256({key}) : Digest{};
  const std::string_view used = key.size() > blockSize ? bytesOf(hashed) : key;
  for (std::size_t i = 0; i < blockSize; ++i) {
    const auto byte = i < used.size() ? static_cast<unsigned char>(used[i]) : 0U;
    inner_[i] = static_cast<char>(byte ^ 0x36U);
    outer_[i] = static_cast<char>(byte ^ 0x5CU);
  }
}

HmacKey::~HmacKey() {
  OPENSSL_cleanse(inner_.data(), inner_.size());
  OPENSSL_cleanse(outer_.data(), outer_.size());
}

Digest HmacKey::operator()(std::string_view message) const {
  const Digest inner = sha256({{inner_.data(), inner_.size()}, message});
  return sha256({{outer_.data(), outer_.size()}, bytesOf(inner)});
}

}  // namespace tenure::aws
