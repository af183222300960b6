// The commands that do not compete for a lease, with their messages, exit codes and help texts (TENURE_UPDATE=1 writes
// the latter).
#include "cli/commands.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

using CommandsTest = GroupFixture;

TEST_F(CommandsTest, InitWritesAFileThatCheckAccepts) {
  const std::string file = directory_.file("sample.yaml");
  const Finished written = finish({"init", file});
  EXPECT_EQ(written.code, cli::exitOk) << written.errors;
  EXPECT_EQ(written.output, "wrote " + file + "; next: tenure check --config " + file + "\n");
  const Finished checked = finish({"check", "--config", file});
  EXPECT_EQ(checked.code, cli::exitOk) << checked.errors;
  EXPECT_EQ(checked.output.find(file + ": OK: group "), 0U) << checked.output;
}

TEST_F(CommandsTest, InitWritesAFileForTheStoreThatIsAsked) {
  for (const char* store : {"sqlite", "memory", "dynamodb", "postgresql", "etcd", "kubernetes"}) {
    const std::string file = directory_.file(std::string{store} + ".yaml");
    EXPECT_EQ(finish({"init", "--store", store, file}).code, cli::exitOk);
    EXPECT_NE(contentOf(file).find(std::string{"  type: "} + store + "\n"), std::string::npos);
    EXPECT_EQ(finish({"check", "--config", file}).code, cli::exitOk);
  }
  EXPECT_EQ(finish({"init", "-"}).output, finish({"init", "-", "--store", "sqlite"}).output);
  const Finished unknown = finish({"init", "-", "--store", "mongo"});
  EXPECT_EQ(unknown.code, cli::exitUsage);
  EXPECT_NE(unknown.errors.find("--store: \"mongo\" is none of sqlite"), std::string::npos) << unknown.errors;
}

TEST_F(CommandsTest, StoreSqlIsRefusedWhereTheStoreNeedsNone) {
  configure();
  const Finished refused = finish({"store", "sql", "--config", config()});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_EQ(refused.output, "");
  EXPECT_NE(refused.errors.find("group.yaml: store.type sqlite makes what it needs and has no SQL"), std::string::npos)
      << refused.errors;
  const Finished dialect = finish({"store", "sql", "--dialect", "memory"});
  EXPECT_EQ(dialect.code, cli::exitUsage);
  EXPECT_NE(dialect.errors.find("--dialect: store.type memory makes what it needs and has no SQL"), std::string::npos)
      << dialect.errors;
  EXPECT_FALSE(std::filesystem::exists(database()));
}

TEST_F(CommandsTest, InitDoesNotOverwriteUnlessForced) {
  directory_.write("sample.yaml", "mine\n");
  const std::string file = directory_.file("sample.yaml");
  const Finished refused = finish({"init", file});
  EXPECT_EQ(refused.code, cli::exitFailed);
  EXPECT_EQ(refused.errors, "tenure: " + file + ": exists already; give another name, or --force to replace it\n");
  EXPECT_EQ(contentOf(file), "mine\n");
  EXPECT_EQ(finish({"init", "--force", file}).code, cli::exitOk);
  EXPECT_EQ(contentOf(file), finish({"init", "-"}).output) << "- is stdout";
  const Finished nowhere = finish({"init", directory_.file("no/such/directory.yaml")});
  EXPECT_EQ(nowhere.code, cli::exitFailed);
  EXPECT_NE(nowhere.errors.find("cannot be written: No such file or directory"), std::string::npos) << nowhere.errors;
}

TEST_F(CommandsTest, CheckTellsEveryFaultAndTouchesNothing) {
  directory_.write("bad.yaml",
                   "group: g\nstore: { type: sqlite, path: ./x.db }\nlease: { durration: 10s, heartbeat: 5 }\n");
  const Finished bad = finish({"check", "--connect", "--config", directory_.file("bad.yaml")});
  EXPECT_EQ(bad.code, cli::exitUsage);
  EXPECT_EQ(bad.output, "");
  EXPECT_NE(bad.errors.find("bad.yaml:3:10: lease.durration: "), std::string::npos) << bad.errors;
  EXPECT_NE(bad.errors.find("bad.yaml:3:37: lease.heartbeat: "), std::string::npos) << bad.errors;
  EXPECT_NE(bad.errors.find("tenure: 2 faults in "), std::string::npos) << bad.errors;
  EXPECT_FALSE(std::filesystem::exists(directory_.file("x.db")));
  const Finished missing = finish({"check", "--config", directory_.file("none.yaml")});
  EXPECT_EQ(missing.code, cli::exitUsage);
  EXPECT_NE(missing.errors.find("none.yaml"), std::string::npos) << missing.errors;
}

