// A database that answers what the test says, when the test says it.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "lockcore/stores/postgresql/src/database.hpp"

namespace tenure::postgresql_store {

/// Keeps the jobs until the test answers them.
class HeldDatabase final : public Database {
 public:
  struct Held {
    Job job;
    std::chrono::nanoseconds timeout;
    JobHandler handler;
  };
  void run(Job job, std::chrono::nanoseconds timeout, JobHandler handler) override {
    held.push_back({std::move(job), timeout, std::move(handler)});
  }
  std::string describe() const override { return "postgresql"; }

  std::vector<Held> held{};
};

}  // namespace tenure::postgresql_store
