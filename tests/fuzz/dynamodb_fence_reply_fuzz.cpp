// Any bytes as DynamoDB's answer to a fenced write, or to a read of the guard: only the service's own words count as a
// success.
#include <array>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "adapters/dynamodb/src/fence_requests.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace tenure;
using tenure::fuzz::require;

const TermStamp stamp{"billing", FencingToken{5}, "a#1"};

bool namesTable(const boost::json::value& one) {
  const auto* capacity = one.if_object();
  const auto* table = capacity == nullptr ? nullptr : capacity->if_contains("TableName");
  return table != nullptr && table->is_string() && !table->get_string().empty();
}

/// Implemented a second time, from the service's documentation.
bool isTheServices(int status, std::string_view text) {
  boost::system::error_code error;
  const boost::json::value body = boost::json::parse(boost::json::string_view{text.data(), text.size()}, error);
  if (error || !body.is_object() || status != 200 || body.get_object().contains("__type")) return false;
  const auto* capacity = body.get_object().if_contains("ConsumedCapacity");
  if (capacity == nullptr) return false;
  return capacity->is_array() ? !capacity->get_array().empty() && namesTable(capacity->get_array()[0])
                              : namesTable(*capacity);
}

void judgeWrite(int status, const std::string& body) {
  const auto written = dynamodb_fence::writtenIn(stamp, true, "there", aws::JsonReply{status, body, ""});
  if (written) {
    require(*written == DynamoDbWritten::conditionFailed || isTheServices(status, body), "done is said by the service");
    require(*written == DynamoDbWritten::done || status == 400, "a condition that failed is an error");
    return;
  }
  const FenceError error = written.error();
  tenure::fuzz::requireTellable(error.message);
  require(error.over() == nullptr, "nobody but the writer says that a term is over");
  if (const auto* stale = error.stale()) {
    require(status == 400 && stale->highestSeen > stamp.token && stale->highestSeen <= maxFencingToken,
            "a term ends for a higher token that is one");
  }
  if (const auto* failure = error.writeError(); failure != nullptr && (status < 400 || status >= 500)) {
    require(failure->mayBeWritten || failure->error.errorClass == ErrorClass::corrupt,
            "what is no rejection of the service's proves nothing");
  }
}

void judgeLook(int status, const std::string& body) {
  const auto seen = dynamodb_fence::seenIn(stamp.lease, "there", aws::JsonReply{status, body, ""});
  if (!seen) return tenure::fuzz::requireTellable(FenceError{seen.error()}.message);
  require(isTheServices(status, body), "a token, or that there is none, is told by the service");
  require(!*seen || (!(*seen)->token.isNone() && (*seen)->token <= maxFencingToken), "a token is one");
}

constexpr std::array statuses{200, 200, 200, 200, 400, 400, 201, 302, 403, 413, 500, 503};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::fuzz::Choices choices{data, size};
  const int status = statuses.at(choices.next() % statuses.size());
  const std::string body{choices.rest()};
  judgeWrite(status, body);
  judgeLook(status, body);
  return 0;
}
