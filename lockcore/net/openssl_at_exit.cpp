#include "openssl_at_exit.hpp"

#include <openssl/crypto.h>

namespace tenure::net {

void leaveOpenSslAtExit() noexcept {
  static const int once = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  static_cast<void>(once);  // if that failed, so will what needs OpenSSL, and says so
}

}  // namespace tenure::net
