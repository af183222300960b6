// A cluster of etcd's own servers for one test, made by beside.py.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "support/launched_process.hpp"

namespace tenure::test {

class EtcdCluster {
 public:
  /// `arguments` of beside.py: {"--members", "3", "--tls", "--users", "--jwt", "1h", "--set", "auth-token-ttl=2"}.
  /// Throws std::runtime_error if it does not start.
  explicit EtcdCluster(const std::vector<std::string>& arguments);
  /// Ends the servers, also those that are frozen.
  ~EtcdCluster();
  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;

  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept { return endpoints_; }
  [[nodiscard]] std::size_t size() const noexcept { return endpoints_.size(); }
  /// Empty without --tls or --users.
  [[nodiscard]] const std::string& caFile() const noexcept { return caFile_; }
  [[nodiscard]] const std::string& certificate() const noexcept { return certificate_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& passwordFile() const noexcept { return passwordFile_; }

  void kill(std::size_t member);
  /// Starts one again that was killed, on the same data and ports. Returns before it serves.
  void restart(std::size_t member);
  void freeze(std::size_t member);
  void thaw(std::size_t member);

 private:
  void read(const std::string& line);

  int input_{-1};  ///< its end ends the cluster
  int output_{-1};
  std::unique_ptr<LaunchedProcess> process_{};
  std::vector<std::string> endpoints_{};
  std::vector<pid_t> pids_{};
  std::vector<std::vector<std::string>> commands_{};           ///< of the members
  std::vector<std::unique_ptr<LaunchedProcess>> restarted_{};  ///< by member; null: the first process still counts
  std::string caFile_{}, certificate_{}, key_{}, user_{}, passwordFile_{};
};

}  // namespace tenure::test
