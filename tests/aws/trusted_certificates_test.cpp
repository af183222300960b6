// Which file of trusted certificates the connections use.
#include <stdexcept>

#include "client_fixture.hpp"

namespace tenure::aws::test {
namespace {

class TrustedCertificatesTest : public ClientTest {
 protected:
  TrustedCertificatesTest() { useKeys({"AKIA1", secretKey, tokenText}); }

  /// The file of the first connection; those to metadata services come later.
  std::string fileOf(JsonClientOptions options = {}) {
    std::string file = "(none made)";
    const auto client = makeWith(file, std::move(options));
    return file;
  }

  std::shared_ptr<JsonClient> makeWith(std::string& file, JsonClientOptions options) {
    ClientParts parts{environment_,
                      [this, &file](const net::HttpClientOptions& with) {
                        if (file == "(none made)") file = with.caFile;
                        return network()(with);
                      },
                      limits_};
    return makeJsonClient(std::move(options), std::move(parts), logger());
  }
};

TEST_F(TrustedCertificatesTest, optionThenVariableThenProfileThenSystem) {
  EXPECT_EQ(fileOf(), "");
  set("REQUESTS_CA_BUNDLE", "/etc/requests.pem");
  EXPECT_EQ(fileOf(), "/etc/requests.pem");
  writeConfig("[default]\nca_bundle = /etc/profile.pem\n[profile other]\nca_bundle = ~/other.pem\n");
  EXPECT_EQ(fileOf(), "/etc/profile.pem");
  EXPECT_EQ(fileOf({.profile = "other"}), path("other.pem"));
  set("AWS_PROFILE", "other");
  EXPECT_EQ(fileOf(), path("other.pem"));
  set("AWS_CA_BUNDLE", "~/variable.pem");
  EXPECT_EQ(fileOf(), path("variable.pem"));
  EXPECT_EQ(fileOf({.caFile = "/option.pem"}), "/option.pem");
}

TEST_F(TrustedCertificatesTest, aFileThatIsNotUsableIsRefusedAtOnce) {
  writeConfig("[default]\nca_bundle = " + path("missing.pem") + "\n");
  try {
    (void)make({}, true);
    FAIL() << "a client without its certificates";
  } catch (const std::runtime_error& fault) {
    EXPECT_NE(std::string{fault.what()}.find(path("missing.pem")), std::string::npos) << fault.what();
  }
}

TEST_F(TrustedCertificatesTest, profilesThatCannotBeReadYetCountWhenTheyCan) {
  writeConfig("[default\n");
  std::string file = "(none made)";
  const auto client = makeWith(file, {});
  EXPECT_FALSE(call(*client));
  EXPECT_EQ(file, "(none made)") << "nothing may go out before it is known whom to trust";
  writeConfig("[default]\nca_bundle = /etc/late.pem\n");
  EXPECT_TRUE(eventually([&] { return call(*client).has_value(); }));
  EXPECT_EQ(file, "/etc/late.pem");
}

}  // namespace
}  // namespace tenure::aws::test
