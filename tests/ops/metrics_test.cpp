// OpenMetrics 1.0 as text, and the table of the reference.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <tenure/ops/metrics.hpp>

#include "ops/src/metric_table.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using ops::Snapshot;

Snapshot leading() {
  Snapshot s{"billing", "alice#1", "memory"};
  s.leaseDuration = 10s;
  s.standing = {true, FencingToken{41}, 6'500ms};
  s.electedAtMillis = 1'700'000'000'250;
  s.lease.state = LeaseState::leading;
  s.lease.leaderSeenAgo = 250ms;
  s.lease.heartbeatLag = 2ms;
  s.counts.terms = 3;
  s.counts.revocations[static_cast<std::size_t>(RevokeReason::expired)] = 2;
  s.counts.renewals = {17, 1, 0, 2};
  s.counts.renewalTimes[0] = 15;
  s.counts.renewalTimes[3] = 4;
  s.counts.renewalTimes[renewalTimeBounds.size()] = 1;
  s.counts.renewalTimeSum = 12'345ms;
  return s;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

bool has(const std::string& text, const std::string& line) {
  const auto lines = linesOf(text);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST(Metrics, TextSaysWhatTheSnapshotSays) {
  const std::string text = ops::openMetricsText({leading()});
  for (const char* line : {
           "# TYPE tenure_leader gauge",
           R"(tenure_leader{group="billing"} 1)",
           R"(tenure_fencing_token{group="billing"} 41)",
           R"(tenure_candidate_state{group="billing",tenure_candidate_state="leading"} 1)",
           R"(tenure_candidate_state{group="billing",tenure_candidate_state="candidate"} 0)",
           "# UNIT tenure_term_start_timestamp_seconds seconds",
           R"(tenure_term_start_timestamp_seconds{group="billing"} 1700000000.25)",
           R"(tenure_lease_remaining_seconds{group="billing"} 6.5)",
           R"(tenure_terms_total{group="billing"} 3)",
           "# TYPE tenure_terms counter",
           R"(tenure_revocations_total{group="billing",reason="expired"} 2)",
           R"(tenure_revocations_total{group="billing",reason="lost"} 0)",
           R"(tenure_renewals_total{group="billing",outcome="unknown"} 2)",
           R"(tenure_renewal_duration_seconds_bucket{group="billing",le="0.001"} 15)",
           R"(tenure_renewal_duration_seconds_bucket{group="billing",le="0.01"} 19)",
           R"(tenure_renewal_duration_seconds_bucket{group="billing",le="1.0"} 19)",
           R"(tenure_renewal_duration_seconds_bucket{group="billing",le="+Inf"} 20)",
           R"(tenure_renewal_duration_seconds_count{group="billing"} 20)",
           R"(tenure_renewal_duration_seconds_sum{group="billing"} 12.345)",
           R"(tenure_leader_seen_age_seconds{group="billing"} 0.25)",
       }) {
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
  }
  EXPECT_EQ(text.find("tenure_clock_rate_ppm{"), std::string::npos) << "no sample before there is a measurement";
}

TEST(Metrics, TextEndsWithEof) {
  EXPECT_TRUE(ops::openMetricsText({}).ends_with("# EOF\n"));
  const std::string text = ops::openMetricsText({leading()});
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  EXPECT_EQ(text.find("# EOF"), text.size() - 6);
}

TEST(Metrics, FamiliesAreWholeAlsoWithSeveralGroups) {
  Snapshot other = leading();
  other.group = "reports";
  std::set<std::string> ended;
  std::string family;
  for (const std::string& line : linesOf(ops::openMetricsText({leading(), other}))) {
    if (line.starts_with("# TYPE ")) {
      ended.insert(family);
      family = line.substr(7, line.rfind(' ') - 7);
      EXPECT_EQ(ended.count(family), 0U) << family << " comes twice";
    } else if (!line.starts_with('#')) {
      EXPECT_TRUE(line.starts_with(family)) << line << " in " << family;
    }
  }
  EXPECT_EQ(ended.size(), ops::metricSpecs().size() + 1) << "the last one has not ended, and the first is empty";
}

TEST(Metrics, LabelValuesAreEscaped) {
  Snapshot s = leading();
  s.group = "a\"b\\c\nd";
  const std::string text = ops::openMetricsText({s});
  EXPECT_TRUE(has(text, R"(tenure_leader{group="a\"b\\c\nd"} 1)")) << text;
}

TEST(Metrics, NumbersAreWrittenWithoutExponents) {
  EXPECT_EQ(ops::numberText(0), "0");
  EXPECT_EQ(ops::numberText(0.0005), "0.0005");
  EXPECT_EQ(ops::numberText(1, true), "1.0");
  EXPECT_EQ(ops::numberText(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(ops::numberText(-1.5), "-1.5");
  EXPECT_EQ(ops::numberText(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(ops::numberText(std::nan("")), "NaN");
}

TEST(Metrics, FamiliesOfSourcesAreWholeToo) {
  ops::MetricFamily one = ops::familyOf("tenure_store_requests");
  one.samples = {{"_total", {{"store", "a\"b"}, {"operation", "read"}, {"outcome", "answered"}}, 3}};
  ops::MetricFamily own{{"shop_orders", "gauge", "", "", "Orders.", false}, {{"", {}, 7}}};
  ops::MetricFamily other = one;
  other.samples[0].labels[0].second = "c";
  const std::string text = ops::openMetricsText({}, {one, own, other, ops::heldLocks(2)});
  EXPECT_TRUE(has(text, "tenure_locks_held 2")) << text;
  EXPECT_TRUE(has(text, R"(tenure_store_requests_total{store="a\"b",operation="read",outcome="answered"} 3)")) << text;
  EXPECT_TRUE(has(text, "shop_orders 7")) << text;
  EXPECT_TRUE(has(text, "tenure_log_lines_dropped_total 0")) << text;
  const auto lines = linesOf(text);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "# TYPE tenure_store_requests counter"), 1) << text;
  EXPECT_EQ(lines.back(), "# EOF");
}

std::string plainText(const std::vector<Snapshot>& electors, std::vector<ops::MetricFamily> others = {}) {
  return ops::metricsText(ops::plainMetricsType, electors, std::move(others));
}

TEST(PlainMetrics, HaveNoTypesAndCommentsOfOpenMetrics) {
  const std::string text = plainText({leading()});
  for (const char* word : {"# UNIT", "# EOF", "stateset", " info\n", " unknown\n"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word << "\n" << text;
  }
  for (const char* line : {
           "# TYPE tenure_candidate_state gauge",
           R"(tenure_candidate_state{group="billing",tenure_candidate_state="leading"} 1)",
           "# TYPE tenure_build_info gauge",
           "# TYPE tenure_terms_total counter",
           R"(tenure_terms_total{group="billing"} 3)",
           "# TYPE tenure_renewal_duration_seconds histogram",
           R"(tenure_renewal_duration_seconds_bucket{group="billing",le="+Inf"} 20)",
           "# TYPE tenure_log_lines_dropped_total counter",
       }) {
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
  }
}

TEST(PlainMetrics, HaveTheSamplesOfOpenMetrics) {
  const auto samplesOf = [](const std::string& text) {
    auto lines = linesOf(text);
    lines.erase(std::remove_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with('#'); }),
                lines.end());
    return lines;
  };
  EXPECT_EQ(samplesOf(plainText({leading()})), samplesOf(ops::openMetricsText({leading()})));
}

/// What sources of the user's may have, and this format has not.
TEST(PlainMetrics, SamplesOfOtherTypesAreFamiliesThere) {
  const auto family = [](const char* type, std::vector<ops::MetricSample> samples) {
    return ops::MetricFamily{{"shop", type, "", "", "A \"quoted\" \\ help\nof two lines.", false}, std::move(samples)};
  };
  const auto typesOf = [&](const ops::MetricFamily& given) {
    std::vector<std::string> out;
    for (const std::string& line : linesOf(plainText({}, {given}))) {
      if (line.starts_with("# TYPE shop")) out.push_back(line.substr(7));
      if (line.starts_with("shop")) out.push_back(line);
    }
    return out;
  };
  using Lines = std::vector<std::string>;
  const ops::MetricSample created{"_created", {}, 5};
  EXPECT_EQ(typesOf(family("counter", {{"_total", {{"a", "1"}}, 1}, created, {"_total", {{"a", "2"}}, 2}})),
            (Lines{"shop_total counter", R"(shop_total{a="1"} 1)", R"(shop_total{a="2"} 2)", "shop_created gauge",
                   "shop_created 5"}));
  EXPECT_EQ(typesOf(family("summary", {{"", {{"quantile", "0.5"}}, 1}, {"_count", {}, 2}, {"_sum", {}, 3}, created})),
            (Lines{"shop summary", R"(shop{quantile="0.5"} 1)", "shop_count 2", "shop_sum 3", "shop_created gauge",
                   "shop_created 5"}));
  EXPECT_EQ(typesOf(family("gaugehistogram", {{"_bucket", {{"le", "+Inf"}}, 2}, {"_gcount", {}, 2}, {"_gsum", {}, 3}})),
            (Lines{"shop histogram", R"(shop_bucket{le="+Inf"} 2)", "shop_gcount gauge", "shop_gcount 2",
                   "shop_gsum gauge", "shop_gsum 3"}));
  EXPECT_EQ(typesOf(family("unknown", {{"", {}, 1}})), (Lines{"shop untyped", "shop 1"}));
  EXPECT_EQ(typesOf(family("info", {{"_info", {{"v", "1"}}, 1}})), (Lines{"shop_info gauge", R"(shop_info{v="1"} 1)"}));
  EXPECT_TRUE(has(plainText({}, {family("gauge", {})}), R"(# HELP shop A "quoted" \\ help\nof two lines.)"))
      << "quotes in a help are escaped in OpenMetrics only";
}

TEST(Metrics, NamesFollowTheRulesOfOpenMetrics) {
  for (const ops::Metric& metric : ops::metrics()) {
    EXPECT_TRUE(metric.name.starts_with("tenure_")) << metric.name;
    EXPECT_EQ(metric.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << metric.name;
    EXPECT_FALSE(metric.name.ends_with("_total")) << "the suffix belongs to the sample: " << metric.name;
    EXPECT_TRUE(metric.unit.empty() || metric.name.ends_with("_" + metric.unit)) << metric.name;
    EXPECT_TRUE(metric.help.ends_with('.')) << metric.name;
  }
}

std::string tableOfMetrics() {
  std::string out = "| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n";
  for (const ops::Metric& metric : ops::metrics()) {
    const std::string suffix = metric.type == "counter" ? "_total" : metric.type == "info" ? "_info" : "";
    std::string labels = metric.ofGroup ? "`group`" : "";
    if (!metric.labels.empty()) labels += (labels.empty() ? "`" : ", `") + metric.labels + '`';
    out += "| `" + metric.name + suffix + "` | " + metric.type + " | " + labels + " | " + metric.help + " |\n";
  }
  return out;
}

TEST(Metrics, TableOfTheReferenceIsThatOfTheCode) {
  const std::filesystem::path file = std::filesystem::path{TENURE_SOURCE} / "docs/reference/metrics.md";
  std::stringstream in;
  in << std::ifstream{file}.rdbuf();
  std::string text = in.str();
  const std::string begin = "<!-- metrics: begin (a test writes this table with TENURE_UPDATE=1) -->\n";
  const std::size_t from = text.find(begin);
  const std::size_t to = text.find("<!-- metrics: end -->");
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::size_t tableBegin = from + begin.size();
  const std::string written = text.substr(tableBegin, to - tableBegin);
  if (std::getenv("TENURE_UPDATE") != nullptr) {
    text.replace(tableBegin, to - tableBegin, tableOfMetrics());
    std::ofstream{file} << text;
  } else {
    EXPECT_EQ(written, tableOfMetrics());
  }
}

}  // namespace
}  // namespace tenure::test
