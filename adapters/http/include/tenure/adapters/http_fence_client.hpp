// Requests under a term, over whatever HTTP client the program has.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <tenure/adapters/fence_header.hpp>
#include <tenure/adapters/fenced_writer.hpp>

namespace tenure {

struct HttpCall {
  std::string method{"POST"};
  std::string target{"/"};
  std::string body{};
};

/// What the client got back. Of the headers the two that a refusal is known by.
struct HttpReply {
  int status{0};
  std::string contentType{};
  std::string fencingToken{};
  std::string body{};
};

/// Stamps requests, and tells a fence's refusal from the service's own answers. Satisfies FencedWriter; but what one
/// request does is the service's affair, and so is whether it does it as a whole.
class HttpFenceClient {
 public:
  /// Sends the call with these headers besides its own. Without an answer: transient trouble, with `mayBeWritten`
  /// unless nothing was sent.
  using Send = std::function<FenceResult<HttpReply>(const HttpCall&, const HeaderLines&)>;

  explicit HttpFenceClient(Send send, std::optional<FenceSigner> signer = {})
      : send_{std::move(send)}, signer_{std::move(signer)} {}

  /// The service's answer whatever its status, StaleToken or ForeignTerm if a fence has refused, or trouble.
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
