// The report as text and as JSON (golden/doctor.*), and the table of checks in the reference. TENURE_UPDATE=1 writes
// all of them.
#include "cli/doctor/report.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/doctor/good_facts.hpp"
#include "cli/doctor/judge.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::cli::doctor {
namespace {

using namespace std::chrono_literals;
using test::contentOf;

bool updating() { return std::getenv("TENURE_UPDATE") != nullptr; }

/// One of each grade, and one that was not looked at.
Facts someFacts() {
  Facts facts = goodFacts();
  facts.clock.suspended = 90min;
  facts.files.secrets[0].mode = 0644;
  facts.limits.pressure.reset();
  facts.store.reads.answered.back() = 3s;
  return facts;
}

void expectGolden(const std::string& name, const std::string& text) {
  const std::string file = std::string{CLI_GOLDEN} + '/' + name;
  if (updating()) std::ofstream{file} << text;
  EXPECT_EQ(text, contentOf(file));
}

TEST(DoctorReport, IsTheTextThatWasAgreed) {
  const Facts facts = someFacts();
  expectGolden("doctor.txt", toText(facts, judge(facts), false));
}

TEST(DoctorReport, IsTheJsonThatWasAgreed) {
  const Facts facts = someFacts();
  expectGolden("doctor.json", toJson(facts, judge(facts)));
}

TEST(DoctorReport, HasColoursOnlyWhenAsked) {
  const Facts facts = someFacts();
  const Report report = judge(facts);
  EXPECT_EQ(toText(facts, report, false).find('\033'), std::string::npos);
  const std::string coloured = toText(facts, report, true);
  EXPECT_NE(coloured.find("\033[31mfault\033[0m"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find("\033[33mwarning\033[0m"), std::string::npos) << coloured;
}

TEST(DoctorReport, JsonHasNullWhereThereIsNothing) {
  Facts facts = someFacts();
  facts.store.error = StoreError{ErrorClass::transient, "no \"quorum\""};
  facts.store.reads = {};
  facts.store.writes.reset();
  facts.store.server.reset();
  const std::string json = toJson(facts, judge(facts));
  EXPECT_NE(json.find(R"("reads":null,"writes":null)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("server_version":null)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"(no \"quorum\")"), std::string::npos) << json;
}

std::string tableOfChecks() {
  std::string rows;
  for (const Check& check : checks()) {
    const auto orNever = [](std::string_view text) { return text.empty() ? std::string_view{"never"} : text; };
    rows += fmt::format("| `{}` | {} | {} | {} |\n", check.name, check.looksAt, orNever(check.warning),
                        orNever(check.fault));
  }
  return "| finding | what is looked at | a warning | a fault |\n|---|---|---|---|\n" + rows;
}

TEST(DoctorReference, HasTheChecksOfTheCode) {
  const std::string file = std::string{TENURE_SOURCE_DIR} + "/docs/reference/program.md";
  std::string text = contentOf(file);
  const std::string begin = "<!-- the checks of tenure doctor -->\n", end = "<!-- end of the checks -->";
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  const std::size_t first = from + begin.size();
  if (updating()) std::ofstream{file} << text.replace(first, to - first, tableOfChecks());
  EXPECT_EQ(text.substr(first, text.find(end) - first), tableOfChecks());
}

}  // namespace
}  // namespace tenure::cli::doctor
