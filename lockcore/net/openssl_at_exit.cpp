#include "openssl_at_exit.hpp"

#include <openssl/crypto.h>

namespace tenure::net {

void leaveOpenSslAtExit() noexcept {
  static const int once = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  static_cast<void>(once);  // if this failed, every use of OpenSSL fails too, and reports it
}

}  // namespace tenure::net
