#include "stores/postgresql/own_server.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <pwd.h>
#include <random>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stores/postgresql/link_support.hpp"

namespace tenure::test {
namespace {

namespace fs = std::filesystem;

/// PostgreSQL and pgbouncer refuse to run as root.
const passwd* userForServers() {
  if (geteuid() != 0) return nullptr;
  const passwd* user = getpwnam("postgres");
  if (user == nullptr) throw std::runtime_error{"there is no user postgres"};
  return user;
}

/// For a child, between fork and exec.
void become(const passwd* user, const std::string& log, int lastSignal) {
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (user != nullptr) {
    if (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0) _exit(98);
  }
  prctl(PR_SET_PDEATHSIG, lastSignal);  // the kernel forgets it when the user changes
}

void giveTo(const passwd* user, const fs::path& path) {
  if (user != nullptr && chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) throw std::runtime_error{"chown"};
}

std::string programs() {
  for (const char* version : {"17", "16", "15", "14"}) {
    const std::string folder = std::string{"/usr/lib/postgresql/"} + version + "/bin/";
    if (fs::exists(folder + "postgres")) return folder;
  }
  throw std::runtime_error{"PostgreSQL's server programs are not there"};
}

/// Below those that the system gives to clients: a port of these would be somebody's before initdb has ended.
std::string freePort() {
  std::random_device random;
  for (int tries = 0; tries < 100; ++tries) {
    const auto port = static_cast<std::uint16_t>(15'000 + random() % 17'000);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    const bool isFree = bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    close(fd);
    if (isFree) return std::to_string(port);
  }
  throw std::runtime_error{"no port"};
}

std::string contents(const std::string& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

bool answers(const std::string& connection) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> one{PQconnectdb(connection.c_str()), &PQfinish};
  return PQstatus(one.get()) == CONNECTION_OK;
}

}  // namespace

OwnServer::OwnServer(const std::string& rules) : port_{freePort()} {
  const passwd* user = userForServers();
  giveTo(user, directory_.path());
  const std::string log = directory_.file("initdb.log");
  LaunchedProcess initdb{{programs() + "initdb", "-D", directory_.file("data"), "-U", "tenure", "-A", "trust", "-E",
                          "UTF8", "--locale=C", "--no-sync", "--no-instructions"},
                         [&] { become(user, log, SIGKILL); }};
  if (initdb.wait() != 0) throw std::runtime_error{"initdb failed: " + contents(log)};
  const std::string trusting = contents(directory_.file("data/pg_hba.conf"));
  std::ofstream{directory_.file("data/pg_hba.conf")} << rules << '\n' << trusting;
  start();
}

OwnServer::~OwnServer() { stop(); }

void OwnServer::start() {
  const passwd* user = userForServers();
  const std::string log = directory_.file("log");
  process_ = std::make_unique<LaunchedProcess>(
      std::vector<std::string>{programs() + "postgres", "-D", directory_.file("data"), "-p", port_, "-k", directory(),
                               "-h", "127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=16MB"},
      [&] { become(user, log, SIGQUIT); });
  const std::string here = connection();
  if (!eventually([&] { return process_->result() || answers(here); }) || process_->result()) {
    throw std::runtime_error{"PostgreSQL did not start: " + contents(log)};
  }
}

void OwnServer::stop() {
  if (!process_) return;
  process_->signal(SIGCONT);
  process_->signal(SIGQUIT);
  process_->wait();
  process_.reset();
}

OwnPooler::OwnPooler(const std::string& serverDirectory, const std::string& port) {
  const passwd* user = userForServers();
  const std::string here = directory_.path().string();
  std::ofstream{directory_.file("pgbouncer.ini")}
      << "[databases]\n* = host=" << serverDirectory << " port=" << port << " user=tenure\n"
      << "[pgbouncer]\npool_mode = transaction\nlisten_port = 6432\nauth_type = any\nunix_socket_dir = " << here
      << "\nmax_client_conn = 200\ndefault_pool_size = 5\n";
  giveTo(user, directory_.path());
  const std::string log = directory_.file("log");
  process_ = std::make_unique<LaunchedProcess>(
      std::vector<std::string>{"/usr/sbin/pgbouncer", directory_.file("pgbouncer.ini")},
      [&] { become(user, log, SIGKILL); });
  if (!eventually([&] { return process_->result() || answers(connection()); }) || process_->result()) {
    throw std::runtime_error{"pgbouncer did not start: " + contents(log)};
  }
}

OwnPooler::~OwnPooler() = default;

std::string socketDirectoryOf(const std::string& url) {
  const auto at = url.find('@');
  std::string host;
  for (std::size_t i = at + 1; i < url.size() && url[i] != '/'; ++i) {
    if (url[i] == '%') {
      host.push_back(static_cast<char>(std::stoi(url.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    } else {
      host.push_back(url[i]);
    }
  }
  return host;
}

}  // namespace tenure::test
