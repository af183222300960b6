#include <algorithm>
#include <array>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdexcept>

#include "fence_claims.hpp"
#include "lockcore/port/json_text.hpp"
#include "structured_field.hpp"

namespace tenure {
namespace {

constexpr std::size_t leastSecretBytes = 32;
constexpr std::size_t mostKeyIdBytes = 64;
constexpr std::size_t digestBytes = 32;
constexpr std::string_view digestName = "sha-256";

/// Each length is in front of its text, so that no two lists of texts give the same bytes.
void addNetstring(std::string& out, std::string_view text) {
  out.append(std::to_string(text.size())).append(":").append(text).append(",");
}

std::string signedText(const TermStamp& stamp, const SignedParts& parts) {
  std::string out;
  const std::string token = toString(stamp.token);
  for (const std::string_view text :
       {std::string_view{"tenure-fence-2"}, parts.audience, std::string_view{stamp.lease}, std::string_view{token},
        std::string_view{stamp.holder}, parts.method, parts.target, parts.contentDigest}) {
    addNetstring(out, text);
  }
  return out;
}

std::string textOf(const std::array<unsigned char, digestBytes>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string hmac(std::string_view secret, const std::string& text) {
  std::array<unsigned char, digestBytes> out{};
  std::size_t length = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes are unsigned
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, secret.data(), secret.size(), bytes, text.size(),
                out.data(), out.size(), &length) == nullptr ||
      length != out.size()) {
    throw std::runtime_error{"OpenSSL could not compute HMAC-SHA-256"};
  }
  return textOf(out);
}

std::string sha256(std::string_view text) {
  std::array<unsigned char, digestBytes> out{};
  if (EVP_Digest(text.data(), text.size(), out.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error{"OpenSSL could not compute SHA-256"};
  }
  return textOf(out);
}

bool equalInConstantTime(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool isKeyId(std::string_view id) {
  return !id.empty() && id.size() <= mostKeyIdBytes && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::optional<FenceKey> parseFenceKey(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view id = text.substr(0, space);
  auto secret = bytesFromBase64(text.substr(std::min(text.find_first_not_of(' ', space), text.size())));
  if (!isKeyId(id) || !secret || secret->empty()) return std::nullopt;
  return FenceKey{std::string{id}, *std::move(secret)};
}

std::vector<std::string> faultsOf(const std::vector<FenceKey>& keys) {
  std::vector<std::string> faults;
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    const std::string number = "key " + std::to_string(key - keys.begin() + 1) + ": ";
    if (!isKeyId(key->id)) faults.push_back(number + "its id is not 1 to 64 of A-Z a-z 0-9 . _ -");
    if (key->secret.size() < leastSecretBytes) faults.push_back(number + "its secret is shorter than 32 bytes");
    const auto same = [&](const FenceKey& other) { return other.id == key->id; };
    if (std::any_of(keys.begin(), key, same)) faults.push_back(number + "an earlier key has the same id");
  }
  return faults;
}

FenceClaim signClaim(const TermStamp& stamp, const FenceKey& key, const SignedParts& parts) {
  return {stamp, key.id, hmac(key.secret, signedText(stamp, parts))};
}

bool signatureHolds(const FenceClaim& claim, const std::vector<FenceKey>& keys, const SignedParts& parts) {
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const FenceKey& one) { return one.id == claim.keyId; });
  if (key == keys.end()) return false;
  return equalInConstantTime(hmac(key->secret, signedText(claim.stamp, parts)), claim.signature);
}

std::string contentDigestOf(std::string_view body) {
  return std::string{digestName} + '=' + http_fence::bytesField(sha256(body));
}

bool digestHolds(std::string_view contentDigest, std::string_view body) {
  http_fence::FieldReader reader{contentDigest};
  bool proven = false;
  do {
    reader.skipBlanks();
    const auto name = reader.key();
    const auto digest = name && reader.take('=') ? reader.bytes() : std::nullopt;
    if (!digest) return false;
    if (*name == digestName) {
      if (*digest != sha256(body)) return false;
      proven = true;
    }
    reader.skipBlanks();
  } while (reader.take(','));
  return proven && reader.done();
}

HeaderLines fenceHeaders(const TermStamp& stamp, std::string_view method, std::string_view target,
                         std::string_view body, const FenceSigner* signer) {
  if (signer == nullptr) return {{std::string{fenceHeaderName}, formatFenceHeader(stamp)}};
  const std::string digest = body.empty() ? std::string{} : contentDigestOf(body);
  const FenceClaim claim = signClaim(stamp, signer->key, {signer->audience, method, target, digest});
  HeaderLines lines{{std::string{fenceHeaderName}, formatFenceHeader({claim})}};
  if (!digest.empty()) lines.emplace_back("Content-Digest", digest);
  return lines;
}

}  // namespace tenure
