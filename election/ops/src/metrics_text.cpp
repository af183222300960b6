#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <tenure/lockcore/logger.hpp>

#include "metric_table.hpp"

namespace tenure::ops {
namespace {

/// `\`, `"` and line breaks are escaped; other control characters and what is not UTF-8 do not occur in names.
void appendEscaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

void appendLabel(std::string& out, const std::string& label, std::string_view text) {
  out += out.back() == '{' ? "" : ",";
  out += label + "=\"";
  appendEscaped(out, text);
  out += '"';
}

/// `group` null: it is no label here.
void appendSample(std::string& out, const std::string& name, std::string_view suffix, const std::string* group,
                  const Labels& labels, double value) {
  out += name;
  out += suffix;
  if (group != nullptr || !labels.empty()) {
    out += '{';
    if (group != nullptr) appendLabel(out, "group", *group);
    for (const auto& [label, text] : labels) appendLabel(out, label, text);
    out += '}';
  }
  out += ' ' + numberText(value) + '\n';
}

void appendHead(std::string& out, const Metric& metric) {
  out += "# TYPE " + metric.name + ' ' + metric.type + '\n';
  if (!metric.unit.empty()) out += "# UNIT " + metric.name + ' ' + metric.unit + '\n';
  out += "# HELP " + metric.name + ' ';
  appendEscaped(out, metric.help);
  out += '\n';
}

/// Those of one name are next to each other, as the text must have them.
std::string expositionOf(std::vector<MetricFamily> families) {
  std::stable_sort(families.begin(), families.end(),
                   [](const MetricFamily& a, const MetricFamily& b) { return a.metric.name < b.metric.name; });
  std::string out;
  std::string_view last;
  for (const MetricFamily& family : families) {
    if (family.metric.name != last) appendHead(out, family.metric);
    last = family.metric.name;
    for (const MetricSample& sample : family.samples) {
      appendSample(out, family.metric.name, sample.suffix, nullptr, sample.labels, sample.value);
    }
  }
  return out;
}

}  // namespace

std::string numberText(double value, bool isFloat) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr;
  std::string out{text, end};
  if (isFloat && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string boundText(std::size_t bucket) {
  const bool last = bucket == renewalTimeBounds.size();
  return last ? "+Inf" : numberText(static_cast<double>(renewalTimeBounds[bucket]) / 1e3, true);
}

std::string openMetricsText(const std::vector<Snapshot>& electors, std::vector<MetricFamily> others) {
  std::string out;
  for (const MetricSpec& spec : metricSpecs()) {
    appendHead(out, spec.metric);
    for (const Snapshot& elector : electors) {
      spec.fill(elector, [&](std::string_view suffix, const Labels& labels, double value) {
        appendSample(out, spec.metric.name, suffix, &elector.group, labels, value);
      });
    }
  }
  others.push_back(familyOf("tenure_log_lines_dropped"));
  others.back().samples = {{"_total", {}, static_cast<double>(linesDropped())}};
  return out + expositionOf(std::move(others)) + "# EOF\n";
}

}  // namespace tenure::ops
