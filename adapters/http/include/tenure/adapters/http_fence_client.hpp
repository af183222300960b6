// Requests under a term, over any HTTP client that the program has.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <tenure/adapters/fence_header.hpp>
#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>

namespace tenure {

struct TENURE_API HttpCall {
  std::string method{"POST"};
  std::string target{"/"};
  std::string body{};
};

/// What the client received. Of the headers it has only the two by which a refusal is recognised.
struct TENURE_API HttpReply {
  int status{0};
  std::string contentType{};
  std::string fencingToken{};
  std::string body{};
};

/// Stamps requests, and tells a fence's refusal from the service's own answers. Satisfies FencedWriter, except that
/// only the service decides what a request does and whether it does all of it.
class TENURE_API HttpFenceClient {
 public:
  /// Sends the call with these headers in addition to its own. If there is no answer: transient trouble, with
  /// `mayBeWritten` unless nothing was sent.
  using Send = std::function<FenceResult<HttpReply>(const HttpCall&, const HeaderLines&)>;

  explicit HttpFenceClient(Send send, std::optional<FenceSigner> signer = {})
      : send_{std::move(send)}, signer_{std::move(signer)} {}

  /// The service's answer whatever its status; StaleToken or ForeignTerm if a fence has refused; or trouble.
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
