// Each finding of `tenure doctor`, from facts that a test makes up.
#include "cli/doctor/judge.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <sched.h>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/doctor/good_facts.hpp"

namespace tenure::cli::doctor {
namespace {

using namespace std::chrono_literals;
using Nanoseconds = std::chrono::nanoseconds;

/// One thing that is wrong, and what must be found.
struct Wrong {
  std::string check;
  Grade grade;
  std::string says;
  std::function<void(Facts&)> change;
};

std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
  return out << wrong.check << ", " << toString(wrong.grade) << ": " << wrong.says;
}

std::vector<Nanoseconds> times(std::size_t quick, std::size_t slow, Nanoseconds most) {
  std::vector<Nanoseconds> all(quick, Nanoseconds{1ms});
  all.insert(all.end(), slow, most);
  return all;
}

constexpr Grade warning = Grade::warning, fault = Grade::fault;
constexpr std::uint64_t mebibyte = 1U << 20U;

std::vector<Wrong> clockWrongs() {
  return {
      {"clock.rate", warning, "83000.0 ppm faster", [](Facts& f) { f.clock.ratePpm = 83'000; }},
      {"clock.rate", warning, "501.0 ppm slower", [](Facts& f) { f.clock.ratePpm = -501; }},
      {"clock.margin", warning, "lease.clock_margin of 2ms covers clocks 50 ppm",
       [](Facts& f) { f.lease.clockMargin = 2ms; }},
      {"clock.margin", fault, "covers clocks 100 ppm too fast or too slow, and the kernel corrects this one by 120.0",
       [](Facts& f) {
         f.lease.clockMargin = 3ms;
         f.clock.kernel->correctionPpm = -120;
       }},
      {"clock.margin", fault, "corrects this one by 700.0 ppm", [](Facts& f) { f.clock.kernel->correctionPpm = 700; }},
      {"clock.step", warning, "set 3s back", [](Facts& f) { f.clock.wallStep = -3s; }},
      {"clock.synchronised", warning, "No time daemon", [](Facts& f) { f.clock.kernel->synchronised = false; }},
      {"clock.suspend", warning, "slept for 1h", [](Facts& f) { f.clock.suspended = 1h + 1ms; }},
      {"clock.source", warning, "hpet, which takes a microsecond to read; the processor has a steady TSC",
       [](Facts& f) { f.clock.source = "hpet"; }},
      {"clock.source", fault, "jiffies", [](Facts& f) { f.clock.source = "jiffies"; }},
      {"clock.skew", warning, "6m behind the server's; certificates", [](Facts& f) { f.store.server->skew = 6min; }},
      {"clock.skew", warning, "2m ahead of the server's; signatures",
       [](Facts& f) { f.store.server = ServerFacts{.skew = -2min, .signs = true}; }},
      {"clock.skew", fault, "5m1s ahead of the server's",
       [](Facts& f) { f.store.server = ServerFacts{.skew = -301s, .signs = true}; }},
  };
}

std::vector<Wrong> storeWrongs() {
  return {
      {"store.answer", fault, "etcd of 3 members, prefix /tenure: no quorum.",
       [](Facts& f) {
         f.store.error = StoreError{ErrorClass::transient, "no quorum"};
       }},
      {"store.tokens", warning, "the record's token 1 is not that of the fencing counter, 5.",
       [](Facts& f) { f.store.tokens = "the record's token 1 is not that of the fencing counter, 5"; }},
      {"store.commits", warning, "store.synchronous_commit: local: a write waits for no standby",
       [](Facts& f) {
         f.store.commits = config::CommitRule{"synchronous_commit: local", false};
       }},
      {"store.reads", warning, "the slowest 2000ms; a lease of ",
       [](Facts& f) { f.store.reads.answered = times(199, 1, 2s); }},
      {"store.reads", fault, "99 % up to 2000ms", [](Facts& f) { f.store.reads.answered = times(97, 3, 2s); }},
      {"store.reads", fault, "None of 3 reads was answered: timed out.",
       [](Facts& f) { f.store.reads = {.failed = 3, .lastError = "timed out"}; }},
      {"store.writes", warning, "1 more failed: throttled.",
       [](Facts& f) {
         f.store.writes->failed = 1;
         f.store.writes->lastError = "throttled";
       }},
      {"store.writes", fault, "permission denied",
       [](Facts& f) {
         f.store.writeError = StoreError{ErrorClass::credentials, "permission denied"};
       }},
      {"store.writes", warning, "record was not removed: may not delete.",
       [](Facts& f) { f.store.leftBehind = "may not delete"; }},
  };
}

std::vector<Wrong> fileWrongs() {
  return {
      {"files.config", fault, "every user", [](Facts& f) { f.files.config.mode = 0646; }},
      {"files.config", warning, "its group", [](Facts& f) { f.files.config.mode = 0664; }},
      {"files.config", warning, "is open to every user", [](Facts& f) { f.files.configDirectory.mode = 0777; }},
      {"files.secrets", fault, "client.key (store.key) may be read by every user",
       [](Facts& f) { f.files.secrets[0].mode = 0644; }},
      {"files.secrets", warning, "by its group", [](Facts& f) { f.files.secrets[0].mode = 0640; }},
      {"files.secrets", fault, "may not be read by this user", [](Facts& f) { f.files.secrets[0].accessible = false; }},
      {"files.secrets", fault, "cannot be examined: No such file",
       [](Facts& f) { f.files.secrets[0].error = "No such file"; }},
      {"files.directory", fault, "cannot be examined",
       [](Facts& f) { f.files.place = PlaceFacts{.directory = {.path = "/x", .error = "No such file"}}; }},
      {"files.directory", fault, "may not be written", [](Facts& f) { f.files.place->directory.accessible = false; }},
      {"files.directory", fault, "open to every user", [](Facts& f) { f.files.place->directory.mode = 0777; }},
      {"files.directory", warning, "open to every user", [](Facts& f) { f.files.place->directory.mode = 01777; }},
      {"files.access", fault, "leases.db-shm is there",
       [](Facts& f) {
         f.files.access->obstacle = {ErrorClass::misconfigured, "leases.db-shm is there"};
       }},
      {"files.access", warning, "may be opened by every user",
       [](Facts& f) { f.files.access->wide = "may be opened by every user"; }},
      {"files.access", warning, "cannot check on each other: the liveness file",
       [](Facts& f) { f.files.access->strangers = "the liveness file"; }},
      {"files.system", fault, "is on NFS", [](Facts& f) { f.files.place->system->type = 0x6969; }},
      {"files.system", fault, "read-only", [](Facts& f) { f.files.place->system->readOnly = true; }},
      {"files.system", warning, "overlay", [](Facts& f) { f.files.place->system->type = 0x794C7630; }},
      {"files.system", warning, "notice a crash here only after its lease",
       [](Facts& f) {
         f.files.place->system->type = 0x794C7630;
         f.files.place->keepsLeases = false;
       }},
      {"files.system", warning, "tmpfs", [](Facts& f) { f.files.place->system->type = 0x01021994; }},
      {"files.space", warning, "63 MiB free", [](Facts& f) { f.files.place->system->freeBytes = 63 * mebibyte; }},
      {"files.space", fault, "3 MiB free", [](Facts& f) { f.files.place->system->freeBytes = 3 * mebibyte; }},
      {"files.space", fault, "0 inodes", [](Facts& f) { f.files.place->system->freeInodes = 0; }},
  };
}

std::vector<Wrong> limitWrongs() {
  return {
      {"limits.proc", fault, "not mounted", [](Facts& f) { f.limits.hasProc = false; }},
      {"limits.descriptors", warning, "255 files", [](Facts& f) { f.limits.descriptors = 255; }},
      {"limits.descriptors", fault, "100 files", [](Facts& f) { f.limits.descriptors = 100; }},
      {"limits.processes", warning, "150 of 200",
       [](Facts& f) {
         f.limits.processes.push_back({"ulimit -u", 200, 150});
       }},
      {"limits.processes", fault, "210 of 200",
       [](Facts& f) {
         f.limits.processes.push_back({"ulimit -u", 200, 210});
       }},
      {"limits.core_dumps", warning, "leaves a core dump (core), and with it the store's passwords",
       [](Facts& f) { f.limits.coreBytes = 1; }},
      {"limits.cpu_quota", warning, "0.05 processors", [](Facts& f) { f.limits.cpu->quota = 5'000us; }},
      {"limits.cpu_quota", warning, "stopped in 51 of 1000 periods", [](Facts& f) { f.limits.cpu->throttled = 51; }},
      {"limits.cpu_quota", fault, "in periods of 1s",
       [](Facts& f) {
         f.lease.duration = 1s;
         f.limits.cpu->period = 1s;
       }},
      {"limits.memory", warning, "1000 MiB of the cgroup's 1024",
       [](Facts& f) { f.limits.memory->used = 1000 * mebibyte; }},
      {"limits.memory", warning, "2 processes were killed", [](Facts& f) { f.limits.memory->kills = 2; }},
      {"limits.memory", fault, "1020 MiB of", [](Facts& f) { f.limits.memory->used = 1020 * mebibyte; }},
      {"limits.pressure", warning, "51 % of the time", [](Facts& f) { f.limits.pressure->cpuSome = 51; }},
      {"limits.pressure", warning, "11 % for memory", [](Facts& f) { f.limits.pressure->memoryFull = 11; }},
      {"limits.pressure", warning, "31 % for disks", [](Facts& f) { f.limits.pressure->ioFull = 31; }},
      {"limits.priority", warning, "nice value is 10", [](Facts& f) { f.limits.nice = 10; }},
      {"limits.priority", warning, "the idle one", [](Facts& f) { f.limits.policy = SCHED_IDLE; }},
  };
}

const std::vector<Wrong>& allWrongs() {
  static const std::vector<Wrong> all = [] {
    std::vector<Wrong> joined;
    for (const auto& part : {clockWrongs(), storeWrongs(), fileWrongs(), limitWrongs()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

const Finding* findingOf(const Report& report, const std::string& check) {
  const auto& all = report.findings();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& one) { return one.name == check; });
  return found == all.end() ? nullptr : &*found;
}

TEST(DoctorJudges, NothingIsFoundWhereNothingIsWrong) {
  const Report report = judge(goodFacts());
  for (const Finding& finding : report.findings()) EXPECT_EQ(finding.grade, Grade::ok) << finding.name << finding.says;
  EXPECT_EQ(report.worst(), Grade::ok);
  EXPECT_TRUE(report.missing().empty());
  ASSERT_EQ(report.findings().size(), checks().size());
  for (std::size_t i = 0; i < checks().size(); ++i) EXPECT_EQ(report.findings()[i].name, checks()[i].name);
}

class DoctorFinds : public testing::TestWithParam<Wrong> {};

TEST_P(DoctorFinds, WhatIsWrongAndNothingElse) {
  const Wrong& wrong = GetParam();
  Facts facts = goodFacts();
  wrong.change(facts);
  const Report report = judge(facts);
  const Finding* finding = findingOf(report, wrong.check);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->grade, wrong.grade) << finding->says;
  EXPECT_NE(finding->says.find(wrong.says), std::string::npos) << finding->says;
  EXPECT_NE(finding->toDo, "") << "each warning and fault says what to do";
  EXPECT_EQ(report.worst(), wrong.grade);
  EXPECT_EQ(report.count(Grade::warning) + report.count(Grade::fault), 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, DoctorFinds, testing::ValuesIn(allWrongs()));

/// The list of checks tells when each warns and finds a fault; here is one case at least for each.
TEST(DoctorJudges, EveryGradeOfEveryCheckHasACase) {
  std::set<std::pair<std::string, Grade>> listed, tried;
  for (const Check& check : checks()) {
    if (!check.warning.empty()) listed.emplace(check.name, Grade::warning);
    if (!check.fault.empty()) listed.emplace(check.name, Grade::fault);
  }
  for (const Wrong& wrong : allWrongs()) tried.emplace(wrong.check, wrong.grade);
  EXPECT_EQ(tried, listed);
}

TEST(DoctorJudges, WhatIsNotShownIsNoFinding) {
  Facts facts = goodFacts();
  facts.clock.kernel.reset();
  facts.clock.source.reset();
  facts.clock.isVirtual.reset();
  facts.store.server = ServerFacts{.whyNot = "no connection"};
  facts.store.writes.reset();
  const std::size_t needed = facts.limits.descriptorsNeeded;
  facts.limits = {.descriptorsNeeded = needed};
  const Report report = judge(facts);
  std::set<std::string> missing;
  for (const NotLookedAt& one : report.missing()) {
    missing.insert(one.name);
    EXPECT_EQ(findingOf(report, one.name), nullptr) << one.name;
    EXPECT_NE(one.why, "");
  }
  EXPECT_EQ(missing,
            (std::set<std::string>{"clock.machine", "clock.skew", "clock.source", "clock.synchronised",
                                   "limits.core_dumps", "limits.cpu_quota", "limits.descriptors", "limits.memory",
                                   "limits.pressure", "limits.priority", "store.writes", "versions.server"}));
  EXPECT_EQ(report.worst(), Grade::ok);
}

TEST(DoctorJudges, AStoreThatDoesNotAnswerIsNotMeasured) {
  Facts facts = goodFacts();
  facts.store.error = StoreError{ErrorClass::misconfigured, "no table", false, true};
  facts.store.schemaSql = "CREATE TABLE ...";
  facts.store.reads = {};
  const Report report = judge(facts);
  EXPECT_EQ(findingOf(report, "store.reads"), nullptr);
  EXPECT_NE(findingOf(report, "store.answer")->toDo.find("tenure store sql"), std::string::npos);
}

TEST(DoctorJudges, AStoreWithoutFilesAndServerHasNoChecksOfThem) {
  Facts facts = goodFacts();
  facts.files.secrets.clear();
  facts.files.place.reset();
  facts.store.server.reset();
  const Report report = judge(facts);
  for (const char* name : {"files.secrets", "files.directory", "files.system", "clock.skew", "versions.server"}) {
    EXPECT_EQ(findingOf(report, name), nullptr) << name;
  }
  EXPECT_TRUE(report.missing().empty());
}

TEST(DoctorJudges, LivenessFilesMayBeInMemory) {
  Facts facts = goodFacts();
  facts.files.place->keepsLeases = false;
  facts.files.place->system->type = 0x01021994;
  const Report report = judge(facts);
  EXPECT_EQ(report.worst(), Grade::ok);
  EXPECT_EQ(findingOf(report, "files.system")->says, "/var/lib/billing is in memory.");
}

TEST(DoctorJudges, AnotherDoctorIsNoFault) {
  Facts facts = goodFacts();
  facts.store.hasCollided = true;
  facts.store.writeError = StoreError{ErrorClass::transient, "another doctor has the lease tenure-doctor"};
  facts.store.leftBehind = "another doctor has the lease tenure-doctor";
  const Report report = judge(facts);
  EXPECT_EQ(report.worst(), Grade::ok);
  ASSERT_EQ(report.missing().size(), 1U);
  EXPECT_EQ(report.missing()[0].why, "another doctor wrote at the same time; run this one again");
}

TEST(DoctorJudges, AVirtualMachineIsNoFaultAndIsToldWhatItMeans) {
  Facts facts = goodFacts();
  facts.clock.isVirtual = true;
  const Report report = judge(facts);
  const Finding* finding = findingOf(report, "clock.machine");
  EXPECT_EQ(finding->grade, Grade::ok);
  EXPECT_NE(finding->says.find("live migration"), std::string::npos) << finding->says;
  EXPECT_NE(finding->toDo.find("snapshot"), std::string::npos) << finding->toDo;
}

TEST(DoctorJudges, AJobWithoutACgroupIsNoFaultAndItIsToldWhy) {
  Facts facts = goodFacts();
  facts.limits.whyNoJobCgroup = "/sys/fs/cgroup/a is not delegated to it";
  const Report report = judge(facts);
  const Finding* finding = findingOf(report, "limits.job_cgroup");
  EXPECT_EQ(finding->grade, Grade::ok);
  EXPECT_EQ(finding->says,
            "A job gets no cgroup (/sys/fs/cgroup/a is not delegated to it); its processes are ended one by one.");
  EXPECT_NE(finding->toDo.find("Delegate=pids"), std::string::npos) << finding->toDo;
}

/// The default guard is what the library promises to cover, for every lease.
TEST(DoctorJudges, TheDefaultGuardIsEnoughForEveryLease) {
  for (const auto duration : {minLeaseDuration, std::chrono::milliseconds{2s}, std::chrono::milliseconds{10s},
                              std::chrono::milliseconds{33'333}, maxLeaseDuration}) {
    Facts facts = goodFacts();
    facts.lease.duration = duration;
    facts.clock.kernel->correctionPpm = 500;
    const Report report = judge(facts);
    EXPECT_EQ(findingOf(report, "clock.margin")->grade, Grade::ok) << duration.count();
  }
}

}  // namespace
}  // namespace tenure::cli::doctor