TEST_F(CommandsTest, CheckAcceptsAFileForAnotherPlaceAndSaysWhatIsMissingHere) {
  const auto checked = [&](const std::string& store) {
    directory_.write("group.yaml", "group: g\nstore: { type: kubernetes" + store + " }\n");
    EXPECT_EQ(finish({"check", "--effective", config()}).code, cli::exitOk);
    const Finished check =
        runToEnd(tenure({"check", config()}), {{{"KUBERNETES_SERVICE_HOST", ""}}, directory_.path()});
    EXPECT_EQ(check.code, cli::exitOk) << check.errors;
    return check.errors;
  };
  EXPECT_NE(checked("").find("group.yaml: cannot be used here: Kubernetes store: no server is given"),
            std::string::npos);
  EXPECT_NE(checked(", kubeconfig: ./missing").find("/missing: "), std::string::npos);
}

TEST_F(CommandsTest, ARunOfAGroupWithShardsIsRefusedWithTheWayOut) {
  directory_.write("shards.yaml", "group: g\nshards: { count: 4 }\nstore: { type: sqlite, path: ./x.db }\n");
  const std::string file = directory_.file("shards.yaml");
  EXPECT_EQ(finish({"check", "--config", file}).code, cli::exitOk);
  for (const char* command : {"status", "resign", "resume"}) {
    EXPECT_EQ(finish({command, "--config", file}).code, cli::exitUsage) << command;
  }
  const Finished refused = finish({"run", "--config", file, "--", "touch", directory_.file("touched")});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_NE(refused.errors.find("group g has shards, each with its own lease (g/0, ...)"), std::string::npos)
      << refused.errors;
  EXPECT_NE(refused.errors.find("ShardedElector"), std::string::npos) << refused.errors;
  EXPECT_FALSE(std::filesystem::exists(directory_.file("touched")));
  EXPECT_FALSE(std::filesystem::exists(directory_.file("x.db")));
}

TEST_F(CommandsTest, ARunThatWouldOnlyObserveIsRefusedWithTheWayOut) {
  directory_.write("watch.yaml", "group: g\ncandidate: { mode: observe }\nstore: { type: sqlite, path: ./x.db }\n");
  const std::string file = directory_.file("watch.yaml");
  EXPECT_EQ(finish({"check", "--config", file}).code, cli::exitOk);
  const Finished refused = finish({"run", "--config", file, "--", "touch", directory_.file("touched")});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_NE(refused.errors.find("watch.yaml: candidate.mode is observe"), std::string::npos) << refused.errors;
  EXPECT_NE(refused.errors.find("tenure status --watch"), std::string::npos) << refused.errors;
  EXPECT_FALSE(std::filesystem::exists(directory_.file("touched")));
  EXPECT_FALSE(std::filesystem::exists(directory_.file("x.db")));
}

TEST_F(CommandsTest, EveryCommandRefusesABadFileBeforeItDoesAnything) {
  directory_.write("bad.yaml", "group: g\n");
  const std::string bad = directory_.file("bad.yaml");
  for (const char* command : {"status", "resign", "resume", "check"}) {
    EXPECT_EQ(finish({command, "--config", bad}).code, cli::exitUsage) << command;
  }
  EXPECT_EQ(finish({"run", "--config", bad, "--", "touch", directory_.file("touched")}).code, cli::exitUsage);
  EXPECT_FALSE(std::filesystem::exists(directory_.file("touched")));
}

TEST_F(CommandsTest, CheckConnectsOnlyWhenAsked) {
  configure();
  EXPECT_EQ(finish({"check", "--config", config()}).code, cli::exitOk);
  EXPECT_FALSE(std::filesystem::exists(database()));
  const Finished connected = finish({"check", "--connect", "--config", config()});
  EXPECT_EQ(connected.code, cli::exitOk) << connected.errors;
  EXPECT_NE(connected.output.find(", which is reached and ready\n"), std::string::npos) << connected.output;
  EXPECT_FALSE(std::filesystem::exists(database())) << "the first candidate makes it, as its own user";
}

