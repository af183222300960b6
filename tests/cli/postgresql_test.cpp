// The program over a real PostgreSQL, with roles that may do more or less.
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

#include <libpq-fe.h>

namespace tenure::test {
namespace {

/// A schema and a role of its own; the role may use the schema, and create nothing in it.
class CliPostgresqlTest : public GroupFixture {
 protected:
  CliPostgresqlTest() {
    static int made = 0;
    name_ = "cli_" + std::to_string(getpid()) + "_" + std::to_string(++made);
    sqlAsOwner("CREATE ROLE " + name_ + " LOGIN; CREATE SCHEMA " + name_ + "; GRANT USAGE ON SCHEMA " + name_ + " TO " +
               name_);
    write("user: " + name_);
  }
  ~CliPostgresqlTest() override {
    try {
      sqlAsOwner("DROP SCHEMA " + name_ + " CASCADE; DROP ROLE " + name_);
    } catch (const std::exception& fault) {
      ADD_FAILURE() << fault.what();
    }
  }
  CliPostgresqlTest(const CliPostgresqlTest&) = delete;
  CliPostgresqlTest& operator=(const CliPostgresqlTest&) = delete;

  static std::string endpoint() {
    const char* url = std::getenv("TENURE_TEST_POSTGRESQL");  // NOLINT(concurrency-mt-unsafe)
    if (url == nullptr) throw std::runtime_error("TENURE_TEST_POSTGRESQL is not set");
    return url;
  }

  static void sqlAsOwner(const std::string& text) {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection{PQconnectdb(endpoint().c_str()), &PQfinish};
    const std::unique_ptr<PGresult, decltype(&PQclear)> result{PQexec(connection.get(), text.c_str()), &PQclear};
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection.get()));
    }
  }

  void write(const std::string& keys, const std::string& schema = {}, const std::string& lease = "duration: 2s") const {
    directory_.write("group.yaml", "group: billing\nlease: { " + lease +
                                       " }\nstore: { type: postgresql, connection: \"" + endpoint() +
                                       "\", schema: " + (schema.empty() ? name_ : schema) + ", " + keys + " }\n");
  }
  [[nodiscard]] std::string missingSql() const { return postgresqlSchemaSql({.schema = name_}, name_); }

  std::string name_;
};

TEST_F(CliPostgresqlTest, CheckPrintsTheSqlThatIsMissingAndItMendsIt) {
  const Finished missing = finish({"check", "--connect", config()});
  EXPECT_EQ(missing.code, cli::exitStore);
  EXPECT_EQ(missing.output, missingSql());
  EXPECT_NE(missing.errors.find("42501"), std::string::npos) << missing.errors;
  EXPECT_NE(missing.errors.find("the SQL on stdout gives what is missing"), std::string::npos) << missing.errors;
  sqlAsOwner(missing.output);
  const Finished ready = finish({"check", "--connect", config()});
  EXPECT_EQ(ready.code, cli::exitOk) << ready.errors;
  EXPECT_NE(ready.output.find(name_ + ".tenure_lease, which is reached and ready"), std::string::npos) << ready.output;
  sqlAsOwner(missing.output);  // it may be run again
  EXPECT_EQ(finish({"check", "--connect", config()}).code, cli::exitOk);
}

TEST_F(CliPostgresqlTest, CheckPrintsTheSqlWhereOneRightIsMissing) {
  sqlAsOwner(missingSql() + "REVOKE INSERT ON " + name_ + ".tenure_lease FROM " + name_);
  const Finished missing = finish({"check", "--connect", config()});
  EXPECT_EQ(missing.code, cli::exitStore);
  EXPECT_EQ(missing.output, missingSql());
  sqlAsOwner(missing.output);
  EXPECT_EQ(finish({"check", "--connect", config()}).code, cli::exitOk);
}

/// SQL of ours helps against neither; a script on stdout would lead people astray.
TEST_F(CliPostgresqlTest, CheckPrintsNoSqlForOtherErrors) {
  write("user: " + name_, name_ + "_missing");
  const Finished noSchema = finish({"check", "--connect", config()});
  EXPECT_EQ(noSchema.code, cli::exitStore);
  EXPECT_EQ(noSchema.output, "");
  EXPECT_NE(noSchema.errors.find("3F000"), std::string::npos) << noSchema.errors;
  write("user: " + name_ + "_missing");
  const Finished noRole = finish({"check", "--connect", config()});
  EXPECT_EQ(noRole.code, cli::exitStore);
  EXPECT_EQ(noRole.output, "");
  EXPECT_NE(noRole.errors.find("28000"), std::string::npos) << noRole.errors;
}

