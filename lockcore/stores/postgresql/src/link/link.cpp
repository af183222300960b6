#include "link.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "listener.hpp"
#include "lockcore/runtime/plain_locale.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/thread.hpp"
#include "options_check.hpp"
#include "pool.hpp"

namespace tenure::postgresql_store {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::basic_stream_descriptor<asio::io_context::executor_type>;
using std::chrono::nanoseconds;

constexpr nanoseconds longestTimeout = std::chrono::hours{24};  // keeps sums of times in range
constexpr std::chrono::seconds testNotifyTime{3};

std::string nameOf(PostgresqlCommit commit) {
  switch (commit) {
    case PostgresqlCommit::remoteApply:
      return "remote_apply";
    case PostgresqlCommit::remoteWrite:
      return "remote_write";
    case PostgresqlCommit::local:
      return "local";
    case PostgresqlCommit::on:
      break;
  }
  return "on";
}

class AsioWait final : public SocketWait {
 public:
  explicit AsioWait(asio::io_context& loop) : descriptor_{loop} {}
  ~AsioWait() override { release(); }
  AsioWait(const AsioWait&) = delete;
  AsioWait& operator=(const AsioWait&) = delete;

  void take(int fd) override {
    release();
    descriptor_.assign(fd);
  }

  void release() noexcept override {
    generation_ = std::make_shared<int>();
    if (descriptor_.is_open()) descriptor_.release();
  }

  void untilReadable(Ready ready) override { wait(Descriptor::wait_read, std::move(ready)); }
  void untilWritable(Ready ready) override { wait(Descriptor::wait_write, std::move(ready)); }

 private:
  void wait(Descriptor::wait_type kind, Ready ready) {
    // A fault of the wait shows itself again when libpq uses the socket, so `ready` is called for that as well.
    descriptor_.async_wait(kind, [weak = std::weak_ptr{generation_}, ready = std::move(ready)](const auto&) {
      if (!weak.expired()) ready();
    });
  }

  Descriptor descriptor_;
  std::shared_ptr<int> generation_{std::make_shared<int>()};
};

/// The data of the thread. The thread shares its ownership, so that a link may be destroyed by its own handler.
class Core : public std::enable_shared_from_this<Core> {
 public:
  explicit Core(const LinkOptions& options) : logger_{options.logger}, channel_{options.channel} {}

  void start(const LinkOptions& options) {
    book_ = std::make_unique<net::AddressBook>(
        alarms_, net::AddressBook::Options{.lookup = options.lookup,
                                           .post = [weak = weak_from_this()](std::function<void()> task) {
                                             if (const auto core = weak.lock())
                                               asio::post(core->loop_, std::move(task));
                                           }});
    around_ = std::make_unique<Surroundings>(
        Surroundings{*scheduler_, alarms_, *book_, logger_, [this] { return std::make_unique<AsioWait>(loop_); }});
    pool_ = std::make_unique<Pool>(*around_, Pool::Options{jobSettings(options.store), options.store.passwordFile,
                                                           options.text, nameOf(options.store.commit), options.warmUp});
    listener_ = std::make_unique<Listener>(
        *around_, listenSettings(options.store), options.store.passwordFile, channel_, watchers_,
        [this](const std::string& payload, std::function<void(bool)> done) { notify(payload, std::move(done)); });
  }

  void push(std::unique_ptr<QueuedJob> queued) {
    bool first = false;
    {
      const std::lock_guard lock{mutex_};
      first = inbox_.empty();
      inbox_.push_back(std::move(queued));
    }
    // The thread takes all queued jobs at once, so only the first one has to wake it.
    if (first) asio::post(loop_, [this] { takeOrders(); });
  }

  void watch(const std::shared_ptr<Watchers::Entry>& entry) {
    watchers_.add(entry);
    asio::post(loop_, [this] {
      listener_->start();
      pool_->keepWarm();
    });
  }

  void endWatch(Watchers::Entry& entry) {
    entry.end();
    watchers_.remove(entry);
    asio::post(loop_, [weak = weak_from_this()] {
      if (const auto core = weak.lock()) core->listener_->mayRest();
    });
  }

  void run() {
    loop_.run();
    listener_->stop();
    auto open = pool_->closeAll();
    {
      const std::lock_guard lock{mutex_};
      for (auto& queued : inbox_) {
        open.emplace_back(std::move(queued),
                          JobReply{.why = "the store was closed", .cause = JobReply::Cause::transient});
      }
      inbox_.clear();
    }
    for (auto& [queued, reply] : open) answer(std::move(queued), std::move(reply));
  }

