// What `tenure doctor` reads: from trees that stand for /proc and /sys, from files of a test, and from clock marks.
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/doctor/machine.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::cli::doctor {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class DoctorReads : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = directory_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
  }
  [[nodiscard]] MachineTree tree() const { return MachineTree{directory_.path()}; }
  [[nodiscard]] ClockFacts machine() const {
    ClockFacts facts;
    readMachine(tree(), facts);
    return facts;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(DoctorReads, NothingFromAnEmptyTree) {
  EXPECT_EQ(readLimits(tree()), LimitFacts{.hasProc = false});
  EXPECT_EQ(machine(), ClockFacts{});
}

TEST_F(DoctorReads, TheClockSourceAndTheKindOfMachine) {
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n");
  put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
  put("/sys/class/dmi/id/product_name", "Standard PC\n");
  put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc hypervisor\nbugs\t\t: none\n");
  const ClockFacts facts = machine();
  EXPECT_EQ(facts.source, "kvm-clock");
  EXPECT_EQ(facts.machine, "QEMU Standard PC");
  EXPECT_TRUE(facts.steadyTsc);
  EXPECT_EQ(facts.isVirtual, true);
  put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu constant_tsc\nbugs\t\t: hypervisor_is_no_flag\n");
  EXPECT_EQ(machine().isVirtual, false);
  EXPECT_FALSE(machine().steadyTsc);
  put("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  EXPECT_FALSE(machine().isVirtual) << "no such flag there";
}

TEST_F(DoctorReads, RatesStepsAndSuspendFromTwoMarks) {
  const Instant start{100s, 100s, 100s};
  const ClockMark from{start, 1'000'000};
  ClockMark to{{start.raw + 2s, start.monotonic + 2s + 1ms, start.boottime + 12s + 1ms}, 1'012'001};
  ClockFacts facts;
  compareClocks(from, to, facts);
  EXPECT_EQ(facts.span, 2s);
  EXPECT_DOUBLE_EQ(facts.ratePpm, 500.0);
  EXPECT_EQ(facts.suspended, 10s);
  EXPECT_EQ(facts.wallStep, 0s) << "the wall clock goes on while the machine sleeps";
  to.wallMillis -= 3'000;
  compareClocks(from, to, facts);
  EXPECT_EQ(facts.wallStep, -3s);
  compareClocks(from, from, facts);
  EXPECT_EQ(facts.ratePpm, 0);
}

TEST_F(DoctorReads, TheKernelTellsOfItsClock) {
  const auto clock = readKernelClock();
  ASSERT_TRUE(clock);
  EXPECT_LT(std::abs(clock->correctionPpm), 200'000);
}

constexpr const char* processLimits =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max core file size        0                    unlimited            bytes     \n"
    "Max processes             500                  500                  processes \n"
    "Max open files            1024                 524288               files     \n";

TEST_F(DoctorReads, TheLimitsOfTheProcess) {
  put("/proc/self/limits", processLimits);
  put("/proc/self/status", "Name:\ttenure\nUid:\t1000\t1000\t1000\t1000\nThreads:\t3\n");
  put("/proc/41/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nThreads:\t3\n");
  put("/proc/42/status", "Name:\ty\nUid:\t1000\t1000\t1000\t1000\nThreads:\t4\n");
  put("/proc/43/status", "Name:\tz\nUid:\t1001\t1001\t1001\t1001\nThreads:\t50\n");
  put("/proc/sys/kernel/core_pattern", "|/usr/lib/systemd/systemd-coredump %P\n");
  put("/proc/self/stat",
      "9 (a ) name) S 1 9 9 0 -1 4194304 1 0 0 0 0 0 0 0 30 10 1 0 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 1 0 5 0 0 0\n");
  const LimitFacts facts = readLimits(tree());
  EXPECT_EQ(facts.descriptors, 1024U);
  EXPECT_EQ(facts.coreBytes, 0U);
  EXPECT_EQ(facts.corePattern, "|/usr/lib/systemd/systemd-coredump %P");
  EXPECT_EQ(facts.processes, (std::vector<Room>{{"ulimit -u", 500, 7}}));
  EXPECT_EQ(facts.nice, 10);
  EXPECT_EQ(facts.policy, 5);
  put("/proc/self/status", "Uid:\t0\t0\t0\t0\n");
  EXPECT_TRUE(readLimits(tree()).processes.empty()) << "the kernel does not hold root to it";
}

TEST_F(DoctorReads, TheTightestCgroupOfAllLevels) {
  put("/proc/self/cgroup", "1:name=systemd:/old\n0::/work.slice/billing.service\n");
  const std::string slice = "/sys/fs/cgroup/work.slice", unit = slice + "/billing.service";
  put(unit + "/cpu.max", "max 100000\n");
  put(unit + "/cpu.stat", "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  put(slice + "/cpu.max", "50000 100000\n");
  put(slice + "/cpu.stat", "usage_usec 5\nnr_periods 40\nnr_throttled 7\nthrottled_usec 90000\n");
  put(unit + "/memory.max", "1048576\n");
  put(unit + "/memory.current", "500000\n");
  put(unit + "/memory.stat", "anon 1\ninactive_file 50000\nactive_file 30000\nslab_reclaimable 20000\nslab 90000\n");
  put(unit + "/memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 0\n");
  put(slice + "/memory.max", "max\n");
  put(unit + "/pids.max", "100\n");
  put(unit + "/pids.current", "90\n");
  put(slice + "/pids.max", "max\n");
  put(slice + "/pids.current", "95\n");
  const LimitFacts facts = readLimits(tree());
  EXPECT_EQ(facts.cpu, (CpuQuota{50'000us, 100'000us, 40, 7, 90'000us}));
  EXPECT_EQ(facts.memory, (MemoryLimit{1'048'576, 400'000, 2}));
  EXPECT_EQ(facts.processes, (std::vector<Room>{{"pids.max", 100, 90}}));
}

TEST_F(DoctorReads, CgroupsOfVersionOne) {
  put("/proc/self/cgroup", "4:memory:/box\n2:cpu,cpuacct:/box/inner\n1:pids:/\n0::/\n");
  put("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "20000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/box/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 5000000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2000000\n");
  put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1500000\n");
  put("/sys/fs/cgroup/memory/box/memory.stat",
      "inactive_file 1\ntotal_inactive_file 300000\ntotal_active_file 200000\n");
  put("/sys/fs/cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/pids/pids.max", "50\n");
  put("/sys/fs/cgroup/pids/pids.current", "60\n");
  const LimitFacts facts = readLimits(tree());
  EXPECT_EQ(facts.cpu, (CpuQuota{20'000us, 100'000us, 9, 4, 5'000us}));
  EXPECT_EQ(facts.memory, (MemoryLimit{2'000'000, 1'000'000, 3}));
  EXPECT_EQ(facts.processes, (std::vector<Room>{{"pids.max", 50, 60}}));
}

/// In a container with a cgroup namespace the root is the container's own.
TEST_F(DoctorReads, TheCgroupOfAContainer) {
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(readLimits(tree()).cpu->quota, 200'000us);
  put("/sys/fs/cgroup/cpu.max", "broken\n");
  EXPECT_FALSE(readLimits(tree()).cpu);
}

TEST_F(DoctorReads, PressureOfTheLastMinute) {
  put("/proc/pressure/cpu",
      "some avg10=9.00 avg60=41.50 avg300=1.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  put("/proc/pressure/memory",
      "some avg10=0.00 avg60=1.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=2.25 avg300=0.00 total=0\n");
  EXPECT_EQ(readLimits(tree()).pressure, (Pressure{41.5, 2.25, 0}));
}

TEST_F(DoctorReads, FilesWithTheirRights) {
  put("/group.yaml", "x");
  put("/secret", "x");
  chmod(directory_.file("group.yaml").c_str(), 0646);
  chmod(directory_.file("secret").c_str(), 0600);
  const StoreFiles store{.secrets = {{"store.key", directory_.file("secret")}, {"store.passfile", "/no/such"}},
                         .directory = {"store.path", directory_.path()}};
  const FilesFacts facts = readFiles(directory_.file("group.yaml"), store);
  EXPECT_EQ(facts.config.mode, 0646U);
  ASSERT_EQ(facts.secrets.size(), 2U);
  EXPECT_EQ(facts.secrets[0].mode, 0600U);
  EXPECT_TRUE(facts.secrets[0].accessible);
  EXPECT_EQ(facts.secrets[1].error, "No such file or directory");
  ASSERT_TRUE(facts.place && facts.place->system);
  EXPECT_GT(facts.place->system->freeBytes, 0U);
  EXPECT_FALSE(facts.place->system->readOnly);
  const FilesFacts elsewhere = readFiles("group.yaml", {.directory = {"store.path", "/no/such"}});
  EXPECT_FALSE(elsewhere.place->system);
  EXPECT_NE(elsewhere.place->directory.error, "");
  EXPECT_EQ(elsewhere.configDirectory.path, ".");
  EXPECT_TRUE(facts.place->keepsLeases);
}

TEST_F(DoctorReads, ADirectoryThatTheStoreWillMakeByItsParent) {
  for (const char* name : {"new", "new/"}) {
    const FilesFacts facts =
        readFiles("group.yaml", {.directory = {"store.liveness_dir", directory_.file(name)}, .hasServer = true});
    ASSERT_TRUE(facts.place && facts.place->system) << name;
    EXPECT_EQ(facts.place->directory.path, directory_.path());
    EXPECT_FALSE(facts.place->keepsLeases);
  }
  const StoreFiles far{.directory = {"store.liveness_dir", directory_.file("far/new")}, .hasServer = true};
  EXPECT_NE(readFiles("group.yaml", far).place->directory.error, "") << "only the last directory is made";
}

TEST(DoctorStoreFiles, AreThoseThatTheSectionNames) {
  EXPECT_EQ(filesOf(SqliteStoreOptions{.path = "/var/lib/x/leases.db"}),
            (StoreFiles{.directory = {"store.path", "/var/lib/x"}}));
  EXPECT_EQ(filesOf(SqliteStoreOptions{.path = "leases.db"}).directory.path, ".");
  EXPECT_EQ(filesOf(MemoryStoreOptions{}), StoreFiles{});
  EXPECT_EQ(filesOf(PostgresqlStoreOptions{
                .passfile = "/p", .passwordFile = "/w", .sslKey = "/k", .livenessDirectory = "/l"}),
            (StoreFiles{{{"store.passfile", "/p"}, {"store.password_file", "/w"}, {"store.sslkey", "/k"}},
                        {"store.liveness_dir", "/l"},
                        true}));
  EXPECT_EQ(filesOf(EtcdStoreOptions{.passwordFile = "/p"}).secrets,
            (std::vector<NamedPath>{{"store.password_file", "/p"}}));
  KubernetesConfig kubernetes;
  kubernetes.kubeconfig = "/k";
  EXPECT_EQ(filesOf(kubernetes).secrets, (std::vector<NamedPath>{{"store.kubeconfig", "/k"}}));
  EXPECT_TRUE(filesOf(DynamoDbStoreOptions{}).hasServer);
}

TEST(DoctorVersions, AreNumbers) {
  for (const Version& one : versionsHere()) {
    EXPECT_NE(one.version.find('.'), std::string::npos) << one.name << one.version;
    EXPECT_EQ(one.version.find_first_not_of("0123456789."), std::string::npos) << one.name << one.version;
  }
  EXPECT_GE(versionsHere().size(), 3U);
}

}  // namespace
}  // namespace tenure::cli::doctor
