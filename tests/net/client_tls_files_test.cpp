// Certificates and authorities that change on disk while a client runs, and what is said of them.
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "lockcore/net/tls.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "net/stream_calls.hpp"

namespace tenure::test {
namespace {

namespace fs = std::filesystem;
using net::HttpClient;

void answerOnce(Peer& peer) {
  if (!peer.readRequest().empty()) peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  peer.close();
}

std::string textOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

void put(const std::string& path, const std::string& text) { std::ofstream{path, std::ios::trunc} << text; }

/// The pair of one authority, as texts.
struct Pair {
  explicit Pair(const TestAuthority& authority) {
    const Identity identity = authority.issue({"DNS:client.test"});
    const TempDir directory;
    writeCertificate(identity, directory.file("c"));
    writeKey(identity, directory.file("k"));
    certificate = textOf(directory.file("c"));
    key = textOf(directory.file("k"));
  }
  std::string certificate{};
  std::string key{};
};

class HttpTlsFiles : public testing::Test {
 protected:
  /// A server of one authority which ends each connection after its answer, so that each call makes a new one.
  [[nodiscard]] std::unique_ptr<TestServer> serverOf(const TestAuthority& authority, int newestTls = TLS1_3_VERSION,
                                                     bool demands = false) const {
    return std::make_unique<TestServer>(answerOnce,
                                        TestServer::Options{.identity = authority.issue({"IP:127.0.0.1"}),
                                                            .newestTls = newestTls,
                                                            .clientCa = demands ? authority.caFile() : std::string{}});
  }

  [[nodiscard]] Logger logger() {
    return Logger{LogLevel::info, [this](LogLevel level, std::string_view line) {
                    const std::lock_guard lock{mutex_};
                    (level >= LogLevel::warn ? warnings_ : news_).emplace_back(line);
                  }};
  }

  std::vector<std::string> warnings() {
    const std::lock_guard lock{mutex_};
    return warnings_;
  }

  std::vector<std::string> news() {
    const std::lock_guard lock{mutex_};
    return news_;
  }

  static void expectAnswer(HttpClient& client, const TestServer& server) {
    const auto outcome = call(client, tlsAt(server.port()));
    EXPECT_TRUE(outcome) << outcome.error().message;
  }

  static std::string errorOf(HttpClient& client, const TestServer& server) {
    const auto outcome = call(client, tlsAt(server.port()));
    EXPECT_FALSE(outcome);
    if (outcome) return {};
    EXPECT_EQ(outcome.error().kind, HttpError::Kind::tls) << outcome.error().message;
    return outcome.error().message;
  }

