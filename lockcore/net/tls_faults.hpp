// Internal: what went wrong with a certificate, for people: whose it is, which file it is in, and who refused it.
#pragma once

#include <string>

struct x509_st;

namespace tenure::net {

/// Why the last call of OpenSSL failed. Forgets it.
[[nodiscard]] std::string lastTlsError();

/// `"CN=a", issued by "CN=b", valid until Nov 30 00:00:00 2026 GMT`
[[nodiscard]] std::string describe(const x509_st& certificate);

/// The peer's alert, if OpenSSL's last call failed because of one that is about this side's certificate, or of any one
/// where `demanded` says that the peer asked for a certificate that this side lacks. Empty: it is another failure.
[[nodiscard]] std::string alertAboutOurs(bool demanded);

/// Why a certificate of the server was refused: OpenSSL's verdict, the certificate as describe() says, the host's name
/// and the name of what is trusted.
[[nodiscard]] std::string certificateFault(long verdict, const std::string& certificate, const std::string& host,
                                           const std::string& authorities);

}  // namespace tenure::net
