// Kubeconfig files as client-go reads them: kubeconfig_cases.json has its verdicts (tests/kubernetes/peers/kubeconfig).
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "lockcore/port/json_text.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

namespace json = boost::json;

const std::string folder = TENURE_SOURCE_DIR "/tests/config/";

/// Where the verdict is another one, and why.
const std::map<std::string, std::string> differs{
    // yaml-cpp reads what yaml/v2 does not, which harms nobody, or the other way round.
    {"JSON with escapes", "\\/ is an escape in JSON"},
    {"a tab in an empty line", "is read"},
    {"a tab before a comment that is alone", "is read"},
    {"tabs within a list of several lines", "is read"},
    {"%YAML 1.2", "is read"},
    {"an unknown directive", "is read"},
    {"nested 11000 deep", "500 levels are read"},
    // client-go takes it when it reads the file, and fails at each request.
    {"the server ftp://a.test", "is refused at once"},
    {"the server https://a.test:0", "is refused at once"},
    {"proxy-url http://", "is refused at once"},
    {"a block text with a break at its end", "no header may have it"},
    // Not supported here, and refused with the reason.
    {"a token with blanks", "a server takes the first word for the token"},
    {"a text of two lines", "the same"},
    {"typographic quotes", "no token has other characters than ASCII's"},
    {"the server https://me:pw@a.test", "a URL with a user"},
    {"the server https://a.test:", "a colon without a port"},
    {"the server https://[fe80::1%25eth0]:6443", "a zone of IPv6"},
    {"proxy-url socks5://proxy.test:1080", "SOCKS"},
    {"a password alone", "counts for nothing there, as it has no user"},
    {"base64 with bits too many", "the last character has bits that count for nothing"},
};

std::string contentOf(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string textIn(const json::object& row, std::string_view key) {
  const json::value* found = row.if_contains(key);
  return found != nullptr && found->is_string() ? std::string{found->get_string()} : std::string{};
}

/// Written where the case has them; those with base64: are no UTF-8.
void lay(const json::object& row, const test::TempDir& directory) {
  const json::value* files = row.if_contains("files");
  if (files == nullptr) return;
  for (const auto& [name, content] : files->as_object()) {
    const std::string text{content.as_string()};
    const std::filesystem::path path = directory.path() / std::string{name};
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary}
        << (text.starts_with("base64:") ? bytesFromBase64(text.substr(7)).value() : text);
  }
}

/// The list with each path in the directory.
std::string listIn(const std::string& list, const test::TempDir& directory) {
  std::string out;
  std::istringstream parts{list};
  for (std::string part; std::getline(parts, part, ':');) {
    out += (out.empty() && !list.starts_with(':') ? "" : ":") + (part.empty() ? part : directory.file(part));
  }
  return out + (list.ends_with(':') ? ":" : "");
}

/// As the judge writes it.
json::object verdictOn(const KubernetesStoreOptions& options, const test::TempDir& directory) {
  json::object verdict;
  const auto add = [&](const char* key, std::string text) {
    const std::string start = directory.path().string() + '/';
    if (text.starts_with(start)) text.erase(0, start.size());
    if (!text.empty()) verdict[key] = text;
  };
  const auto given = [](const std::string& text, const std::string& path) {
    return text.empty() ? contentOf(path) : text;
  };
  add("server", options.server);
  add("namespace", options.inNamespace);
  add("tokenFile", options.tokenFile);
  if (options.tokenFile.empty()) add("token", options.token);
  add("ca", given(options.caCertificates, options.caFile));
  add("certificate", given(options.certificateText, options.certificate));
  add("key", given(options.keyText, options.key));
  add("serverName", options.serverName);
  add("proxy", options.proxy);
  return verdict;
}

/// Schemes have no case, and the library's URLs keep what was written.
void lowerScheme(json::object& verdict, const char* key) {
  std::string text = textIn(verdict, key);
  const std::size_t end = text.find("://");
  for (std::size_t i = 0; i < end && end != std::string::npos; ++i) {
    text[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  if (!text.empty()) verdict[key] = text;
}

bool isUnsupported(const json::object& verdict) {
  for (const char* way : {"insecure", "exec", "provider", "password", "impersonates"}) {
    if (verdict.contains(way)) return true;
  }
  return false;
}

/// Empty: as client-go has it.
std::string disagreement(const json::object& row) {
  const test::TempDir directory;
  lay(row, directory);
  KubernetesConfig config;
  config.kubeconfig = listIn(textIn(row, "kubeconfig"), directory);
  config.context = textIn(row, "context");
  const auto options = kubernetesOptionsOf(config);
  json::object expected = row.at("client-go").as_object();
  const std::string faults = options.has_error() ? toString(options.error()) : "";
  if (isUnsupported(expected))
    return faults.find("is not supported: ") != std::string::npos ? "" : "must be refused by name; " + faults;
  if (expected.contains("refused")) return options.has_error() ? "" : "must be refused: " + textIn(expected, "refused");
  if (options.has_error()) return "is refused: " + faults;
  json::object found = verdictOn(*options, directory);
  for (const char* key : {"server", "proxy"}) lowerScheme(found, key), lowerScheme(expected, key);
  return found == expected ? "" : json::serialize(found) + " instead of " + json::serialize(expected);
}

TEST(KubeconfigCases, areReadAsClientGoReadsThem) {
  const json::array cases = json::parse(contentOf(folder + "kubeconfig_cases.json")).as_array();
  std::size_t agreed = 0;
  for (const json::value& one : cases) {
    const std::string name = textIn(one.as_object(), "name");
    const std::string why = disagreement(one.as_object());
    const bool known = differs.count(name) != 0;
    EXPECT_EQ(why.empty(), !known) << name << ": " << (why.empty() ? "agrees by now" : why);
    if (why.empty()) ++agreed;
  }
  EXPECT_EQ(agreed + differs.size(), cases.size());
  RecordProperty("agreed", static_cast<int>(agreed));
}

}  // namespace
}  // namespace tenure
