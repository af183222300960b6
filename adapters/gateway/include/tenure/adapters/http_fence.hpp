// Keeps requests of former leaders away from an HTTP service: the header by which a request says under whose term it is
// sent, the keys that sign it, the client that sends it, and the fence for your own server. `tenure fence proxy` puts
// the same fence in front of a service that is not to be changed. docs/fencing/http.md has the header's grammar, for
// clients in other languages:
//
//     Fencing-Token: billing=42;holder="billing-1#5f2c..."
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

inline constexpr std::string_view fenceHeaderName = "Fencing-Token";

/// A secret that clients and the fence share. To change it, first let the fence know both keys, then move the clients
/// to the new one, then remove the old one from the fence.
struct FenceKey {
  std::string id;      ///< 1 to 64 of A-Z a-z 0-9 . _ -; travels with the request
  std::string secret;  ///< any bytes, at least 32 of them, random

  friend bool operator==(const FenceKey&, const FenceKey&) = default;
};

/// Parses a key as key files and variables have it: `ID SECRET`, the secret in base64 with its padding. Empty if the
/// text is not of this form.
[[nodiscard]] TENURE_API std::optional<FenceKey> parseFenceKey(std::string_view text);

/// The key and the audience that a client signs with.
struct FenceSigner {
  FenceKey key;
  /// The name of the intended service: one of the names that its fence was given (HttpFenceOptions::audience). A
  /// signature for one service is worthless at another service that has the same keys.
  std::string audience;
};

/// The faults of the keys, one sentence each; empty if they may be used together.
[[nodiscard]] TENURE_API std::vector<std::string> faultsOf(const std::vector<FenceKey>& keys);

/// `sha-256=:...:`, the value of Content-Digest for a body.
[[nodiscard]] TENURE_API std::string contentDigestOf(std::string_view body);

/// The headers that a request needs: Fencing-Token and, if the request is signed and has a body, Content-Digest.
/// `signer` may be null: then the request is not signed.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] TENURE_API HeaderLines fenceHeaders(const TermStamp& stamp, std::string_view method,
                                                  std::string_view target, std::string_view body,
                                                  const FenceSigner* signer = nullptr);

/// The treatment of requests without a Fencing-Token header.
enum class WithoutToken {
  refuseWrites,  ///< GET, HEAD and OPTIONS without a body pass, all others are refused
  refuse,        ///< none passes
  pass,          ///< all pass, with no guarantee: for the time in which the clients are changed to send tokens
};

struct HttpFenceOptions {
  /// The leases whose tokens are checked; a request names exactly one of them.
  std::vector<std::string> leases{};
  /// SQLite file for the highest tokens; created where it is missing. One process at a time.
  std::string memory{};
  WithoutToken withoutToken{WithoutToken::refuseWrites};
  /// If there are any, only signed requests pass (FenceSigner).
  std::vector<FenceKey> keys{};
  /// Required with keys: the name of this service that its clients sign (FenceSigner::audience).
  std::string audience{};
  int staleStatus{409};         ///< for former terms: 409 (Conflict) or 412 (Precondition Failed)
  std::size_t maxWaiting{256};  ///< for each lease: requests of a new term that wait until those of the last one end
  /// How long the first request of a *later* term waits after a start, if the process that used the memory before was
  /// killed: requests that it had let pass may still be under way in the service. At least as long as one request may
  /// take, at most a day. The memory says of which term these are: a term that was seen and never passed waits too.
  std::chrono::milliseconds afterCrash{30'000};
};

/// Every fault of the options, one sentence each.
[[nodiscard]] TENURE_API std::vector<std::string> faultsOf(const HttpFenceOptions& options);

/// A request as the fence sees it. The texts are only read during the call.
struct FencedRequest {
  std::string_view method;
  std::string_view target;
  std::size_t tokenHeaders{0};     ///< the number of Fencing-Token lines
  std::string_view tokenHeader{};  ///< the first of them
  std::string_view contentDigest{};
  /// Null: the caller checks the body itself. With keys, a body that does not match `contentDigest` must have no
  /// effect; no body counts as a body of no bytes.
  const std::string* body{nullptr};
  /// The request's head announces a body (Content-Length above 0, or Transfer-Encoding), so the request is a write.
  bool hasBody{false};
};

/// An answer in place of the service's answer: `application/problem+json` (RFC 9457). The rejection of a term reads
///
///     {"type":"urn:tenure:fence:stale-token","title":"...","status":409,"detail":"...",
///      "lease":"billing","token":41,"highestSeen":42,"holder":"billing-2#..."}
///
/// and its header Fencing-Token names the term that the fence has seen (httpFenceError takes it from there).
struct HttpProblem {
  int status{409};
  HeaderLines headers{};
  std::string body{};
};

/// A permit for one request. While a pass exists, no request of a later term passes. Drop it once the service has
/// done (or has certainly given up) what the request asks for, and not before.
class TENURE_API FencePass {
 public:
  class State;
  FencePass() noexcept;  ///< the pass of a request that needed none
  explicit FencePass(std::unique_ptr<State> state) noexcept;
  ~FencePass();
  FencePass(FencePass&&) noexcept;
  FencePass& operator=(FencePass&&) noexcept;

