// Internal: what happens to OpenSSL when the process ends.
#pragma once

namespace tenure::net {

/// Must be called before anything else here uses OpenSSL. It prevents OpenSSL's clean-up when main() has returned. A
/// client that was destroyed by one of its own threads cannot wait for that thread. The thread may still be signing or
/// closing a connection then, and would use what the clean-up has freed. The system takes the memory back. No effect if
/// the program itself has initialised OpenSSL before, without OPENSSL_INIT_NO_ATEXIT. Such a program should destroy all
/// objects of tenure before main() returns, and not in a callback.
void leaveOpenSslAtExit() noexcept;

}  // namespace tenure::net
