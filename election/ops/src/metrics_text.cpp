// The two texts of metrics, and which of them a client asks for.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <tenure/lockcore/logger.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "metric_table.hpp"

namespace tenure::ops {
namespace {

/// `\` and line breaks are escaped, and `"` where `quotes`; other control characters and what is not UTF-8 do not occur
/// in names.
void appendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (c == '"' && quotes)) out += '\\';
    out += c;
  }
}

void appendSample(std::string& out, const std::string& name, const MetricSample& sample) {
  out += name + sample.suffix;
  char before = '{';
  for (const auto& [label, text] : sample.labels) {
    out += before + label + "=\"";
    appendEscaped(out, text, true);
    out += '"';
    before = ',';
  }
  out += (sample.labels.empty() ? " " : "} ") + numberText(sample.value) + '\n';
}

void appendFamily(std::string& out, const MetricFamily& family, bool open) {
  const Metric& metric = family.metric;
  out += "# TYPE " + metric.name + ' ' + metric.type + '\n';
  if (open && !metric.unit.empty()) out += "# UNIT " + metric.name + ' ' + metric.unit + '\n';
  out += "# HELP " + metric.name + ' ';
  appendEscaped(out, metric.help, open);
  out += '\n';
  for (const MetricSample& sample : family.samples) appendSample(out, metric.name, sample);
}

/// What the text format 0.0.4 makes of a type of OpenMetrics.
struct PlainType {
  std::string_view name;
  std::string_view ending;                 ///< of the family's name
  std::vector<std::string_view> suffixes;  ///< of its samples
};

PlainType plainTypeOf(std::string_view type) {
  if (type == "counter") return {"counter", "_total", {}};
  if (type == "info") return {"gauge", "_info", {}};
  if (type == "histogram") return {"histogram", "", {"_bucket", "_count", "_sum"}};
  if (type == "gaugehistogram") return {"histogram", "", {"_bucket"}};
  if (type == "summary") return {"summary", "", {"", "_count", "_sum"}};
  return {type == "unknown" ? "untyped" : "gauge", "", {""}};
}

/// The same samples in families of the text format 0.0.4. Samples that its type does not have there, such as
/// `_created`, are gauges.
std::vector<MetricFamily> plainFamiliesOf(const MetricFamily& family) {
  const PlainType type = plainTypeOf(family.metric.type);
  std::vector<MetricFamily> out;
  const auto add = [&](std::string name, std::string_view typeName) {
    out.push_back({{std::move(name), std::string{typeName}, "", "", family.metric.help}, {}});
  };
  add(family.metric.name + std::string{type.ending}, type.name);
  for (const MetricSample& sample : family.samples) {
    if (std::find(type.suffixes.begin(), type.suffixes.end(), sample.suffix) != type.suffixes.end()) {
      out.front().samples.push_back(sample);
      continue;
    }
    const std::string name = family.metric.name + sample.suffix;
    auto at = std::find_if(out.begin(), out.end(), [&](const MetricFamily& each) { return each.metric.name == name; });
    if (at == out.end()) {
      add(name, "gauge");
      at = std::prev(out.end());
    }
    at->samples.push_back({"", sample.labels, sample.value});
  }
  return out;
}

/// Those of one name are one, as the text must have them; in the order of names.
std::vector<MetricFamily> merged(std::vector<MetricFamily> families) {
  std::stable_sort(families.begin(), families.end(),
                   [](const MetricFamily& a, const MetricFamily& b) { return a.metric.name < b.metric.name; });
  std::vector<MetricFamily> out;
  for (MetricFamily& family : families) {
    if (out.empty() || out.back().metric.name != family.metric.name) {
      out.push_back(std::move(family));
    } else {
      out.back().samples.insert(out.back().samples.end(), family.samples.begin(), family.samples.end());
    }
  }
  return out;
}

MetricFamily filled(const MetricSpec& spec, const std::vector<Snapshot>& electors) {
  MetricFamily out{spec.metric, {}};
  for (const Snapshot& elector : electors) {
    spec.fill(elector, [&](std::string_view suffix, const Labels& labels, double value) {
      out.samples.push_back({std::string{suffix}, {{"group", elector.group}}, value});
      MetricLabels& all = out.samples.back().labels;
      all.insert(all.end(), labels.begin(), labels.end());
    });
  }
  return out;
}

/// What stands before the next `mark`, which is removed with it, without blanks at its ends.
std::string_view nextPart(std::string_view& text, char mark) { return trimmed(takeUpTo(text, mark), " \t"); }

/// One type of an Accept header, in small letters: `text/plain; version=0.0.4; q=0.5`.
struct AcceptedType {
  std::string_view name;
  std::string_view version{};
  double quality{1};
};

AcceptedType acceptedTypeOf(std::string_view text) {
  AcceptedType out{nextPart(text, ';')};
  while (!text.empty()) {
    std::string_view value = nextPart(text, ';');
    const std::string_view name = nextPart(value, '=');
    value = nextPart(value, '=');
    if (value.size() > 1 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (name == "version") out.version = value;
    if (name == "q" && !value.empty()) {
      out.quality = 0;  // what is no number is not preferred
      std::from_chars(value.data(), value.data() + value.size(), out.quality);
    }
  }
  return out;
}

/// Empty: none of the texts is meant. As Prometheus's own libraries have it, a type without a version is the first one.
std::string_view metricsTypeOf(const AcceptedType& type) {
  const std::string_view version = type.version;
  if (type.name == "text/plain" && (version.empty() || version == "0.0.4")) return plainMetricsType;
  if (type.name != "application/openmetrics-text") return {};
  if (version.empty() || version == "0.0.1") return firstOpenMetricsType;
  return version == "1.0.0" ? openMetricsType : std::string_view{};
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

std::string_view metricsTypeFor(std::string accept) {
  accept = lowered(accept);
  std::string_view best = plainMetricsType;
  double quality = 0;
  for (std::string_view rest = accept; !rest.empty();) {
    const AcceptedType type = acceptedTypeOf(nextPart(rest, ','));
    const std::string_view text = metricsTypeOf(type);
    if (text.empty() || !(type.quality > quality)) continue;
    best = text;
    quality = type.quality;
  }
  return best;
}

std::string metricsText(std::string_view type, const std::vector<Snapshot>& electors,
                        std::vector<MetricFamily> others) {
  std::string out;
  const bool open = type != plainMetricsType;
  const auto append = [&](const MetricFamily& family) {
    if (open) return appendFamily(out, family, true);
    for (const MetricFamily& each : plainFamiliesOf(family)) appendFamily(out, each, false);
  };
  for (const MetricSpec& spec : metricSpecs()) append(filled(spec, electors));
  others.push_back(familyOf("tenure_log_lines_dropped"));
  others.back().samples = {{"_total", {}, static_cast<double>(linesDropped())}};
  for (const MetricFamily& family : merged(std::move(others))) append(family);
  return open ? out + "# EOF\n" : out;
}

std::string openMetricsText(const std::vector<Snapshot>& electors, std::vector<MetricFamily> others) {
  return metricsText(openMetricsType, electors, std::move(others));
}

}  // namespace tenure::ops
