// The store beside a real API server: whom the server lets do what, what it does with the store's bodies, tokens that
// it refuses, and tokens of terms that rise whatever others do to the Lease.
#include <atomic>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "contract/store_calls.hpp"
#include "kubernetes/api_hand.hpp"
#include "lockcore/kubernetes/http_gateway.hpp"
#include "lockcore/kubernetes/pod.hpp"
#include "lockcore/kubernetes/replies.hpp"
#include "lockcore/kubernetes/requests.hpp"
#include "lockcore/stores/kubernetes/src/object_texts.hpp"
#include "lockcore/stores/kubernetes/src/record_codec.hpp"
#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;
using contract::acquire;
using contract::release;
using contract::renew;
using contract::StoreCalls;
using test::annotationsOf;
using test::ApiHand;
using test::kubernetesVariable;

constexpr test::Eventually eventually{30s, 5ms};

class KubernetesLive : public testing::Test {
 protected:
  [[nodiscard]] StoreCalls storeOf(const KubernetesStoreOptions& options) const {
    return StoreCalls{makeKubernetesStore(options), ledger_};
  }
  [[nodiscard]] StoreCalls storeOf(const std::string& context) const {
    return storeOf(kubernetesOptionsFrom(kubernetesVariable("TENURE_TEST_KUBERNETES"), context).value());
  }
  /// A lease that no other test uses, in a namespace that all share.
  [[nodiscard]] static LeaseKey freshKey() {
    static std::atomic<int> made{0};
    return {"live-" + std::to_string(getpid()) + '-' + std::to_string(++made)};
  }
  static void leadOnce(const StoreCalls& store, const LeaseKey& key) {
    std::atomic<int> hints{0};
    ASSERT_TRUE(store.startEnsureSchema()->get().has_value());
    const auto watching = store.raw().watch(key, [&] { ++hints; });
    store.apply(acquire(key, "a"));
    store.apply(renew(key, "a", {store.record(key).version}));
    store.apply(release(key, "a", {store.record(key).version}));
    EXPECT_EQ(store.listKeys(key.name), std::vector<LeaseKey>{key});
    EXPECT_TRUE(eventually([&] { return hints > 0; }));
  }

  const std::shared_ptr<contract::CallLedger> ledger_ = std::make_shared<contract::CallLedger>();
};

StoreError errorOf(const WriteOutcome& outcome) {
  const auto* rejected = std::get_if<Rejected>(&outcome);
  if (rejected == nullptr) throw std::runtime_error{contract::describe(outcome)};
  return rejected->error;
}

TEST_F(KubernetesLive, whoHasTheRoleLeadsByTokenByCertificateAndAsAServiceAccount) {
  for (const char* context : {"tenure", "certificate", "account"}) {
    SCOPED_TRACE(context);
    leadOnce(storeOf(context), freshKey());
  }
}

TEST_F(KubernetesLive, aPodNeedsNoOptions) {
  const std::string url = kubernetesVariable("TENURE_TEST_KUBERNETES_URL");
  const std::string port = url.substr(url.rfind(':') + 1);
  const auto options =
      completed({.serviceAccount = kubernetesVariable("TENURE_TEST_KUBERNETES_ACCOUNT")}, [&](const char* name) {
        return std::string{name} == "KUBERNETES_SERVICE_HOST" ? std::string{"127.0.0.1"} : port;
      });
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->inNamespace, "tenure-test");
  leadOnce(storeOf(*options), freshKey());
}

TEST_F(KubernetesLive, whoMayDoNothingIsToldWhatIsMissing) {
  const StoreCalls store = storeOf("outsider");
  const StoreStatus status = store.startEnsureSchema()->get();
  ASSERT_TRUE(status.has_error());
  EXPECT_EQ(status.error().errorClass, ErrorClass::credentials);
  EXPECT_NE(status.error().message.find("may not get, update"), std::string::npos) << status.error().message;
  const ReadOutcome read = store.startRead(freshKey())->get();
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().errorClass, ErrorClass::credentials);
  EXPECT_NE(read.error().message.find("User \\\"outsider\\\" cannot get"), std::string::npos) << read.error().message;
  EXPECT_EQ(errorOf(store.write(acquire(freshKey(), "a"))).errorClass, ErrorClass::credentials);
}

TEST_F(KubernetesLive, aTokenThatIsNoneIsRefusedByName) {
  KubernetesStoreOptions options = test::adminOptions("tenure-test");
  options.token = "nobody";
  const WriteOutcome outcome = storeOf(options).write(acquire(freshKey(), "a"));
  EXPECT_EQ(errorOf(outcome).errorClass, ErrorClass::credentials);
  EXPECT_NE(errorOf(outcome).message.find("does not accept the token"), std::string::npos);
}

