// Which messages a job sends, and what their answers prove.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pg_handles.hpp"

namespace tenure::postgresql_store {

/// The SQL of a statement; with or without the functions that tell the server's history.
using StatementText = std::function<const std::string&(StatementId, bool history)>;

/// One message of a job.
struct Message {
  enum class Part { begin, settings, statement, commit };
  Part part{Part::statement};
  std::string_view sql{};
  const std::vector<Value>* values{nullptr};  ///< null: none
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

  /// What is known now. The account is over.
  [[nodiscard]] JobReply reply();

 private:
  std::vector<Message> messages_;
  std::size_t deciding_{0};  ///< the message whose answer is the outcome: COMMIT
  std::size_t queued_{0};
  std::size_t answered_{0};
  bool decided_{false};     ///< the outcome was answered
  bool rolledBack_{false};  ///< an ERROR before or at the deciding message, or ROLLBACK as its answer
  JobReply reply_{};
};

}  // namespace tenure::postgresql_store
