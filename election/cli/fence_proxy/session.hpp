// A client's connection: request after request.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/adapters/http_fence.hpp>

#include "exchange.hpp"
#include "io.hpp"
#include "settings.hpp"
#include "upstream.hpp"

namespace tenure::cli::fence_proxy {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Stream stream, HttpFence& fence, Upstream& upstream, const Settings& settings)
      : stream_{std::move(stream)}, fence_{fence}, upstream_{upstream}, settings_{settings} {}

  /// Until the connection ends.
  [[nodiscard]] Task<void> run();
  /// The request under way is the last one.
  void stop();

 private:
  struct Waiting;

  [[nodiscard]] Task<bool> waitForRequest();
  [[nodiscard]] Task<bool> handleOne();
  [[nodiscard]] Task<bool> forward(RequestParser& parser);
  [[nodiscard]] Task<std::optional<std::string>> readBody(RequestParser& parser);
  [[nodiscard]] Task<HttpVerdict> admit(const RequestParser& parser, const std::string* body);
  [[nodiscard]] Task<bool> refuse(RequestParser& parser, const HttpRefusal& refusal);
  [[nodiscard]] Task<bool> discardBody(RequestParser& parser);
  [[nodiscard]] Task<void> closeGently();

  Stream stream_;
  HttpFence& fence_;
  Upstream& upstream_;
  const Settings& settings_;
  beast::flat_buffer buffer_{};
  bool idle_{false};
  bool stopping_{false};
  bool expectsContinue_{false};
};

}  // namespace tenure::cli::fence_proxy
