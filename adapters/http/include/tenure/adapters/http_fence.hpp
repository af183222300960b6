// Keeps requests of former leaders from an HTTP service. For a server of your own; `tenure fence proxy` puts the same
// in front of a service that is not to be changed.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenure/adapters/fence_header.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

/// What becomes of requests without a Fencing-Token header.
enum class WithoutToken {
  refuseWrites,  ///< GET, HEAD and OPTIONS without a body pass, all others are refused
  refuse,        ///< none passes
  pass,          ///< all pass: for the time in which the clients learn to send tokens. Nothing is guaranteed then.
};

struct HttpFenceOptions {
  /// The leases whose tokens are looked at; a request names exactly one of them.
  std::vector<std::string> leases{};
  /// SQLite file for the highest tokens; made where it is missing. One process at a time.
  std::string memory{};
  WithoutToken withoutToken{WithoutToken::refuseWrites};
  /// If there are any, only signed requests pass (FenceSigner).
  std::vector<FenceKey> keys{};
  /// With keys a must: what the clients of this service sign as its name (FenceSigner::audience).
  std::string audience{};
  int staleStatus{409};         ///< for former terms: 409 (Conflict) or 412 (Precondition Failed)
  std::size_t maxWaiting{256};  ///< requests of a new term that wait for the last one's to end, for each lease
  /// How long the first request of a *later* term waits after a start, if the process that had the memory before was
  /// killed: what it had passed may be under way in the service still. At least what one request may take.
  std::chrono::milliseconds afterCrash{30'000};
};

/// Every fault of the options, one sentence each.
[[nodiscard]] std::vector<std::string> faultsOf(const HttpFenceOptions& options);

/// A request as the fence sees it. The texts are looked at only during the call.
struct FencedRequest {
  std::string_view method;
  std::string_view target;
  std::size_t tokenHeaders{0};     ///< how many lines Fencing-Token has
  std::string_view tokenHeader{};  ///< the first of them
  std::string_view contentDigest{};
  /// Null: the body is checked by others. With keys, a body that is not what `contentDigest` says must not act; no body
  /// is one of no bytes.
  const std::string* body{nullptr};
  /// The head tells of a body (Content-Length above 0, or Transfer-Encoding), so the request is a write.
  bool hasBody{false};
};

/// An answer instead of the service's: `application/problem+json` (RFC 9457). A refused term reads
///
///     {"type":"urn:tenure:fence:stale-token","title":"...","status":409,"detail":"...",
///      "lease":"billing","token":41,"highestSeen":42,"holder":"billing-2#..."}
///
/// and its header Fencing-Token names the term that the fence has seen (httpFenceError takes it from there).
struct HttpRefusal {
  int status{409};
  HeaderLines headers{};
  std::string body{};
};

/// Lets one request act. While it lives, no request of a later term passes; so let it go when the service has done (or
/// has certainly given up) what the request asks for, and not before.
class FencePass {
 public:
  class State;
  FencePass() noexcept;  ///< of a request that needed none
  explicit FencePass(std::unique_ptr<State> state) noexcept;
  ~FencePass();
  FencePass(FencePass&&) noexcept;
  FencePass& operator=(FencePass&&) noexcept;

  /// Whether the request came with a token.
  [[nodiscard]] bool fenced() const noexcept { return state_ != nullptr; }
  /// Called once, from any thread, when a later term begins to wait for this pass; at once if it does already.
  void onOvertaken(std::function<void()> call) const;

 private:
  std::unique_ptr<State> state_;
};

using HttpVerdict = std::variant<FencePass, HttpRefusal>;

/// The guarantee: once a request of a term has passed, no request of an earlier term is under way, and none passes any
/// more, also after the process or the machine was restarted. "Under way" is from a pass's birth to its end. A term's
/// token is on the disk before its first request passes; later requests of the term cost no write.
///
/// Thread-safe. Passes may outlive the fence.
class HttpFence {
 public:
  /// Throws std::invalid_argument with all faults of the options. An error if the memory cannot be used.
  [[nodiscard]] static StoreResult<std::unique_ptr<HttpFence>> open(HttpFenceOptions options, Logger logger = {});
  /// As close().
  ~HttpFence();
  HttpFence(const HttpFence&) = delete;
  HttpFence& operator=(const HttpFence&) = delete;

  /// The verdict, or nothing if the request must wait: then `later` is called once, from any thread, also from within
  /// the end of a pass or of this call. It must not block, nor destroy the fence.
  [[nodiscard]] std::optional<HttpVerdict> admit(const FencedRequest& request, std::function<void(HttpVerdict)> later);

  /// What admit() would refuse whatever the body is: a token that is missing, not understood, of another lease, not
  /// signed with a known key, or of a term that is over. For servers that read bodies before they ask admit(),
  /// so that nobody without a key makes them keep one.
  [[nodiscard]] std::optional<HttpRefusal> refusalByHead(const FencedRequest& request) const;

  /// The highest token seen; empty: none yet, or not one of this fence's leases.
  [[nodiscard]] std::optional<TermStamp> highestSeen(const std::string& lease) const;

  /// Those who wait are refused with 503. Writes what is to be written. If every pass has ended, and so has the wait
  /// after a crash (`afterCrash`), the next fence with this memory need not wait.
  void close();

 private:
  friend class FencePass;
  class Impl;
  explicit HttpFence(std::shared_ptr<Impl> impl) noexcept;
  std::shared_ptr<Impl> impl_;
};

/// For clients: the refusal in an answer, if it is one of a fence. `tokenHeader` is its header Fencing-Token, `type`
/// its Content-Type. Empty for an answer of the service's own.
[[nodiscard]] std::optional<FenceError> httpFenceError(const TermStamp& mine, int status, std::string_view type,
                                                       std::string_view tokenHeader);

}  // namespace tenure
