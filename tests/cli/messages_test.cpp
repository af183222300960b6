// The exact messages of the program for wrong input: golden/messages.txt contains the commands and their output on
// stderr. TENURE_UPDATE=1 writes it again.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>

#include "cli/subprocess.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::test {
namespace {

struct Shown {
  std::string command;   ///< the text after "$ tenure"
  std::string expected;  ///< up to the next command
};

std::string goldenFile() { return std::string{CLI_GOLDEN} + "/messages.txt"; }

/// Keeps comment lines before the first command.
std::vector<Shown> shownIn(std::istream& in, std::string& head) {
  constexpr std::string_view prompt = "$ tenure";
  std::vector<Shown> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(prompt)) {
      out.push_back({line.substr(prompt.size()), {}});
    } else {
      (out.empty() ? head : out.back().expected) += line + '\n';
    }
  }
  return out;
}

/// Splits the words as a shell does, with '...' around texts that are empty or contain blanks.
std::vector<std::string> wordsIn(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool open = false, quoted = false;
  for (const char c : command + ' ') {
    if (c == '\'') {
      quoted = !quoted;
      open = true;
    } else if (c != ' ' || quoted) {
      word += c;
      open = true;
    } else if (open) {
      words.push_back(std::exchange(word, {}));
      open = false;
    }
  }
  return words;
}

class Messages : public testing::Test {
 protected:
  Messages() {
    write("group.yaml", "group: billing\nlease: { duration: 2s }\nstore: { type: sqlite, path: ./leases.db }\n");
    write("no_colon.yaml", "group billing\nstore: { type: sqlite, path: ./leases.db }\n");
    write("jobs.yaml",
          "group: billing\nstore: { type: sqlite, path: ./leases.db }\njobs:\n"
          "  nightly: { per: 24h }\n  replaced: { per: 1h, overlap: replace }\n");
    write("deletes.yaml", "group: billing\nstore: { type: dynamodb, table: leases, delete_on_release: true }\n");
    write("postgresql.yaml", "group: billing\nstore: { type: postgresql, connection: dbname=jobs }\n");
    write("job.sh", "#!/bin/sh\n");
    write("not_executable.sh", "#!/bin/sh\n", 0644);
    write("no_interpreter.sh", "#!/no/such/interpreter -x\n");
    mkdir(directory_.file("folder").c_str(), 0755);
    std::string many = "group: billing\nstore: { type: sqlite, path: ./leases.db }\n";
    for (int i = 0; i < 30; ++i) many += "wrong" + std::to_string(i) + ": 1\n";
    write("many.yaml", many);
  }

  void write(const std::string& name, const std::string& text, mode_t mode = 0755) const {
    std::ofstream{directory_.file(name)} << text;
    chmod(directory_.file(name).c_str(), mode);
  }

  [[nodiscard]] std::string said(const std::string& command) const {
    std::vector<std::string> words = wordsIn(command);
    words.insert(words.begin(), TENURE_PROGRAM);
    SubprocessOptions options;
    options.workingDirectory = directory_.file("");
    const Finished done = runToEnd(words, options);
    EXPECT_EQ(done.output, "") << command;
    return done.errors + "=> " + std::to_string(done.code) + "\n\n";
  }

  TemporaryDirectory directory_;
};

TEST_F(Messages, AreWordForWordAsAgreed) {
  std::ifstream in{goldenFile()};
  std::string head;
  const std::vector<Shown> all = shownIn(in, head);
  EXPECT_GE(all.size(), 30U);
  std::string anew = head;
  for (const Shown& shown : all) {
    const std::string now = said(shown.command);
    EXPECT_EQ(now, shown.expected) << "tenure" << shown.command;
    anew += "$ tenure" + shown.command + '\n' + now;
  }
  if (std::getenv("TENURE_UPDATE") != nullptr) std::ofstream{goldenFile()} << anew;
  EXPECT_NE(std::ifstream{directory_.file("leases.db")}.good(), true) << "what is wrong is refused before anything";
}

}  // namespace
}  // namespace tenure::test
