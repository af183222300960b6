#include "lockcore/aws/endpoint.hpp"

#include "aws_world.hpp"

namespace tenure::aws::test {
namespace {

class EndpointTest : public AwsTest {
 protected:
  StoreResult<Place> place(const PlaceWishes& wishes = {"dynamodb", {}, {}, {}}) {
    const SharedConfig config = SharedConfig::load(environment_);
    return findPlace(environment_, config, wishes, findRegion(environment_, config, wishes), "");
  }
  std::string url(const PlaceWishes& wishes = {"dynamodb", {}, {}, {}}) {
    const auto got = place(wishes);
    return got ? net::toString(got->endpoint.origin) + got->endpoint.target + ' ' + got->region : got.error().message;
  }
  std::string misconfigured(const PlaceWishes& wishes = {"dynamodb", {}, {}, {}}) {
    const auto got = place(wishes);
    if (got) return "(no error)";
    EXPECT_EQ(got.error().errorClass, ErrorClass::misconfigured);
    return got.error().message;
  }
};

TEST_F(EndpointTest, regionsInTheirOrder) {
  writeConfig("[default]\nregion = eu-west-1\n[profile p]\nregion = eu-west-2\n");
  EXPECT_EQ(place()->region, "eu-west-1");
  EXPECT_EQ(place({"dynamodb", {}, {}, "p"})->region, "eu-west-2");
  set("AWS_PROFILE", "p");
  EXPECT_EQ(place()->region, "eu-west-2");
  set("AWS_DEFAULT_REGION", "eu-west-3");
  EXPECT_EQ(place()->region, "eu-west-3");
  set("AWS_REGION", "eu-south-1");
  EXPECT_EQ(place()->region, "eu-south-1");
  EXPECT_EQ(place({"dynamodb", "us-east-2", {}, {}})->region, "us-east-2");
}

TEST_F(EndpointTest, aMissingRegionListsWhatWasLookedAt) {
  const std::string message = misconfigured();
  for (const char* part : {"option region", "AWS_REGION", "AWS_DEFAULT_REGION", "profile default", "set AWS_REGION"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_NE(message.find(path("config")), std::string::npos) << message;
  set("AWS_REGION", "eu-central-1.evil.example/");
  EXPECT_NE(misconfigured().find("is not an AWS region"), std::string::npos);
  set("AWS_REGION", "local");
  EXPECT_NE(misconfigured().find("http://localhost:8000"), std::string::npos);
}

TEST_F(EndpointTest, hostsOfThePartitions) {
  const EndpointVariant plain{};
  const EndpointVariant fips{true, false};
  const EndpointVariant dual{false, true};
  EXPECT_EQ(regionalHost("dynamodb", "eu-central-1", plain), "dynamodb.eu-central-1.amazonaws.com");
  EXPECT_EQ(regionalHost("dynamodb", "us-east-1", fips), "dynamodb-fips.us-east-1.amazonaws.com");
  EXPECT_EQ(regionalHost("dynamodb", "us-east-1", dual), "dynamodb.us-east-1.api.aws");
  EXPECT_EQ(regionalHost("dynamodb", "us-east-1", {true, true}), "dynamodb-fips.us-east-1.api.aws");
  EXPECT_EQ(regionalHost("s3", "eu-central-1", plain), "s3.eu-central-1.amazonaws.com");
  EXPECT_EQ(regionalHost("s3", "eu-central-1", dual), "s3.dualstack.eu-central-1.amazonaws.com");
  EXPECT_EQ(regionalHost("s3", "us-east-1", {true, true}), "s3-fips.dualstack.us-east-1.amazonaws.com");
  EXPECT_EQ(regionalHost("dynamodb", "cn-north-1", plain), "dynamodb.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(regionalHost("dynamodb", "cn-north-1", dual), "dynamodb.cn-north-1.api.amazonwebservices.com.cn");
  EXPECT_EQ(regionalHost("dynamodb", "us-gov-west-1", fips), "dynamodb.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(regionalHost("dynamodb", "us-gov-west-1", {true, true}), "dynamodb-fips.us-gov-west-1.api.aws");
  EXPECT_EQ(regionalHost("s3", "us-gov-west-1", fips), "s3-fips.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(regionalHost("dynamodb", "us-iso-east-1", plain), "dynamodb.us-iso-east-1.c2s.ic.gov");
  EXPECT_EQ(regionalHost("dynamodb", "us-isob-east-1", plain), "dynamodb.us-isob-east-1.sc2s.sgov.gov");
  EXPECT_EQ(regionalHost("dynamodb", "us-iso-east-1", dual), "dynamodb.us-iso-east-1.api.aws.ic.gov");
  EXPECT_EQ(regionalHost("sts", "us-isob-east-1", {true, true}), "sts-fips.us-isob-east-1.api.aws.scloud");
  EXPECT_EQ(regionalHost("s3", "us-iso-east-1", dual), "s3.dualstack.us-iso-east-1.c2s.ic.gov");
}

TEST_F(EndpointTest, endpointsInTheirOrder) {
  set("AWS_REGION", "eu-central-1");
  EXPECT_EQ(url(), "https://dynamodb.eu-central-1.amazonaws.com:443/ eu-central-1");
  writeConfig("[default]\nendpoint_url = http://profile:1\n");
  EXPECT_EQ(url(), "http://profile:1/ eu-central-1");
  writeConfig(
      "[default]\nendpoint_url = http://profile:1\nservices = s\n[services s]\ndynamodb =\n endpoint_url = "
      "http://services:2\n");
  EXPECT_EQ(url(), "http://services:2/ eu-central-1");
  set("AWS_ENDPOINT_URL", "http://everything:3");
  EXPECT_EQ(url(), "http://everything:3/ eu-central-1");
  set("AWS_ENDPOINT_URL_DYNAMODB", "http://dynamo:4/path");
  EXPECT_EQ(url(), "http://dynamo:4/path eu-central-1");
  EXPECT_EQ(url({"sts", {}, {}, {}}), "http://everything:3/ eu-central-1");
  EXPECT_EQ(url({"dynamodb", {}, "https://mine:5", {}}), "https://mine:5/ eu-central-1");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "TRUE");
  EXPECT_EQ(url(), "https://dynamodb.eu-central-1.amazonaws.com:443/ eu-central-1");
  EXPECT_EQ(url({"dynamodb", {}, "https://mine:5", {}}), "https://mine:5/ eu-central-1");
}

TEST_F(EndpointTest, theVariableHasTheLastWordOnWhetherEndpointsCount) {
  set("AWS_REGION", "eu-central-1");
  writeConfig("[default]\nendpoint_url = http://profile:1\nignore_configured_endpoint_urls = true\n");
  EXPECT_EQ(url(), "https://dynamodb.eu-central-1.amazonaws.com:443/ eu-central-1");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false");
  EXPECT_EQ(url(), "http://profile:1/ eu-central-1");
}

/// Another endpoint is another table, and another leader beside the one there.
TEST_F(EndpointTest, aServicesSectionThatIsNamedAndMissingIsAnError) {
  set("AWS_REGION", "eu-central-1");
  for (const char* config :
       {"[default]\nservices = gone\n", "[default]\nservices =\n", "[default]\nservices = s\n[services s]\n",
        "[default]\nservices = s\n[services S]\ndynamodb =\n endpoint_url = http://h:1\n",
        "[default]\nservices = gone\nendpoint_url = http://profile:1\n"}) {
    writeConfig(config);
    const std::string message = misconfigured();
    EXPECT_NE(message.find("names the section [services "), std::string::npos) << config << message;
    EXPECT_NE(message.find(path("config") + ":1"), std::string::npos) << message;
    EXPECT_NE(message.find("correct services in line 2, or write the section"), std::string::npos) << message;
    EXPECT_EQ(misconfigured({"s3", {}, {}, {}}), message) << "the fence of S3 asks for it too";
  }
  set("AWS_ENDPOINT_URL_DYNAMODB", "http://dynamo:4");
  EXPECT_EQ(url(), "http://dynamo:4/ eu-central-1") << "nothing asks for the section";
  set("AWS_ENDPOINT_URL_DYNAMODB", "");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
  EXPECT_EQ(url(), "https://dynamodb.eu-central-1.amazonaws.com:443/ eu-central-1");
}

TEST_F(EndpointTest, whatAServicesSectionSaysOfAServiceMustBeUnderstood) {
  set("AWS_REGION", "eu-central-1");
  for (const char* services : {"dynamodb = http://h:1\n", "dynamodb =\nendpoint_url = http://h:1\n",
                               "dynamodb =\n  endpoint_url http://h:1\n", "dynamodb\n"}) {
    writeConfig(std::string{"[default]\nservices = s\n[services s]\n"} + services);
    EXPECT_NE(misconfigured().find(path("config") + ":4: "), std::string::npos) << services << misconfigured();
  }
}

TEST_F(EndpointTest, aServicesSectionMayLeaveTheServiceOut) {
  set("AWS_REGION", "eu-central-1");
  const std::string own = "https://dynamodb.eu-central-1.amazonaws.com:443/ eu-central-1";
  for (const char* services : {"s3 =\n  endpoint_url = http://h:1\n", "dynamodb =\n  other = 1\n",
                               "dynamodb =\n  endpoint_url =\n", "s3 =\n broken\ndynamodb =\n  x = y\n"}) {
    writeConfig(std::string{"[default]\nservices = s\n[services s]\n"} + services);
    EXPECT_EQ(url(), own) << services;
    writeConfig(std::string{"[default]\nservices = s\nendpoint_url = http://profile:1\n[services s]\n"} + services);
    EXPECT_EQ(url(), "http://profile:1/ eu-central-1") << services;
  }
}

TEST_F(EndpointTest, aBadRegionNamesItsPlace) {
  set("AWS_REGION", "eu-central-1\n");
  EXPECT_EQ(misconfigured().find("AWS_REGION: \"eu-central-1\" is not an AWS region"), 0U) << misconfigured();
  set("AWS_REGION", "");
  set("AWS_DEFAULT_REGION", "Frankfurt");
  EXPECT_EQ(misconfigured().find("AWS_DEFAULT_REGION: \"Frankfurt\""), 0U) << misconfigured();
  set("AWS_DEFAULT_REGION", "");
  writeConfig("[default]\nregion = eu_west_1\n");
  EXPECT_EQ(misconfigured().find("region of profile default (" + path("config") + ":1): "), 0U) << misconfigured();
}

TEST_F(EndpointTest, aBadUrlNamesItsPlace) {
  set("AWS_REGION", "eu-central-1");
  set("AWS_ENDPOINT_URL_DYNAMODB", "localhost:8000");
  EXPECT_EQ(misconfigured().find("AWS_ENDPOINT_URL_DYNAMODB is not a usable URL: "), 0U) << misconfigured();
}

TEST_F(EndpointTest, variantsComeFromEnvironmentAndProfile) {
  set("AWS_REGION", "us-east-1");
  writeConfig("[default]\nuse_fips_endpoint = true\n");
  EXPECT_EQ(url(), "https://dynamodb-fips.us-east-1.amazonaws.com:443/ us-east-1");
  set("AWS_USE_FIPS_ENDPOINT", "false");
  set("AWS_USE_DUALSTACK_ENDPOINT", "true");
  EXPECT_EQ(url(), "https://dynamodb.us-east-1.api.aws:443/ us-east-1");
  set("AWS_REGION", "us-iso-east-1");
  EXPECT_EQ(url(), "https://dynamodb.us-iso-east-1.api.aws.ic.gov:443/ us-iso-east-1");
}

}  // namespace
}  // namespace tenure::aws::test
