#include "cli/group_fixture.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

namespace tenure::test {
namespace {

/// Reads /proc/locks: "1: POSIX ADVISORY WRITE 4711 fe:00:1234 120 120".
bool hasWriteLock(pid_t process, const std::string& file) {
  struct stat there {};
  if (stat(file.c_str(), &there) != 0) return false;
  const std::string inode = ':' + std::to_string(there.st_ino);
  std::ifstream locks{"/proc/locks"};
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words{line};
    std::string number, kind, advisory, mode, owner, where;
    words >> number >> kind >> advisory >> mode >> owner >> where;
    if (mode == "WRITE" && owner == std::to_string(process) && where.ends_with(inode)) return true;
  }
  return false;
}

}  // namespace

void GroupFixture::sql(const std::string& text) const {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &connection), SQLITE_OK);
  sqlite3_busy_timeout(connection, 10'000);
  EXPECT_EQ(sqlite3_exec(connection, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

void GroupFixture::configure(const std::string& lease, const std::string& others) const {
  directory_.write("group.yaml",
                   "group: test-group\n"
                   "candidate: { id: \"${NAME}\" }\n"
                   "store: { type: sqlite, path: ./leases.db }\n"
                   "lease:\n  duration: 2s\n  heartbeat: 300ms\n" +
                       lease + others);
}

void GroupFixture::lengthenLease() const {
  const std::string_view shortLease{"duration: 2s"};
  std::string text = contentOf(config());
  text.replace(text.find(shortLease), shortLease.size(), "duration: 60s");
  directory_.write("group.yaml", text);
}

SubprocessOptions GroupFixture::as(const std::string& name) const {
  return {{{"NAME", name}, {"TENURE_CONFIG", ""}}, directory_.path()};
}

SubprocessOptions GroupFixture::ahead(std::chrono::seconds time, const std::string& name) const {
  struct Line {
    std::int64_t trueBase{0}, fakeBase{0};
    double rate{1};
  };
  struct {
    std::uint64_t turns{2};
    Line realtime{}, monotonic{}, raw{}, boottime{};
  } clocks;  // as tests/chaos/clock_shim.cpp reads it
  clocks.realtime.fakeBase = std::chrono::nanoseconds{time}.count();
  const std::string file = "clocks." + std::to_string(time.count());
  if (!std::filesystem::exists(directory_.file(file)))  // a process that is mapping it would see it half written
    directory_.write(file, std::string{reinterpret_cast<const char*>(&clocks), sizeof clocks});
  SubprocessOptions options = as(name);
  const char* asan = std::getenv("ASAN_OPTIONS");  // NOLINT(concurrency-mt-unsafe)
  options.environment.insert(
      {{"LD_PRELOAD", CLOCK_SHIM},
       {"TENURE_CLOCK_SHIM", directory_.file(file)},
       {"ASAN_OPTIONS", std::string{asan == nullptr ? "" : asan} + ":verify_asan_link_order=0"}});
  return options;
}

std::vector<std::string> GroupFixture::tenure(const std::vector<std::string>& words) const {
  std::vector<std::string> out{TENURE_PROGRAM};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

double GroupFixture::startOfProgram() const {
  const long long before = monotonicNow();
  EXPECT_EQ(finish({"--version"}).code, 0);
  return static_cast<double>(monotonicNow() - before) / 1e6;
}

std::vector<std::string> GroupFixture::run(const std::vector<std::string>& options,
                                           const std::vector<std::string>& command) const {
  std::vector<std::string> out{TENURE_PROGRAM, "run", "--config", config()};
  out.insert(out.end(), options.begin(), options.end());
  out.emplace_back("--");
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

Finished GroupFixture::finish(const std::vector<std::string>& words, const std::string& name) const {
  return runToEnd(tenure(words), as(name));
}

std::vector<std::string> GroupFixture::actingJob(const std::string& options) const {
  const std::string acts = directory_.file("acts.$TENURE_FENCING_TOKEN");
  return {"sh", "-c", "echo $$ > " + acts + ".pid; exec " + TICKER + " " + acts + " " + options};
}

bool GroupFixture::begins(int token, milliseconds bound) const {
  return eventually([&] { return firstAct(token) != 0; }, bound);
}

bool GroupFixture::goesOn(int token) const {
  const long long before = lastAct(token);
  return eventually([&] { return lastAct(token) > before; });
}

long long GroupFixture::firstAct(int token) const {
  std::istringstream lines{contentOf(actsOf(token))};
  std::string line;
  return std::getline(lines, line) && !lines.eof() ? std::stoll(line) : 0;
}

long long GroupFixture::lastAct(int token) const {
  std::istringstream lines{contentOf(actsOf(token))};
  long long last = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof();) last = std::stoll(line);
  return last;
}

pid_t GroupFixture::jobOf(int token) const {
  const std::string text = contentOf(actsOf(token) + ".pid");
  return text.empty() ? -1 : std::stoi(text);
}

bool GroupFixture::freezeOutsideOfTransactions(const Subprocess& process) const {
  return eventually([&] {
    process.signal(SIGSTOP);
    siginfo_t stopped{};
    if (waitid(P_PID, static_cast<id_t>(process.id()), &stopped, WSTOPPED) != 0) return false;
    if (!hasWriteLock(process.id(), database() + "-shm")) return true;
    process.signal(SIGCONT);
    return false;
  });
}

}  // namespace tenure::test