TEST_F(KubernetesLive, aNamespaceThatIsMissingIsTold) {
  const WriteOutcome outcome = storeOf(test::adminOptions("nowhere")).write(acquire(freshKey(), "a"));
  EXPECT_EQ(errorOf(outcome).errorClass, ErrorClass::misconfigured);
  EXPECT_NE(errorOf(outcome).message.find("Does the namespace exist"), std::string::npos);
}

/// A namespace of its own, with a service account that has the rights of a test.
class KubernetesAccount : public KubernetesLive {
 protected:
  void make(const std::string& kind, const std::string& path, const std::string& body) const {
    const Reply reply = hand_.ask("POST", path, body);
    ASSERT_EQ(reply.status, 201) << kind << reply.body;
  }
  /// `rule`: what is in a rule beside its group and resource.
  void makeAccount(const std::string& rule) const {
    const std::string roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace_;
    make("account", accounts_, R"({"metadata":{"name":"test"}})");
    make("role", roles + "/roles",
         R"({"metadata":{"name":"test"},"rules":[{"apiGroups":["coordination.k8s.io"],"resources":["leases"],)" + rule +
             "}]}");
    make(
        "binding", roles + "/rolebindings",
        R"({"metadata":{"name":"test"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"test"},)"
        R"("subjects":[{"kind":"ServiceAccount","name":"test","namespace":")" +
            namespace_ + "\"}]}");
  }
  void putToken() const {
    const Reply reply = hand_.ask("POST", accounts_ + "/test/token", R"({"spec":{"expirationSeconds":600}})");
    std::ofstream{options_.tokenFile} << boost::json::parse(reply.body).at("status").at("token").as_string().c_str();
  }
  [[nodiscard]] KubernetesStoreOptions optionsOf() const {
    KubernetesStoreOptions options = test::adminOptions(namespace_);
    options.token.clear();
    options.tokenFile = directory_.file("token");
    return options;
  }

  const test::TempDir directory_{};
  const std::string namespace_ = ApiHand::freshNamespace();
  const ApiHand hand_{namespace_};
  const std::string accounts_ = "/api/v1/namespaces/" + namespace_ + "/serviceaccounts";
  const KubernetesStoreOptions options_ = optionsOf();
  const LeaseKey key_{"mine"};
};

/// `create` cannot be restricted to names: who may use one Lease alone needs it prepared.
TEST_F(KubernetesAccount, aPreparedLeaseNeedsNoRightToCreateNorToSeeOthers) {
  makeAccount(R"("resourceNames":["mine"],"verbs":["get","update","list","watch"])");
  putToken();
  make("lease", hand_.pathOf(""), R"({"metadata":{"name":"mine"}})");
  const StoreCalls store = storeOf(options_);
  const StoreCalls other = storeOf(test::adminOptions(namespace_));
  ASSERT_TRUE(eventually([&] { return store.startRead(key_)->get().has_value(); })) << "a role takes effect late";
  EXPECT_TRUE(store.startEnsureSchema()->get().has_value());
  EXPECT_EQ(store.read(key_), std::nullopt);
  std::atomic<int> hints{0};
  const auto watching = store.raw().watch(key_, [&] { ++hints; });
  ASSERT_TRUE(eventually([&] { return hints > 0; })) << "its watch begins";
  const FencingToken first = store.apply(acquire(key_, "a")).token;
  const int before = hints;
  other.apply(acquire(key_, "b", {other.record(key_).version}));
  EXPECT_TRUE(eventually([&] { return hints > before; })) << "a watch of this name alone";
  EXPECT_GT(store.apply(acquire(key_, "a", {store.record(key_).version})).token, first);
  EXPECT_EQ(errorOf(store.write(acquire({"another"}, "a"))).errorClass, ErrorClass::credentials);
  EXPECT_TRUE(store.startList("")->get().has_error()) << "to see all needs the right for all";

  const RecordVersion version = store.record(key_).version;
  hand_.erase("mine");
  EXPECT_TRUE(contract::isConflictWith(store.write(renew(key_, "a", {version})), std::nullopt));
  const StoreError refused = errorOf(store.write(acquire(key_, "a")));
  EXPECT_EQ(refused.errorClass, ErrorClass::credentials);
  EXPECT_NE(refused.message.find("Without create, the Lease must be there already"), std::string::npos);
}