TEST_F(CommandsTest, AStoreErrorHasAnExitCodeOfItsOwn) {
  configure();
  directory_.write("leases.db",
                   "this is certainly no database, and no database ever will it be, as far as one can see\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"check", "--connect"},
                                                {"status"},
                                                {"resign"},
                                                {"resume"},
                                                {"pause", "--for", "1m", "--why", "x"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--config", config()});
    const Finished failed = finish(all);
    EXPECT_EQ(failed.code, cli::exitStore) << words.front() << ": " << failed.errors;
    const std::string where = words.front() == "check" ? config() + ": is broken: " : "";
    EXPECT_EQ(failed.errors.find("tenure: " + where + "sqlite " + database() + ": "), 0U) << failed.errors;
  }
}

TEST_F(CommandsTest, CheckPrintsTheEffectiveConfigurationWhichLoadsAgain) {
  configure();
  const Finished effective = finish({"check", "--effective", "--config", config()});
  EXPECT_EQ(effective.code, cli::exitOk) << effective.errors;
  EXPECT_NE(effective.output.find("heartbeat: 300ms"), std::string::npos) << effective.output;
  directory_.write("again.yaml", effective.output);
  EXPECT_EQ(finish({"check", "--effective", "--config", directory_.file("again.yaml")}).output, effective.output);
}

TEST_F(CommandsTest, NobodyLeadsIsAnAnswer) {
  configure();
  const Finished status = finish({"status", "--config", config()});
  EXPECT_EQ(status.code, cli::exitNobody) << status.errors;
  EXPECT_NE(status.output.find("no leader; there has been none yet"), std::string::npos) << status.output;
  const Finished json = finish({"status", "--json", "--config", config()});
  EXPECT_EQ(json.code, cli::exitNobody);
  EXPECT_EQ(json.output.find(R"({"group":"test-group","state":"none","leader":null,"last_leader":null,)"), 0U)
      << json.output;
  const Finished resign = finish({"resign", "--config", config()});
  EXPECT_EQ(resign.code, cli::exitNobody);
  EXPECT_EQ(resign.errors, "tenure: there is no leader of test-group\n");
}

/// A name may come from a variable. One with line breaks is refused, and must not write lines of its own.
TEST_F(CommandsTest, NamesWithControlCharactersAreRefusedInOneLine) {
  directory_.write("group.yaml", "group: \"a\\nb\"\nstore: { type: sqlite, path: ./leases.db }\n");
  for (const char* command : {"check", "status", "resign"}) {
    const Finished refused = finish({command, config()});
    EXPECT_EQ(refused.code, cli::exitUsage) << command;
    const std::string text = refused.output + refused.errors;
    EXPECT_NE(text.find("holds U+000A LINE FEED as character 2"), std::string::npos) << text;
    EXPECT_EQ(text.find("a\nb"), std::string::npos) << text;
  }
}

TEST_F(CommandsTest, ConfigMayComeFromTheEnvironment) {
  configure();
  SubprocessOptions options = as("a");
  options.environment["TENURE_CONFIG"] = config();
  EXPECT_EQ(runToEnd(tenure({"check"}), options).code, cli::exitOk);
}

struct Wrong {
  std::vector<std::string> words;
  std::string says;
};

TEST_F(CommandsTest, WrongArgumentsAreToldInPlainWords) {
  configure();
  const std::vector<Wrong> all{
      {{"statsu"}, "there is no command \"statsu\"; did you mean \"status\"?"},
      {{""}, "there is no command \"\"; the commands are init"},
      {{"help", "jobs", "forgett"}, "there is no command \"forgett\"; did you mean \"forget\"?"},
      {{"jobs", "--json", "--config", config(), "forget", "all"},
       "--json is an option of tenure jobs, not of tenure jobs forget"},
      {{"fence", "recover", "--token", "1", "--lease", "", "--yes"}, "--lease: the name is empty"},
      {{"status"}, "give the group's file: --config FILE (or set TENURE_CONFIG); tenure init writes one"},
      {{"status", "--config"}, "--config"},
      {{"status", "--config", config(), "--jsno"}, "--jsno"},
      {{"status", "--config", config(), "--json=on"}, "--json takes no value"},
      {{"run", "--config", config(), "--once=false", "--", "true"}, "--once takes no value"},
      {{"run", "--config", config()}, "give the command to run after --"},
      {{"run", "--config", config(), "--"}, "give the command to run after --"},
      {{"run", "--config", config(), "job"}, "job"},
      {{"run", "--config", config(), "--wait", "10", "--", "true"}, "unit"},
      {{"resign", "--config", config(), "--wait", "soon"}, "soon"},
      {{"store"}, "give a command: sql"},
      {{"store", "sql"}, "give the group's file: --config FILE (or set TENURE_CONFIG)"},
      {{"store", "sql"}, "; or give --dialect postgresql"},
      {{"store", "sql", "--dialect", "oracle"}, "--dialect: \"oracle\" is not known"},
      {{"store", "sql", "--dialect", ""}, "--dialect: the name is empty"},
      {{"fence"}, "give a command: install-sql, proxy or recover"},
      {{"fence", "install-sql", "--dialect", "oracle", "--table", "t", "--lease", "l"}, "oracle"},
      {{"fence", "install-sql", "--dialect", "sqlite", "--lease", "l"}, "--table"},
      {{"fence", "install-sql", "--dialect", "sqlite", "--table", "", "--lease", "l"}, "the table is empty"},
      {{"fence", "install-sql", "--dialect", "sqlite", "--table", "t", "--lease", "bill\u200bing"}, "U+200B"},
      {{"fence", "install-sql", "--dialect", "postgresql", "--table", "t", "--lease", "bill\u00a0ing"}, "U+00A0"},
      {{"fence", "install-sql", "--dialect", "sqlite", "--table", "t", "--lease", "l", "--schema", "s"},
       "--schema is for postgresql"},
      {{"fence", "install-sql", "--dialect", "postgresql", "--table", "t", "--lease", "l", "--token-column", "c"},
       "--token-column is for sqlite"},
      {{"fence", "install-sql", "--dialect", "postgresql", "--table", "app.t", "--lease", "l"},
       "give --schema app --table t"},
      {{"fence", "install-sql", "--dialect", "postgresql", "--table", std::string(64, 't'), "--lease", "l"},
       "64 bytes"},
      {{"check", "--config", config(), "--", "true"}, "only run and lock hold take a command after --"},
  };
  for (const Wrong& wrong : all) {
    const Finished refused = finish(wrong.words);
    EXPECT_EQ(refused.code, cli::exitUsage) << wrong.says;
    const bool json = std::find(wrong.words.begin(), wrong.words.end(), "--json") != wrong.words.end();
    EXPECT_EQ(refused.output.empty(), !json) << refused.output;
    EXPECT_NE(refused.errors.find(wrong.says), std::string::npos) << refused.errors;
    EXPECT_NE(refused.errors.find("tenure: see: tenure "), std::string::npos) << refused.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(database()));
}

/// A program reads stdout alone.
TEST_F(CommandsTest, WrongArgumentsBesideJsonAreToldInJson) {
  configure();
  for (const std::vector<std::string>& words : {std::vector<std::string>{"status", "--json"},
                                                {"status", config(), "--json", "--wacth"},
                                                {"status", config(), "--json=true", "--wacth"},
                                                {"status", config(), "--json=", "--wacth"},
                                                {"jobs", "--json", "--config", config(), "forget", "all"},
                                                {"lock", "acquire", "--path", database(), "--json"}}) {
    const Finished refused = finish(words);
    EXPECT_EQ(refused.code, cli::exitUsage);
    EXPECT_EQ(refused.output.find(R"({"error":")"), 0U) << refused.output << refused.errors;
    EXPECT_TRUE(refused.output.ends_with(R"(","exit_code":2})"
                                         "\n"))
        << refused.output;
  }
  EXPECT_EQ(finish({"check", "--config", config(), "--", "--json"}).output, "") << "that is a word of a job";
}

