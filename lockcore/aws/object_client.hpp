// Internal: signed calls to S3 and to servers that speak its protocol.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>

#include "json_client.hpp"
#include "lockcore/net/http_client.hpp"
#include "make_json_client.hpp"

namespace tenure::aws {

struct ObjectRequest {
  std::string method{"GET"};
  std::string bucket{};
  std::string key{};  ///< not encoded; empty: the bucket itself
  /// Already encoded, without the question mark: `list-type=2&prefix=a%2Fb`.
  std::string query{};
  std::vector<net::HttpHeader> headers{};
  std::string body{};
};

using ObjectOutcome = boost::system::result<net::HttpResponse, JsonCallError>;
using ObjectHandler = std::function<void(ObjectOutcome)>;

/// Thread-safe. It follows the same rules as JsonClient: one attempt, answered exactly once, on a thread of the client.
class ObjectClient {
 public:
  virtual ~ObjectClient() = default;
  virtual void call(ObjectRequest request, std::chrono::nanoseconds timeout, ObjectHandler handler) = 0;
  /// `https://s3.eu-central-1.amazonaws.com, region eu-central-1`. No secrets.
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// How the bucket is named in a request.
enum class Addressing {
  automatic,    ///< by the host at AWS, unless the bucket's name has a dot in it; by the path at other endpoints
  path,         ///< https://endpoint/bucket/key
  virtualHost,  ///< https://bucket.endpoint/key
};

/// `options.service` and `options.contentType` are ignored. Makes no request, and throws, as makeJsonClient does.
[[nodiscard]] TENURE_API std::shared_ptr<ObjectClient> makeObjectClient(JsonClientOptions options,
                                                                        Addressing addressing = {}, Logger logger = {});

}  // namespace tenure::aws
