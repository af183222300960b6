#include "lock_arguments.hpp"

#include <set>

#include "cli/text/environment.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "lock_store.hpp"
#include "lock_view.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {

Options& declareStore(Options& options, LockArguments& to) {
  LockStoreArguments& store = to.store;
  options.text("-c, --config FILE", store.config, "").hidden().text("--store STORE", store.store, "").hidden();
  std::set<std::string> declared;
  for (const config::StoreType* type : lockStores()) {
    for (const config::KeySpec* key : keysWithWords(*type)) {
      // Stores may have an option in common.
      if (!declared.insert(optionOf(*key)).second) continue;
      options.text(optionOf(*key) + " " + key->word, store.values[key->key.path], "").hidden();
    }
  }
  return options.check([&store] { return store = withEnvironment(std::move(store)), std::string{}; });
}

Options& declareToken(Options& options, LockArguments& to) {
  options
      .text("TOKEN|KEY", to.target, "- reads a token from stdin; without one: TENURE_LOCK_TOKEN. KEY goes with --owner")
      .needed()
      .text("--owner OWNER", to.owner, "the owner of the lock KEY, instead of a token");
  return options.check([&to]() -> std::string {
    const bool byOwner = !to.owner.empty();
    if (to.target.empty() && !byOwner) to.target = environmentText("TENURE_LOCK_TOKEN");
    if (to.target.empty()) {
      return byOwner ? "give the name of the lock with --owner"
                     : "give the lock token (- reads it from stdin), or set TENURE_LOCK_TOKEN";
    }
    const bool isToken = to.target == "-" || to.target.starts_with(lockTokenPrefix);
    if (isToken && byOwner) return "--owner goes with the lock's name, and a lock token names its owner: leave it out";
    if (isToken && !to.sort.empty())
      return "--sort goes with the lock's name, and a lock token has its own: leave it out";
    if (byOwner || isToken) return {};
    return inQuotes(to.target) +
           " is not a lock token: give the one that tenure lock acquire printed (- reads it from stdin), or the "
           "lock's name with --owner OWNER";
  });
}

Options& declareSort(Options& options, LockArguments& to) {
  return options.text("--sort VALUE", to.sort, "value of the sort key, where the table has one");
}

Options& declareKey(Options& options, LockArguments& to) {
  to.takesLock = true;
  options.text("KEY", to.target, "").needed();
  return options.check([&to] { return to.target.empty() ? std::string{"give the name of the lock"} : std::string{}; });
}

int answer(const std::string& text, int code) { return say(text) ? code : exitFailed; }

int answerWithToken(const LockArguments& arguments, const LockToken& token) {
  return answer(arguments.json ? toJson(token) : token.text() + '\n');
}

int failed(const LockArguments& arguments, const LockError& error) {
  const std::string age = error.holder ? ageText(error.holder->acquiredAtMillis) : std::string{};
  complain(error.message + (age.empty() ? "" : ", " + age));
  return arguments.json ? answer(toJson(error), exitCodeOf(error)) : exitCodeOf(error);
}

}  // namespace tenure::cli
