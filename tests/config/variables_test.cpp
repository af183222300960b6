#include "config/src/variables.hpp"

#include <array>
#include <map>
#include <unistd.h>

#include <gtest/gtest.h>

#include "config/test_files.hpp"

namespace tenure::config {
namespace {

std::optional<std::string> lookUp(const std::string& name) {
  static const std::map<std::string, std::string> values{{"NAME", "web"},
                                                         {"EMPTY", ""},
                                                         {"_x9", "low"},
                                                         {"DOLLAR", "${NAME}$$"},
                                                         {"STATE_DIRECTORY", "/var/lib/tenure:/var/lib/other"},
                                                         {"CACHE_DIRECTORY", "/var/cache/tenure"},
                                                         {"LOGS_DIRECTORY", ":/var/log/x"},
                                                         {"PATHS", "/a:/b"}};
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional{found->second};
}

std::string expand(std::string_view text) {
  const Expansion expansion = expandVariables(text, lookUp);
  return expansion.faults.empty() ? expansion.text : "fault: " + expansion.faults.front().message;
}

TEST(Variables, AreReplaced) {
  EXPECT_EQ(expand("plain"), "plain");
  EXPECT_EQ(expand(""), "");
  EXPECT_EQ(expand("${NAME}"), "web");
  EXPECT_EQ(expand("a-${NAME}-${_x9}-b"), "a-web-low-b");
  EXPECT_EQ(expand("${EMPTY}"), "");
}

TEST(Variables, DefaultStandsInForUnsetAndEmpty) {
  EXPECT_EQ(expand("${NAME:-other}"), "web");
  EXPECT_EQ(expand("${UNSET:-other}"), "other");
  EXPECT_EQ(expand("${EMPTY:-other}"), "other");
  EXPECT_EQ(expand("${UNSET:-}"), "");
  EXPECT_EQ(expand("${UNSET:-a:-b}"), "a:-b");
}

/// systemd names all directories of a unit in one variable.
TEST(Variables, OfSystemdsDirectoriesTheFirstIsMeant) {
  EXPECT_EQ(expand("${STATE_DIRECTORY:-.}/billing.db"), "/var/lib/tenure/billing.db");
  EXPECT_EQ(expand("${CACHE_DIRECTORY}"), "/var/cache/tenure");
  EXPECT_EQ(expand("${LOGS_DIRECTORY:-none}"), "none");
  EXPECT_EQ(expand("${RUNTIME_DIRECTORY:-/a:/b}"), "/a:/b") << "a default is taken as it is";
  EXPECT_EQ(expand("${PATHS}"), "/a:/b");
}

TEST(Variables, DollarIsEscapedByDoubling) {
  EXPECT_EQ(expand("$$"), "$");
  EXPECT_EQ(expand("$${NAME}"), "${NAME}");
  EXPECT_EQ(expand("$$$$"), "$$");
  EXPECT_EQ(expand("$$${NAME}"), "$web");
}

TEST(Variables, WhatComesOutIsNotReplacedAgain) { EXPECT_EQ(expand("${DOLLAR}"), "${NAME}$$"); }

TEST(Variables, EveryFaultIsToldWithItsPlace) {
  const Expansion expansion = expandVariables("a${ONE}b${TWO}c$", lookUp);
  ASSERT_EQ(expansion.faults.size(), 3U);
  EXPECT_EQ(expansion.faults[0].offset, 1U);
  EXPECT_EQ(expansion.faults[0].message, "the variable ONE is not set; set it, or give a default: ${ONE:-...}");
  EXPECT_EQ(expansion.faults[1].offset, 8U);
  EXPECT_EQ(expansion.faults[2].offset, 15U);
  EXPECT_EQ(expansion.faults[2].message,
            "a single $ has no meaning; allowed are ${NAME}, ${NAME:-default} and $$ for a dollar sign");
}

TEST(Variables, OtherFormsAreRefused) {
  for (const char* text : {"${}", "${1A}", "${A B}", "${A-b}", "${A:?b}", "${A:+b}", "${A:}", "${:-b}", "${A", "$A",
                           "${UNSET:-${NAME}}", "x$", "${NAME:-$}"}) {
    EXPECT_EQ(expand(text).substr(0, 7), "fault: ") << text << " gave " << expand(text);
  }
}

TEST(Variables, WithoutASourceNothingIsSet) {
  EXPECT_EQ(expandVariables("${NAME}", {}).faults.size(), 1U);
  EXPECT_EQ(expandVariables("${NAME:-x}", {}).text, "x");
}

TEST(Variables, TheEnvironmentIsTheSource) {
  const VariableSource environment = environmentVariables();
  test::setVariable("TENURE_TEST_SET", "yes");
  EXPECT_EQ(environment("TENURE_TEST_SET"), "yes");
  test::unsetVariable("TENURE_TEST_SET");
  EXPECT_EQ(environment("TENURE_TEST_SET"), std::nullopt);
}

TEST(Variables, HostnameIsThereEvenIfTheShellDidNotExportIt) {
  test::unsetVariable("HOSTNAME");
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  EXPECT_EQ(environmentVariables()("HOSTNAME"), std::string{name.data()});
  test::setVariable("HOSTNAME", "told-otherwise");
  EXPECT_EQ(environmentVariables()("HOSTNAME"), "told-otherwise");
  test::unsetVariable("HOSTNAME");
}

}  // namespace
}  // namespace tenure::config
