#include "local_death_notice.hpp"

#include <utility>

#include "holder_watch.hpp"

namespace tenure::liveness {

LocalDeathNotice::LocalDeathNotice(LivenessFilePlace place, WatchThread& watches)
    : place_{std::move(place)}, own_{place_}, watches_{watches} {}

std::shared_ptr<void> LocalDeathNotice::follow(const LeaseRecord& record, std::function<void(RecordVersion)> proven) {
  if (!HolderWatch::isPossible(record)) return nullptr;
  return watches_.watch(std::make_shared<HolderWatch>(place_, record, std::move(proven)),
                        WatchThread::Without::inotifyPossible);
}

}  // namespace tenure::liveness