  /// Jobs that were pushed before go out first. What a handler on the thread has posted is queued when that handler
  /// returns, so it may stand behind the first of these two tasks, but not behind the second.
  void stop() {
    asio::post(loop_, [this] { asio::post(loop_, [this] { loop_.stop(); }); });
  }

 private:
  void takeOrders() {
    std::vector<std::unique_ptr<QueuedJob>> queuedJobs;
    {
      const std::lock_guard lock{mutex_};
      queuedJobs.swap(inbox_);
    }
    pool_->submit(std::move(queuedJobs));
  }

  void notify(const std::string& payload, std::function<void(bool)> done) {
    std::vector<std::unique_ptr<QueuedJob>> queuedJobs;
    queuedJobs.push_back(std::make_unique<QueuedJob>(
        Job{.writes = true, .history = false, .statements = {{StatementId::notify, {channel_, '{' + payload + '}'}}}},
        [done = std::move(done)](const JobReply& reply) { done(reply.commit == JobReply::Commit::done); },
        testNotifyTime, around_->now() + testNotifyTime));
    pool_->submit(std::move(queuedJobs));
  }

  const Logger logger_;
  const std::string channel_;
  Watchers watchers_{};

  std::mutex mutex_;  ///< guards the inbox
  std::vector<std::unique_ptr<QueuedJob>> inbox_{};

  // Used on the link's thread only. Later members use earlier ones.
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  std::shared_ptr<Scheduler> scheduler_{makeAsioScheduler(loop_.get_executor())};
  net::AlarmQueue alarms_{scheduler_};
  std::unique_ptr<net::AddressBook> book_{};
  std::unique_ptr<Surroundings> around_{};
  std::unique_ptr<Pool> pool_{};
  std::unique_ptr<Listener> listener_{};
};

class PostgresqlLink final : public Link {
 public:
  PostgresqlLink(std::shared_ptr<Core> core, std::string description)
      : core_{std::move(core)},
        description_{std::move(description)},
        thread_{detail::startThread("tenure-pg", [kept = core_] {
          const PlainLocale plain;  // by the English texts of libpq errors are told apart
          kept->run();
        })} {}

  ~PostgresqlLink() override {
    if (mark_.isHere()) {
      core_->stop();
      detail::leaveThread(thread_);
    } else {
      thread_.detach();  // in a forked child there is no thread to wait for
    }
  }
  PostgresqlLink(const PostgresqlLink&) = delete;
  PostgresqlLink& operator=(const PostgresqlLink&) = delete;

  void run(Job job, nanoseconds timeout, JobHandler handler) override {
    const nanoseconds limited = std::clamp(timeout, nanoseconds{0}, longestTimeout);
    if (!mark_.isHere()) return answerInChild(std::move(handler));
    const std::shared_ptr<Core> kept = core_;  // the handler may destroy the link before this call is over
    kept->push(
        std::make_unique<QueuedJob>(std::move(job), std::move(handler), limited, readClock().boottime + limited));
  }

  std::shared_ptr<void> watch(std::string payload, std::function<void()> hint) override {
    if (!mark_.isHere()) return nullptr;
    auto entry = std::make_shared<Watchers::Entry>(std::move(payload), std::move(hint));
    core_->watch(entry);
    return {entry.get(), [core = core_, entry, mark = mark_](void*) {
              if (mark.isHere()) core->endWatch(*entry);  // the thread that calls exists only in the parent
            }};
  }

  std::string describe() const override { return description_; }

 private:
  /// The link's thread exists only in the parent.
  static void answerInChild(JobHandler handler) {
    sharedScheduler()->post([handler = std::move(handler)] {
      handler({.why = "this process is a forked child of the one that made the store; make a store here",
               .cause = JobReply::Cause::misconfigured});
    });
  }

  const ProcessMark mark_{};
  std::shared_ptr<Core> core_;
  const std::string description_;
  std::thread thread_;
};

std::string descriptionOf(const PostgresqlStoreOptions& options) {
  const Destination destination = destinationOf(jobSettings(options));
  const std::string table = ", table " + options.schema + '.' + options.table;
  if (!destination.fault.empty()) return "postgresql" + table;
  return "postgresql " + inOneLine(destination.database.c_str()) + " at " + toString(destination.hosts) + table;
}

}  // namespace

std::shared_ptr<Link> makeLink(const LinkOptions& options) {
  checkOptions(options.store);
  auto core = std::make_shared<Core>(options);
  core->start(options);
  return std::make_shared<PostgresqlLink>(std::move(core), descriptionOf(options.store));
}

}  // namespace tenure::postgresql_store
