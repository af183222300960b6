// Which answers a fence for S3 accepts as S3's, and which it does not.
#include <regex>

#include <gtest/gtest.h>

#include <tenure/adapters/s3_fence.hpp>

#include "adapters/s3/scripted_s3.hpp"
#include "adapters/s3/src/object_answers.hpp"
#include "adapters/s3/src/object_head.hpp"

namespace tenure {
namespace {

using s3_fence::answerOf;
using Kind = s3_fence::ObjectAnswer::Kind;
using test::ScriptedS3;

constexpr const char* place = "state";

TermStamp termOf(std::uint64_t token) { return {"billing", FencingToken{token}, "a#1"}; }

S3Fence open(const std::shared_ptr<ScriptedS3>& s3) {
  S3FenceOptions options;
  options.bucket = "b";
  return S3Fence{options, s3};
}

Kind kindOf(int status, const std::string& body) { return answerOf("there", net::HttpResponse{status, {}, body}).kind; }

TEST(S3Answers, onlyS3sOwnWordsSayThatNothingIsThere) {
  EXPECT_EQ(kindOf(404, "<Error><Code>NoSuchKey</Code></Error>"), Kind::absent);
  for (const char* body : {"", "<html><h1>Not Found</h1></html>", "<Error><Code>NoSuchKeyMarker</Code></Error>",
                           "<Error><Code>NoSuchBucket</Code></Error>", "<Error><Code>NoSuchVersion</Code></Error>"}) {
    EXPECT_EQ(kindOf(404, body), Kind::failed) << body;
  }
  for (const int status : {301, 400, 403, 410}) {
    EXPECT_EQ(kindOf(status, "<Error><Code>NoSuchKey</Code></Error>"), Kind::failed) << status;
  }
}

TEST(S3Answers, anErrorIsToldInAFewWords) {
  const std::string longest(100'000, 'x');
  const auto answer = answerOf("there", net::HttpResponse{400, {}, "<Code>" + longest + "</Code><Message>" + longest});
  EXPECT_LT(answer.error.message.size(), 500U);
}

TEST(S3Answers, anEtagIsOneAndStrong) {
  for (const char* good : {R"("9b2c")", R"("9b2c-3")", R"("")"}) EXPECT_TRUE(s3_fence::isStrongEtag(good)) << good;
  for (const char* bad : {"", "\"", "9b2c", R"(W/"9b2c")", R"("9b2c)", R"("a", "b")", R"("a","b")", "\"a b\"", "*"}) {
    EXPECT_FALSE(s3_fence::isStrongEtag(bad)) << bad;
  }
}

TEST(S3Answers, aPageOfAProxyIsNotAnObjectWithoutAToken) {
  const auto s3 = std::make_shared<ScriptedS3>();
  S3Fence fence = open(s3);
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one"}));
  s3->turn = [](const aws::ObjectRequest&) { return ScriptedS3::Turn{ScriptedS3::Fate::error, 404, ""}; };
  EXPECT_TRUE(fence.highestSeen(place, "billing").has_error());
  EXPECT_TRUE(fence.read(place).has_error());
}

TEST(S3Answers, aSuccessWithoutAnEtagIsLookedAfter) {
  const auto s3 = std::make_shared<ScriptedS3>();
  s3->tellsEtagOfWrites = false;
  S3Fence fence = open(s3);
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one"}));
  EXPECT_EQ(s3->log(), (std::vector<std::string>{"GET state", "PUT state If-None-Match", "GET state"}));
  EXPECT_EQ(fence.read(place).value()->bytes, "one");
}

TEST(S3Answers, aPointerNamesNoBytesWhoseWriteWasNotAcknowledgedByS3) {
  const auto s3 = std::make_shared<ScriptedS3>();
  s3->tellsEtagOfWrites = false;
  int swallowed = 0;
  S3Fence fence = open(s3);
  s3->turn = [&](const aws::ObjectRequest& request) {
    const bool bytes = request.method == "PUT" && request.key.starts_with("state.tenure/");
    // A proxy that says 200 and passes nothing on.
    return bytes && ++swallowed == 1 ? ScriptedS3::Turn{ScriptedS3::Fate::error, 200, ""} : ScriptedS3::Turn{};
  };
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one", .form = S3Form::pointer}));
  EXPECT_EQ(swallowed, 3) << "swallowed, written, there already";
  EXPECT_EQ(fence.read(place).value()->bytes, "one");
}

TEST(S3Answers, aWriteIsDoneOnlyIfTheAnswerHasStatus200AStrongEtagAndNoBody) {
  const std::string error = "<Error><Code>InternalError</Code></Error>";
  for (const net::HttpResponse& lie :
       {net::HttpResponse{200, {{"ETag", "\"9b2c\""}}, error}, net::HttpResponse{200, {}, ""},
        net::HttpResponse{202, {{"ETag", "\"9b2c\""}}, ""}, net::HttpResponse{200, {{"ETag", "W/\"9b2c\""}}, ""},
        net::HttpResponse{200, {{"ETag", "\"9b2c\""}}, "<html>welcome</html>"}}) {
    const auto s3 = std::make_shared<ScriptedS3>();
    s3->lie = [&lie](const aws::ObjectRequest& request) {
      const bool writes = request.method == "PUT" && request.key == place;
      return writes ? std::optional{lie} : std::nullopt;
    };
    S3FenceOptions options;
    options.bucket = "b";
    options.timeout = std::chrono::milliseconds{30};
    const auto written = S3Fence{options, s3}.write(termOf(5), {.key = place, .bytes = "one"});
    ASSERT_TRUE(written.has_error()) << lie.status << lie.body;
    EXPECT_TRUE(FenceError{written.error()}.writeError()->mayBeWritten);
    EXPECT_EQ(s3->at(place), "");
  }
}

TEST(S3Answers, thatThePointersBytesAreThereIsBelievedOfThemselvesOnly) {
  const auto s3 = std::make_shared<ScriptedS3>();
  s3->turn = [](const aws::ObjectRequest& request) {
    const bool bytes = request.method == "PUT" && request.key.starts_with("state.tenure/");
    return bytes ? ScriptedS3::Turn{ScriptedS3::Fate::error, 412, "PreconditionFailed"} : ScriptedS3::Turn{};
  };
  S3FenceOptions options;
  options.bucket = "b";
  options.timeout = std::chrono::milliseconds{30};
  EXPECT_TRUE(
      S3Fence(options, s3).write(termOf(5), {.key = place, .bytes = "one", .form = S3Form::pointer}).has_error());
  EXPECT_EQ(s3->at(place), "") << "the head would name bytes that nobody has";
}

TEST(S3Answers, thePointersBytesAreAsManyAsTheHeadTells) {
  const auto s3 = std::make_shared<ScriptedS3>();
  S3FenceOptions options;
  options.bucket = "b";
  options.timeout = std::chrono::milliseconds{30};
  S3Fence fence{options, s3};
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one", .form = S3Form::pointer}));
  s3->lie = [](const aws::ObjectRequest& request) {
    const bool bytes = request.method == "GET" && request.key.starts_with("state.tenure/");
    return bytes ? std::optional{net::HttpResponse{200, {{"ETag", "\"9b2c\""}}, "<html>welcome</html>"}} : std::nullopt;
  };
  EXPECT_TRUE(fence.read(place).has_error());
}

TEST(S3Answers, aStoredTokenAboveTheGreatestIsDamageThatIsNamedWithItsWayOut) {
  const auto s3 = std::make_shared<ScriptedS3>();
  S3Fence fence = open(s3);
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one"}));
  std::string object = s3->at(place);
  object.replace(object.find(R"("token":"5")"), 11, R"("token":"9223372036854775807")");
  s3->put(place, object);
  const auto refused = open(s3).write(termOf(maxFencingToken.value()), {.key = place, .bytes = "two"});
  ASSERT_TRUE(refused.has_error());
  const FenceError error = refused.error();
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::corrupt);
  for (const char* part : {"key state", "9223372036854775807", "tenure fence recover"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
  EXPECT_EQ(s3->at(place), object);
}

// As in docs/fencing/s3.md: the first line is edited in place, the bytes after it stay.
TEST(S3Answers, aHeadWhoseTokenAnOperatorSetDownTakesTheNextTermAndNoneBefore) {
  const auto s3 = std::make_shared<ScriptedS3>();
  ASSERT_TRUE(open(s3).write(termOf(maxFencingToken.value()), {.key = place, .bytes = "one"}));
  std::string object = s3->at(place);
  object = std::regex_replace(object, std::regex{R"("token":"[0-9]*")"}, R"("token":"17")");
  object = std::regex_replace(object, std::regex{R"("holder":"[^"]*")"}, R"("holder":"tenure fence recover")");
  s3->put(place, object);
  EXPECT_TRUE(open(s3).write(termOf(17), {.key = place, .bytes = "two"}).has_error());
  EXPECT_EQ(open(s3).read(place).value()->bytes, "one");
  EXPECT_TRUE(open(s3).write(termOf(18), {.key = place, .bytes = "three"}).has_value());
}

TEST(S3Answers, bytesOfAnotherKeyAreNotDeleted) {
  const auto s3 = std::make_shared<ScriptedS3>();
  S3Fence fence = open(s3);
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one", .form = S3Form::pointer}));
  s3->put("copy", s3->at(place));
  ASSERT_TRUE(fence.write(termOf(6), {.key = "copy", .bytes = "two", .form = S3Form::pointer}));
  EXPECT_EQ(fence.read(place).value()->bytes, "one");
  EXPECT_EQ(fence.read("copy").value()->bytes, "two");
}

TEST(S3Answers, aHeadHasOneSpelling) {
  const std::string good = s3_fence::toText({"0123", "", 0, "", {termOf(5)}});
  const std::string terms = good.substr(good.find(R"("terms")"), good.find(']') + 1 - good.find(R"("terms")"));
  ASSERT_TRUE(s3_fence::parseHead(good));
  const auto with = [&](const std::string& more) {
    std::string out = good;
    return out.insert(out.rfind('}'), ',' + more);
  };
  EXPECT_FALSE(s3_fence::parseHead(with(R"("terms":[])"))) << "the first one has a token";
  EXPECT_FALSE(s3_fence::parseHead(with(R"("more":"1")"))) << "a write of ours would lose it";
  EXPECT_FALSE(s3_fence::parseHead(' ' + good));
  std::string nobody = good;
  EXPECT_FALSE(s3_fence::parseHead(nobody.replace(nobody.find("a#1"), 3, ""))) << "a term without a holder";
}

}  // namespace
}  // namespace tenure
