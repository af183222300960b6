// The etcd of a bench, and the program of tests/etcd/peers, which elects on it with etcd's own client.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "benches.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::bench {

/// `where`: the members' URLs, with commas between.
[[nodiscard]] std::shared_ptr<LeaseStore> etcdStoreAt(const std::string& where);

/// The program of tests/etcd/peers, as TENURE_TEST_ETCD_ELECTION names it. Empty: it was not built.
[[nodiscard]] std::string electionProgram();

/// The members, as TENURE_TEST_ETCD_PIDS names them. Empty: not known.
[[nodiscard]] std::vector<pid_t> etcdServers();

/// CPU seconds in a second, of all clients and of all members.
struct Cpu {
  double clients;
  double servers;
  friend Cpu operator/(const Cpu& cpu, double by) { return {cpu.clients / by, cpu.servers / by}; }
};

/// `leases`: what the leases of one process cost. Measures the same many elections of one process of etcd's own client,
/// then one lease and one election with five candidates each, and the members alone.
bool besideElections(const Options& options, const std::string& where, const Cpu& leases);

}  // namespace tenure::bench
