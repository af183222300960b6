#include "judge.hpp"

#include <fmt/format.h>

namespace tenure::cli::doctor {
namespace {

void judgeVersions(const Facts& facts, Report& report) {
  std::string libraries;
  for (const Version& one : facts.versions) {
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", one.name, one.version);
  }
  report.ok("versions.libraries", libraries + ".");
  const auto& server = facts.store.server;
  if (server && !server->version.empty()) {
    report.ok("versions.server", fmt::format("The server is {}.", server->version));
  } else if (server && !server->whyNot.empty()) {
    report.notLookedAt("versions.server", server->whyNot);
  }
}

}  // namespace

Report judge(const Facts& facts) {
  Report report;
  judgeClocks(facts, report);
  judgeStore(facts, report);
  judgeFiles(facts.files, report);
  judgeLimits(facts, report);
  judgeVersions(facts, report);
  return report;
}

}  // namespace tenure::cli::doctor
