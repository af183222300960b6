// Writes through the store under answers that a real server gives rarely: what is believed, and what is asked.
#include <future>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "stores/kubernetes/store_case.hpp"

namespace tenure::kubernetes_store {
namespace {

using KubernetesWrites = KubernetesStoreCase;

TEST_F(KubernetesWrites, aHeartbeatIsOneRequestAndAnAcquisitionTwoAndTheFirstThree) {
  const auto first = storeOn(gateway_);
  first.apply(acquire(key_, "x"));
  EXPECT_EQ(methodsSince(0), (Methods{"GET", "POST", "PUT"}));
  const RecordVersion seen = another().record(key_).version;
  std::size_t before = requests();
  WriteRequest take = acquire(key_, "a", {seen});
  store_.apply(take);
  EXPECT_EQ(methodsSince(before), (Methods{"GET", "PUT"}));
  before = requests();
  WriteRequest beat = renew(key_, "a", {take.record.version});
  store_.apply(beat);
  WriteRequest longer = renew(key_, "a", {beat.record.version});
  longer.record.leaseDuration *= 2;
  longer.lengthens = true;
  store_.apply(longer);
  store_.apply(release(key_, "a", {longer.record.version}));
  EXPECT_EQ(methodsSince(before), (Methods{"PUT", "PUT", "PUT"}));
}

TEST_F(KubernetesWrites, theAcquisitionOfALeaseThatIsWatchedIsOneRequest) {
  auto watching = store_.raw().watch(key_, [] {});
  const auto other = another();
  const WriteRequest taken = acquire(key_, "b");
  other.apply(taken);
  other.apply(release(key_, "b", {taken.record.version}));
  const RecordVersion seen = store_.record(key_).version;
  const std::size_t before = requests();
  WriteRequest mine = acquire(key_, "a", {seen});
  store_.apply(mine);
  watching.reset();  // a leader watches no more
  store_.apply(renew(key_, "a", {mine.record.version}));
  EXPECT_EQ(methodsSince(before), (Methods{"PUT", "PUT"}));
}

/// As operators and tools do all the time: no heartbeat may fail for it.
TEST_F(KubernetesWrites, aLabelThatSomebodyWroteCostsNoHeartbeat) {
  const RecordVersion version = take();
  label("1");
  const std::size_t before = requests();
  const WriteRequest beat = renew(key_, "a", {version});
  store_.apply(beat);
  EXPECT_EQ(methodsSince(before), (Methods{"PUT", "GET", "PUT"}));
  EXPECT_EQ(another().record(key_).version, beat.record.version);
}

TEST_F(KubernetesWrites, whoWritesLabelsAllTheTimeDelaysAHeartbeatAndIsTold) {
  const RecordVersion version = take();
  int labels = 0;
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.method == "PUT") label(std::to_string(++labels));
    return replied(server());
  });
  const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
  const auto* rejected = std::get_if<Rejected>(&outcome);
  ASSERT_NE(rejected, nullptr) << contract::describe(outcome);
  EXPECT_EQ(rejected->error.errorClass, ErrorClass::transient);
  EXPECT_EQ(labels, 8);
  gateway_->setFault({});
  store_.apply(renew(key_, "a", {version}));
}

/// While the server asks for patience, others wait.
TEST_F(KubernetesWrites, nothingThatAHolderAsksIsHeldBack) {
  const RecordVersion version = take();
  static_cast<void>(store_.record(key_));
  label("1");
  store_.apply(renew(key_, "a", {version}));
  for (const Request& request : gateway_->requests()) EXPECT_FALSE(request.yields) << request.method << request.target;
  const auto gateway = std::make_shared<test::MemoryApiGateway>(api_);
  static_cast<void>(storeOn(gateway).record(key_));
  EXPECT_TRUE(gateway->requests().at(0).yields);
}

TEST_F(KubernetesWrites, anotherProcessMayHaveAskedForAStepDownInBetween) {
  const RecordVersion version = take();
  ASSERT_TRUE(std::holds_alternative<Applied>(another().requestStepDown(key_, store_.record(key_).token)));
  EXPECT_TRUE(store_.apply(renew(key_, "a", {version})).stepDownRequested);
}

