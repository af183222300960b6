// Processes are killed while they write. Nothing acknowledged is lost; a write without an answer may or may not be
// there.
#include <gtest/gtest.h>

#include "actor.hpp"
#include "sqlite_support.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

TEST(SqliteCrash, nothingAcknowledgedIsLostWhenTheWriterIsKilled) {
  const test::TempDir directory;
  const std::string path = directory.file("leases.db");
  test::SeededRandom random{7};
  Store observer{path};
  observer->apply(acquire({"lease"}, "a"));
  FencingToken token{1};
  for (int round = 0; round < 30; ++round) {
    Actor writer{path};
    writer.tell("loop lease a " + observer->record({"lease"}).version.text());
    std::string acknowledged = observer->record({"lease"}).version.text();
    std::string sent;
    const auto take = [&](const std::string& line) {
      if (line.starts_with("sent ")) sent = line.substr(5);
      if (line.starts_with("applied ")) acknowledged = line.substr(8);
    };
    for (std::uint64_t lines = 1 + random.below(30); lines > 0; --lines) take(writer.hear());
    writer.signal(SIGKILL);
    for (std::string line = writer.hear(); !line.empty(); line = writer.hear()) take(line);
    writer.kill();
    const LeaseRecord record = observer->record({"lease"});
    EXPECT_TRUE(record.version.text() == acknowledged || record.version.text() == sent)
        << "stored " << record.version.text() << ", acknowledged " << acknowledged << ", sent " << sent;
    EXPECT_EQ(record.token, token);
  }
  EXPECT_EQ(Shell{path}.value("PRAGMA integrity_check"), "ok");
}

// The killed process was the only one: the next process that opens the file recovers the log.
TEST(SqliteCrash, nothingAcknowledgedIsLostWhenTheOnlyUserIsKilled) {
  const test::TempDir directory;
  const std::string path = directory.file("leases.db");
  test::SeededRandom random{8};
  std::string version;
  {
    Store store{path};
    store->apply(acquire({"lease"}, "a"));
    version = store->record({"lease"}).version.text();
  }
  for (int round = 0; round < 30; ++round) {
    std::string acknowledged = version;
    std::string sent;
    Actor writer{path};
    writer.tell("loop lease a " + version);
    const auto take = [&](const std::string& line) {
      if (line.starts_with("sent ")) sent = line.substr(5);
      if (line.starts_with("applied ")) acknowledged = line.substr(8);
    };
    for (std::uint64_t lines = 1 + random.below(20); lines > 0; --lines) take(writer.hear());
    writer.signal(SIGKILL);
    for (std::string line = writer.hear(); !line.empty(); line = writer.hear()) take(line);
    writer.kill();
    Store after{path};
    version = after->record({"lease"}).version.text();
    EXPECT_TRUE(version == acknowledged || version == sent)
        << "stored " << version << ", acknowledged " << acknowledged << ", sent " << sent;
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
