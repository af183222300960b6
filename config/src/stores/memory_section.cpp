#include <tenure/lockcore/stores/memory_store.hpp>

#include "config/src/store_types.hpp"

namespace tenure::config {

StoreType memoryStoreType() {
  StoreType type;
  type.name = "memory";
  type.about = "in this process's memory, for development with one process; other processes do not see it.";
  type.defaults = MemoryStoreConfig{};
  type.faults = [](const StoreConfig&) { return OptionFaults{}; };
  type.resolvePaths = [](StoreConfig&, const std::filesystem::path&) {};
  type.make = [](const StoreConfig&, const Logger&) { return makeMemoryStore(); };
  return type;
}

}  // namespace tenure::config
