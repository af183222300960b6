// Servers of a test's own: a PostgreSQL whose settings it may change, and a pgbouncer in front of one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/launched_process.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {

/// Ends with the test, also if that is killed. As root it runs as the user `postgres`.
class OwnServer {
 public:
  /// `rules`: lines for pg_hba.conf, before the one that trusts everybody.
  explicit OwnServer(const std::string& rules = {});
  ~OwnServer();
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  void start();
  /// As after a crash: connections are cut at once.
  void stop();

  [[nodiscard]] std::string directory() const { return directory_.path().string(); }
  /// A connection string by its socket, for the superuser `tenure`.
  [[nodiscard]] std::string connection() const {
    return "host=" + directory() + " port=" + port_ + " user=tenure dbname=postgres";
  }
  /// It also listens at 127.0.0.1.
  [[nodiscard]] const std::string& port() const noexcept { return port_; }

 private:
  TempDir directory_{};
  std::string port_;
  std::unique_ptr<LaunchedProcess> process_{};
};

/// In transaction mode, in front of the server in that directory.
class OwnPooler {
 public:
  explicit OwnPooler(const std::string& serverDirectory, const std::string& port = "5432");
  ~OwnPooler();
  OwnPooler(const OwnPooler&) = delete;
  OwnPooler& operator=(const OwnPooler&) = delete;

  [[nodiscard]] std::string connection() const {
    return "host=" + directory_.path().string() + " port=6432 user=tenure dbname=postgres";
  }

 private:
  TempDir directory_{};
  std::unique_ptr<LaunchedProcess> process_{};
};

/// The directory of the socket in a URL of scripts/postgresql_local.
[[nodiscard]] std::string socketDirectoryOf(const std::string& url);

}  // namespace tenure::test
