// A machine and a store with which nothing is wrong. Tests change one fact.
#pragma once

#include "cli/doctor/facts.hpp"

namespace tenure::cli::doctor {

[[nodiscard]] inline Facts goodFacts() {
  using namespace std::chrono_literals;
  Facts facts{.file = "group.yaml", .group = "billing"};
  facts.clock = {.span = 1s,
                 .ratePpm = 12.5,
                 .kernel = KernelClock{true, -12.5},
                 .source = "tsc",
                 .steadyTsc = true,
                 .isVirtual = false,
                 .machine = "ACME Server 9"};
  facts.store.name = "etcd of 3 members, prefix /tenure";
  facts.store.type = "etcd";
  facts.store.commits = config::CommitRule{"synchronous_commit: on", true};
  facts.store.reads.answered.assign(200, 2ms);
  facts.store.writes = Latencies{.answered = std::vector<std::chrono::nanoseconds>(200, 4ms)};
  facts.store.server = ServerFacts{.skew = 0s, .version = "etcd 3.5.16"};
  facts.files.config = {.what = "the configuration file", .path = "group.yaml", .mode = 0644};
  facts.files.configDirectory = {.what = "its directory", .path = ".", .mode = 0755};
  facts.files.secrets = {{.what = "store.key", .path = "client.key", .mode = 0600}};
  facts.files.place =
      PlaceFacts{.directory = {.what = "store.liveness_dir", .path = "/var/lib/billing", .mode = 0750},
                 .system = FileSystemFacts{.type = 0xEF53, .freeBytes = 10ULL << 30U, .freeInodes = 100'000}};
  facts.files.access.emplace();
  facts.limits = {.descriptors = 1024,
                  .descriptorsNeeded = 128,
                  .processes = {{"pids.max", 4096, 100}},
                  .coreBytes = 0,
                  .corePattern = "core",
                  .hasSecrets = true,
                  .cpu = CpuQuota{.quota = 200'000us, .periods = 1000},
                  .memory = MemoryLimit{.most = 1ULL << 30U, .used = 100ULL << 20U},
                  .pressure = Pressure{3, 0, 1},
                  .nice = 0,
                  .policy = 0};
  facts.versions = {{"tenure", "0.1.0"}, {"OpenSSL", "3.0.17"}};
  return facts;
}

}  // namespace tenure::cli::doctor
