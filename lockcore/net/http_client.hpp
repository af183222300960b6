// Internal: HTTP/1.1 over kept-alive connections, with and without TLS. Each call has a hard deadline.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure::net {

/// Where connections go. Two origins never share one.
struct Origin {
  bool tls{true};
  std::string host;  ///< a name or an address, without brackets
  std::uint16_t port{443};

  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// `https://host:port`, for people.
[[nodiscard]] TENURE_API std::string toString(const Origin& origin);

/// An origin, and the path and query after it (at least "/").
struct Url {
  Origin origin;
  std::string target;

  friend bool operator==(const Url&, const Url&) = default;
};

/// What is wrong with the text, as a sentence without its end.
struct UrlFault {
  std::string message;
};
[[noreturn]] TENURE_API void throw_exception_from_error(const UrlFault& fault, const boost::source_location& where);

/// Only `http://` and `https://`, no user name, no fragment; IPv6 addresses in brackets.
[[nodiscard]] TENURE_API boost::system::result<Url, UrlFault> parseUrl(std::string_view text);

struct HttpHeader {
  std::string name;
  std::string value;
};

/// The client adds Host, Content-Length and Connection; the caller's own are left out. A request that would break the
/// framing (a line break in a header, a space in the target) is answered with `protocol` and not sent.
struct HttpRequest {
  std::string method{"POST"};
  std::string target{"/"};
  std::vector<HttpHeader> headers{};
  std::string body{};
  /// Not zero: the server may be sent several copies of the request. Whenever this time has passed without an answer, a
  /// copy follows on another connection. The time is twice that of recent quick answers if that is more.
  std::chrono::nanoseconds repeatAfter{0};
  std::size_t maxReply{0};  ///< bytes of the reply, where fewer than the client's `maxReply` are enough; 0: that one
};

struct TENURE_API HttpResponse {
  int status{0};
  std::vector<HttpHeader> headers{};
  std::string body{};
  /// Copies of the request are unanswered: the server may have carried one out, or may still do so.
  bool copiesOut{false};

  /// The first header with that name (case is ignored); empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
};

struct HttpError {
  enum class Kind {
    timeout,    ///< the deadline passed; the message says in which step
    resolve,    ///< no address for the name
    connect,    ///< no connection to any address, or the proxy refused
    tls,        ///< handshake or certificate; the message says which
    closed,     ///< the connection ended before the whole reply had arrived
    protocol,   ///< the peer does not speak HTTP/1.1
    tooLarge,   ///< the reply is longer than `maxReply`
    cancelled,  ///< the client was destroyed
  };

  Kind kind{Kind::closed};
  /// False: no byte of the request has left this process, so the server cannot have acted on it.
  bool maybeSent{true};
  /// What went wrong, where (origin, address, step) and what to do. It never contains a header or the body of the
  /// request.
  std::string message{};
};
[[noreturn]] TENURE_API void throw_exception_from_error(const HttpError& error, const boost::source_location& where);

using HttpOutcome = boost::system::result<HttpResponse, HttpError>;
using HttpHandler = std::function<void(HttpOutcome)>;

/// By whose rules the environment names proxies: those of the tool that users of a service have.
enum class ProxyRules {
  botocore,  ///< of AWS: in lower case first, HTTP_PROXY not where REQUEST_METHOD is set, NO_PROXY by ends of texts
  go,        ///< of Kubernetes: in capitals first, NO_PROXY with blocks of addresses, never for loopback
  grpc,  ///< of etcd: as `go`, and HTTPS_PROXY with a tunnel also where the server has no TLS, never with TLS to the
         ///< proxy
};

/// For https the proxy is asked for a tunnel by CONNECT; plain http requests are sent to it with an absolute target.
/// The connection to the proxy has TLS itself if its URL begins with https://. If a proxy's URL is wrong, calls fail
/// with `connect`; they do not bypass the proxy.
struct TENURE_API ProxySettings {
  std::string https{};  ///< a URL with an optional user:password@; empty: none
  std::string http{};
  std::string none{};  ///< the text of NO_PROXY
  ProxyRules rules{ProxyRules::go};
  bool cgi{false};       ///< `http` came from outside, perhaps: REQUEST_METHOD is set
  std::string source{};  ///< what names the proxy in messages; empty: the variables

