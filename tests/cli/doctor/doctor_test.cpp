// `tenure doctor` over a real SQLite file, on this real machine. What it finds of the machine is not for a test to say,
// but it must be no fault.
#include <filesystem>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

class DoctorTest : public GroupFixture {
 protected:
  DoctorTest() {
    configure();
    lengthenLease();  // it judges how quick this machine is at the moment
  }
  [[nodiscard]] Finished doctor(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"doctor", config()};
    words.insert(words.end(), more.begin(), more.end());
    return finish(words);
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(DoctorTest, ReadsOnlyUnlessItIsTold) {
  const Finished before = doctor();
  EXPECT_FALSE(std::filesystem::exists(database())) << "it only reads";
  EXPECT_EQ(before.code, cli::exitOk) << before.output << before.errors;
  EXPECT_TRUE(has(before.output, "store.writes: nothing was written")) << before.output;
}

TEST_F(DoctorTest, MeasuresRenewalsAndRemovesItsRecord) {
  const Finished done = doctor({"--write", "--json"});
  EXPECT_EQ(done.code, cli::exitOk) << done.output << done.errors;
  EXPECT_TRUE(has(done.output, R"("name":"store.writes","grade":"ok")")) << done.output;
  EXPECT_TRUE(has(done.output, R"("writes":{"calls":)")) << done.output;
  EXPECT_TRUE(has(done.output, R"("name":"clock.rate")")) << done.output;
  const Finished list = finish({"lock", "list", "--config", config()});
  EXPECT_FALSE(has(list.output, "tenure-doctor")) << list.output;
  EXPECT_EQ(doctor({"--write"}).code, cli::exitOk) << "and again";
}

/// A doctor that was killed leaves its record held; the next one takes it over, because nobody leads by it.
TEST_F(DoctorTest, TakesOverWhatAnotherDoctorLeft) {
  ASSERT_EQ(doctor({"--write"}).code, cli::exitOk);
  const std::vector<std::string> hold{"lock", "acquire", "tenure-doctor", "--config", config(), "--lease", "1h"};
  ASSERT_EQ(finish(hold, "tenure-doctor").code, cli::exitOk);
  const Finished done = doctor({"--write"});
  EXPECT_EQ(done.code, cli::exitOk) << done.output;
  ASSERT_EQ(finish(hold, "alice").code, cli::exitOk);
  const Finished refused = doctor({"--write", "--json"});
  EXPECT_EQ(refused.code, cli::exitFaults) << refused.output;
  EXPECT_TRUE(has(refused.output, "the lease tenure-doctor is in use by alice")) << refused.output;
}

TEST_F(DoctorTest, AFaultHasAnExitCodeOfItsOwn) {
  directory_.write("leases.db", "this is certainly no database, and no database ever will it be, as far as one sees\n");
  const Finished broken = doctor();
  EXPECT_EQ(broken.code, cli::exitFaults) << broken.output;
  EXPECT_TRUE(has(broken.output, "fault   store.answer")) << broken.output;
}

TEST_F(DoctorTest, AFileThatEverybodyMayWriteIsAFault) {
  chmod(config().c_str(), 0666);
  const Finished open = doctor();
  EXPECT_EQ(open.code, cli::exitFaults) << open.output;
  EXPECT_TRUE(has(open.output, "-> chmod o-w")) << open.output;
}

TEST_F(DoctorTest, AListenerNeedsDescriptorsToo) {
  EXPECT_TRUE(has(doctor().output, "needs up to 64.")) << doctor().output;
  configure({}, "http: { listen: \"127.0.0.1:9200\" }\n");
  EXPECT_TRUE(has(doctor().output, "needs up to 128.")) << doctor().output;
}

TEST_F(DoctorTest, ABadFileIsRefused) {
  directory_.write("bad.yaml", "group: g\n");
  EXPECT_EQ(finish({"doctor", directory_.file("bad.yaml")}).code, cli::exitUsage);
}

}  // namespace
}  // namespace tenure::test