TEST_F(KubernetesWrites, theHoldersOwnProcessMayAskToo) {
  const RecordVersion version = take();
  const FencingToken token = store_.record(key_).token;
  const std::size_t before = requests();
  ASSERT_TRUE(std::holds_alternative<Applied>(store_.requestStepDown(key_, token)));
  EXPECT_TRUE(store_.apply(renew(key_, "a", {version})).stepDownRequested);
  EXPECT_EQ(methodsSince(before), (Methods{"PUT", "PUT"})) << "the term is still known";
}

TEST_F(KubernetesWrites, aSuccessThatDoesNotShowTheWriteIsUnknown) {
  const RecordVersion version = take();
  std::string before;
  {
    const std::lock_guard lock{api_->mutex};
    before = api_->server.handle("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/lease", "").body;
  }
  // What the server would answer, changed in one place.
  const auto lie = [&](const std::function<void(boost::json::object&)>& change) {
    gateway_->setFault([=](const Request& request, const auto& server) -> Outcome {
      if (request.method != "PUT") return replied(server());
      boost::json::object shown = boost::json::parse(request.body).get_object();
      shown["metadata"].get_object()["resourceVersion"] = "999";
      change(shown);
      return Reply{200, boost::json::serialize(shown)};
    });
    return store_.write(renew(key_, "a", {version}));
  };
  const auto annotation = [](const char* name, const char* text) {
    return [=](boost::json::object& lease) {
      lease["metadata"].get_object()["annotations"].get_object()[std::string{"tenure.dev/"} + name] = text;
    };
  };
  const auto meta = [](const char* name, const char* text) {
    return [=](boost::json::object& lease) { lease["metadata"].get_object()[name] = text; };
  };
  for (const auto& change : std::vector<std::function<void(boost::json::object&)>>{
           annotation("version", "another"), annotation("token", "7"), annotation("lease-ms", "1"),
           annotation("spec", "another"), annotation("holder", "b"), annotation("released", "true"),
           annotation("step-down", "7"), annotation("data", "eA=="), annotation("layout", "2"), meta("uid", "another"),
           meta("resourceVersion", "1"), meta("name", "another"),
           [](boost::json::object& lease) { lease["spec"] = boost::json::object{}; },
           [](boost::json::object& lease) { lease["spec"].get_object()["strategy"] = "x"; }}) {
    const WriteOutcome outcome = lie(change);
    EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << contract::describe(outcome);
  }
  for (const std::string& body : {std::string{"{}"}, std::string{}, std::string{"ok"}, before}) {
    answer("PUT", {200, body});
    const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
    EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << body << ": " << contract::describe(outcome);
  }
  gateway_->setFault({});
  EXPECT_EQ(store_.record(key_).version, version);
}

/// The store neither believes it nor takes the Lease for absent.
TEST_F(KubernetesWrites, anAnswerToAReadThatIsNoneIsNotUnderstood) {
  static_cast<void>(take());
  const auto other = another();
  for (const ApiAnswer& none :
       {ApiAnswer{404, "404 page not found"}, ApiAnswer{404, ""},
        ApiServer::failure(404, "NotFound", "namespaces \"default\" not found", "default", "namespaces"),
        ApiServer::failure(404, "NotFound", "not found", "another"), ApiAnswer{200, "{}"}, ApiAnswer{200, ""},
        ApiAnswer{200, R"({"kind":"LeaseList","metadata":{"resourceVersion":"1"},"items":[]})"}, ApiAnswer{204, ""}}) {
    answer("GET", none);
    EXPECT_TRUE(store_.startRead(key_)->get().has_error()) << none.body;
  }
}

TEST_F(KubernetesWrites, withoutAnAnswerAWriteIsUnknownUnlessNothingWasSent) {
  const RecordVersion version = take();
  for (const bool sent : {true, false}) {
    gateway_->setFault([sent](const Request&, const auto&) -> Outcome {
      return CallFault{{ErrorClass::transient, "cut"}, sent};
    });
    const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
    EXPECT_EQ(std::holds_alternative<Unknown>(outcome), sent) << contract::describe(outcome);
    EXPECT_EQ(std::holds_alternative<Rejected>(outcome), !sent) << contract::describe(outcome);
  }
}

