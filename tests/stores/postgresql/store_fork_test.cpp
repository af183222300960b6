// A store of the parent in a forked child: its calls are answered, and change nothing.
#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"
#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/store_support.hpp"

namespace tenure::postgresql_store {
namespace {

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer lets no child of a process with threads start one
TEST_F(PostgresqlStoreTest, aForkedChildIsAnsweredAlsoBehindARenewalOfTheParent) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const RecordVersion version = store().record(key).version;
  const auto locker = transaction();
  locker->exec("LOCK TABLE tenure_lease");
  const auto renewal = store().startWrite(renew(key, "a", {version}));
  ASSERT_TRUE(test::eventually([&] {
    return hand().text("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'tenure_lease'::regclass") ==
           "1";
  }));
  const auto refuses = [](const WriteOutcome& outcome) {
    const auto* rejected = std::get_if<Rejected>(&outcome);
    return rejected != nullptr && rejected->error.message.find("forked child") != std::string::npos;
  };
  const int failed = test::inChild([&] {
    if (!store().startRead(key)->get().has_error()) return 1;
    if (!refuses(store().write(renew(key, "a", {version})))) return 2;
    return refuses(store().write(acquire({"other"}, "a"))) ? 0 : 3;
  });
  EXPECT_EQ(failed, 0);
  locker->exec("ROLLBACK");
  EXPECT_TRUE(std::holds_alternative<Applied>(renewal->get())) << "the parent goes on";
  EXPECT_FALSE(store().read({"other"}));
}
#endif

}  // namespace
}  // namespace tenure::postgresql_store
