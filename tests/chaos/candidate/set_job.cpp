#include <fmt/core.h>

#include "fenced_file.hpp"

namespace tenure::chaos {
namespace {

constexpr const char* readSet = "SELECT elements FROM jepsen";

int writeSet(sqlite3* db, const std::string& elements) {
  return execute(db, fmt::format("UPDATE jepsen SET elements = '{}'", elements));
}

class SetJob final : public Job {
 public:
  explicit SetJob(const JobSettings& settings)
      : files_{settings.directory,
               "CREATE TABLE IF NOT EXISTS jepsen(id INTEGER PRIMARY KEY CHECK(id = 0), elements TEXT NOT NULL); "
               "INSERT OR IGNORE INTO jepsen VALUES(0, '')"},
        name_{settings.name},
        dawdler_{settings.step} {}

  void run(const Leadership& term, const EventLog& events) override {
    const std::stop_token stop = term.stopToken();
    bool admitted = true;
    while (admitted && !stop.stop_requested()) {
      admitted = addOne(term, events);
      // Otherwise a successor is nearly always between its own read and write, and repairs what a stale write breaks.
      dawdler_.wait();
    }
  }

 private:
  struct Set {
    Written read{Written::error};
    std::string elements;
  };

  /// False once the fence has refused this term.
  bool addOne(const Leadership& term, const EventLog& events) {
    if (!term.leads()) {
      dawdler_.wait();
      return true;
    }
    const Set fenced = readFenced(term, events);
    const std::optional<std::string> plain = readText(files_.plain(), readSet);
    dawdler_.wait();
    const std::string element = fmt::format("{}.{}.{}", name_, term.fencingToken().value(), next_++);
    if (plain && writeSet(files_.plain(), *plain + element + ' ') == SQLITE_OK) tellAdded("unfenced", element, events);
    if (fenced.read != Written::done) return fenced.read != Written::refused;
    const std::string more = fenced.elements + element + ' ';
    const Written added = files_.write(term, events, [&](sqlite3* db) { return writeSet(db, more); });
    if (added == Written::done) tellAdded("fenced", element, events);
    return added != Written::refused;
  }

  /// Reads through the fence as well. Otherwise a former leader's write could come between this read and this term's
  /// first write. It would be lost although the fence had seen nothing stale in it.
  Set readFenced(const Leadership& term, const EventLog& events) {
    Set set;
    set.read = files_.write(term, events, [&set](sqlite3* db) {
      auto elements = readText(db, readSet);
      if (!elements) return SQLITE_ERROR;
      set.elements = *std::move(elements);
      return SQLITE_OK;
    });
    return set;
  }

  static void tellAdded(const char* where, const std::string& element, const EventLog& events) {
    events.tell("added", fmt::format(",\"to\":\"{}\",\"element\":\"{}\"", where, element));
  }

  FencedFile files_;
  std::string name_;
  Dawdler dawdler_;
  long next_{0};
};

}  // namespace

std::unique_ptr<Job> makeSetJob(const JobSettings& settings) { return std::make_unique<SetJob>(settings); }

}  // namespace tenure::chaos
