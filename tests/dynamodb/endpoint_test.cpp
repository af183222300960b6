// That tenure_dynamodb_test gives C++ test programs a server.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return value == nullptr ? "" : value;
}

TEST(DynamoDbServer, isGivenToCppTests) {
  EXPECT_EQ(variable("TENURE_TEST_DYNAMODB").find("http"), 0U);
  EXPECT_NE(variable("AWS_ACCESS_KEY_ID"), "");
}

}  // namespace