/// The kubelet replaces the token in time; here the server refuses the old one before.
TEST_F(KubernetesAccount, aTokenThatIsRefusedIsReadAgainAndTheTermGoesOn) {
  makeAccount(R"("verbs":["get","create","update","list","watch"])");
  putToken();
  const StoreCalls store = storeOf(options_);
  ASSERT_TRUE(eventually([&] { return store.startRead(key_)->get().has_value(); }));
  store.apply(acquire(key_, "a"));
  RecordVersion version = store.record(key_).version;
  EXPECT_EQ(hand_.ask("DELETE", accounts_ + "/test").status, 200);
  make("account", accounts_, R"({"metadata":{"name":"test"}})");
  // The server remembers for ten seconds that it accepted a token.
  ASSERT_TRUE(eventually([&] {
    const WriteRequest beat = renew(key_, "a", {version});
    const WriteOutcome outcome = store.write(beat);
    if (!std::holds_alternative<Applied>(outcome)) return errorOf(outcome).errorClass == ErrorClass::credentials;
    version = beat.record.version;
    return false;
  }));
  putToken();
  store.apply(renew(key_, "a", {version}));
}

class KubernetesObjects : public KubernetesAccount {
 protected:
  [[nodiscard]] LeaseObject object() const { return leaseObjectFrom(boost::json::value(hand_.lease("mine"))).value(); }
  [[nodiscard]] Reply put(const std::string& body, const std::string& query = {}) const {
    return hand_.ask("PUT", hand_.pathOf("mine") + query, body);
  }

  const StoreCalls store_ = storeOf(test::adminOptions(namespace_));
};

/// The server drops fields that it does not know without a word; asked so, it refuses them.
TEST_F(KubernetesObjects, everyFieldThatIsWrittenIsKnownToTheServer) {
  const Settings settings{namespace_, {{"team", "payments"}}};
  const std::string strict = "?fieldValidation=Strict";
  make("lease", hand_.pathOf("") + strict, creationText(settings, key_, {FencingToken{7}, 2500ms}));
  stored::StoredRecord next{{"me#1", RecordVersion{"v-1"}, 2500ms, FencingToken{7}}};
  next.record.data = "payload";
  next.record.attributes = {{"zone", "\x01\n\"\xC3\xA4"}};
  next.record.livenessFile = LivenessFile{"id", "boot", 1, 2};
  next.record.acquiredAtMillis = next.record.renewedAtMillis = 1'795'680'000'123;
  const auto write = [&](const stored::Change& change) {
    const LeaseObject seen = object();
    const std::string where = "test";
    const auto before = storedIn({where, key_}, seen);
    const Reply reply = put(changeText(settings, key_, seen, before, change, {}).text, strict);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const auto after = storedIn({where, key_}, leaseFrom(reply.body, "mine").value());
    return std::pair{after.record.value(), after.counter.value()};
  };
  const stored::Counter counter{FencingToken{7}, 2500ms};
  EXPECT_EQ(write({.record = next, .counter = counter}), (std::pair{std::optional{next}, counter}));
  next.stepDown = FencingToken{7};
  EXPECT_EQ(write({.record = next}).first, next);
  next.record.version = RecordVersion{"v-2"};
  EXPECT_EQ(write({.record = next}).first, next);
  next.record.version = RecordVersion{"v-3"};
  next.record.released = true;
  EXPECT_EQ(write({.record = next}).first, next);
  EXPECT_EQ(write({.counter = stored::Counter{FencingToken{7}}}).first, std::nullopt);
}

/// What makes the uid necessary: without it a write that comes late would be a new record of a term that is over.
TEST_F(KubernetesObjects, aWriteToAnObjectThatIsGoneIsRefusedForItsUidAlone) {
  store_.apply(acquire(key_, "a"));
  boost::json::object old = hand_.lease("mine");
  hand_.erase("mine");
  EXPECT_EQ(put(boost::json::serialize(old)).status, 409);
  EXPECT_TRUE(hand_.lease("mine").empty());
  boost::json::object bare = old;
  bare["metadata"].get_object().erase("uid");
  EXPECT_EQ(put(boost::json::serialize(bare)).status, 201) << "a resourceVersion does not count";
  EXPECT_EQ(put(boost::json::serialize(old)).status, 409) << "it is another object";
}

TEST_F(KubernetesObjects, labelsOfOthersCostNoHeartbeatAndStay) {
  store_.apply(acquire(key_, "a"));
  RecordVersion version = store_.record(key_).version;
  for (int beat = 0; beat < 10; ++beat) {
    hand_.edit("mine", [&](auto& lease) {
      lease["metadata"].get_object()["labels"].get_object()["beat"] = std::to_string(beat);
      annotationsOf(lease)["example.com/beat"] = std::to_string(beat);
    });
    const WriteRequest request = renew(key_, "a", {version});
    version = request.record.version;
    store_.apply(request);
  }
  boost::json::object left = hand_.lease("mine");
  EXPECT_EQ(left["metadata"].at("labels").at("beat").as_string(), "9");
  EXPECT_EQ(annotationsOf(left)["example.com/beat"].as_string(), "9");
}