  TestAuthority first_{};
  TestAuthority second_{"the next authority"};
  TempDir directory_{};
  const std::string ca_{directory_.file("ca.pem")};
  const std::string certificate_{directory_.file("c.pem")};
  const std::string key_{directory_.file("c.key")};
  std::mutex mutex_{};
  std::vector<std::string> warnings_{};
  std::vector<std::string> news_{};
};

TEST_F(HttpTlsFiles, authoritiesThatAreAddedOrReplacedCountAtTheNextConnection) {
  const auto ofFirst = serverOf(first_), ofSecond = serverOf(second_);
  const std::string one = textOf(first_.caFile()), two = textOf(second_.caFile());
  put(ca_, one);
  const auto client = HttpClient::make({.caFile = ca_});
  expectAnswer(*client, *ofFirst);
  EXPECT_NE(errorOf(*client, *ofSecond).find("issuer"), std::string::npos);
  put(ca_, one + two);  // written in place
  expectAnswer(*client, *ofSecond);
  expectAnswer(*client, *ofFirst);
  put(ca_ + ".new", two);
  fs::rename(ca_ + ".new", ca_);  // another file under the name
  expectAnswer(*client, *ofSecond);
  EXPECT_NE(errorOf(*client, *ofFirst).find("issuer"), std::string::npos) << "what was taken away is not trusted";
}

TEST_F(HttpTlsFiles, aPairThatIsReplacedIsShownAtTheNextConnection) {
  const Pair one{first_}, two{second_};
  put(ca_, textOf(first_.caFile()) + textOf(second_.caFile()));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto ofFirst = serverOf(first_, version, true), ofSecond = serverOf(second_, version, true);
    put(certificate_, one.certificate);
    put(key_, one.key);
    const auto client = HttpClient::make({.caFile = ca_, .certificate = certificate_, .key = key_});
    expectAnswer(*client, *ofFirst);
    static_cast<void>(errorOf(*client, *ofSecond));
    put(certificate_, two.certificate);
    put(key_, two.key);
    expectAnswer(*client, *ofSecond);
    HeardStream heard;
    const auto stream = client->stream(tlsAt(ofSecond->port()), {}, {}, heard.handlers());
    EXPECT_TRUE(heard.end()) << "a stream shows the new one, too";
    static_cast<void>(errorOf(*client, *ofFirst));
  }
}

/// Kubernetes mounts secrets and ConfigMaps like this: the names are links through ..data, which is replaced as one.
TEST_F(HttpTlsFiles, aMountedSecretIsReadThroughOneDirectoryAlone) {
  const Pair pairs[]{Pair{first_}, Pair{first_}};
  put(ca_, textOf(first_.caFile()));
  for (const int at : {0, 1}) {
    const std::string version = directory_.file("..v" + std::to_string(at));
    fs::create_directory(version);
    put(version + "/tls.crt", pairs[at].certificate);
    put(version + "/tls.key", pairs[at].key);
  }
  const std::string data = directory_.file("..data");
  const auto turnTo = [&](int at) {
    fs::create_directory_symlink("..v" + std::to_string(at), data + "_tmp");
    fs::rename(data + "_tmp", data);
  };
  turnTo(0);
  fs::create_symlink("..data/tls.crt", directory_.file("tls.crt"));
  fs::create_symlink("..data/tls.key", directory_.file("tls.key"));
  const auto server = serverOf(first_, TLS1_3_VERSION, true);
  const auto client = HttpClient::make({.caFile = ca_,
                                        .certificate = directory_.file("tls.crt"),
                                        .key = directory_.file("tls.key"),
                                        .logger = logger()});
  std::atomic<bool> over{false};
  std::atomic<int> turns{0};
  std::thread turning{[&] {
    while (!over) turnTo(++turns % 2);
  }};
  for (int i = 0; i < 200; ++i) expectAnswer(*client, *server);
  over = true;
  turning.join();
  EXPECT_GT(turns, 200);
  EXPECT_EQ(warnings(), std::vector<std::string>{}) << "a certificate was read with the key of another version";
}

/// certbot turns one link after the other: `live/x/cert.pem -> ../../archive/x/cert2.pem`.
TEST_F(HttpTlsFiles, linksThatAreTurnedOneByOneNeverMixTwoVersions) {
  put(ca_, textOf(first_.caFile()) + textOf(second_.caFile()));
  fs::create_directories(directory_.file("archive/x"));
  fs::create_directories(directory_.file("live/x"));
  const Pair pairs[]{Pair{first_}, Pair{second_}};
  for (const std::string version : {"1", "2"}) {
    put(directory_.file("archive/x/cert" + version + ".pem"), pairs[version == "2" ? 1 : 0].certificate);
    put(directory_.file("archive/x/key" + version + ".pem"), pairs[version == "2" ? 1 : 0].key);
  }
  const auto turn = [&](const std::string& name, const std::string& version) {
    const std::string link = directory_.file("live/x/" + name + ".pem");
    fs::create_symlink("../../archive/x/" + name + version + ".pem", link + ".new");
    fs::rename(link + ".new", link);
  };
  turn("cert", "1");
  turn("key", "1");
  const auto ofFirst = serverOf(first_, TLS1_3_VERSION, true), ofSecond = serverOf(second_, TLS1_3_VERSION, true);
  const auto client = HttpClient::make({.caFile = ca_,
                                        .certificate = directory_.file("live/x/cert.pem"),
                                        .key = directory_.file("live/x/key.pem"),
                                        .logger = logger()});
  expectAnswer(*client, *ofFirst);
  turn("cert", "2");
  for (int i = 0; i < 3; ++i) expectAnswer(*client, *ofFirst);
  ASSERT_EQ(warnings().size(), 1U);
  EXPECT_NE(warnings()[0].find("it belongs to another certificate"), std::string::npos) << warnings()[0];
  turn("key", "2");
  expectAnswer(*client, *ofSecond);
  EXPECT_EQ(warnings().size(), 1U);
}

/// A bundle of authorities may be long, and three files are kept for as long as a client runs.
TEST_F(HttpTlsFiles, whatIsReadTakesTheRoomOfTheFileAlone) {
  put(ca_, textOf(first_.caFile()));
  const auto text = regularFile(ca_, std::size_t{16} << 20U);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, textOf(ca_));
  EXPECT_LT(text->capacity(), 64U << 10U);
  EXPECT_TRUE(regularFile(ca_, text->size())) << "as long as may be";
  EXPECT_EQ(regularFile(ca_, text->size() - 1).error().why, "is longer than 0 KiB");
}