TEST_F(KubernetesWrites, rejectionsAndDoubtAreToldApart) {
  const RecordVersion version = take();
  for (const int status : {400, 401, 403, 404, 405, 413, 415, 422, 429}) {
    answer("PUT", ApiServer::failure(status, "Reason", "words"));
    const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
    EXPECT_TRUE(std::holds_alternative<Rejected>(outcome)) << status << contract::describe(outcome);
  }
  for (const int status : {500, 502, 503, 504}) {
    answer("PUT", ApiServer::failure(status, "Reason", "words"));
    const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
    EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << status << contract::describe(outcome);
  }
  gateway_->setFault({});
  store_.apply(renew(key_, "a", {version}));
}

/// Something before the server repeats a request whose answer was lost: its first copy was carried out.
TEST_F(KubernetesWrites, aWriteWhoseCopyWasCarriedOutIsSeenByItsVersion) {
  const RecordVersion version = take();
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.method == "PUT") static_cast<void>(server());
    return replied(server());
  });
  const WriteRequest beat = renew(key_, "a", {version});
  const WriteOutcome outcome = store_.write(beat);
  const auto* conflict = std::get_if<Conflict>(&outcome);
  ASSERT_NE(conflict, nullptr) << contract::describe(outcome);
  EXPECT_EQ((*conflict->current)->version, beat.record.version) << "its holder knows it as its own";
}

/// A proxy sends a PUT again where the first one seemed to be lost, because a PUT may be repeated.
TEST_F(KubernetesWrites, aConflictIsNoRejectionWhileNobodyKnowsWhatIsStored) {
  const RecordVersion version = take();
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.method != "PUT") return replied({429, "Too many requests, please try again later."});
    static_cast<void>(server());
    return replied(server());
  });
  const WriteRequest beat = renew(key_, "a", {version});
  const WriteOutcome outcome = store_.write(beat);
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << contract::describe(outcome);
  EXPECT_EQ(another().record(key_).version, beat.record.version);
}

/// The last conflict may be with its own first copy.
TEST_F(KubernetesWrites, whoGivesUpLooksAtWhatIsStoredFirst) {
  const RecordVersion version = take();
  int puts = 0;
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.method != "PUT") return replied(server());
    if (++puts < 4) label(std::to_string(puts));
    static_cast<void>(server());
    return replied(server());
  });
  const WriteRequest beat = renew(key_, "a", {version});
  const WriteOutcome outcome = store_.write(beat);
  EXPECT_TRUE(contract::isConflictWith(outcome, another().record(key_))) << contract::describe(outcome);
  EXPECT_EQ(another().record(key_).version, beat.record.version);
}

TEST_F(KubernetesWrites, aDoubtfulCreationMeansThatTheAcquisitionWasNotCarriedOut) {
  std::string late;
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.method != "POST") return replied(server());
    late = request.body;
    return CallFault{{ErrorClass::transient, "cut"}, true};
  });
  const WriteOutcome outcome = store_.write(acquire(key_, "a"));
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcome)) << contract::describe(outcome);
  gateway_->setFault({});
  {
    const std::lock_guard lock{api_->mutex};
    EXPECT_EQ(api_->server.handle("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", late).status, 201);
  }
  EXPECT_EQ(store_.read(key_), std::nullopt) << "it has no record, whenever it comes";
  store_.apply(acquire(key_, "a"));
}

/// A PUT to an object that is gone creates it, unless it names the object's uid.
TEST_F(KubernetesWrites, noWriteThatComesLateIsCarriedOutAfterADeletion) {
  std::vector<Request> copies;
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.method == "PUT") copies.push_back(request);
    return replied(server());
  });
  WriteRequest mine = acquire(key_, "a");
  store_.apply(mine);
  const WriteRequest beat = renew(key_, "a", {mine.record.version});
  store_.apply(beat);
  store_.apply(release(key_, "a", {beat.record.version}));
  ASSERT_EQ(copies.size(), 3U);
  erase();
  const std::lock_guard lock{api_->mutex};
  for (int round = 0; round < 2; ++round) {
    for (const Request& copy : copies) EXPECT_EQ(api_->server.handle(copy.method, copy.target, copy.body).status, 409);
    if (round == 1) break;
    EXPECT_TRUE(api_->server.leases().empty());
    const std::string made = creationText({"default"}, key_, {});
    static_cast<void>(api_->server.handle("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", made));
  }
}