TEST_F(CommandsTest, VersionIsTold) {
  const Finished told = finish({"--version"});
  EXPECT_EQ(told.code, cli::exitOk);
  EXPECT_EQ(told.output, std::string{"tenure "} + TENURE_VERSION + "\n");
}

std::vector<std::string> optionsIn(const std::string& help) {
  std::vector<std::string> out;
  std::istringstream words{help.substr(0, help.find("\nExit codes"))};
  for (std::string word; words >> word;) {
    const std::size_t end = word.find_last_not_of("],.;)");
    const std::size_t begin = word.find_first_not_of("[(");
    if (end == std::string::npos || begin == std::string::npos) continue;
    word = word.substr(begin, end + 1 - begin);
    if (word.starts_with("--") && word.size() > 2 && word != "--help") out.push_back(word);
  }
  return out;
}

/// As the page has it. The second run fails after it has removed the old triggers, since the table has another name.
TEST_F(CommandsTest, AFenceWhoseScriptFailsIsAsItWas) {
  const std::string page = contentOf(SOURCE_TREE "/docs/fencing/sqlite.md");
  const std::size_t begin = page.find("tenure fence install-sql --dialect sqlite");
  std::string command = page.substr(begin, page.find("\n```", begin) - begin);
  command.replace(0, 6, TENURE_PROGRAM);
  command.replace(command.find("app.db"), 6, database());
  const auto sql = [&](const std::string& text) {
    return runToEnd({"sqlite3", database(), text}, as("tester")).output;
  };
  sql("CREATE TABLE payments(id INTEGER PRIMARY KEY, term INTEGER)");
  ASSERT_EQ(runToEnd({"sh", "-c", command}, as("tester")).code, 0);
  const std::string triggers = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'";
  const std::string before = sql(triggers);
  EXPECT_NE(before, "0\n");
  sql("ALTER TABLE payments RENAME TO paid");
  EXPECT_NE(runToEnd({"sh", "-c", command}, as("tester")).code, 0);
  EXPECT_EQ(sql(triggers), before);
}

