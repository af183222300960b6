// One process that writes through a fence until it is killed: fence_writer DATABASE TOKENS HOLDER
// Its term ends whenever the other process begins one. Like a paused leader it notices that only when it is refused.
#include <cstdlib>
#include <iostream>
#include <string>

#include <tenure/adapters/sqlite_fence.hpp>

#include "adapters/ledger.hpp"

namespace {

using namespace std::chrono_literals;

/// As an election would, it gives out each token once. It uses its own database, as a lease store does.
tenure::FencingToken nextToken(const tenure::test::TestDatabase& tokens) {
  return tenure::FencingToken{
      static_cast<std::uint64_t>(tokens.number("UPDATE counter SET token = token + 1 RETURNING token"))};
}

int run(const std::string& file, const std::string& tokensFile, const std::string& holder) {
  const tenure::test::TestDatabase tokens{tokensFile};
  tokens.waitForLocks(30s);
  const tenure::test::TestDatabase database{file};
  auto fence = tenure::SqliteFence::open(database.raw(), {.busyTimeout = 30s}).value();
  tenure::TermStamp stamp{"ledger", nextToken(tokens), holder};
  for (int write = 1;; ++write) {
    const auto written = fence.write(stamp, [&](sqlite3* raw) { return tenure::test::writeLedger(raw, stamp); });
    if (written.has_error() && written.error().stale() == nullptr) {
      std::cerr << written.error().message << '\n';
      return 1;
    }
    // A refused writer makes a few more attempts, as work that does not stop would, before it is elected again.
    if (write % 5 == 0) stamp.token = nextToken(tokens);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    return run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
