#include "jobs_document.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <tenure/jobs/job_ledger.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/name_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

// Times are seconds since 1970. The begin of a run is the seconds since its period's, which has fewer digits.

std::int64_t numberOf(sys_seconds time) { return time.time_since_epoch().count(); }
std::int64_t numberOf(FencingToken token) { return static_cast<std::int64_t>(token.value()); }

array jsonOf(const PeriodSpan& span) { return {numberOf(span.from), numberOf(span.to)}; }

array jsonOf(const OpenRun& run) {
  return {numberOf(run.period),        numberOf(run.token), run.attempt, (run.began - run.period).count(),
          static_cast<int>(run.ended), run.holder};
}

array jsonOf(const PastRun& run) {
  return {numberOf(run.period),
          numberOf(run.token),
          run.attempt,
          (run.began - run.period).count(),
          static_cast<int>(run.outcome),
          run.exitCode ? value(*run.exitCode) : value(nullptr),
          run.duration ? value(run.duration->count()) : value(nullptr),
          run.holder};
}

/// Takes the values of one array in order. A value of another type, or one too few or too many, shows in `whole`.
class Values {
 public:
  explicit Values(const value& json) : values_{json.if_array()} {}

  /// A number in this range, else nothing.
  template <typename T>
  T number(T least, T most) {
    const value* next = take();
    const std::int64_t* found = next == nullptr ? nullptr : next->if_int64();
    if (found == nullptr || std::cmp_less(*found, least) || std::cmp_greater(*found, most)) {
      sound_ = false;
      return least;
    }
    return static_cast<T>(*found);
  }
  template <typename T>
  std::optional<T> numberOrNull(T least, T most) {
    if (values_ != nullptr && next_ < values_->size() && (*values_)[next_].is_null()) {
      ++next_;
      return std::nullopt;
    }
    return number(least, most);
  }
  std::string text() {
    const value* next = take();
    const boost::json::string* found = next == nullptr ? nullptr : next->if_string();
    if (found == nullptr) {
      sound_ = false;
      return {};
    }
    return std::string{found->data(), found->size()};
  }
  sys_seconds time() { return sys_seconds{seconds{number(-mostSeconds, mostSeconds)}}; }
  FencingToken token() { return FencingToken{number<std::uint64_t>(0, maxFencingToken.value())}; }

  [[nodiscard]] bool whole() const { return sound_ && values_ != nullptr && next_ == values_->size(); }

 private:
  // Far beyond every calendar, and far from what overflows when one time is added to another.
  static constexpr std::int64_t mostSeconds = std::int64_t{1} << 40U;

  const value* take() {
    if (values_ == nullptr || next_ >= values_->size()) return nullptr;
    return &(*values_)[next_++];
  }

  const array* values_;
  std::size_t next_{0};
  bool sound_{true};
};

constexpr auto mostInt = std::numeric_limits<int>::max();
constexpr auto leastInt = std::numeric_limits<int>::min();
constexpr auto mostUnsigned = std::numeric_limits<unsigned>::max();

bool read(const value& json, PeriodSpan& span) {
  Values values{json};
  span.from = values.time();
  span.to = values.time();
  return values.whole();
}

bool read(const value& json, OpenRun& run) {
  Values values{json};
  run.period = values.time();
  run.token = values.token();
  run.attempt = values.number(0U, mostUnsigned);
  run.began = run.period + values.time().time_since_epoch();
  run.ended = values.number(0, 1) == 1;
  run.holder = values.text();
  return values.whole();
}

bool read(const value& json, PastRun& run) {
  Values values{json};
  run.period = values.time();
  run.token = values.token();
  run.attempt = values.number(0U, mostUnsigned);
  run.began = run.period + values.time().time_since_epoch();
  run.outcome = static_cast<RunOutcome>(values.number(0, static_cast<int>(RunOutcome::lost)));
  run.exitCode = values.numberOrNull(leastInt, mostInt);
  if (const auto duration = values.numberOrNull<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()))
    run.duration = milliseconds{*duration};
  run.holder = values.text();
  return values.whole();
}

template <typename T>
bool readAll(const value& json, std::vector<T>& out) {
  const array* items = json.if_array();
  if (items == nullptr) return false;
  for (const value& item : *items) {
    if (!read(item, out.emplace_back())) return false;
  }
  return true;
}

template <typename T>
array arrayOf(const std::vector<T>& items) {
  array out;
  for (const T& item : items) out.push_back(jsonOf(item));
  return out;
}

/// `{"begun":[[from,to],...],"open":[...],"past":[[...],...]}`. Runs are arrays of values, because the record is paid
/// for by its size. "open" is left out if no run is open.
object jsonOf(const JobHistory& history) {
  object out;
  out["begun"] = arrayOf(history.begun);
  if (history.open) out["open"] = jsonOf(*history.open);
  out["past"] = arrayOf(history.past);
  return out;
}

