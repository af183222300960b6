// A separate process with a store: reads commands from standard input and answers each with one line.
//
//   acquire KEY HOLDER [VERSION]   applied TOKEN VERSION | conflict HOLDER VERSION | conflict - - | rejected | unknown
//   renew KEY HOLDER VERSION       the same
//   release KEY HOLDER VERSION     the same
//   lease MILLISECONDS             the lease of later acquisitions and renewals; ok
//   read KEY                       HOLDER VERSION TOKEN | - | error MESSAGE
//   livenessFile                         creates the liveness file; ok
//   child                          starts a process that inherits the liveness file; its process id
//   lock | unlock                  takes the database's write lock with a plain connection; ok
//   loop KEY HOLDER VERSION        renews without end, `sent V` before and `applied V` after each
//   limit BYTES                    no file may grow beyond this; ok
//   nobody                         gives up root; ok
//   error                          the message of the last rejected or unknown write
//   no-inotify | no-watches        from now on the kernel refuses instances or watches of inotify, as at its limits; ok
//   watch KEY                      watches twice: none | a handle, and how many warnings were logged
//   follow KEY                     ok, and the line `proven` when the holder's death is proven
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <map>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/port/extended_store.hpp"
#include "stores/sqlite/sqlite_support.hpp"

namespace tenure::sqlite_test {
namespace {

using Words = std::vector<std::string>;

class Player {
 public:
  explicit Player(std::string path)
      : path_{std::move(path)},
        store_{makeSqliteStore({.path = path_}, Logger{LogLevel::debug,
                                                       [this](LogLevel level, std::string_view) {
                                                         (level == LogLevel::warn ? warnings_ : remarks_) += 1;
                                                       }})},
        calls_{store_, std::make_shared<contract::CallLedger>()} {}

  void obey(const Words& words) {
    static const std::map<std::string, std::string (Player::*)(const Words&)> commands{
        {"acquire", &Player::write},       {"renew", &Player::write},
        {"release", &Player::write},       {"lease", &Player::lease},
        {"read", &Player::read},           {"livenessFile", &Player::livenessFile},
        {"child", &Player::child},         {"lock", &Player::lock},
        {"unlock", &Player::unlock},       {"loop", &Player::loop},
        {"limit", &Player::limit},         {"nobody", &Player::nobody},
        {"error", &Player::error},         {"watch", &Player::watch},
        {"follow", &Player::follow},       {"no-inotify", &Player::noInotify},
        {"no-watches", &Player::noWatches}};
    const auto command = commands.find(words.at(0));
    say(command == commands.end() ? "what?" : (this->*command->second)(words));
  }

 private:
  static void say(const std::string& line) {
    std::cout << line << std::endl;  // NOLINT: the test waits for it
  }

  std::string write(const Words& words) {
    std::vector<RecordVersion> expected;
    for (std::size_t i = 3; i < words.size(); ++i) expected.emplace_back(words[i]);
    const auto make = words[0] == "acquire" ? acquire : words[0] == "renew" ? renew : release;
    WriteRequest request = make(LeaseKey{words.at(1)}, words.at(2), std::move(expected));
    request.record.livenessFile = livenessFile_;
    if (lease_) request.record.leaseDuration = *lease_;
    const std::string version = request.record.version.text();
    const WriteOutcome outcome = calls_.write(std::move(request));
    if (const auto* applied = std::get_if<Applied>(&outcome)) {
      return "applied " + toString(applied->token) + ' ' + version;
    }
    if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
      if (!conflict->current || !*conflict->current) return "conflict - -";
      return "conflict " + (*conflict->current)->holder + ' ' + (*conflict->current)->version.text();
    }
    error_ = errorOf(outcome).message;
    return std::holds_alternative<Rejected>(outcome) ? "rejected" : "unknown";
  }

  std::string read(const Words& words) {
    const ReadOutcome outcome = calls_.startRead(LeaseKey{words.at(1)})->get();
    if (outcome.has_error()) return "error " + outcome.error().message;
    if (!*outcome) return "-";
    return (*outcome)->holder + ' ' + (*outcome)->version.text() + ' ' + toString((*outcome)->token);
  }

  std::string lease(const Words& words) {
    lease_ = std::chrono::milliseconds{std::stol(words.at(1))};
    return "ok";
  }

  std::string livenessFile(const Words&) {
    notice_ = extended(store_)->deathNotice();
    livenessFile_ = notice_->livenessFile().value();
    return "ok";
  }

  std::string child(const Words&) {
    const int fd = notice_->descriptor();
    const pid_t pid = fork();
    if (pid != 0) return std::to_string(pid);
    fcntl(fd, F_SETFD, 0);
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(127);
  }

  std::string lock(const Words&) {
    shell_.emplace(path_);
    shell_->run("BEGIN IMMEDIATE");
    return "ok";
  }

  std::string unlock(const Words&) {
    shell_->run("ROLLBACK");
    return "ok";
  }

  std::string loop(const Words& words) {
    Words renewal{"renew", words.at(1), words.at(2), words.at(3)};
    for (;;) {
      WriteRequest request = renew(LeaseKey{words[1]}, words[2], {RecordVersion{renewal[3]}});
      const std::string next = request.record.version.text();
      say("sent " + next);
      if (!std::holds_alternative<Applied>(calls_.write(std::move(request)))) return "lost";
      say("applied " + next);
      renewal[3] = next;
    }
  }

  std::string limit(const Words& words) {
    const rlimit wanted{std::stoul(words.at(1)), RLIM_INFINITY};
    std::signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &wanted) == 0 ? "ok" : "failed";
  }

  std::string nobody(const Words&) {
    constexpr uid_t nobodyId = 65534;
    if (geteuid() == 0 && setresuid(nobodyId, nobodyId, nobodyId) != 0) return "failed";
    return "ok";
  }

  std::string error(const Words&) { return error_; }

  std::string noInotify(const Words&) { return refuse(__NR_inotify_init1, EMFILE); }
  std::string noWatches(const Words&) { return refuse(__NR_inotify_add_watch, ENOSPC); }

  /// From now on this system call fails, for all threads.
  static std::string refuse(long systemCall, int fault) {
    std::array<sock_filter, 4> program{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(systemCall), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(fault)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "failed";
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0 ? "ok" : "failed";
  }

  std::string watch(const Words& words) {
    const auto first = store_->watch(LeaseKey{words.at(1)}, [] {});
    const auto second = store_->watch(LeaseKey{words.at(1), "second"}, [] {});
    if (!eventually([&] { return warnings_ + remarks_ >= 2; })) return "said too little";
    return std::string{first || second ? "a handle, " : "none, "} + std::to_string(warnings_) + " warning";
  }

  std::string follow(const Words& words) {
    const auto record = calls_.record(LeaseKey{words.at(1)});
    followed_ = extended(store_)->deathNotice()->follow(record, [](const RecordVersion&) { say("proven"); });
    return followed_ ? "ok" : "failed";
  }

  const std::string path_;
  std::atomic<int> warnings_{0}, remarks_{0};
  std::shared_ptr<LeaseStore> store_;
  StoreCalls calls_;
  std::shared_ptr<DeathNotice> notice_;
  std::optional<LivenessFile> livenessFile_;
  std::optional<std::chrono::milliseconds> lease_;
  std::optional<Shell> shell_;
  std::string error_;
  std::shared_ptr<void> followed_;
};

}  // namespace
}  // namespace tenure::sqlite_test

int main(int, char** arguments) {
  tenure::sqlite_test::Player player{arguments[1]};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream stream{line};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    player.obey(words);
  }
  return 0;
}
