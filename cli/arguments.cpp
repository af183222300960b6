#include "arguments.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/version.hpp>

#include "cli/text/environment.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "cli/text/period_text.hpp"
#include "command_line.hpp"
#include "config/src/duration.hpp"
#include "config/src/store_types.hpp"
#include "config/src/words.hpp"
#include "help_texts.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "store_help.hpp"

namespace tenure::cli {
namespace {

const std::vector<std::string>& commandNames() {
  static const std::vector<std::string> names{"run",    "status",  "check", "doctor", "init", "resign", "pause",
                                              "resume", "history", "watch", "jobs",   "lock", "store",  "fence"};
  return names;
}

const std::vector<std::string>& deeperCommands() {
  static const std::vector<std::string> names{"lock acquire",  "lock renew",        "lock release", "lock hold",
                                              "lock show",     "lock list",         "lock prune",   "fence proxy",
                                              "fence recover", "fence install-sql", "jobs forget",  "store sql"};
  return names;
}

std::chrono::milliseconds durationOf(const std::string& text, const char* option = "--wait") {
  const auto duration = parseDuration(text);
  if (!duration) throw CLI::ValidationError(option, duration.error().message);
  return *duration;
}

/// CLI11 reads `010` as eight, and a token that is copied from a log may have leading zeros.
std::string isPlainNumber(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos && text[0] != '0';
  return plain ? std::string{} : "\"" + text + "\" is not a plain number without leading zeros";
}

/// Empty: all of them.
std::optional<std::chrono::sys_seconds> periodOf(const std::string& text) {
  if (text == "all") return std::nullopt;
  const auto period = periodFrom(text);
  if (!period)
    throw CLI::ValidationError("PERIOD", "\"" + text + "\" is no period; write it as tenure jobs shows it, such as " +
                                             periodText(std::chrono::sys_days{std::chrono::year{2026} / 11 / 21}));
  return *period;
}

/// A name from a variable that is not set must not stand for the group's own lease.
std::string isGiven(const std::string& text) { return text.empty() ? "the name is empty" : std::string{}; }

std::string isStore(const std::string& text) {
  std::vector<std::string> names;
  for (const config::StoreType& type : config::storeTypes()) names.push_back(type.name);
  if (std::find(names.begin(), names.end(), text) != names.end()) return {};
  const std::string why = config::whyWithout(text);
  const std::string allowed = config::listed(names);
  if (!why.empty()) return "\"" + text + "\" is a store that this build does not have (" + why + "); it has " + allowed;
  return "\"" + text + "\" is none of " + allowed;
}

/// Shells replace `~` at the start of a word, and not in `--memory=~/tokens`.
std::string isPath(const std::string& text) { return tenure::faultOfPath(text); }

std::string isGivenText(const std::string& text) { return text.empty() ? "the text is empty" : std::string{}; }

/// Everything that CLI11 fills in, and the CLI11 object itself. The parser is never moved, because CLI11 keeps pointers
/// into it.
class Parser {
 public:
  Parser() {
    app_.set_version_flag("--version", "tenure " + std::string{version});
    app_.require_subcommand(1);
    useHelp(app_, help::program);
    addRun();
    addStatus();
    addCheck();
    addDoctor();
    addInit();
    addResign();
    addPause();
    addHistory();
    addJobs();
    addStore();
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

  CLI::App* addCommand(const char* name, std::string text) {
    CLI::App* command = app_.add_subcommand(name);
    useHelp(*command, std::move(text));
    return command;
  }

  void addConfig(CLI::App* command) { command->add_option("-c,--config", config_); }
  /// New users type `tenure check FILE`. This is not offered for run: there a word whose `--` is missing belongs to the
  /// job.
  void addConfigOrFile(CLI::App* command) {
    addConfig(command);
    command->add_option("FILE", file_);
  }

  void addRun() {
    run_ = addCommand("run", help::run);
    addConfig(run_);
    run_->add_flag("--once", runArguments_.once);
    run_->add_option_function<std::string>("--wait",
                                           [this](const std::string& text) { runArguments_.wait = durationOf(text); });
    run_->add_flag("--busy-ok", runArguments_.busyOk);
    run_->add_option("--http", runArguments_.http)->check(isGivenText);
    run_->add_option("--notify", runArguments_.notify)->check(oneOf({"job"}));
    JobArguments& job = runArguments_.job;
    run_->add_option("--job", job.name)->check(isGiven);
    run_->add_option_function<std::string>("--per",
                                           [&job](const std::string& text) { job.per = durationOf(text, "--per"); });
    run_->add_option("--schedule", job.schedule)->check(isGivenText);
    run_->add_option("--time-zone", job.timeZone)->check(isGivenText);
    run_->add_option("--guarantee", job.guarantee)->check(oneOf({"at_most_once", "at_least_once"}));
    run_->add_option("--missed", job.missed)->check(oneOf({"skip", "once", "all"}));
  }

  void addStatus() {
    status_ = addCommand("status", help::status);
    addConfigOrFile(status_);
    status_->add_flag("--json", statusArguments_.json);
    status_->add_flag("--watch", statusArguments_.watch);
  }

  void addCheck() {
    check_ = addCommand("check", help::check);
    addConfigOrFile(check_);
    check_->add_flag("--connect", checkArguments_.connect);
    check_->add_flag("--effective", checkArguments_.effective);
  }

  void addDoctor() {
    doctor_ = addCommand("doctor", help::doctor);
    addConfigOrFile(doctor_);
    doctor_->add_flag("--json", doctorArguments_.json);
    doctor_->add_flag("--write", doctorArguments_.write);
  }

  void addInit() {
    init_ = addCommand("init", initHelp());
    init_->add_option("FILE", initArguments_.file)->check(isPath);
    init_->add_option("--store", initArguments_.store)->check(isStore);
    init_->add_flag("--force", initArguments_.force);
  }

  void addResign() {
    resign_ = addCommand("resign", help::resign);
    addConfigOrFile(resign_);
    resign_->add_option_function<std::string>(
        "--wait", [this](const std::string& text) { resignArguments_.wait = durationOf(text); });
  }

  void addPause() {
    pause_ = addCommand("pause", help::pause);
    addConfigOrFile(pause_);
    PauseArguments& to = pauseArguments_;
    const auto length = [&to](const std::string& text) {
      to.length = durationOf(text, "--for");
      const bool fits = to.length >= std::chrono::seconds{1} && to.length <= std::chrono::hours{24};
      if (!fits) throw CLI::ValidationError("--for", "must be 1s to 24h; run the command again to make it longer");
    };
    pause_->add_option_function<std::string>("--for", length)->required()->type_name("DURATION");
    pause_->add_option("--why", to.why)->required()->type_name("TEXT");
    addDuration(pause_, "--wait", to.wait);
    resume_ = addCommand("resume", help::resume);
    addConfigOrFile(resume_);
  }

  void addHistory() {
    history_ = addCommand("history", help::history);
    addConfigOrFile(history_);
    history_->add_option("--http", historyArguments_.http)->check(isGivenText);
    history_->add_flag("--json", historyArguments_.json);
    watch_ = addCommand("watch", help::watch);
    addConfigOrFile(watch_);
    watch_->add_option("--http", watchArguments_.http)->check(isGivenText);
  }

  void addJobs() {
    jobs_ = addCommand("jobs", help::jobs);
    addConfigOrFile(jobs_);
    jobs_->add_flag("--json", jobsArguments_.json);
    jobsForget_ = jobs_->add_subcommand("forget");
    useHelp(*jobsForget_, help::jobsForget);
    JobsForgetArguments& forget = jobsForgetArguments_;
    addConfig(jobsForget_);
    jobsForget_
        ->add_option_function<std::string>("PERIOD",
                                           [&forget](const std::string& text) { forget.period = periodOf(text); })
        ->required()
        ->type_name("");
    jobsForget_->add_option("--job", forget.job)->check(isGiven);
    jobsForget_->add_flag("--yes", forget.yes);
    jobsForget_->add_option_function<std::string>(
        "--wait", [&forget](const std::string& text) { forget.wait = durationOf(text); });
  }

  void addStore() {
    CLI::App* store = addCommand("store", help::store);
    store->require_subcommand(1);
    storeSql_ = store->add_subcommand("sql");
    useHelp(*storeSql_, help::storeSql);
    StoreSqlArguments& to = storeSqlArguments_;
    addConfig(storeSql_);
    storeSql_->add_option("--dialect", to.dialect)->check(isGiven);
    storeSql_->add_option("--schema", to.schema)->check(isGiven);
    storeSql_->add_option("--table", to.table)->check(isGiven);
    storeSql_->add_option("--role", to.role)->check(isGiven);
  }

  void addFence() {
    CLI::App* fence = addCommand("fence", help::fence);
    fence->require_subcommand(1);
    fenceInstallSql_ = fence->add_subcommand("install-sql");
    useHelp(*fenceInstallSql_, help::fenceInstallSql);
    FenceInstallSqlArguments& to = fenceInstallSqlArguments_;
    fenceInstallSql_->add_option("--dialect", to.dialect)
        ->required()
        ->type_name("DIALECT")
        ->check(oneOf({"postgresql", "sqlite"}));
    fenceInstallSql_->add_option("--table", to.table)->required()->type_name("TABLE");
    fenceInstallSql_->add_option("--lease", to.lease)->required()->type_name("NAME");
    fenceInstallSql_->add_option("--schema", to.schema);
    fenceInstallSql_->add_option("--token-column", to.tokenColumn);
    fenceProxy_ = fence->add_subcommand("proxy");
    useHelp(*fenceProxy_, help::fenceProxy);
    FenceProxyArguments& proxy = fenceProxyArguments_;
    fenceProxy_->add_option("--listen", proxy.listen)->required()->type_name("ADDRESS:PORT");
    fenceProxy_->add_option("--upstream", proxy.upstream)->required()->type_name("URL");
    fenceProxy_->add_option("--lease", proxy.leases)->required()->type_name("NAME")->allow_extra_args(false);
    fenceProxy_->add_option("--memory", proxy.memory)->required()->type_name("FILE")->check(isPath);
    CLI::Option* keys = fenceProxy_->add_option("--keys", proxy.keys)->check(isPath);
    CLI::Option* audience = fenceProxy_->add_option("--audience", proxy.audience)->needs(keys);
    keys->needs(audience);
    fenceProxy_->add_option("--without-token", proxy.withoutToken)->check(oneOf({"refuse-writes", "refuse", "pass"}));
    fenceProxy_->add_option("--stale-status", proxy.staleStatus)->check(oneOf({"409", "412"}));
    fenceProxy_->add_option("--max-connections", proxy.maxConnections)->check(between(1, 100'000));
    fenceProxy_->add_option("--signed-body-limit", proxy.signedBodyLimit)->check(between(1, 1 << 30));
    addDuration(fenceProxy_, "--client-timeout", proxy.clientTimeout);
    addDuration(fenceProxy_, "--service-timeout", proxy.serviceTimeout);
    addDuration(fenceProxy_, "--drain-timeout", proxy.drainTimeout);
    fenceProxy_->add_option("--log-format", proxy.logFormat)->check(oneOf({"text", "logfmt", "json"}));
    fenceProxy_->add_option("--http", proxy.http)->check(isGivenText);
    addFenceRecover(fence);
  }

  void addFenceRecover(CLI::App* fence) {
    fenceRecover_ = fence->add_subcommand("recover");
    useHelp(*fenceRecover_, help::fenceRecover);
    FenceRecoverArguments& recover = fenceRecoverArguments_;
    fenceRecover_->add_option("-c,--config", config_);
    fenceRecover_->add_option("--token", recover.token)
        ->required()
        ->check(isPlainNumber)
        ->check(between(1, maxFencingToken.value() - 1))
        ->type_name("N");
    fenceRecover_->add_option("--lease", recover.lease)->check(isGiven);
    fenceRecover_->add_option("--resource", recover.resources)->allow_extra_args(false);
    fenceRecover_->add_flag("--yes", recover.yes);
  }

  /// A bound on a time: at least a millisecond.
  static void addDuration(CLI::App* command, const char* option, std::chrono::milliseconds& to) {
    command->add_option_function<std::string>(option, [option, &to](const std::string& text) {
      to = durationOf(text, option);
      if (to.count() == 0) throw CLI::ValidationError(option, "must be longer than 0s");
    });
  }

  /// For a command that needs a group's file: what is wrong with the way it was given, or empty.
  [[nodiscard]] std::string settleConfig();
  [[nodiscard]] std::string faultBehind(const std::string& command, bool bordered);
  [[nodiscard]] Arguments chosen() const {
    if (run_->parsed()) return runArguments_;
    if (status_->parsed()) return statusArguments_;
    if (check_->parsed()) return checkArguments_;
    if (doctor_->parsed()) return doctorArguments_;
    if (init_->parsed()) return initArguments_;
    if (history_->parsed()) return historyArguments_;
    if (watch_->parsed()) return watchArguments_;
    if (jobsForget_->parsed()) return jobsForgetArguments_;
    if (jobs_->parsed()) return jobsArguments_;
    if (pause_->parsed()) return pauseArguments_;
    if (resume_->parsed()) return resumeArguments_;
    if (storeSql_->parsed()) return storeSqlArguments_;
    if (fenceInstallSql_->parsed()) return fenceInstallSqlArguments_;
    if (fenceProxy_->parsed()) return fenceProxyArguments_;
    if (fenceRecover_->parsed()) return fenceRecoverArguments_;
    return resignArguments_;
  }

  CLI::App app_{"", "tenure"};
  CLI::App *run_{}, *status_{}, *check_{}, *doctor_{}, *init_{}, *resign_{}, *pause_{}, *resume_{}, *history_{},
      *watch_{}, *jobs_{}, *jobsForget_{};
  CLI::App *storeSql_{}, *fenceInstallSql_{}, *fenceProxy_{}, *fenceRecover_{};
  std::string config_;  ///< of the command that was given
  std::string file_;
  RunArguments runArguments_;
  StatusArguments statusArguments_;
  CheckArguments checkArguments_;
  DoctorArguments doctorArguments_;
  InitArguments initArguments_;
  ResignArguments resignArguments_;
  HistoryArguments historyArguments_;
  WatchArguments watchArguments_;
  JobsArguments jobsArguments_;
  JobsForgetArguments jobsForgetArguments_;
  PauseArguments pauseArguments_;
  ResumeArguments resumeArguments_;
  StoreSqlArguments storeSqlArguments_;
  FenceInstallSqlArguments fenceInstallSqlArguments_;
  FenceProxyArguments fenceProxyArguments_;
  FenceRecoverArguments fenceRecoverArguments_;
};

std::string Parser::settleConfig() {
  if (!config_.empty() && !file_.empty()) return "give the group's file once: by --config or as FILE";
  if (config_.empty()) config_ = file_.empty() ? environmentText("TENURE_CONFIG") : file_;
  if (config_.empty()) return "give the group's file: --config FILE (or set TENURE_CONFIG); tenure init writes one";
  for (std::string* to :
       {&runArguments_.config, &statusArguments_.config, &checkArguments_.config, &doctorArguments_.config,
        &resignArguments_.config, &pauseArguments_.config, &resumeArguments_.config, &historyArguments_.config,
        &watchArguments_.config, &jobsArguments_.config, &jobsForgetArguments_.config, &storeSqlArguments_.config,
        &fenceRecoverArguments_.config}) {
    *to = config_;
  }
  return {};
}

/// The faults that CLI11 cannot find.
std::string Parser::faultBehind(const std::string& command, bool bordered) {
  const bool byDialect = !storeSqlArguments_.dialect.empty() && config_.empty();
  const bool byAddress = !historyArguments_.http.empty() || !watchArguments_.http.empty();
  if (byAddress && !(config_.empty() && file_.empty())) return "give the address or the group's file, not both";
  const bool needsConfig =
      command != "init" && (command != "fence" || fenceRecover_->parsed()) && !byDialect && !byAddress;
  if (needsConfig) {
    const std::string fault = settleConfig();
    if (!fault.empty())
      return fault + (command == "store"                           ? "; or give --dialect postgresql"
                      : command == "history" || command == "watch" ? "; or give --http ADDRESS"
                                                                   : "");
  }
  if (command != "run") return bordered ? "only run and lock hold take a command after --" : std::string{};
  if (runArguments_.command.empty()) {
    return "give the command to run after --, as in: tenure run --config group.yaml -- ./job";
  }
  if (runArguments_.command.front().empty()) return "the command after -- is empty";
  if (runArguments_.busyOk && !(runArguments_.once && runArguments_.wait)) {
    return "--busy-ok says how the program ends if somebody else leads when the wait is over; give --once and --wait "
           "beside it, as in: --once --wait 0s --busy-ok";
  }
  return faultOf(runArguments_.job);
}

std::variant<Arguments, int> Parser::parse(std::vector<std::string> words) {
  const auto border = std::find(words.begin(), words.end(), "--");
  const bool bordered = border != words.end();
  if (bordered) runArguments_.command.assign(std::next(border), words.end());
  words.erase(border, words.end());
  words = asMeant(std::move(words));
  const std::string command = words.empty() ? "" : words.front();
  if (command == "lock") return lockArguments(std::move(words), bordered);
  if (command.empty()) {
    complain("give a command\n\n" + std::string{help::program});
    return exitUsage;
  }
  const auto& names = commandNames();
  const bool known = std::find(names.begin(), names.end(), command) != names.end();
  if (!known && command.front() != '-') return refuse(unknownCommand(command, names, deeperCommands()), "");
  const std::string deeper = words.size() > 1 ? command + ' ' + words[1] : "";
  const auto& more = deeperCommands();
  const std::string asked = std::find(more.begin(), more.end(), deeper) != more.end() ? deeper : known ? command : "";
  const std::vector<std::string> typed = words;
  try {
    std::reverse(words.begin(), words.end());  // CLI11 wants them in this order
    app_.parse(words);
  } catch (const CLI::Success& wish) {
    std::ostringstream text;  // lint-allow(locale): CLI11 writes words
    app_.exit(wish, text, text);
    return say(text.str()) ? exitOk : exitFailed;
  } catch (const CLI::ParseError& fault) {
    return refuse(faultOf(app_, fault, typed), asked);
  }
  const std::string fault = faultBehind(command, bordered);
  if (!fault.empty()) return refuse(fault, asked);
  return chosen();
}

}  // namespace

std::variant<Arguments, int> parseArguments(std::vector<std::string> words) {
  Parser parser;
  return parser.parse(std::move(words));
}

}  // namespace tenure::cli
