#include "loss_watch.hpp"

#include <cerrno>
#include <chrono>
#include <sys/inotify.h>
#include <utility>
#include <vector>

#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::sqlite_store {
namespace {

/// How soon the path is checked again while there is no file, or while it cannot be watched.
constexpr std::chrono::seconds lookDelay{1};

/// ATTRIB: a name of the open file was removed, or replaced by a rename. Not MODIFY, because each checkpoint causes
/// that.
constexpr std::uint32_t lossMask = IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

}  // namespace

LossWatch::LossWatch(std::string store, std::string path) : store_{std::move(store)}, path_{std::move(path)} {}

std::shared_ptr<void> LossWatch::add(std::function<void()> hint) {
  auto entry = std::make_shared<Hint>();
  entry->call = std::move(hint);
  Hints::iterator place;  // it stays valid, and thousands of holders may leave together
  {
    const std::lock_guard lock{*mutex_};
    place = hints_->insert(hints_->end(), entry);
  }
  return {entry.get(), [entry, place, mutex = mutex_, hints = hints_, mark = ProcessMark{}](void*) {
            if (!mark.isHere()) return;  // the thread that could end the call exists only in the parent
            entry->permit.revoke();
            const std::lock_guard lock{*mutex};
            hints->erase(place);
          }};
}

/// What happened before the watch was armed was not seen, so each arming is followed by a hint.
void LossWatch::begin(WatchLoop& loop) {
  watched_ = identityOf(path_);
  const bool armed = watched_ && loop.arm(*this, path_, lossMask);
  if (watched_ && !armed && errno != ENOENT) {
    loop.warnOnce(store_ + ": inotify cannot watch " + path_ + ": " + errnoText(errno) +
                  " (see fs.inotify.max_user_watches); its removal is noticed at heartbeats only");
    return loop.wakeAfter(*this, lookDelay);  // the limit may be raised
  }
  // The file was exchanged between the two.
  if (!armed || identityOf(path_) != watched_) loop.wakeAfter(*this, lookDelay);
  hintAll();
}

void LossWatch::changed(WatchLoop& loop, bool lost) {
  if (lost || identityOf(path_) != watched_) begin(loop);
}

void LossWatch::timeOver(WatchLoop& loop) { begin(loop); }

void LossWatch::hintAll() {
  std::vector<std::shared_ptr<Hint>> all;
  {
    const std::lock_guard lock{*mutex_};
    all.assign(hints_->begin(), hints_->end());
  }
  for (const auto& hint : all) hint->permit.call(hint->call);
}

}  // namespace tenure::sqlite_store
