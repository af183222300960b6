#include "config/src/store_section.hpp"

namespace tenure::config {

template <>
StoreType storeType<MemoryStoreOptions>() {
  StoreSection<MemoryStoreOptions> section{
      "memory", "in this process's memory, for development with one process; other processes do not see it."};
  section.isOfOneProcess();
  section.hasSample(R"(# Where the lease is kept: in this process's memory, for development with one process.
store:
  type: memory
)");
  return section.madeBy([](const MemoryStoreOptions&, const Logger&) { return makeMemoryStore(); });
}

}  // namespace tenure::config
