// Builds and signs the requests of one JSON service at one endpoint. Every heartbeat uses this code.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "credentials.hpp"
#include "lockcore/net/http_client.hpp"
#include "sha256.hpp"
#include "sigv4.hpp"

namespace tenure::aws {

/// The names, the order and most values of the headers are known beforehand. So the canonical request is built without
/// sorting, and the signing key is kept for its day. The result is byte for byte that of signRequest(). Thread-safe.
class JsonSigner {
 public:
  /// `path`: of the endpoint, usually "/".
  JsonSigner(const net::Origin& origin, std::string path, std::string region, std::string service,
             std::string contentType);

  [[nodiscard]] net::HttpRequest sign(const Keys& keys, std::chrono::seconds now, std::string target,
                                      std::string body) const;

 private:
  struct DayKey {
    Keys keys;
    Scope scope;
    std::string scopeText;
    HmacKey key;
  };
  [[nodiscard]] std::shared_ptr<const DayKey> keyFor(const Keys& keys, std::string_view day) const;

  std::string path_;
  std::string region_;
  std::string service_;
  std::string contentType_;
  std::string head_;  ///< of the canonical request, up to the date
  mutable std::mutex mutex_{};
  mutable std::shared_ptr<const DayKey> latest_{};
};

}  // namespace tenure::aws
