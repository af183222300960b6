// Which messages a job sends, what their answers prove, and what is prepared by them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pg_handles.hpp"

namespace tenure::postgresql_store {

/// The SQL of a statement; with or without the functions that tell the server's history.
using StatementText = std::function<const std::string&(StatementId, bool history)>;

/// One message of a job.
struct Message {
  enum class Part { begin, settings, prepare, statement, commit };
  Part part{Part::statement};
  std::string_view sql{};
  const std::vector<Value>* values{nullptr};  ///< null: none
  std::string name{};                         ///< of what is prepared, or was; empty: it has none
};

/// What each transaction sets for itself, whatever the defaults of the role and the database are. `serverVersion`: as
/// PQserverVersion() says.
[[nodiscard]] std::string_view settingsText(int serverVersion);
/// Its values: mode of commit, times in milliseconds. `inTime` is what the job has left.
[[nodiscard]] std::vector<Value> transactionSettings(const std::string& commitMode, std::chrono::nanoseconds inTime,
                                                     std::optional<std::chrono::milliseconds> lockWait);

/// The messages of a job in their order. The job, the texts and `settings` must outlive them.
[[nodiscard]] std::vector<Message> messagesOf(const Job& job, const StatementText& text, std::string_view settingsSql,
                                              const std::vector<Value>& settings);

/// Books the answers of one job. It concludes from nothing but them, and from how far the messages were queued.
class JobAccount {
 public:
  explicit JobAccount(std::vector<Message> messages);

  [[nodiscard]] const std::vector<Message>& messages() const noexcept { return messages_; }

  /// This many messages were queued, so they may have left.
  void queued(std::size_t count) noexcept { queued_ = count; }

  /// A part of the answer to the first unanswered message.
  void take(const PGresult& result);
  /// Its answer is complete.
  void next() noexcept { ++answered_; }
  /// Something that the server said beside the answers.
  void notice(const PGresult& result);

  /// The error's SQLSTATE; empty: there was none.
  [[nodiscard]] std::string errorState() const;
  /// The server's process that has answered; 0: it did not say.
  [[nodiscard]] int serverProcess() const noexcept { return serverProcess_; }
  /// The messages that have prepared something.
  [[nodiscard]] const std::vector<const Message*>& prepared() const noexcept { return prepared_; }
  /// What was prepared before is not there, or does not fit the table any more. The transaction was rolled back.
  [[nodiscard]] bool lacksPrepared() const;

  /// What is known now. The account is over.
  [[nodiscard]] JobReply reply();

 private:
  std::vector<Message> messages_;
  std::size_t deciding_{0};  ///< the message whose answer is the outcome: COMMIT
  std::size_t queued_{0};
  std::size_t answered_{0};
  bool decided_{false};     ///< the outcome was answered
  bool rolledBack_{false};  ///< an ERROR before or at the deciding message, or ROLLBACK as its answer
  int serverProcess_{0};
  std::vector<const Message*> prepared_{};
  const Message* failed_{nullptr};  ///< to which the first error was the answer
  JobReply reply_{};
};

/// Most of what a small transaction costs the server is to parse and plan it again. So each statement with values is
/// prepared by the first job that sends it. Not behind a pooler, which may give each transaction to another process of
/// the server: sooner or later one answers that is not the one to which the connection was opened. Until then a
/// process may have what another client has prepared. So a name says all of its text.
class PreparedStatements {
 public:
  /// The same messages, where the statements are used by name; before those that have none yet, what gives them one.
  [[nodiscard]] std::vector<Message> in(std::vector<Message> messages);

  /// `serverProcess`: to which the connection was opened.
  void learn(const JobAccount& account, int serverProcess);

 private:
  bool direct_{false};
  bool useless_{false};  ///< what was prepared is not there
  std::set<std::string> names_{};
};

}  // namespace tenure::postgresql_store