/// Whoever writes two files writes one after the other.
TEST_F(HttpTlsFiles, aHalfWrittenPairKeepsTheOldOneAndIsToldByItsFile) {
  const Pair one{first_}, two{second_};
  put(ca_, textOf(first_.caFile()) + textOf(second_.caFile()));
  put(certificate_, one.certificate);
  put(key_, one.key);
  const auto ofFirst = serverOf(first_, TLS1_3_VERSION, true), ofSecond = serverOf(second_, TLS1_3_VERSION, true);
  const auto client = HttpClient::make({.caFile = ca_, .certificate = certificate_, .key = key_, .logger = logger()});
  const std::string whole = two.certificate;
  const std::vector<std::pair<std::string, std::string>> halves{
      {whole, "key " + key_ + " of the client certificate: it belongs to another certificate than client certificate " +
                  certificate_},
      {"", "client certificate " + certificate_ + ": no certificate can be read from it"},
      {whole.substr(0, whole.size() / 2), "client certificate " + certificate_ + ": no certificate can be read"}};
  for (const auto& [half, words] : halves) {
    warnings_.clear();
    put(certificate_, half);
    for (int i = 0; i < 3; ++i) expectAnswer(*client, *ofFirst);
    ASSERT_EQ(warnings().size(), 1U) << words;
    EXPECT_NE(warnings()[0].find(words), std::string::npos) << warnings()[0];
    EXPECT_NE(warnings()[0].find("stays in use"), std::string::npos) << warnings()[0];
    EXPECT_NE(errorOf(*client, *ofSecond).find(words), std::string::npos) << "a refused handshake tells it, too";
  }
  fs::remove(certificate_);
  expectAnswer(*client, *ofFirst);
  EXPECT_NE(warnings().back().find(certificate_ + " cannot be read: No such file"), std::string::npos);
  put(certificate_, two.certificate);
  put(key_, two.key);
  expectAnswer(*client, *ofSecond);
}

TEST_F(HttpTlsFiles, halfWrittenAuthoritiesKeepTheOldOnes) {
  const auto ofFirst = serverOf(first_), ofSecond = serverOf(second_);
  const std::string one = textOf(first_.caFile()), two = textOf(second_.caFile());
  put(ca_, one);
  const auto client = HttpClient::make({.caFile = ca_, .logger = logger()});
  for (const std::string& half : {std::string{}, std::string{"nothing\n"}, two + one.substr(0, one.size() / 2)}) {
    put(ca_, half);
    expectAnswer(*client, *ofFirst);
    ASSERT_FALSE(warnings().empty());
    EXPECT_EQ(warnings().back().find("CA file " + ca_ + ":"), 0U) << warnings().back();
  }
  put(ca_, two);
  expectAnswer(*client, *ofSecond);
}

