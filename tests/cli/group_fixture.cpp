#include "cli/group_fixture.hpp"

#include <sstream>

namespace tenure::test {

void GroupFixture::configure(const std::string& lease, const std::string& others) const {
  directory_.write("group.yaml",
                   "group: test-group\n"
                   "candidate: { id: \"${NAME}\" }\n"
                   "store: { type: sqlite, path: ./leases.db }\n"
                   "lease:\n  duration: 2s\n  heartbeat: 300ms\n" +
                       lease + others);
}

SubprocessOptions GroupFixture::as(const std::string& name) const {
  return {{{"NAME", name}, {"TENURE_CONFIG", ""}}, directory_.path()};
}

std::vector<std::string> GroupFixture::tenure(const std::vector<std::string>& words) const {
  std::vector<std::string> out{TENURE_PROGRAM};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

std::vector<std::string> GroupFixture::run(const std::vector<std::string>& options,
                                           const std::vector<std::string>& command) const {
  std::vector<std::string> out{TENURE_PROGRAM, "run", "--config", config()};
  out.insert(out.end(), options.begin(), options.end());
  out.emplace_back("--");
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

Finished GroupFixture::finish(const std::vector<std::string>& words, const std::string& name) const {
  return runToEnd(tenure(words), as(name));
}

std::vector<std::string> GroupFixture::actingJob(const std::string& options) const {
  const std::string acts = directory_.file("acts.$TENURE_FENCING_TOKEN");
  return {"sh", "-c", "echo $$ > " + acts + ".pid; exec " + TICKER + " " + acts + " " + options};
}

bool GroupFixture::begins(int token, milliseconds bound) const {
  return eventually([&] { return firstAct(token) != 0; }, bound);
}

bool GroupFixture::goesOn(int token) const {
  const long long before = lastAct(token);
  return eventually([&] { return lastAct(token) > before; });
}

long long GroupFixture::firstAct(int token) const {
  std::istringstream lines{contentOf(actsOf(token))};
  std::string line;
  return std::getline(lines, line) && !lines.eof() ? std::stoll(line) : 0;
}

long long GroupFixture::lastAct(int token) const {
  std::istringstream lines{contentOf(actsOf(token))};
  long long last = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof();) last = std::stoll(line);
  return last;
}

pid_t GroupFixture::jobOf(int token) const {
  const std::string text = contentOf(actsOf(token) + ".pid");
  return text.empty() ? -1 : std::stoi(text);
}

}  // namespace tenure::test
