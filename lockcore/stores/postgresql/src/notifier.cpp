#include "notifier.hpp"

#include "jobs.hpp"
#include "lockcore/port/fnv1a.hpp"

namespace tenure::postgresql_store {

void Notifier::tell(const LeaseKey& key) {
  {
    const std::lock_guard lock{mutex_};
    if (underWay_) {
      waiting_.insert(fnv1aOf(key));
      return;
    }
    underWay_ = true;
  }
  send({fnv1aOf(key)});
}

void Notifier::sendRest() {
  std::set<std::string> payloads;
  {
    const std::lock_guard lock{mutex_};
    payloads.swap(waiting_);
  }
  if (!payloads.empty()) send(payloads);
}

void Notifier::send(const std::set<std::string>& payloads) {
  const auto database = database_.lock();
  if (!database) return;
  database->run(Jobs::notify(channel_, payloads), patience, [weak = weak_from_this()](const JobReply& /*reply*/) {
    if (const auto self = weak.lock()) self->answered();
  });
}

void Notifier::answered() {
  std::set<std::string> payloads;
  {
    const std::lock_guard lock{mutex_};
    payloads.swap(waiting_);
    underWay_ = !payloads.empty();
  }
  if (!payloads.empty()) send(payloads);
}

}  // namespace tenure::postgresql_store
