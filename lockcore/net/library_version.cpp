#include "library_version.hpp"

#include <openssl/crypto.h>

namespace tenure::net {

std::string libraryVersion() { return OpenSSL_version(OPENSSL_VERSION_STRING); }

}  // namespace tenure::net
