// A JsonClient on an invented machine, connected to the stub.
#pragma once

#include <future>
#include <thread>

#include "aws_world.hpp"
#include "lockcore/aws/make_json_client.hpp"
#include "lockcore/aws/service_access.hpp"
#include "stub_dynamodb.hpp"
#include "support/eventually.hpp"

namespace tenure::aws::test {

class ClientTest : public AwsTest {
 protected:
  ClientTest() {
    set("AWS_REGION", "eu-central-1");
    set("AWS_EC2_METADATA_DISABLED", "true");
    responder_ = [this](const net::Origin&, const net::HttpRequest& request) { return dynamo_.answer(request); };
  }

  void useKeys(const Keys& keys) {
    dynamo_.allow(keys);
    set("AWS_ACCESS_KEY_ID", keys.accessKeyId);
    set("AWS_SECRET_ACCESS_KEY", keys.secretAccessKey);
    set("AWS_SESSION_TOKEN", keys.sessionToken);
  }

  /// Over the fake network, or with `sockets` over real ones.
  std::shared_ptr<JsonClient> make(JsonClientOptions options = {}, bool sockets = false) {
    ClientParts parts{environment_, sockets ? HttpClientFactory{net::HttpClient::make} : network(), limits_};
    auto client = makeJsonClient(std::move(options), std::move(parts), logger());
    watch(client->describe());
    return client;
  }

  std::future<JsonOutcome> start(JsonClient& client, std::chrono::nanoseconds timeout = std::chrono::seconds{20}) {
    auto promise = std::make_shared<std::promise<JsonOutcome>>();
    client.call("DynamoDB_20120810.GetItem", R"({"TableName":"t"})", timeout, [this, promise](JsonOutcome outcome) {
      if (!outcome) watch(outcome.error().error.message);
      promise->set_value(std::move(outcome));
    });
    return promise->get_future();
  }
  JsonOutcome call(JsonClient& client, std::chrono::nanoseconds timeout = std::chrono::seconds{20}) {
    return start(client, timeout).get();
  }

  static constexpr tenure::test::Eventually eventually{std::chrono::seconds{30}};

  std::atomic<std::int64_t> serverWall_{noon};
  StubDynamoDb dynamo_{[this] { return serverWall_.load(); }};
};

}  // namespace tenure::aws::test
