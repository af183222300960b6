// Internal: what becomes of OpenSSL when the process ends.
#pragma once

namespace tenure::net {

/// Before anything else here uses OpenSSL: it is not to take itself apart when main() has returned. A client that one
/// of its own threads destroyed cannot wait for that thread, which may still be signing or closing a connection then,
/// and would do so with what is no longer there. The system takes the memory back. No effect if the program itself has
/// initialised OpenSSL before without OPENSSL_INIT_NO_ATEXIT; it should then destroy what it has of tenure before
/// main() returns, and not in a callback.
void leaveOpenSslAtExit() noexcept;

}  // namespace tenure::net
