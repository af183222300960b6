// What --help prints, from a command and its options.
#include <algorithm>

#include "lockcore/port/ascii_text.hpp"
#include "options.hpp"

namespace tenure::cli {
namespace {

constexpr std::size_t pageWidth = 79;
constexpr std::size_t mostTerm = 24;

/// The words below one another from this column on; the first line goes on after `line`.
template <class Words>
std::string filled(const Words& words, std::size_t column, std::string line) {
  std::string out;
  if (line.size() + 2 > column && !line.empty()) {
    out += line + '\n';
    line.clear();
  }
  line.resize(column, ' ');
  bool begun = false;
  for (const auto& word : words) {
    if (begun && line.size() + 1 + word.size() > pageWidth) {
      out += line + '\n';
      line.assign(column, ' ');
      begun = false;
    }
    if (begun) line += ' ';
    line += word;
    begun = true;
  }
  return out + line + '\n';
}

/// A term, and to the right of it what it means; each line of that begins a new one.
std::string row(const std::string& term, std::string_view about, std::size_t column) {
  std::string out;
  std::string line = "  " + term;
  for (const std::string_view part : linesOf(about)) {
    out += filled(wordsOf(part), column, line);
    line.clear();
  }
  return out.empty() ? line + '\n' : out;
}

/// Paragraphs of running text, and lines that are shown as they are.
std::string paragraphs(std::string_view text) {
  std::string out;
  std::string running;
  const auto flush = [&] {
    if (!running.empty()) out += filled(wordsOf(running), 0, {});
    running.clear();
  };
  for (const std::string_view line : linesOf(text)) {
    const bool asItIs = line.empty() || line.front() == ' ';
    if (!asItIs) {
      running += std::string{line} + ' ';
      continue;
    }
    flush();
    out += std::string{line} + '\n';
  }
  flush();
  return out.empty() ? out : '\n' + out;
}

using Line = Options::Target::Line;

std::string nameOf(const Command& command) { return command.name.empty() ? "tenure" : "tenure " + command.name; }

/// Those that the command before this one's name explains.
bool hasHiddenOptions(const Options::Target& target) {
  return std::any_of(target.lines.begin(), target.lines.end(),
                     [](const Line& line) { return line.hidden && !line.option->get_positional(); });
}

std::vector<std::string> usageParts(const Command& command, const Options::Target& target) {
  if (!command.options) return {"COMMAND", "[OPTIONS]"};
  std::vector<std::string> arguments;
  std::vector<std::string> parts;
  for (const Line& line : target.lines) {
    if (line.usage.empty() || line.hidden) continue;
    const bool bare = line.needed || line.option->get_required();
    const std::string part = (bare ? line.usage : "[" + line.usage + "]") + (line.repeats ? "..." : "");
    (line.option->get_positional() ? arguments : parts).push_back(part);
  }
  parts.insert(parts.begin(), arguments.begin(), arguments.end());
  if (hasHiddenOptions(target)) parts.emplace_back("[STORE]");
  if (target.job != nullptr) parts.emplace_back("-- COMMAND [ARGS...]");
  return parts;
}

std::string usageOf(const Command& command, const Options::Target& target) {
  const std::string line = "Usage: " + nameOf(command) + ' ';
  return '\n' + line + filled(usageParts(command, target), line.size(), {}).substr(line.size());
}

std::string commandRows(const std::vector<const Command*>& below) {
  std::size_t column = 0;
  const auto lastWord = [](const Command& one) { return one.name.substr(one.name.rfind(' ') + 1); };
  for (const Command* one : below) column = std::max(column, lastWord(*one).size() + 4);
  std::string out = "\nCommands:\n";
  for (const Command* one : below) out += row(lastWord(*one), one->summary, column);
  return out;
}

std::string optionRows(const Command& command, const Options::Target& target) {
  const std::string help = "-h, --help";
  const auto shown = [](const Line& line) { return !line.hidden && !line.about.empty(); };
  std::size_t column = help.size() + 4;
  for (const Line& line : target.lines) {
    if (shown(line)) column = std::max(column, std::min(line.term.size(), mostTerm) + 4);
  }
  std::string out = hasHiddenOptions(target) ? "\nOptions (and the store: tenure lock --help):\n" : "\nOptions:\n";
  for (const Line& line : target.lines) {
    if (shown(line)) out += row(line.term, line.about, column);
  }
  const std::string deeper = command.options ? "" : "; " + nameOf(command) + " COMMAND --help says more";
  out += row(help, "print this help and exit" + deeper, column);
  return command.name.empty() ? out + row("--version", "print the version and exit", column) : out;
}

std::string exitRows(const Command& command) {
  constexpr std::size_t column = 7;
  std::vector<ExitLine> all = command.exits;
  if (std::none_of(all.begin(), all.end(), [](const ExitLine& line) { return line.code == "2"; })) {
    const auto next = std::find_if(all.begin(), all.end(), [](const ExitLine& line) { return line.code > "1"; });
    all.insert(next, {"2", "wrong arguments or configuration"});
  }
  std::string out = "\nExit codes:\n";
  for (const ExitLine& line : all) out += row(line.code, line.meaning, column);
  return out;
}

}  // namespace

std::string helpOf(const Command& command, const Options::Target& target, const std::vector<const Command*>& below) {
  std::string out = nameOf(command) + " - " + command.summary + '\n' + usageOf(command, target);
  out += paragraphs(command.about);
  if (!below.empty()) out += commandRows(below);
  out += optionRows(command, target);
  out += paragraphs(command.more);
  out += exitRows(command);
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const std::string& line : command.examples) out += "  " + line + '\n';
  return out;
}

}  // namespace tenure::cli