/// What the watch tells of each term, in the order of the revisions.
class TokensSeen {
 public:
  TokensSeen(const KubernetesStoreOptions& options, const ApiHand& hand) : gateway_{makeHttpGateway(options)} {
    const Reply list = hand.ask("GET", hand.pathOf(""));
    const std::string from = pageFrom(list.body).value().resourceVersion;
    StreamHandlers handlers{[this](std::string_view line) { take(line); }, [this](const Ending&) { ended_ = true; }};
    stream_ = gateway_->stream(Requests{options.inNamespace}.watch({"mine"}, from), 60s, std::move(handlers));
  }

  void take(std::string_view line) {
    const auto event = eventFrom(line);
    if (!event || !event->object) return;
    const std::lock_guard lock{mutex_};
    deletions_ += event->kind == WatchEvent::Kind::deleted ? 1 : 0;
    const auto* token = event->object->annotation("tenure.dev/token");
    if (token == nullptr) return;
    const auto number = std::stoull(std::string{viewOf(*token)});
    if (number < last_) falls_.push_back(std::to_string(last_) + " then " + std::to_string(number));
    terms_ += number > last_ ? 1 : 0;
    last_ = std::max<std::uint64_t>(last_, number);
  }
  [[nodiscard]] std::vector<std::string> falls() {
    const std::lock_guard lock{mutex_};
    return falls_;
  }
  [[nodiscard]] std::pair<int, int> termsAndDeletions() {
    const std::lock_guard lock{mutex_};
    return {terms_, deletions_};
  }
  [[nodiscard]] std::uint64_t last() {
    const std::lock_guard lock{mutex_};
    return last_;
  }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  const std::shared_ptr<Gateway> gateway_;
  std::mutex mutex_{};
  std::uint64_t last_{0};  ///< guarded by mutex_, as all that follow
  int terms_{0};
  int deletions_{0};
  std::vector<std::string> falls_{};
  std::atomic<bool> ended_{false};
  std::shared_ptr<void> stream_{};
};

/// Three stores, as three processes, fight for one lease while somebody labels, empties and deletes it.
TEST_F(KubernetesObjects, tokensRiseInARaceWhateverIsDoneToTheLease) {
  TokensSeen seen{test::adminOptions(namespace_), hand_};
  const char* given = std::getenv("TENURE_KUBERNETES_RACE_SECONDS");  // NOLINT(concurrency-mt-unsafe)
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{given != nullptr ? std::atoi(given) : 8};
  const auto goesOn = [&] { return std::chrono::steady_clock::now() < until; };
  std::mutex mutex;
  std::multiset<FencingToken> won;
  const auto fight = [&](const std::string& holder) {
    const StoreCalls store = storeOf(test::adminOptions(namespace_));
    while (goesOn()) {
      const auto current = store.read(key_);
      const WriteRequest taking =
          acquire(key_, holder, current ? std::vector{current->version} : std::vector<RecordVersion>{});
      const WriteOutcome outcome = store.write(taking);
      const auto* applied = std::get_if<Applied>(&outcome);
      if (applied == nullptr) continue;
      {
        const std::lock_guard lock{mutex};
        won.insert(applied->token);
      }
      const WriteRequest beat = renew(key_, holder, {taking.record.version});
      if (!std::holds_alternative<Applied>(store.write(beat))) continue;
      WriteRequest end = release(key_, holder, {beat.record.version});
      end.removes = applied->token.value() % 5 == 0;
      static_cast<void>(store.write(end));
    }
  };
  std::vector<std::thread> threads;
  for (const char* holder : {"a", "b", "c"}) threads.emplace_back(fight, holder);
  for (int round = 0; goesOn(); ++round) {
    if (round % 3 == 0) hand_.erase("mine");
    try {
      if (round % 3 == 1) hand_.edit("mine", [](auto& lease) { lease["spec"] = boost::json::object{}; });
      if (round % 3 == 2) {
        hand_.edit("mine", [&](auto& lease) { annotationsOf(lease)["example.com/round"] = std::to_string(round); });
      }
    } catch (const std::runtime_error&) {  // it is changed all the time
    }
  }
  for (std::thread& thread : threads) thread.join();
  const FencingToken highest = *won.rbegin();
  ASSERT_TRUE(eventually([&] { return seen.last() >= highest.value() || seen.ended(); }));
  EXPECT_FALSE(seen.ended()) << "the watch must have seen everything";
  EXPECT_EQ(seen.falls(), std::vector<std::string>{});
  EXPECT_EQ(std::set(won.begin(), won.end()).size(), won.size()) << "two terms with one token";
  const auto [terms, deletions] = seen.termsAndDeletions();
  EXPECT_GT(terms, 5);
  EXPECT_GT(deletions, 2);
  RecordProperty("terms", terms);
  RecordProperty("deletions", deletions);
  std::printf("%d terms over %d deletions, %zu won\n", terms, deletions, won.size());
}

}  // namespace
}  // namespace tenure::kubernetes_store
