#include "simulation/sim_timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tenure::test {
namespace {

constexpr double edge = 60;
constexpr double lane = 44;
constexpr double width = 1160;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string seconds(std::int64_t nanos) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f s", static_cast<double>(nanos) / 1e9);
  return text.data();
}

class Page {
 public:
  explicit Page(const SimTimeline& timeline) : timeline_{timeline} {}

  std::string body() {
    for (std::size_t i = 0; i < timeline_.processes; ++i) row(i);
    for (const auto& span : timeline_.spans) {
      if (!span.term) halted(span);
    }
    for (const auto& span : timeline_.spans) {
      if (span.term) term(span);
    }
    for (const auto& mark : timeline_.marks) fault(mark);
    for (const auto& mark : timeline_.world) world(mark);
    for (int i = 0; i <= 10; ++i) tick(timeline_.end / 10 * i);
    return std::move(out_);
  }
  [[nodiscard]] double height() const { return lane * static_cast<double>(timeline_.processes) + 70; }

 private:
  [[nodiscard]] double x(std::int64_t at) const {
    const double whole = static_cast<double>(std::max<std::int64_t>(timeline_.end, 1));
    return edge + static_cast<double>(at) / whole * (width - edge - 20);
  }
  [[nodiscard]] static double y(std::size_t row) { return 24 + static_cast<double>(row) * lane; }

  void row(std::size_t i) {
    out_ += "<text x=\"8\" y=\"" + number(y(i) + 24) + "\" class=\"name\">p" + std::to_string(i) + "</text>\n";
    out_ += "<line x1=\"" + number(edge) + "\" x2=\"" + number(width - 20) + "\" y1=\"" + number(y(i) + 20) +
            "\" y2=\"" + number(y(i) + 20) + "\" class=\"idle\"/>\n";
  }
  void rect(const SimTimeline::Span& span, double inset, const std::string& style) {
    const double wide = std::max(1.0, x(span.to) - x(span.from));
    out_ += "<rect x=\"" + number(x(span.from)) + "\" y=\"" + number(y(span.process) + inset) + "\" width=\"" +
            number(wide) + "\" height=\"" + number(40 - 2 * inset) + "\" " + style + "><title>" + escaped(span.what) +
            ", from " + seconds(span.from) + " for " + seconds(span.to - span.from) + "</title></rect>\n";
  }
  void halted(const SimTimeline::Span& span) { rect(span, 4, "class=\"halted " + span.what + "\""); }
  void term(const SimTimeline::Span& span) {
    constexpr std::array colours{"#2f7d5b", "#2b6cb0", "#8a5a00", "#7b3fa0", "#00727a", "#a03050"};
    rect(span, 8, std::string{"rx=\"2\" fill=\""} + colours.at(terms_++ % colours.size()) + "\"");
    if (x(span.to) - x(span.from) < 50) return;
    out_ += "<text x=\"" + number(x(span.from) + 4) + "\" y=\"" + number(y(span.process) + 25) + "\" class=\"token\">" +
            escaped(span.what) + "</text>\n";
  }
  void fault(const SimTimeline::Mark& mark) {
    out_ += "<line x1=\"" + number(x(mark.at)) + "\" x2=\"" + number(x(mark.at)) + "\" y1=\"" +
            number(y(mark.process)) + "\" y2=\"" + number(y(mark.process) + 40) + "\" class=\"fault\"><title>" +
            escaped(mark.what) + " at " + seconds(mark.at) + "</title></line>\n";
  }
  void world(const SimTimeline::Mark& mark) {
    out_ += "<line x1=\"" + number(x(mark.at)) + "\" x2=\"" + number(x(mark.at)) + "\" y1=\"12\" y2=\"" +
            number(height() - 34) + "\" class=\"world\"><title>" + escaped(mark.what) + " at " + seconds(mark.at) +
            "</title></line>\n";
  }
  void tick(std::int64_t at) {
    out_ += "<text x=\"" + number(x(at)) + "\" y=\"" + number(height() - 12) + "\" class=\"tick\">" + seconds(at) +
            "</text>\n";
  }

  const SimTimeline& timeline_;
  std::string out_;
  std::size_t terms_{0};
};

constexpr const char* style = R"(<style>
  body { font: 15px system-ui, sans-serif; margin: 24px; color: #222; background: #fff }
  .name { font-size: 14px; fill: #222 } .token { font-size: 11px; fill: #fff }
  .idle { stroke: #d8d8d8; stroke-width: 2 } .halted { fill: #cfe3f7; stroke: #7aa7d6; stroke-dasharray: 4 3 }
  .suspended { fill: #e6dcf5 } .frozen { fill: #f7d9d0 }
  .fault { stroke: #c02020; stroke-width: 1.5 } .world { stroke: #c08020; stroke-dasharray: 2 3 }
  .tick { font-size: 11px; fill: #777; text-anchor: middle }
</style>
)";

}  // namespace

std::string htmlOf(const SimTimeline& timeline, const std::string& title, const std::string& subtitle) {
  Page page{timeline};
  const std::string body = page.body();
  return "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + escaped(title) + "</title>\n" + style +
         "<h1>" + escaped(title) + "</h1>\n<p>" + escaped(subtitle) +
         "</p>\n<p>Each bar is a term with its fencing token, by the clock of its holder. Shaded: the process stood "
         "still. "
         "Red: a crash. Dashed: something that befell the store. Point at a thing to read it.</p>\n"
         "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
         number(width) + " " + number(page.height()) +
         "\" width=\"100%\" role=\"img\" aria-label=\"Timeline of terms\">\n" + body + "</svg>\n</html>\n";
}

}  // namespace tenure::test
