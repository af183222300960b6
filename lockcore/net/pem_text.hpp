// Internal: certificates and keys that are given as PEM text and not as files. Knows OpenSSL, as tls.cpp does.
#pragma once

#include <string>

struct ssl_ctx_st;

namespace tenure::net {

/// From now on these certificates are trusted. Throws std::runtime_error if there is none in the text.
void trustText(ssl_ctx_st& context, const std::string& certificates);

/// The client's certificate, those between it and its authority, and its key. Throws std::runtime_error if they cannot
/// be used. What it says never has a part of the texts.
void introduceText(ssl_ctx_st& context, const std::string& certificates, const std::string& key);

}  // namespace tenure::net
