#include <charconv>
#include <cmath>

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

void appendSample(std::string& out, const std::string& name, std::string_view suffix, const std::string& group,
                  const Labels& labels, double value) {
  out += name;
  out += suffix;
  out += "{group=\"";
  appendEscaped(out, group);
  for (const auto& [label, text] : labels) {
    out += "\"," + label + "=\"";
    appendEscaped(out, text);
  }
  out += "\"} " + numberText(value) + '\n';
}

void appendHead(std::string& out, const Metric& metric) {
  out += "# TYPE " + metric.name + ' ' + metric.type + '\n';
  if (!metric.unit.empty()) out += "# UNIT " + metric.name + ' ' + metric.unit + '\n';
  out += "# HELP " + metric.name + ' ';
  appendEscaped(out, metric.help);
  out += '\n';
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

std::string openMetricsText(const std::vector<Snapshot>& electors) {
  std::string out;
  for (const MetricSpec& spec : metricSpecs()) {
    appendHead(out, spec.metric);
    for (const Snapshot& elector : electors) {
      spec.fill(elector, [&](std::string_view suffix, const Labels& labels, double value) {
        appendSample(out, spec.metric.name, suffix, elector.group, labels, value);
      });
    }
  }
  return out += "# EOF\n";
}

}  // namespace tenure::ops
