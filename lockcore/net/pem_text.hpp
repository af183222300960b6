// Internal: certificates and keys as PEM text. Knows OpenSSL, as tls.cpp does.
#pragma once

#include <string>

struct ssl_ctx_st;

namespace tenure::net {

struct PemText {
  std::string name{};  ///< for messages: "CA file ./ca.pem"; empty: there is none
  std::string text{};

  friend bool operator==(const PemText&, const PemText&) = default;
};

/// From now on these certificates are trusted. Throws std::runtime_error if there is none in the text, or if one is
/// broken: the text may be half of what is being written.
void trustText(ssl_ctx_st& context, const PemText& authorities);

/// The client's certificate, those between it and its authority, and its key. Throws std::runtime_error if they cannot
/// be used. What it says never has a part of the texts.
void introduceText(ssl_ctx_st& context, const PemText& certificates, const PemText& key);

}  // namespace tenure::net
