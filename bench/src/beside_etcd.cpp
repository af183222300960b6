#include "beside_etcd.hpp"

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include <tenure/lockcore/stores/etcd_store.hpp>

#include "cpu_time.hpp"
#include "fleet.hpp"
#include "stats.hpp"

namespace tenure::bench {
namespace {

std::vector<std::string> partsOf(const std::string& list) {
  std::istringstream in{list};
  std::vector<std::string> parts;
  for (std::string one; std::getline(in, one, ',');) parts.push_back(one);
  return parts;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

constexpr int candidates = 5;

Cpu cpuNow(const std::vector<pid_t>& clients) { return {cpuSecondsOf(clients), cpuSecondsOf(etcdServers())}; }

Cpu cpuOf(const std::vector<pid_t>& clients, int span) {
  const Cpu before = cpuNow(clients);
  std::this_thread::sleep_for(std::chrono::seconds{span});
  const Cpu after = cpuNow(clients);
  return Cpu{after.clients - before.clients, after.servers - before.servers} / span;
}

/// `won`: how many leases the first of them has before it counts.
Cpu cpuOf(int processes, CandidateSettings settings, int won, int span) {
  const Scratch scratch;
  settings.board = scratch.path("board");
  Fleet fleet{processes, settings};
  fleet.awaitReady();
  await([&] { return won == 1 || fleet.slot(0).elected.load() == won; }, "all elections to be won");
  std::this_thread::sleep_for(2 * settings.heartbeat);  // until all candidates know the leader's rhythm
  const Cpu cpu = cpuOf(fleet.pids(), span);
  fleet.quit();
  return cpu;
}

/// Without what the members take when nobody asks them anything.
Cpu without(const Cpu& idle, Cpu cpu) {
  cpu.servers -= idle.servers;
  return cpu;
}

void print(const char* what, const Cpu& cpu) {
  figure(fmt::format("{}, CPU of the clients", what), cpu.clients * 1e6, "us a second");
  figure(fmt::format("{}, CPU of the members", what), cpu.servers * 1e6, "us a second");
}

}  // namespace

std::shared_ptr<LeaseStore> etcdStoreAt(const std::string& where) {
  EtcdStoreOptions options;
  options.endpoints = partsOf(where);
  return makeEtcdStore(options);
}

std::string electionProgram() { return environment("TENURE_TEST_ETCD_ELECTION"); }

std::vector<pid_t> etcdServers() {
  std::vector<pid_t> pids;
  for (const std::string& one : partsOf(environment("TENURE_TEST_ETCD_PIDS"))) pids.push_back(std::stoi(one));
  return pids;
}

bool besideElections(const Options& options, const std::string& where, const Cpu& leases) {
  CandidateSettings settings;
  settings.database = where;
  settings.lease = options.lease;
  settings.heartbeat = options.heartbeat;
  const Cpu idle = cpuOf({}, options.rounds / 2);
  figure("the members alone, CPU", idle.servers * 1e6, "us a second");
  print("a lease of one process", without(idle, leases) / options.leases);
  const Cpu candidacy = cpuOf(candidates, settings, 1, options.rounds);
  print("one lease, five candidates", without(idle, candidacy));
  if (electionProgram().empty()) return true;
  settings.peer = {electionProgram(), "-elections", std::to_string(options.leases)};
  const Cpu elections = cpuOf(1, settings, options.leases, options.rounds);
  print("an election of one process, concurrency.Election", without(idle, elections) / options.leases);
  settings.peer.resize(1);
  const Cpu election = cpuOf(candidates, settings, 1, options.rounds);
  print("one election, five candidates, concurrency.Election", without(idle, election));
  bool holds = verdict("CPU of a process with many leases, of concurrency.Election's",
                       leases.clients / elections.clients, 0.2, "x");
  holds &= verdict("CPU of five candidates, of concurrency.Election's", candidacy.clients / election.clients, 0.2, "x");
  return holds;
}

}  // namespace tenure::bench
