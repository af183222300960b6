#include "lock_by_posts.hpp"

#include <stdexcept>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/core.h>

namespace tenure::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

}  // namespace

class LockByPosts::Impl {
 public:
  Impl(const std::string& endpoint, std::string table) : table_{std::move(table)} {
    const std::string address = endpoint.substr(endpoint.find("//") + 2);
    const std::size_t colon = address.find(':');
    host_ = address.substr(0, colon);
    std::string port = colon == std::string::npos ? "80" : address.substr(colon + 1);
    if (!port.empty() && port.back() == '/') port.pop_back();
    stream_.connect(tcp::resolver{io_}.resolve(host_, port));
    stream_.socket().set_option(tcp::no_delay{true});
    post("CreateTable", fmt::format(R"({{"TableName":"{}","BillingMode":"PAY_PER_REQUEST",)"
                                    R"("KeySchema":[{{"AttributeName":"key","KeyType":"HASH"}}],)"
                                    R"("AttributeDefinitions":[{{"AttributeName":"key","AttributeType":"S"}}]}})",
                                    table_));
    post("PutItem", fmt::format(R"({{"TableName":"{}","Item":{{"key":{{"S":"bench"}},"free":{{"S":"1"}}}}}})", table_));
  }

  void roundTrip() {
    ++round_;
    const std::string take = update("bench", "SET #v = :v REMOVE #f", "attribute_exists(#f)");
    const std::string count = fmt::format(
        R"({{"TableName":"{}","Key":{{"key":{{"S":"bench#fence"}}}},"UpdateExpression":"ADD #t :one",)"
        R"("ExpressionAttributeNames":{{"#t":"term"}},"ExpressionAttributeValues":{{":one":{{"N":"1"}}}}}})",
        table_);
    post("TransactWriteItems", fmt::format(R"({{"TransactItems":[{{"Update":{}}},{{"Update":{}}}]}})", take, count));
    post("UpdateItem", update("bench", "SET #v = :v, #f = :v", "attribute_not_exists(#f)"));
  }

 private:
  [[nodiscard]] std::string update(const char* key, const char* expression, const char* condition) const {
    return fmt::format(
        R"({{"TableName":"{}","Key":{{"key":{{"S":"{}"}}}},"UpdateExpression":"{}","ConditionExpression":"{}",)"
        R"("ExpressionAttributeNames":{{"#v":"version","#f":"free"}},)"
        R"("ExpressionAttributeValues":{{":v":{{"S":"version-{}"}}}}}})",
        table_, key, expression, condition, round_);
  }

  void post(const std::string& operation, const std::string& body) {
    http::request<http::string_body> request{http::verb::post, "/", 11};
    request.set(http::field::host, host_);
    request.set(http::field::content_type, "application/x-amz-json-1.0");
    request.set("x-amz-target", "DynamoDB_20120810." + operation);
    request.set("x-amz-date", "20260101T000000Z");
    request.set(http::field::authorization,
                "AWS4-HMAC-SHA256 Credential=tenuretest/20260101/us-east-1/dynamodb/aws4_request, "
                "SignedHeaders=host;x-amz-date;x-amz-target, Signature=0");
    request.body() = body;
    request.prepare_payload();
    http::write(stream_, request);
    http::response<http::string_body> reply;
    http::read(stream_, buffer_, reply);
    if (reply.result() != http::status::ok) throw std::runtime_error(operation + " by hand: " + reply.body());
  }

  const std::string table_;
  std::string host_{};
  asio::io_context io_{};
  beast::tcp_stream stream_{io_};
  beast::flat_buffer buffer_{};
  int round_{0};
};

LockByPosts::LockByPosts(const std::string& endpoint, std::string table)
    : impl_{std::make_unique<Impl>(endpoint, std::move(table))} {}
LockByPosts::~LockByPosts() = default;

void LockByPosts::roundTrip() { impl_->roundTrip(); }

}  // namespace tenure::bench