/// The file's time and size are as before: some file systems and ways of writing show no more (a mapped file here).
TEST_F(HttpTlsFiles, afterARefusedHandshakeTheContentIsReadAgain) {
  const std::string path = "/dev/shm/tenure-tls-" + std::to_string(::getpid());
  std::string one = textOf(first_.caFile()), two = textOf(second_.caFile());
  const std::size_t size = std::max(one.size(), two.size());
  one.resize(size, '\n');
  two.resize(size, '\n');
  put(path, one);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  ASSERT_NE(map, MAP_FAILED);
  *static_cast<volatile char*>(map) = one[0];  // only the first write into a page shows
  const auto ofFirst = serverOf(first_), ofSecond = serverOf(second_);
  const auto client = HttpClient::make({.caFile = path});
  expectAnswer(*client, *ofFirst);
  const auto before = fs::last_write_time(path);
  two.copy(static_cast<char*>(map), size);
  EXPECT_EQ(fs::last_write_time(path), before) << "nothing shows the change";
  static_cast<void>(errorOf(*client, *ofSecond));
  expectAnswer(*client, *ofSecond);
  ::munmap(map, size);
  fs::remove(path);
}

TEST_F(HttpTlsFiles, connectionsThatAreOpenStayOpen) {
  put(ca_, textOf(first_.caFile()));
  TestServer server{echo, {.identity = first_.issue({"IP:127.0.0.1"})}};
  const auto client = HttpClient::make({.caFile = ca_});
  expectAnswer(*client, server);
  put(ca_, textOf(second_.caFile()));
  for (int i = 0; i < 5; ++i) expectAnswer(*client, server);
  EXPECT_EQ(server.accepted(), 1);
}

/// kube-apiserver judges the client's certificate at every request: a connection that stays open must not show the old
/// one until that ends.
TEST_F(HttpTlsFiles, aConnectionThatIsUsedAllTheTimeShowsAReplacedPairSoon) {
  const Pair one{first_}, two{first_};
  put(ca_, textOf(first_.caFile()));
  put(certificate_, one.certificate);
  put(key_, one.key);
  TestServer server{echo, {.identity = first_.issue({"IP:127.0.0.1"}), .clientCa = first_.caFile()}};
  const auto client = HttpClient::make({.caFile = ca_, .certificate = certificate_, .key = key_, .logger = logger()});
  for (int i = 0; i < 3; ++i) expectAnswer(*client, server);
  EXPECT_EQ(server.accepted(), 1);
  put(ca_, textOf(first_.caFile()) + textOf(second_.caFile()));  // changes what is trusted, and not this side's pair
  while (news().empty()) expectAnswer(*client, server);
  EXPECT_EQ(server.accepted(), 1);
  put(certificate_, two.certificate);
  while (warnings().empty()) expectAnswer(*client, server);  // of a pair that is half written
  EXPECT_EQ(server.accepted(), 1);
  put(key_, two.key);
  while (server.accepted() == 1) expectAnswer(*client, server);
  for (int i = 0; i < 3; ++i) expectAnswer(*client, server);
  EXPECT_EQ(server.accepted(), 2);
}

TEST_F(HttpTlsFiles, whichCertificateWasRefusedAndByWhomIsSaid) {
  const Pair one{first_};
  put(ca_, textOf(first_.caFile()) + textOf(second_.caFile()));
  put(certificate_, one.certificate);
  put(key_, one.key);
  const auto says = [](const std::string& told, const std::vector<std::string>& all) {
    for (const std::string& words : all) EXPECT_NE(told.find(words), std::string::npos) << words << " in " << told;
  };
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto demands = serverOf(second_, version, true);
    const auto ours = HttpClient::make({.caFile = ca_, .certificate = certificate_, .key = key_});
    says(errorOf(*ours, *demands), {"the server refused our client certificate " + certificate_,
                                    "CN=tenure test server", "issued by \"CN=tenure test authority\"", "unknown ca"});
    const auto none = HttpClient::make({.caFile = ca_});
    says(errorOf(*none, *demands), {"the server demands a client certificate, and none is given"});
  }
  const std::string authority = directory_.file("other.pem");
  put(authority, textOf(second_.caFile()));
  const auto wary = HttpClient::make({.caFile = authority});
  says(errorOf(*wary, *serverOf(first_)),
       {"the server's certificate was refused (unable to get local issuer certificate)", "CN=tenure test server",
        "issued by \"CN=tenure test authority\"", "CA file " + authority});
  const auto ofSystem = HttpClient::make({});
  says(errorOf(*ofSystem, *serverOf(first_)), {"the system's trust store"});
}

