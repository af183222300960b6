// A job for tests whose descendants try to outlive it. Each of them records its acts: it writes CLOCK_MONOTONIC
// nanoseconds of its first and of its last act into DIRECTORY/<process>, about each two milliseconds.
//   daemonizer KIND DIRECTORY [FIRST_MS]
// The first process acts for FIRST_MS, and then ends with 0. What it leaves ignores SIGTERM. Kinds:
//   act           nothing else acts
//   threads       nothing else acts; a hundred threads wait
//   double-fork   a daemon as daemon(3) makes it, two forks and a session
//   chain         a daemon that starts its successor and ends, every 20 ms
//   crowd         twenty daemons
//   clear         a daemon that executed itself anew without an environment
//   closed        a daemon that closed every descriptor that it inherited
//   undumpable    a daemon whose /proc/<process>/environ is closed to its own user
//   thread        a daemon whose first thread has ended
//   namespace     a daemon in a PID namespace of its own
//   clone         children that another process of the job made the job's parent's (CLONE_PARENT)
//   stopped       a daemon that has been stopped
//   another-user  a daemon that becomes root, as a set-uid program may, and acts for 1.5 s
//   another-users-thread  the same, and its first thread ends
//   kill-parent   the first process kills its parent and goes on, as its daemon does
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

long long longTime = 30'000;  // ms

std::string directory;

/// A pipe that a daemon closes once it is root. The first process waits for that: a daemon that is not yet would end
/// with the job.
int begun[2] = {-1, -1};

long long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void actFor(long long millis) {
  const std::string file = directory + '/' + std::to_string(getpid());
  const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  long long acts[] = {now(), 0};
  const long long end = acts[0] + millis * 1'000'000;
  for (acts[1] = acts[0]; acts[1] <= end; acts[1] = now()) {
    if (pwrite(out, acts, sizeof acts, 0) != sizeof acts) _exit(1);
    timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);  // the test measures its acts
  }
  close(out);
}

/// In the child of a fork: true in the daemon only.
bool becomeDaemon() {
  setsid();
  if (fork() != 0) _exit(0);
  return chdir("/") == 0;
}

void* actInThread(void* /*unused*/) {
  actFor(longTime);
  _exit(0);
}

void* waitInThread(void* /*unused*/) {
  for (;;) pause();
}

void live(const std::string& kind) {
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  if (kind == "chain") {
    std::signal(SIGCHLD, SIG_IGN);
    for (const long long end = now() + longTime * 1'000'000; now() < end;) {
      actFor(20);
      if (fork() != 0) _exit(0);
    }
    return;
  }
  if (kind == "closed") close_range(3, ~0U, 0);
  if (kind == "undumpable") prctl(PR_SET_DUMPABLE, 0);
  if (kind == "clear") {
    const char* const arguments[] = {"daemonizer", "stay", directory.c_str(), nullptr};
    const char* const environment[] = {nullptr};
    execve("/proc/self/exe", const_cast<char**>(arguments), const_cast<char**>(environment));
  }
  if (kind.starts_with("another-user") && setresuid(0, 0, 0) != 0) _exit(77);
  close(begun[1]);
  if (kind == "another-user") return actFor(1500);
  if (kind == "thread" || kind == "another-users-thread") {
    if (kind != "thread") longTime = 1500;
    pthread_t thread{};
    pthread_create(&thread, nullptr, actInThread, nullptr);
    pthread_exit(nullptr);
  }
  if (kind == "stopped") {
    actFor(2);
    std::raise(SIGSTOP);
  }
  actFor(longTime);
}

void start(const std::string& kind) {
  if (kind == "namespace" && unshare(CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0) _exit(77);
  if (kind == "clone") {
    if (syscall(SYS_clone, SIGCHLD | CLONE_PARENT, nullptr, nullptr, nullptr, 0) != 0) return;
    setsid();
    live(kind);
    _exit(0);
  }
  if (kind.starts_with("another-user") && pipe2(begun, O_CLOEXEC) != 0) _exit(77);
  pthread_t thread{};
  for (int i = 0; kind == "threads" && i < 100; ++i) pthread_create(&thread, nullptr, waitInThread, nullptr);
  if (kind == "threads") return;
  for (int i = 0; i < (kind == "crowd" ? 20 : 1); ++i) {
    if (fork() != 0) continue;
    if (kind == "namespace" || becomeDaemon()) live(kind);
    _exit(0);
  }
  close(begun[1]);
  char none = 0;
  while (read(begun[0], &none, 1) > 0) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string kind = argv[1];
  directory = argv[2];
  if (kind == "stay") live(kind);
  if (kind != "act") start(kind);
  if (kind == "kill-parent") {
    std::signal(SIGTERM, SIG_IGN);
    kill(getppid(), SIGKILL);
  }
  actFor(argc > 3 ? std::atoll(argv[3]) : 0);
  _exit(0);  // LeakSanitizer cannot work where the PID namespace of children is another one, and never ends
}