  /// Whether the request came with a token.
  [[nodiscard]] bool fenced() const noexcept { return state_ != nullptr; }
  /// Calls `call` once, from any thread, when a later term begins to wait for this pass; at once if one waits already.
  void onOvertaken(std::function<void()> call) const;

 private:
  std::unique_ptr<State> state_;
};

using HttpVerdict = std::variant<FencePass, HttpProblem>;

/// The guarantee: once a request of a term has passed, no request of an earlier term is under way, and none passes
/// later, even after a restart of the process or the machine. "Under way" means: from the creation of its pass to the
/// pass's end, or, if the process was killed in between, to the end of `afterCrash` after the next start. A term's
/// token is on the disk before the term's first request passes, and so is a mark that no request of another term is
/// under way; later requests of the term cost no write.
///
/// Thread-safe. Passes may outlive the fence.
class TENURE_API HttpFence {
 public:
  /// Throws std::invalid_argument with all faults of the options. An error if the memory cannot be used.
  [[nodiscard]] static StoreResult<std::unique_ptr<HttpFence>> open(HttpFenceOptions options, Logger logger = {});
  /// Calls close().
  ~HttpFence();
  HttpFence(const HttpFence&) = delete;
  HttpFence& operator=(const HttpFence&) = delete;

  /// The verdict, or nothing if the request must wait. Then `later` is called once, from any thread, possibly inside
  /// the end of a pass or inside this call. It must not block, and must not destroy the fence.
  [[nodiscard]] std::optional<HttpVerdict> admit(const FencedRequest& request, std::function<void(HttpVerdict)> later);

  /// The part of admit() that needs no body: it refuses a token that is missing, malformed, of another lease, not
  /// signed with a known key, or of a term that is over. For servers that read bodies before they ask admit(), so that
  /// a client without a key cannot make them store a body.
  [[nodiscard]] std::optional<HttpProblem> problemByHead(const FencedRequest& request) const;

  /// The highest token seen; empty if there is none yet, or if the lease is not one of this fence's.
  [[nodiscard]] std::optional<TermStamp> highestSeen(const std::string& lease) const;

  /// Refuses waiting requests with 503 and writes what still has to be written. The next fence with this memory does
  /// not wait if every pass has ended and the wait after a crash (`afterCrash`) is over.
  void close();

 private:
  friend class FencePass;
  class Impl;
  explicit HttpFence(std::shared_ptr<Impl> impl) noexcept;
  std::shared_ptr<Impl> impl_;
};

/// For clients: the rejection in an answer, if the answer comes from a fence. `tokenHeader` is its header
/// Fencing-Token, `type` its Content-Type. Empty if the answer comes from the service itself.
[[nodiscard]] TENURE_API std::optional<FenceError> httpFenceError(const TermStamp& mine, int status,
                                                                  std::string_view type, std::string_view tokenHeader);

struct HttpCall {
  std::string method{"POST"};
  std::string target{"/"};
  std::string body{};
};

/// The reply that the client received. Of its headers there are only the two by which a rejection is recognised.
struct HttpReply {
  int status{0};
  std::string contentType{};
  std::string fencingToken{};
  std::string body{};
};

/// Stamps requests, and distinguishes a fence's rejection from the service's answers. Satisfies FencedWriter, except
/// that only the service decides what a request does and whether it does all of it.
class TENURE_API HttpFenceClient {
 public:
  /// Sends the call with these headers in addition to its own. If there is no answer: a transient error, with
  /// `mayBeWritten` unless nothing was sent.
  using Send = std::function<FenceResult<HttpReply>(const HttpCall&, const HeaderLines&)>;

  explicit HttpFenceClient(Send send, std::optional<FenceSigner> signer = {})
      : send_{std::move(send)}, signer_{std::move(signer)} {}

  /// The service's answer whatever its status; StaleToken or ForeignTerm if a fence has refused; or a write error.
  [[nodiscard]] FenceResult<HttpReply> write(const TermStamp& stamp, const HttpCall& call) const;
  /// The same under a term: see underTerm.
  [[nodiscard]] FenceResult<HttpReply> write(const FencedTerm& term, const HttpCall& call) const {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, call); });
  }

 private:
  Send send_;
  std::optional<FenceSigner> signer_;
};

}  // namespace tenure
