#include <fmt/core.h>

#include "fenced_file.hpp"

namespace tenure::chaos {
namespace {

class RowJob final : public Job {
 public:
  explicit RowJob(const JobSettings& settings)
      : files_{settings.directory,
               "CREATE TABLE IF NOT EXISTS ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL, "
               "holder TEXT NOT NULL)"},
        dawdler_{settings.step} {}

  void run(const Leadership& term, const EventLog& events) override {
    const std::stop_token stop = term.stopToken();
    long accepted = 0;
    Written last = Written::done;
    while (last != Written::refused && !stop.stop_requested()) {
      if (term.leads()) {
        dawdler_.wait();
        last = append(term, events);
        accepted += last == Written::done ? 1 : 0;
      } else {
        dawdler_.wait();  // it no longer leads: until the stop token says so, too
      }
    }
    if (last != Written::refused) accepted += append(term, events) == Written::done ? 1 : 0;
    events.tell("rows", fmt::format(",\"token\":{},\"accepted\":{}", term.fencingToken().value(), accepted));
  }

 private:
  Written append(const Leadership& term, const EventLog& events) {
    const std::string insert =
        fmt::format("INSERT INTO ledger(token, holder) VALUES({}, '{}')", term.fencingToken().value(), term.holder());
    if (execute(files_.plain(), insert) != SQLITE_OK) {
      events.tell("plain_error", ",\"message\":" + jsonQuoted(sqlite3_errmsg(files_.plain())));
    }
    return files_.write(term, events, [&](sqlite3* db) { return execute(db, insert); });
  }

  FencedFile files_;
  Dawdler dawdler_;
};

}  // namespace

std::unique_ptr<Job> makeRowJob(const JobSettings& settings) { return std::make_unique<RowJob>(settings); }

}  // namespace tenure::chaos