TEST_F(CliPostgresqlTest, TheDoctorTellsOfRightsAndWritesOnlyWhenAsked) {
  lengthenLease();
  const Finished missing = finish({"doctor", config()});
  EXPECT_EQ(missing.code, cli::exitFaults) << missing.output;
  EXPECT_NE(missing.output.find("tenure store sql"), std::string::npos) << missing.output;
  sqlAsOwner(missingSql());
  const Finished done = finish({"doctor", config(), "--write", "--json"});
  EXPECT_EQ(done.code, cli::exitOk) << done.output << done.errors;
  for (const char* part : {R"("name":"store.writes","grade":"ok")", R"("name":"clock.skew","grade":"ok")",
                           R"("server_version":"PostgreSQL 1)"}) {
    EXPECT_NE(done.output.find(part), std::string::npos) << part << ": " << done.output;
  }
  EXPECT_EQ(finish({"lock", "list", "--config", config()}).output.find("tenure-doctor"), std::string::npos);
  sqlAsOwner("REVOKE UPDATE ON " + name_ + ".tenure_lease FROM " + name_);
  EXPECT_EQ(finish({"doctor", config()}).code, cli::exitOk) << "it may read";
  EXPECT_EQ(finish({"doctor", config(), "--write"}).code, cli::exitFaults);
}

TEST_F(CliPostgresqlTest, StatusAndListNeedOnlyToRead) {
  sqlAsOwner(missingSql());
  ASSERT_EQ(finish({"lock", "acquire", "report", "--config", config(), "--lease", "1h"}).code, cli::exitOk);
  sqlAsOwner("REVOKE INSERT, UPDATE ON " + name_ + ".tenure_lease FROM " + name_);
  const Finished status = finish({"status", config()});
  EXPECT_EQ(status.code, cli::exitNobody) << status.errors;
  EXPECT_NE(status.output.find("no leader; there has been none yet"), std::string::npos) << status.output;
  const Finished list = finish({"lock", "list", "--config", config()});
  EXPECT_EQ(list.code, cli::exitOk) << list.errors;
  EXPECT_NE(list.output.find("report"), std::string::npos) << list.output;
}

TEST_F(CliPostgresqlTest, StatusShowsALeaderThatRenewsByAWrongClock) {
  sqlAsOwner(missingSql());
  write("user: " + name_, {}, "duration: 6s, heartbeat: 500ms");  // status waits for a renewal for half of it
  Subprocess leader{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << leader.errors();
  const Finished status = finishAhead(std::chrono::seconds{60}, {"status", config()});
  EXPECT_EQ(status.code, cli::exitOk) << status.output << status.errors;
}

/// A row that was deleted would take the fencing counter with it.
TEST_F(CliPostgresqlTest, TheRightsOfACandidateDeleteNothing) {
  sqlAsOwner(missingSql());
  const Finished held = finish({"lock", "hold", "report", "--config", config(), "--", "true"});
  EXPECT_EQ(held.code, cli::exitOk) << held.errors;
  const auto mayDelete = "DO $$ BEGIN IF has_table_privilege('" + name_ + "', '" + name_ +
                         ".tenure_lease', 'DELETE, TRUNCATE') THEN RAISE 'it may'; END IF; END $$";
  EXPECT_NO_THROW(sqlAsOwner(mayDelete));
}

TEST_F(CliPostgresqlTest, ALockByOptionsIsThatOfTheFile) {
  sqlAsOwner(missingSql());
  const Finished token = finish({"lock", "acquire", "report", "--connection", endpoint(), "--schema", name_});
  ASSERT_EQ(token.code, cli::exitOk) << token.errors;
  const Finished shown = finish({"lock", "show", "report", "--config", config()});
  EXPECT_EQ(shown.code, cli::exitOk) << shown.errors;
  EXPECT_EQ(finish({"lock", "acquire", "report", "--config", config(), "--wait", "0s"}).code, cli::exitBusy);
}

}  // namespace
}  // namespace tenure::test