TEST_F(KubernetesWrites, aRenewalAfterADeletionCreatesNothing) {
  const RecordVersion version = take();
  erase();
  const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
  EXPECT_TRUE(contract::isConflictWith(outcome, std::nullopt));
  EXPECT_EQ(store_.read(key_), std::nullopt);
}

/// Whoever deletes the Lease, and however many candidates take it in between: without a companion object.
TEST_F(KubernetesWrites, tokensRiseOverEveryDeletion) {
  const auto other = another();
  FencingToken last;
  for (int round = 0; round < 50; ++round) {
    const contract::StoreCalls& by = round % 2 == 0 ? store_ : other;
    const FencingToken token = by.apply(acquire(key_, "a")).token;
    EXPECT_GT(token, last) << round;
    last = token;
    if (round % 5 == 0) {
      const FencingToken next = other.apply(acquire(key_, "b", {other.record(key_).version})).token;
      EXPECT_GT(next, last);
      last = next;
    }
    erase();
  }
}

/// It saw that there is no Lease, and somebody else has had it and lost it since.
TEST_F(KubernetesWrites, tokensRiseAlsoForWhomTheLeaseWasAbsentBeforeAnotherHadIt) {
  const auto other = another();
  std::future<FencingToken> between;
  bool first = true;
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.method == "POST" && std::exchange(first, false)) {
      // On a thread of its own: this one serves the other store too.
      between = std::async(std::launch::async, [&] { return other.apply(acquire(key_, "b")).token; });
      return CallFault{{ErrorClass::transient, "not sent"}, false};
    }
    return replied(server());
  });
  static_cast<void>(store_.write(acquire(key_, "a")));
  const FencingToken theirs = between.get();
  erase();
  EXPECT_GT(store_.apply(acquire(key_, "a")).token, theirs);
}

TEST_F(KubernetesWrites, aReportedTokenIsMeasuredFromTheRevisionWhereTheLeaseIsNew) {
  WriteRequest first = acquire(key_, "b");
  first.tokenFloor = FencingToken{maxReportedStep};
  EXPECT_EQ(store_.apply(first).token, first.tokenFloor.next());
}

TEST_F(KubernetesWrites, anOperatorsTokenIsUnknownWhereItsObjectWasPerhapsCreated) {
  answer("POST", ApiServer::failure(504, "Timeout", "words"), true);
  const WriteOutcome outcome = store_.setTokens(key_, StoredTokens{}, 17);
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << contract::describe(outcome);
  gateway_->setFault({});
  EXPECT_EQ(store_.tokens(key_).counter, "17");
}

TEST_F(KubernetesWrites, payloadsThatNoObjectHasRoomForAreRefusedBefore) {
  const std::string most(std::size_t{168} << 10U, 'x');
  EXPECT_TRUE(store_.raw().faultsOfPayload(key_, most, {}).empty());
  EXPECT_EQ(store_.raw().faultsOfPayload(key_, most + 'x', {}).size(), 1U);
  EXPECT_EQ(store_.raw().faultsOfPayload(key_, most, {{"a", ""}}).size(), 1U);
}

TEST_F(KubernetesWrites, listsManyLeasesInPages) {
  for (int i = 0; i < 230; ++i) store_.apply(acquire({"lease-" + std::to_string(1000 + i)}, "a"));
  const auto pages = store_.listPages("lease-");
  ASSERT_EQ(pages.size(), 3U);
  EXPECT_EQ(pages[0].leases.size(), 100U);
  EXPECT_EQ(pages[2].leases.size(), 30U);
}

TEST_F(KubernetesWrites, aListingGoesOnWhereItsMomentIsForgotten) {
  for (int i = 0; i < 230; ++i) store_.apply(acquire({"lease-" + std::to_string(1000 + i)}, "a"));
  gateway_->setFault([&](const Request& request, const auto& server) -> Outcome {
    if (request.target.find("continue=") != std::string::npos) {
      const std::lock_guard lock{api_->mutex};
      api_->server.edit("lease-1000", [](auto& lease) { lease["spec"].get_object()["leaseTransitions"] = 9; });
      api_->server.forgetHistory();
    }
    return replied(server());
  });
  EXPECT_EQ(store_.listKeys("lease-").size(), 230U);
}

