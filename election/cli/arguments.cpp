// The one file that sees CLI11.
#include "arguments.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <CLI/CLI.hpp>

#include <tenure/config/duration.hpp>
#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/version.hpp>

#include "exit_codes.hpp"
#include "help_texts.hpp"
#include "output.hpp"

namespace tenure::cli {
namespace {

constexpr std::array commandNames{"run", "status", "check", "init", "resign", "lock", "fence"};

std::chrono::milliseconds durationOf(const std::string& text, const char* option = "--wait") {
  const auto duration = parseDuration(text);
  if (!duration) throw CLI::ValidationError(option, duration.error().message);
  return *duration;
}

/// CLI11 reads `010` as eight, and a token that is copied from a log may have zeros in front.
std::string isPlainNumber(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos && text[0] != '0';
  return plain ? std::string{} : "\"" + text + "\" is not written as a plain number, without zeros in front";
}

/// Everything that CLI11 fills in, and the CLI11 object that does. Stays where it is: CLI11 keeps pointers into it.
class Parser {
 public:
  Parser() {
    app_.set_version_flag("--version", "tenure " + std::string{version});
    app_.require_subcommand(1);
    useHelp(&app_, help::program);
    addRun();
    addStatus();
    addCheck();
    addInit();
    addResign();
    addFence();
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  std::variant<Arguments, int> parse(std::vector<std::string> words);

 private:
  /// `tenure lock` has commands of its own.
  [[nodiscard]] std::variant<Arguments, int> lockArguments(std::vector<std::string> words, bool bordered) const {
    words.erase(words.begin());
    const auto parsed =
        parseLockArguments(std::move(words), bordered ? std::optional{runArguments_.command} : std::nullopt);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    return std::get<LockArguments>(parsed);
  }

  /// The texts are written by hand; a test holds them against the options.
  static void useHelp(CLI::App* app, const char* text) {
    app->set_help_flag("-h,--help");
    app->formatter_fn([text](const CLI::App*, const std::string&, CLI::AppFormatMode) { return std::string{text}; });
  }

  CLI::App* addCommand(const char* name, const char* text) {
    CLI::App* command = app_.add_subcommand(name);
    useHelp(command, text);
    return command;
  }

  static void addConfig(CLI::App* command, std::string& config) {
    command->add_option("-c,--config", config)->envname("TENURE_CONFIG");
  }

  void addRun() {
    run_ = addCommand("run", help::run);
    addConfig(run_, runArguments_.config);
    run_->add_flag("--once", runArguments_.once);
    run_->add_option_function<std::string>("--wait",
                                           [this](const std::string& text) { runArguments_.wait = durationOf(text); });
  }

  void addStatus() {
    status_ = addCommand("status", help::status);
    addConfig(status_, statusArguments_.config);
    status_->add_flag("--json", statusArguments_.json);
    status_->add_flag("--watch", statusArguments_.watch);
  }

  void addCheck() {
    check_ = addCommand("check", help::check);
    addConfig(check_, checkArguments_.config);
    check_->add_flag("--connect", checkArguments_.connect);
    check_->add_flag("--effective", checkArguments_.effective);
  }

  void addInit() {
    init_ = addCommand("init", help::init);
    init_->add_option("FILE", initArguments_.file);
    init_->add_flag("--force", initArguments_.force);
  }

  void addResign() {
    resign_ = addCommand("resign", help::resign);
    addConfig(resign_, resignArguments_.config);
    resign_->add_option_function<std::string>(
        "--wait", [this](const std::string& text) { resignArguments_.wait = durationOf(text); });
  }

  void addFence() {
    CLI::App* fence = addCommand("fence", help::fence);
    fence->require_subcommand(1);
    fenceInstallSql_ = fence->add_subcommand("install-sql");
    useHelp(fenceInstallSql_, help::fenceInstallSql);
    FenceInstallSqlArguments& to = fenceInstallSqlArguments_;
    fenceInstallSql_->add_option("--dialect", to.dialect)->required()->check(CLI::IsMember({"postgresql", "sqlite"}));
    fenceInstallSql_->add_option("--table", to.table)->required();
    fenceInstallSql_->add_option("--lease", to.lease)->required();
    fenceInstallSql_->add_option("--schema", to.schema);
    fenceInstallSql_->add_option("--token-column", to.tokenColumn);
    fenceProxy_ = fence->add_subcommand("proxy");
    useHelp(fenceProxy_, help::fenceProxy);
    FenceProxyArguments& proxy = fenceProxyArguments_;
    fenceProxy_->add_option("--listen", proxy.listen)->required();
    fenceProxy_->add_option("--upstream", proxy.upstream)->required();
    fenceProxy_->add_option("--lease", proxy.leases)->required()->allow_extra_args(false);
    fenceProxy_->add_option("--memory", proxy.memory)->required();
    CLI::Option* keys = fenceProxy_->add_option("--keys", proxy.keys);
    CLI::Option* audience = fenceProxy_->add_option("--audience", proxy.audience)->needs(keys);
    keys->needs(audience);
    fenceProxy_->add_option("--without-token", proxy.withoutToken)
        ->check(CLI::IsMember({"refuse-writes", "refuse", "pass"}));
    fenceProxy_->add_option("--stale-status", proxy.staleStatus)->check(CLI::IsMember({409, 412}));
    fenceProxy_->add_option("--max-connections", proxy.maxConnections)->check(CLI::Range(1, 100'000));
    fenceProxy_->add_option("--signed-body-limit", proxy.signedBodyLimit)->check(CLI::Range(1, 1 << 30));
    addDuration(fenceProxy_, "--client-timeout", proxy.clientTimeout);
    addDuration(fenceProxy_, "--service-timeout", proxy.serviceTimeout);
    addDuration(fenceProxy_, "--drain-timeout", proxy.drainTimeout);
    addFenceRecover(fence);
  }

  void addFenceRecover(CLI::App* fence) {
    fenceRecover_ = fence->add_subcommand("recover");
    useHelp(fenceRecover_, help::fenceRecover);
    FenceRecoverArguments& recover = fenceRecoverArguments_;
    fenceRecover_->add_option("-c,--config", recover.config)->envname("TENURE_CONFIG")->required();
    fenceRecover_->add_option("--token", recover.token)
        ->required()
        ->check(isPlainNumber)
        ->check(CLI::Range(std::uint64_t{1}, maxFencingToken.value() - 1));
    fenceRecover_->add_option("--lease", recover.lease);
    fenceRecover_->add_option("--resource", recover.resources)->allow_extra_args(false);
    fenceRecover_->add_flag("--yes", recover.yes);
  }

  /// A bound of some time: at least a millisecond.
  static void addDuration(CLI::App* command, const char* option, std::chrono::milliseconds& to) {
    command->add_option_function<std::string>(option, [option, &to](const std::string& text) {
      to = durationOf(text, option);
      if (to.count() == 0) throw CLI::ValidationError(option, "must be longer than 0s");
    });
  }

  [[nodiscard]] const std::string& configOf(const std::string& command) const {
    if (command == "run") return runArguments_.config;
    if (command == "status") return statusArguments_.config;
    return command == "check" ? checkArguments_.config : resignArguments_.config;
  }

  [[nodiscard]] Arguments chosen() const {
    if (run_->parsed()) return runArguments_;
    if (status_->parsed()) return statusArguments_;
    if (check_->parsed()) return checkArguments_;
    if (init_->parsed()) return initArguments_;
    if (fenceInstallSql_->parsed()) return fenceInstallSqlArguments_;
    if (fenceProxy_->parsed()) return fenceProxyArguments_;
    if (fenceRecover_->parsed()) return fenceRecoverArguments_;
    return resignArguments_;
  }

  CLI::App app_{"", "tenure"};
  CLI::App *run_{}, *status_{}, *check_{}, *init_{}, *resign_{}, *fenceInstallSql_{}, *fenceProxy_{}, *fenceRecover_{};
  RunArguments runArguments_;
  StatusArguments statusArguments_;
  CheckArguments checkArguments_;
  InitArguments initArguments_;
  ResignArguments resignArguments_;
  FenceInstallSqlArguments fenceInstallSqlArguments_;
  FenceProxyArguments fenceProxyArguments_;
  FenceRecoverArguments fenceRecoverArguments_;
};

int refuse(const std::string& message, const std::string& command) {
  complain(message);
  complain("see: tenure " + (command.empty() ? "" : command + ' ') + "--help");
  return exitUsage;
}

std::variant<Arguments, int> Parser::parse(std::vector<std::string> words) {
  const auto border = std::find(words.begin(), words.end(), "--");
  const bool bordered = border != words.end();
  if (bordered) runArguments_.command.assign(std::next(border), words.end());
  words.erase(border, words.end());
  const std::string command = words.empty() ? "" : words.front();
  if (command == "lock") return lockArguments(std::move(words), bordered);
  const bool known = std::find(commandNames.begin(), commandNames.end(), command) != commandNames.end();
  if (command.empty()) return refuse("give a command: run, lock, status, check, init, resign or fence", "");
  if (!known && command.front() != '-') {
    return refuse(
        "there is no command \"" + command + "\"; the commands are run, lock, status, check, init, resign, fence", "");
  }
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app_.parse(words);
  } catch (const CLI::Success& wish) {
    app_.exit(wish);
    return exitOk;
  } catch (const CLI::ParseError& fault) {
    return refuse(fault.what(), known ? command : "");
  }
  if (known && command != "init" && command != "fence" && configOf(command).empty()) {
    return refuse("give the group's file: --config FILE (or set TENURE_CONFIG); tenure init writes one", command);
  }
  if (command == "run" && runArguments_.command.empty()) {
    return refuse("give the command to run after --, as in: tenure run --config group.yaml -- ./job", command);
  }
  if (command != "run" && bordered) return refuse("only run and lock hold take a command after --", command);
  return chosen();
}

}  // namespace

std::variant<Arguments, int> parseArguments(std::vector<std::string> words) {
  Parser parser;
  return parser.parse(std::move(words));
}

}  // namespace tenure::cli
