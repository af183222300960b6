// The fence with Boost.Beast. These are templates: this header includes nothing of Beast, and works with any message
// type that has the same members.
#pragma once

#include <string>
#include <string_view>

#include <tenure/adapters/http_fence.hpp>

namespace tenure {

namespace detail {

template <class Text>
[[nodiscard]] std::string_view viewOf(const Text& text) {
  return {text.data(), text.size()};
}

}  // namespace detail

/// Client: sets the headers of a term on a `http::request<http::string_body>`. Call it last: a signature covers method,
/// target and body.
template <class Request>
void stampRequest(Request& request, const TermStamp& stamp, const FenceSigner* signer = nullptr) {
  const auto method = request.method_string();
  const auto target = request.target();
  for (const auto& [name, value] :
       fenceHeaders(stamp, detail::viewOf(method), detail::viewOf(target), request.body(), signer)) {
    request.set(name, value);
  }
}

/// Client: the rejection in a `http::response`, if a fence has refused the request.
template <class Response>
[[nodiscard]] std::optional<FenceError> fenceErrorOf(const TermStamp& mine, const Response& response) {
  const auto type = response["Content-Type"];
  const auto header = response[std::string{fenceHeaderName}];
  return httpFenceError(mine, static_cast<int>(response.result_int()), detail::viewOf(type), detail::viewOf(header));
}

/// Server: the parts of a `http::request<...>` that the fence reads. They point into the request. For a request with a
/// string body that is completely read, hand over the body too (`&request.body()`), so that its digest is checked.
template <class Request>
[[nodiscard]] FencedRequest fencedRequest(const Request& request, const std::string* body = nullptr) {
  const auto method = request.method_string();
  const auto target = request.target();
  const auto header = request[std::string{fenceHeaderName}];
  const auto digest = request["Content-Digest"];
  const auto length = request["Content-Length"];
  const bool hasBody = request.count("Transfer-Encoding") != 0 || (!length.empty() && length != "0");
  return {detail::viewOf(method),
          detail::viewOf(target),
          request.count(std::string{fenceHeaderName}),
          detail::viewOf(header),
          detail::viewOf(digest),
          body,
          hasBody};
}

/// Server: makes a `http::response<http::string_body>` of a rejection.
template <class Response>
void writeProblem(Response& response, const HttpProblem& problem) {
  response.result(static_cast<unsigned>(problem.status));
  for (const auto& [name, value] : problem.headers) response.set(name, value);
  response.body() = problem.body;
  response.prepare_payload();
}

}  // namespace tenure