/// The same page again and again, empty ones, and a moment that is forgotten again and again.
TEST_F(KubernetesWrites, aListingThatLeadsNowhereEnds) {
  for (int i = 0; i < 5; ++i) store_.apply(acquire({"lease-" + std::to_string(1000 + i)}, "a"));
  std::string last;
  gateway_->setFault([&](const Request&, const auto& server) -> Outcome {
    last = server().body;
    return Reply{200, last};
  });
  ASSERT_EQ(store_.listKeys("lease-").size(), 5U);
  boost::json::value same = boost::json::parse(last), empty = same;
  for (auto* each : {&same, &empty}) each->at("metadata").as_object()["continue"] = "more";
  empty.as_object()["items"].emplace_array();
  const std::string forgotten = R"({"kind":"Status","status":"Failure","code":410,"reason":"Expired",)"
                                R"("metadata":{"continue":"more"}})";
  for (const auto& [status, body] : {std::pair{200, serialize(same)}, {200, serialize(empty)}, {410, forgotten}}) {
    int asked = 0;
    gateway_->setFault([&, status = status, body = body](const Request&, const auto&) -> Outcome {
      ++asked;
      return Reply{status, body};
    });
    EXPECT_TRUE(store_.startList("lease-")->get().has_error()) << body;
    EXPECT_LE(asked, 2) << body;
  }
}

/// Each page leads on, and there is no last one.
TEST_F(KubernetesWrites, LongRunOfPagesWithoutAnEndEnds) {
  store_.apply(acquire({"lease-1000"}, "a"));
  boost::json::value page;
  int asked = 0;
  gateway_->setFault([&](const Request&, const auto& server) -> Outcome {
    if (asked == 0) page = boost::json::parse(server().body);
    page.at("metadata").as_object()["continue"] = "more";
    page.at("items").at(0).at("metadata").at("name") = "lease-" + std::to_string(100'000 + ++asked);
    return Reply{200, serialize(page) + std::string(16U << 20U, ' ')};
  });
  const ListOutcome outcome = store_.startList("lease-")->get();
  ASSERT_TRUE(outcome.has_error());
  EXPECT_NE(outcome.error().message.find("256 MiB"), std::string::npos) << outcome.error().message;
  EXPECT_LE(asked, 17);
}

TEST_F(KubernetesWrites, theUsersRightsAreAskedForOnce) {
  EXPECT_TRUE(store_.startEnsureSchema()->get().has_value());
  const auto with = [&](const std::string& verbs, bool incomplete) {
    const std::lock_guard lock{api_->mutex};
    api_->server.setVerbs(verbs, incomplete);
  };
  with(R"("get","watch")", false);
  const StoreStatus lacking = store_.startEnsureSchema()->get();
  ASSERT_TRUE(lacking.has_error());
  EXPECT_EQ(lacking.error().errorClass, ErrorClass::credentials);
  EXPECT_NE(lacking.error().message.find("may not update leases"), std::string::npos) << lacking.error().message;
  with("", false);
  EXPECT_NE(store_.startEnsureSchema()->get().error().message.find("may not get, update"), std::string::npos);
  with("", true);
  EXPECT_TRUE(store_.startEnsureSchema()->get().has_value()) << "there may be more";
  with(R"("*")", false);
  EXPECT_TRUE(store_.startEnsureSchema()->get().has_value());
  answer("POST", ApiServer::failure(403, "Forbidden", "words"));
  EXPECT_TRUE(store_.startEnsureSchema()->get().has_value()) << "not told";
  for (const ApiAnswer& none : {ApiServer::failure(401, "Unauthorized", "words"), ApiAnswer{403, "<html>"},
                                ApiAnswer{200, "{}"}, ApiServer::failure(503, "Unavailable", "words")}) {
    answer("POST", none);
    EXPECT_TRUE(store_.startEnsureSchema()->get().has_error()) << none.body;
  }
}

}  // namespace
}  // namespace tenure::kubernetes_store