/// The system's own authorities: OpenSSL reads them from where SSL_CERT_FILE says.
TEST_F(HttpTlsFiles, theSystemsAuthoritiesAreLookedAtAgain) {
  put(ca_, textOf(first_.caFile()));
  ::setenv("SSL_CERT_FILE", ca_.c_str(), 1);
  const auto ofFirst = serverOf(first_), ofSecond = serverOf(second_);
  const auto client = HttpClient::make({});
  expectAnswer(*client, *ofFirst);
  put(ca_, textOf(second_.caFile()));
  expectAnswer(*client, *ofSecond);
  ::unsetenv("SSL_CERT_FILE");
}

/// As Go, and so kubectl and etcdctl, reads them: under any name, several to a file, next to files that are none.
TEST_F(HttpTlsFiles, everyFileOfTheDirectoriesOfSslCertDirIsTrusted) {
  const test::TempDir empty, any;
  put(any.file("readme"), "no certificate\n");
  put(any.file("bundle.crt"), textOf(second_.caFile()) + textOf(first_.caFile()));
  const auto ofFirst = serverOf(first_), ofSecond = serverOf(second_);
  ::setenv("SSL_CERT_DIR", empty.path().c_str(), 1);
  const auto client = HttpClient::make({});
  EXPECT_NE(errorOf(*client, *ofFirst).find("the system's trust store"), std::string::npos);
  ::setenv("SSL_CERT_DIR", (empty.path().string() + ":" + any.path().string()).c_str(), 1);
  const auto later = HttpClient::make({});
  expectAnswer(*later, *ofFirst);
  expectAnswer(*later, *ofSecond);
  put(empty.file("first.pem"), textOf(first_.caFile()));
  ::setenv("SSL_CERT_DIR", empty.path().c_str(), 1);
  expectAnswer(*client, *ofFirst);
  ::unsetenv("SSL_CERT_DIR");
}

/// As curl and Go take it: a file for compose sets it from a variable that is not set.
TEST(SystemsAuthorities, anEmptyVariableCountsAsNone) {
  std::map<const char*, std::string> before;
  for (const char* name : {"SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    if (const char* value = std::getenv(name)) before[name] = value;
    ::unsetenv(name);
  }
  const std::string file = net::systemsFile();
  const std::vector<std::string> directories = net::systemsDirectories();
  ASSERT_FALSE(directories.empty());
  ::setenv("SSL_CERT_FILE", "", 1);
  ::setenv("SSL_CERT_DIR", "", 1);
  EXPECT_EQ(net::systemsFile(), file);
  EXPECT_EQ(net::systemsDirectories(), directories);
  EXPECT_TRUE(net::filesOfSystemsDirectories().empty());
  for (const char* name : {"SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    before.contains(name) ? ::setenv(name, before[name].c_str(), 1) : ::unsetenv(name);
  }
}

/// OpenSSL works on the system's authorities for 30 ms and longer, on the thread that serves all calls. A server that
/// ends each handshake must not cost that each time. Tickets show it: they go with the authorities that they were got
/// by.
TEST_F(HttpTlsFiles, aHandshakeThatFailsCostsNoReadingOfAuthoritiesThatAreAsBefore) {
  put(ca_, textOf(first_.caFile()));
  ::setenv("SSL_CERT_FILE", ca_.c_str(), 1);
  std::atomic<int> resumed{0};
  TestServer good{[&](Peer& peer) {
                    if (peer.resumed()) ++resumed;
                    answerOnce(peer);
                  },
                  {.identity = first_.issue({"IP:127.0.0.1"})}};
  TestServer bad{[](Peer& peer) { peer.close(); }};
  for (const std::string& caFile : {std::string{}, ca_}) {
    resumed = 0;
    const auto client = HttpClient::make({.caFile = caFile});
    expectAnswer(*client, good);
    static_cast<void>(errorOf(*client, bad));
    expectAnswer(*client, good);
    EXPECT_EQ(resumed, 1) << caFile;
    put(ca_, textOf(first_.caFile()) + textOf(second_.caFile()));
    expectAnswer(*client, good);
    EXPECT_EQ(resumed, 1) << "others are trusted now: " << caFile;
    put(ca_, textOf(first_.caFile()));
  }
  ::unsetenv("SSL_CERT_FILE");
}

}  // namespace
}  // namespace tenure::test