  /// Reads the environment through `lookup`, which returns null for a variable that is not set.
  [[nodiscard]] static ProxySettings from(ProxyRules rules, const std::function<const char*(const char*)>& lookup);
  /// That of this process. `always`: a proxy for all requests, which `source` names, in place of the variables; empty:
  /// there is none.
  [[nodiscard]] static ProxySettings ofProcess(ProxyRules rules, const std::string& always = {},
                                               const std::string& source = {});
};

/// What a streamed reply may cost.
struct StreamLimits {
  std::chrono::nanoseconds accept{5'000'000'000};    ///< from the call until the server has accepted (status 2xx)
  std::chrono::nanoseconds silence{60'000'000'000};  ///< then from one byte of the body to the next
  std::chrono::nanoseconds longest{0};               ///< the whole stream; zero: no bound
  std::size_t longestLine{1U << 20U};
};

/// Called on the client's thread. They must not block: other calls of the client would wait. They may destroy the
/// stream and the client.
struct StreamHandlers {
  /// Without the line's end. The text is valid until the function returns.
  std::function<void(std::string_view line)> onLine{};
  /// The last call. A reply with a status other than 2xx: nothing was delivered, and its body is here. With 2xx: the
  /// server has ended the stream in an orderly way; all of it was delivered, and the body is empty. Errors: the kinds
  /// of a call; `timeout` for each of the limits of time, `tooLarge` for a line that is too long.
  HttpHandler onEnd{};
};

struct HttpClientOptions {
  /// A PEM file of certificates to trust instead of those of the system. Empty: the system's trust store.
  std::string caFile{};
  std::string certificate{};  ///< a PEM file: the client's certificate, and those between it and its authority
  std::string key{};          ///< a PEM file: the certificate's key, not encrypted
  /// The same as PEM text instead of files, each if it is not empty.
  std::string caText{};
  std::string certificateText{};
  std::string keyText{};
  /// The name that the certificates of all servers must have, which is also sent ahead (SNI). Empty: the origin's host.
  std::string serverName{};
  ProxySettings proxy{};
  std::size_t maxConnections{64};                  ///< to one origin; further calls wait, within their deadline
  std::size_t maxReply{1U << 20U};                 ///< bytes of header and body together
  std::chrono::milliseconds idleTimeout{50'000};   ///< a connection unused for so long is closed
  std::chrono::milliseconds resolveEvery{60'000};  ///< how old an address may be when a new connection is made
  /// How long a connection waits for the answer of a call that is over, so that it can be used again. At most `maxLate`
  /// connections to an origin wait like this. A line that loses packets delivers such an answer after a second or two,
  /// and would need as long for a new connection. Never more than half of maxConnections, so that calls find a
  /// connection that answers.
  std::chrono::milliseconds latePatience{5'000};
  std::size_t maxLate{8};
  std::string userAgent{"tenure"};
  Logger logger{};  ///< is told of certificates that changed on disk, and cannot be used or are used from now on
};

/// One thread ("tenure-net") serves all connections of a client. Contract:
/// - send() and preconnect() return at once and may be called from any thread. Name lookups run on a separate thread,
///   so a resolver that hangs affects only the calls that need it. Known addresses stay in use while it hangs or finds
///   nothing.
/// - The handler is called exactly once, on the client's thread, never inside send(); if the client is destroyed first,
///   with `cancelled`. It must not block. It may destroy the client.
/// - One attempt: a request is never sent twice, unless it says that it may be (`repeatAfter`). Copies are sent on
///   connections that are open and idle, at most `maxLate` for a call, and not any more after eight calls in a row got
///   no answer in time. The first answer counts. A reply belongs to the request before it on its connection. The
///   connection carries no other request until that reply was read completely.
/// - If the server has closed a kept-alive connection meanwhile, this is noticed before anything is sent on it, and
///   another connection is used. Several addresses of one name are tried in turn until one of them accepts.
/// - The deadline covers everything: waiting for a connection, lookup, connect, proxy, handshake, request, reply.
/// - stream() has a connection of its own, which carries nothing else before or after and does not count in
///   `maxConnections`. The request is sent once. If the status is 2xx, each line is delivered as soon as it is there.
///   Lines end with LF or CRLF, empty ones are left out. The end of the body ends a line as well, but the end of the
///   connection does not: such a line is dropped, and the stream ends with `closed`. While a handler runs nothing is
///   read, so no more than one line and 16 KiB are kept, and a server that sends faster has to wait.
/// - Once a stream's handle is destroyed, none of its handlers is running or will be called, unless a handler itself
///   destroys it. Else onEnd is called exactly once; if the client is destroyed first, with `cancelled`.
/// - TLS 1.2 or later is used and the host's name is verified; neither can be switched off. Redirects are not followed.
class TENURE_API HttpClient {
 public:
  /// Throws std::runtime_error if `caFile` cannot be read or holds no certificate, or if the client's certificate and
  /// key cannot be used: a file that is missing or no PEM, a key that is encrypted or belongs to another certificate.
  [[nodiscard]] static std::shared_ptr<HttpClient> make(HttpClientOptions options = {});
  virtual ~HttpClient() = default;

  virtual void send(const Origin& origin, HttpRequest request, std::chrono::nanoseconds timeout,
                    HttpHandler handler) = 0;

  /// Returns at once, from any thread; no handler is called inside. The stream lasts until its end, or until the handle
  /// is destroyed.
  [[nodiscard]] virtual std::shared_ptr<void> stream(const Origin& origin, HttpRequest request,
                                                     const StreamLimits& limits, StreamHandlers handlers) = 0;

  /// The last answer was not one of the service: something else has its address, or stands before it. If the name has
  /// further addresses, the next connection goes to another one, and no request to this one on a connection that is
  /// idle now. Any thread; in a handler it counts before the next request.
  virtual void doubt(const Origin& /*origin*/) {}

  /// Keeps `connections` kept-alive connections open, now and after each loss, as long as calls to that origin come at
  /// least once per `idleTimeout`. Failures are silent (the next call meets them itself) and are followed by growing
  /// pauses of at most 10 s.
  virtual void preconnect(const Origin& origin, std::size_t connections) = 0;
};

}  // namespace tenure::net
