// An invented machine for the tests: its environment, files and metadata services. It also watches for leaked secrets.
#pragma once

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http_endpoint.hpp"
#include "lockcore/aws/providers/providers.hpp"

#include <support/temp_dir.hpp>

namespace tenure::aws::test {

/// All secrets of the tests contain this, so that one search finds any of them in any message.
inline const std::string secretMark = "SeCrEt";
inline const std::string secretKey = "wJalrXUtnFEMI/SeCrEt/K7MDENG+bPxRfiCYKEY";
inline const std::string tokenText = "FwoGZXIvYXdzSeCrEtEBYaDHqa0AP+/token==";
/// 2026-11-21T12:00:00Z: the machine's wall clock stands still unless a test moves it.
inline constexpr std::int64_t noon = 1'795'262'400;

/// Every fixture of these tests derives from it. Messages that error() and the logger get must contain no secret.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): a fixture of GoogleTest, which destroys it itself
class AwsTest : public ::testing::Test {
 protected:
  AwsTest();
  ~AwsTest() override;

  void write(const std::string& name, const std::string& text) const;
  void writeConfig(const std::string& text) const { write("config", text); }
  void writeCredentials(const std::string& text) const { write("credentials", text); }
  void set(const std::string& name, const std::string& value) { environment_.variables[name] = value; }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_.file(name); }

  /// The search for credentials, with the responder as the network.
  [[nodiscard]] StoreResult<Credentials> find(const ChainWishes& wishes = {});
  [[nodiscard]] FetchContext context(const SharedConfig& config);

  /// The message; it is checked for secrets first.
  std::string error(const StoreResult<Credentials>& result);
  void watch(const std::string& text);
  [[nodiscard]] Logger logger();
  [[nodiscard]] std::string logged() const;

  [[nodiscard]] HttpClientFactory network();

  tenure::test::TempDir directory_{};
  AwsEnvironment environment_{};
  /// shared with threads that may still fetch credentials when the test is over
  const std::shared_ptr<std::atomic<std::int64_t>> sharedWall_{std::make_shared<std::atomic<std::int64_t>>(noon)};
  std::atomic<std::int64_t>& wall_{*sharedWall_};
  FetchLimits limits_{};
  std::string region_{"eu-central-1"};
  std::stop_source stop_{};
  std::shared_ptr<RequestLog> requests_{std::make_shared<RequestLog>()};
  std::shared_ptr<std::atomic<bool>> held_{std::make_shared<std::atomic<bool>>(false)};
  std::function<net::HttpOutcome(const net::Origin&, const net::HttpRequest&)> responder_;
  SigningClock clock_{[wall = sharedWall_] { return wall->load() * 1000; }};

 private:
  /// What was logged, and messages; shared like the wall.
  struct Seen {
    std::mutex mutex{};
    std::string text{};
    void add(std::string_view line);
  };
  const std::shared_ptr<Seen> seen_{std::make_shared<Seen>()};
};

/// The answer of STS with these keys, valid for that long from noon.
[[nodiscard]] std::string stsReply(const std::string& accessKeyId, std::chrono::seconds lifetime);
[[nodiscard]] std::string stsReply(const Keys& keys, std::chrono::seconds lifetime);
/// The answer of containers and EC2, valid for that long from noon.
[[nodiscard]] std::string keysJson(const Keys& keys, std::chrono::seconds lifetime);
[[nodiscard]] std::string metadataKeys(const std::string& accessKeyId, const std::string& expiration);
[[nodiscard]] std::string isoTime(std::int64_t since1970);
[[nodiscard]] std::string httpDate(std::int64_t since1970);

}  // namespace tenure::aws::test
