#include "faulty_allocations.hpp"

#include <stdexcept>

#include <sqlite3.h>

#include "fault_plan.hpp"

namespace tenure::sqlite_test {
namespace {

sqlite3_mem_methods below{};

void* allocate(int size) { return failureOf("allocation", SQLITE_NOMEM) ? nullptr : below.xMalloc(size); }
void* reallocate(void* memory, int size) {
  return failureOf("allocation", SQLITE_NOMEM) ? nullptr : below.xRealloc(memory, size);
}

}  // namespace

void countAllocations() {
  int code = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &below);
  sqlite3_mem_methods layer = below;
  layer.xMalloc = allocate;
  layer.xRealloc = reallocate;
  if (code == SQLITE_OK) code = sqlite3_config(SQLITE_CONFIG_MALLOC, &layer);
  // Otherwise most small allocations of a connection would bypass this layer.
  if (code == SQLITE_OK) code = sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
  if (code != SQLITE_OK) throw std::runtime_error{"SQLite's allocations cannot be counted"};
}

}  // namespace tenure::sqlite_test