/// "fence install-sql" as the words of a command line.
std::vector<std::string> wordsOf(const std::string& command) {
  std::istringstream in{command};
  return {std::istream_iterator<std::string>{in}, {}};
}

std::string nameOf(std::string command) {
  std::replace_if(
      command.begin(), command.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return command;
}

class HelpTest : public GroupFixture, public ::testing::WithParamInterface<std::string> {};

TEST_P(HelpTest, IsAsAgreed) {
  const std::string command = GetParam();
  std::vector<std::string> words{"--help"};
  const std::vector<std::string> before = command == "program" ? std::vector<std::string>{} : wordsOf(command);
  words.insert(words.begin(), before.begin(), before.end());
  const Finished help = finish(words);
  EXPECT_EQ(help.code, cli::exitOk);
  EXPECT_EQ(help.errors, "");
  const std::string golden = std::string{CLI_GOLDEN} + "/help_" + nameOf(command) + ".txt";
  if (std::getenv("TENURE_UPDATE") != nullptr) std::ofstream{golden} << help.output;
  EXPECT_EQ(help.output, contentOf(golden));
  std::istringstream lines{help.output};
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

/// Running text and examples are written by hand: the parser must know each option in them.
TEST_P(HelpTest, TellsOnlyOptionsThatThereAre) {
  const std::string command = GetParam();
  const std::vector<cli::Command> all = cli::commands();
  const auto isThis = [&](const cli::Command& one) { return one.name == command && one.options; };
  if (std::none_of(all.begin(), all.end(), isThis)) return;  // commands follow, no options
  std::vector<std::string> words = wordsOf(command);
  words.insert(words.end(), {"", "--help"});
  std::string& option = words[words.size() - 2];
  option = "--help";
  const std::string help = finish(words).output;
  const std::vector<std::string> options = optionsIn(help);
  EXPECT_FALSE(options.empty());
  for (const std::string& told : options) {
    option = told;
    const Finished tried = finish(words);
    EXPECT_EQ(tried.errors.find("there is no option"), std::string::npos) << told << ": " << tried.errors;
  }
}

bool isBelow(const cli::Command& command, const std::string& name) {
  const std::size_t blank = command.name.rfind(' ');
  return !command.name.empty() && name == (blank == std::string::npos ? "" : command.name.substr(0, blank));
}

/// As in `tenure jobs --config FILE forget --help`.
TEST_P(HelpTest, OptionsMayStandBeforeTheNameOfACommandBelow) {
  const std::string name = GetParam() == "program" ? "" : GetParam();
  const auto helpBehind = [&](std::vector<std::string> words) {
    words.emplace_back("--help");
    return finish(words).output;
  };
  std::vector<std::vector<std::string>> given{{"--help"}};
  for (const std::string& option : name == "jobs" ? optionsIn(helpBehind({name})) : std::vector<std::string>{}) {
    given.push_back(option == "--config" ? std::vector<std::string>{option, config()} : std::vector{option});
  }
  for (const cli::Command& below : cli::commands()) {
    if (!isBelow(below, name)) continue;
    for (const std::vector<std::string>& options : given) {
      std::vector<std::string> words = wordsOf(name);
      words.insert(words.end(), options.begin(), options.end());
      words.push_back(wordsOf(below.name).back());
      EXPECT_EQ(helpBehind(words), helpBehind(wordsOf(below.name))) << below.name << ": " << options.front();
    }
  }
}

std::vector<std::string> namesOfCommands() {
  std::vector<std::string> names;
  for (const cli::Command& one : cli::commands()) names.push_back(one.name.empty() ? "program" : one.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Commands, HelpTest, ::testing::ValuesIn(namesOfCommands()),
                         [](const auto& instance) { return nameOf(instance.param); });

}  // namespace
}  // namespace tenure::test