/// Empty if the shape or the type of a value is another one. What the values mean is checked by JobRuns::faultOf.
std::optional<JobHistory> historyFrom(const value& json) {
  const object* fields = json.if_object();
  if (fields == nullptr) return std::nullopt;
  JobHistory history;
  const value* begun = fields->if_contains("begun");
  const value* open = fields->if_contains("open");
  const value* past = fields->if_contains("past");
  if (begun == nullptr || past == nullptr || fields->size() != (open == nullptr ? 2U : 3U)) return std::nullopt;
  if (!readAll(*begun, history.begun) || !readAll(*past, history.past)) return std::nullopt;
  if (open != nullptr && !read(*open, history.open.emplace())) return std::nullopt;
  return history;
}

using boost::json::object;
using boost::json::value;

constexpr std::int64_t ownVersion = 1;
constexpr std::size_t mostNameBytes = 64;

StoreError refused(std::string_view text, const std::string& why) {
  return {ErrorClass::corrupt, "the ledger of jobs in the lease's record is not understood: " + why + ". It has " +
                                   std::to_string(text.size()) + " bytes: " + inQuotes(text) +
                                   ". No job is run, because a run could be repeated"};
}

std::string written(const JobsDocument& document) {
  object jobs;
  for (const auto& [name, runs] : document.jobs) jobs[name] = jsonOf(runs.history());
  return boost::json::serialize(object{{"v", ownVersion}, {"jobs", std::move(jobs)}});
}

/// Empty if all is well.
std::string readJobs(const value& json, JobsDocument& out) {
  const object* jobs = json.if_object();
  if (jobs == nullptr) return "\"jobs\" is not an object";
  for (const auto& [key, ledger] : *jobs) {
    const std::string name{key.data(), key.size()};
    if (auto fault = faultOfJobName(name)) return "it has a job with a bad name; " + *fault;
    const auto history = historyFrom(ledger);
    if (!history) return "the ledger of job " + inQuotes(name) + " has another shape";
    if (const auto fault = JobRuns::faultOf(*history))
      return "the ledger of job " + inQuotes(name) + " cannot be right: " + *fault;
    out.jobs.emplace(name, JobRuns{*history});
  }
  return {};
}

std::string readDocument(std::string_view text, JobsDocument& out) {
  boost::system::error_code unreadable;
  const value json = boost::json::parse(boost::json::string_view{text.data(), text.size()}, unreadable);
  const object* fields = unreadable ? nullptr : json.if_object();
  if (fields == nullptr) return "it is not a JSON object";
  const value* version = fields->if_contains("v");
  const std::int64_t* number = version == nullptr ? nullptr : version->if_int64();
  if (number == nullptr) return "it has no version \"v\"";
  if (*number > ownVersion)
    return "it has version " + std::to_string(*number) + ", and this release knows version " +
           std::to_string(ownVersion) + " only; upgrade this copy";
  if (*number != ownVersion) return "it has version " + std::to_string(*number) + ", which never was";
  const value* jobs = fields->if_contains("jobs");
  if (jobs == nullptr || fields->size() != 2) return "it must have exactly \"v\" and \"jobs\"";
  return readJobs(*jobs, out);
}

}  // namespace

std::optional<std::string> faultOfJobName(std::string_view name) {
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (!name.empty() && name.size() <= mostNameBytes && isUtf8(name) &&
      std::none_of(name.begin(), name.end(), forbidden))
    return std::nullopt;
  return inQuotes(name) + " is not a job name; it must be 1 to " + std::to_string(mostNameBytes) +
         " bytes of UTF-8 text without control characters";
}

std::optional<std::string> faultOfNewJobName(std::string_view name) {
  if (auto fault = faultOfJobName(name)) return fault;
  const auto fault = faultOfNameText(name);
  return fault ? std::optional{inQuotes(name) + ' ' + *fault} : std::nullopt;
}

std::string textOf(const JobsDocument& document) {
  for (const auto& [name, runs] : document.jobs) {
    if (auto fault = faultOfJobName(name)) throw std::invalid_argument(*fault);
  }
  std::string text = written(document);
  if (text.size() > maxJobsDocumentBytes)
    throw std::invalid_argument("the ledgers of " + std::to_string(document.jobs.size()) + " jobs have " +
                                std::to_string(text.size()) + " bytes; at most " +
                                std::to_string(maxJobsDocumentBytes) + " are allowed");
  return text;
}

StoreResult<JobsDocument> jobsDocumentFrom(std::string_view text) {
  if (text.size() > maxJobsDocumentBytes) return refused(text, "it is too long");
  JobsDocument document;
  if (const std::string why = readDocument(text, document); !why.empty()) return refused(text, why);
  // Names that come twice, numbers in another spelling, blanks: whoever wrote them did not mean what was read.
  if (written(document) != text) return refused(text, "it is not spelled as this library writes it");
  return document;
}

}  // namespace tenure
