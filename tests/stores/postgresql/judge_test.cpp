// What became of a write, for every way in which it can be answered.
#include "lockcore/stores/postgresql/src/outcomes/judge.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tenure::postgresql_store {
namespace {

using Commit = JobReply::Commit;
using Cause = JobReply::Cause;

const Call call{"postgresql jobs at db1:5432, table public.tenure_lease", "public", "tenure_lease",
                "renewing lease billing"};

JobReply reply(Commit commit, std::optional<ServerError> error = {}, std::vector<ServerError> warnings = {}) {
  return {.commit = commit, .error = std::move(error), .warnings = std::move(warnings)};
}

ServerError error(const std::string& state) { return {"ERROR", state, "as the server says it"}; }

TEST(Judge, onlyAnAnsweredCommitWithoutAWarningIsCommitted) {
  EXPECT_EQ(verdictOnWrite(call, reply(Commit::done)).fate, Fate::committed);
  const ServerError cancelledWait{"WARNING", "01000", "canceling wait for synchronous replication due to user request"};
  const Verdict doubtful = verdictOnWrite(call, reply(Commit::done, {}, {cancelledWait}));
  EXPECT_EQ(doubtful.fate, Fate::unknown) << "the standby may not have it";
  EXPECT_EQ(doubtful.error.errorClass, ErrorClass::transient);
  EXPECT_EQ(verdictOnWrite(call, reply(Commit::done, error("57014"))).fate, Fate::committed)
      << "what was read behind it failed";
}

TEST(Judge, certainlyNotAppliedIsWhatNeverLeftAndWhatWasRolledBack) {
  EXPECT_EQ(verdictOnWrite(call, reply(Commit::notSent)).fate, Fate::notApplied);
  EXPECT_EQ(verdictOnWrite(call, reply(Commit::rolledBack)).fate, Fate::notApplied) << "COMMIT answered ROLLBACK";
  EXPECT_EQ(verdictOnWrite(call, reply(Commit::rolledBack, error("55P03"))).fate, Fate::notApplied);
  EXPECT_EQ(verdictOnWrite(call, reply(Commit::rolledBack, error("55P03"), {{"WARNING", "01000", ""}})).fate,
            Fate::notApplied);
}

TEST(Judge, aCutOrAFatalErrorBehindTheCommitIsUnknown) {
  EXPECT_EQ(verdictOnWrite(call, reply(Commit::unanswered)).fate, Fate::unknown);
  for (const char* severity : {"FATAL", "PANIC"}) {
    EXPECT_EQ(verdictOnWrite(call, reply(Commit::unanswered, ServerError{severity, "57P01", ""})).fate, Fate::unknown);
    EXPECT_EQ(verdictOnWrite(call, reply(Commit::rolledBack, ServerError{severity, "57P01", ""})).fate, Fate::unknown);
  }
}

TEST(Judge, anErrorThatTellsOfALostLineOrAnUnknownCompletionIsUnknown) {
  for (const char* state : {"08000", "08003", "08006", "08007", "08P01", "40003"}) {
    EXPECT_EQ(verdictOnWrite(call, reply(Commit::rolledBack, error(state))).fate, Fate::unknown) << state;
  }
}

TEST(Judge, theClassOfErrorFollowsTheSqlState) {
  const std::vector<std::pair<const char*, ErrorClass>> table{
      {"55P03", ErrorClass::transient},     {"57014", ErrorClass::transient},     {"40001", ErrorClass::transient},
      {"40P01", ErrorClass::transient},     {"25006", ErrorClass::transient},     {"55000", ErrorClass::transient},
      {"57P03", ErrorClass::transient},     {"57P01", ErrorClass::transient},     {"08006", ErrorClass::transient},
      {"23505", ErrorClass::transient},     {"25P03", ErrorClass::transient},     {"XX000", ErrorClass::transient},
      {"99999", ErrorClass::transient},     {"", ErrorClass::transient},          {"53300", ErrorClass::throttled},
      {"53100", ErrorClass::throttled},     {"53200", ErrorClass::throttled},     {"53999", ErrorClass::throttled},
      {"28P01", ErrorClass::credentials},   {"28000", ErrorClass::credentials},   {"42501", ErrorClass::credentials},
      {"3D000", ErrorClass::misconfigured}, {"3F000", ErrorClass::misconfigured}, {"42P01", ErrorClass::misconfigured},
      {"42703", ErrorClass::misconfigured}, {"42P10", ErrorClass::misconfigured}, {"57P04", ErrorClass::misconfigured},
      {"54000", ErrorClass::misconfigured}, {"0A000", ErrorClass::misconfigured}, {"23514", ErrorClass::misconfigured},
      {"P0001", ErrorClass::misconfigured}, {"22P05", ErrorClass::misconfigured}};
  for (const auto& [state, errorClass] : table) {
    const Verdict verdict = verdictOnWrite(call, reply(Commit::rolledBack, error(state)));
    EXPECT_EQ(verdict.error.errorClass, errorClass) << state;
    EXPECT_NE(verdict.error.message.find("lease billing"), std::string::npos) << verdict.error.message;
    EXPECT_FALSE(verdict.error.permanent) << state;
  }
}

TEST(Judge, saysWhatToDo) {
  const auto advice = [](const char* state) {
    return verdictOnWrite(call, reply(Commit::rolledBack, error(state))).error.message;
  };
  EXPECT_NE(advice("42P01").find("tenure store sql"), std::string::npos);
  EXPECT_NE(advice("42P01").find("\"public\".\"tenure_lease\""), std::string::npos);
  EXPECT_NE(advice("42501").find("GRANT"), std::string::npos);
  EXPECT_NE(advice("25006").find("target_session_attrs=primary"), std::string::npos);
  EXPECT_NE(advice("42704").find("PGOPTIONS"), std::string::npos);
  EXPECT_NE(advice("53300").find("max_connections"), std::string::npos);
  EXPECT_NE(advice("28P01").find("pg_hba.conf"), std::string::npos);
}

TEST(Judge, aServersMessageStaysOneLineAndShort) {
  const ServerError long_{"ERROR", "42601", "line one\nline two " + std::string(1'000, 'x')};
  const std::string text = verdictOnWrite(call, reply(Commit::rolledBack, long_)).error.message;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.size(), 800U);
}

TEST(Judge, anErrorOfTheConnectionKeepsItsKind) {
  const auto classOf = [](Cause cause) {
    JobReply gone{.why = "connection refused", .cause = cause};
    return verdictOnWrite(call, gone).error.errorClass;
  };
  EXPECT_EQ(classOf(Cause::none), ErrorClass::transient);
  EXPECT_EQ(classOf(Cause::transient), ErrorClass::transient);
  EXPECT_EQ(classOf(Cause::credentials), ErrorClass::credentials);
  EXPECT_EQ(classOf(Cause::misconfigured), ErrorClass::misconfigured);
}

TEST(Judge, onlyAnErrorOfTheHistoryFunctionsAsksForAJobWithout) {
  const Job with{.writes = true};
  const Job without{.writes = true, .history = false};
  EXPECT_TRUE(mayGoWithoutHistory(with, reply(Commit::rolledBack, error("0A000"))));
  EXPECT_TRUE(mayGoWithoutHistory(with, reply(Commit::rolledBack, error("42883"))));
  EXPECT_TRUE(mayGoWithoutHistory(with, reply(Commit::rolledBack, error("55000")))) << "a standby says it too";
  EXPECT_FALSE(mayGoWithoutHistory(without, reply(Commit::rolledBack, error("0A000"))));
  EXPECT_FALSE(mayGoWithoutHistory(with, reply(Commit::unanswered, error("0A000")))) << "it may be applied";
  EXPECT_FALSE(mayGoWithoutHistory(with, reply(Commit::rolledBack)));
}

TEST(Judge, anAcquisitionIsKeptOutByALockAlone) {
  EXPECT_TRUE(wasKeptOut(reply(Commit::rolledBack, error("55P03"))));
  EXPECT_FALSE(wasKeptOut(reply(Commit::rolledBack, error("57014"))));
  EXPECT_FALSE(wasKeptOut(reply(Commit::unanswered, error("55P03"))));
  EXPECT_FALSE(wasKeptOut(reply(Commit::done)));
  JobReply later = reply(Commit::rolledBack, error("55P03"));
  later.rows.resize(1);
  EXPECT_FALSE(wasKeptOut(later)) << "the row was locked";
}

}  // namespace
}  // namespace tenure::postgresql_store
