// The document in a leader's record: how a term changes it, and what each writer is told (I8).
#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "election/src/term_handle.hpp"
#include "election/stage.hpp"
#include "lockcore/port/extended_store.hpp"
#include "support/data_refusing_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

using Kind = DocumentAnswer::Kind;
using Told = std::vector<Kind>;
constexpr Kind recorded = Kind::recorded;
constexpr Kind refused = Kind::refused;
constexpr Kind unknown = Kind::unknown;

/// What became of the changes. Thread-safe.
class Answers {
 public:
  [[nodiscard]] DocumentWrites::Done done() {
    return [this](const DocumentAnswer& answer) {
      const std::lock_guard lock{mutex_};
      all_.push_back(answer.kind);
      why_ = answer.why;
    };
  }
  [[nodiscard]] Told all() const {
    const std::lock_guard lock{mutex_};
    return all_;
  }
  /// Of the last one.
  [[nodiscard]] std::string why() const {
    const std::lock_guard lock{mutex_};
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  Told all_{};
  std::string why_{};
};

/// The change that puts `text` in the place of whatever is there.
DocumentWrites::Change replacedBy(const std::string& text) {
  return [text](const std::string& /*before*/) -> StoreResult<std::string> { return text; };
}

DocumentWrites::Change appended(const std::string& text) {
  return [text](const std::string& before) -> StoreResult<std::string> { return before + text; };
}

class LeaderDocuments : public testing::Test {
 protected:
  void write(const Leadership& term, const std::string& text) {
    handleOf(term).updateDocument(replacedBy(text), answers_.done());
  }
  void append(const Leadership& term, const std::string& text) {
    handleOf(term).updateDocument(appended(text), answers_.done());
  }
  [[nodiscard]] std::string stored() {
    const auto record = stage_.stored();
    return record ? record->data : "no record";
  }
  /// A candidate whose onRevoked writes how its work ended.
  [[nodiscard]] Candidate finisher(const std::string& name) {
    Listener listener;
    listener.onElected = [this](const Leadership& term) { term_ = term; };
    listener.onRevoked = [this](const TermEnd&) { write(*term_, "ended"); };
    Candidate made = stage_.candidateWith(name, std::move(listener));
    made->start();
    EXPECT_TRUE(stage_.advanceUntil([&] { return made->isLeader() && term_; }));
    return made;
  }
  /// Answers that come on a thread of the library.
  [[nodiscard]] bool told(const Told& all) {
    return eventually([&] { return answers_.all() == all; });
  }

  Stage stage_;
  Answers answers_;
  std::optional<Leadership> term_;
};

const std::string ours = R"({"tenure":1,"noted":1})";

TEST_F(LeaderDocuments, anElectorThatContinuesAViewKnowsTheLastTermOfThatOne) {
  EXPECT_EQ(stage_.stop(stage_.leader("c")), ReleaseResult::released);
  Candidate a = stage_.candidate("a");
  const ElectorView view = a->view();
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader() && a.record->count("elected") == 1; }));
  write(a.record->term(), ours);
  stage_.settle();
  ASSERT_EQ(stored(), ours);
  stage_.stop(a);
  a.elector.reset();
  StoredTokens tokens;
  extended(stage_.memory)->readTokens(stage_.key, {}, [&](const auto& answer) { tokens = answer.value(); });
  stage_.settle();
  extended(stage_.memory)->setTokens(stage_.key, tokens, FencingToken{1}, {}, [](const WriteOutcome&) {});
  stage_.settle();
  const Candidate b = stage_.candidate("b");
  static_cast<void>(b->view(view));
  b->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return b->isLeader() && b.record->count("elected") == 1; }));
  EXPECT_EQ(b->fencingToken(), FencingToken{3}) << "no token comes twice, though an older copy was put back";
  const DocumentWrites::Origin origin = handleOf(b.record->term()).origin();
  EXPECT_EQ(origin.known, ours);
  EXPECT_EQ(origin.last, FencingToken{2});
  EXPECT_TRUE(origin.term.inherited);
}

TEST_F(LeaderDocuments, dataOfSomebodyElseAreNotTakenForWhatTheLastTermWrote) {
  DocumentWrites writes{stage_.key, {}, {}, {}, {}};
  writes.begin(FencingToken{1}, ours);
  writes.begin(FencingToken{2}, "theirs");
  writes.begin(FencingToken{3}, "");
  EXPECT_EQ(writes.origin(FencingToken{3}).known, ours);
  writes.close();
  EXPECT_EQ(writes.left(stage_.key).known, ours);
  EXPECT_EQ(writes.left(stage_.key).last, FencingToken{3});
}

TEST_F(LeaderDocuments, aTermThatStillEndsIsTheLastAndOnlyOfItsLease) {
  DocumentWrites writes{stage_.key, {}, {}, {}, {}};
  writes.begin(FencingToken{1}, "");
  writes.begin(FencingToken{2}, ours);
  EXPECT_EQ(writes.left(stage_.key).known, ours);
  EXPECT_EQ(writes.left(stage_.key).last, FencingToken{2});
  EXPECT_TRUE(writes.left({"another"}).last.isNone());
  EXPECT_EQ(writes.left({"another"}).known, "");
}

TEST_F(LeaderDocuments, aWriteIsOneRenewalAtOnce) {
  const Candidate a = stage_.leader("a");
  const std::size_t before = a.store->calls(Operation::renew);
  write(a.record->term(), "first");
  EXPECT_EQ(answers_.all(), Told{}) << "never inside the call";
  stage_.settle();
  EXPECT_EQ(answers_.all(), Told{recorded});
  EXPECT_EQ(a.store->calls(Operation::renew), before + 1);
  EXPECT_EQ(stored(), "first");
  EXPECT_EQ(handleOf(a.record->term()).document(), "first");
  stage_.advance(3s);
  EXPECT_EQ(stored(), "first") << "later heartbeats keep it";
}

TEST_F(LeaderDocuments, theSuccessorFindsWhatTheLastTermLeft) {
  const Candidate a = stage_.leader("a");
  write(a.record->term(), "left");
  stage_.settle();
  stage_.stop(a);
  const Candidate b = stage_.leader("b");
  EXPECT_EQ(handleOf(b.record->term()).document(), "left");
  EXPECT_EQ(stored(), "left");
  write(a.record->term(), "too late");
  EXPECT_TRUE(told({recorded, unknown}));
  EXPECT_EQ(answers_.why(), "the term is over");
}

TEST_F(LeaderDocuments, severalWritersOfOneTermLoseNothing) {
  const Candidate a = stage_.leader("a");
  for (const char* text : {"one ", "two ", "three"}) append(a.record->term(), text);
  stage_.settle();
  EXPECT_EQ(answers_.all(), (Told{recorded, recorded, recorded}));
  EXPECT_EQ(stored(), "one two three");
}

TEST_F(LeaderDocuments, whatIsAskedForWhileAWriteIsUnderWayGoesTogetherWithTheNextOne) {
  const Candidate a = stage_.leader("a");
  const std::size_t before = a.store->calls(Operation::renew);
  a.store->delayBy(100ms);
  a.store->failAt(a.store->calls() + 1, Fault::answeredLate);
  append(a.record->term(), "a");
  stage_.settle();
  for (int i = 0; i < 1'000; ++i) append(a.record->term(), "b");
  stage_.settle();
  EXPECT_EQ(a.store->calls(Operation::renew), before + 1) << "one at a time";
  stage_.advance(101ms);
  EXPECT_EQ(a.store->calls(Operation::renew), before + 2);
  EXPECT_EQ(answers_.all(), Told(1'001, recorded));
  EXPECT_EQ(stored(), "a" + std::string(1'000, 'b'));
}

TEST_F(LeaderDocuments, aChangeThatIsAskedForInsideAnAnswerIsTheNextWrite) {
  const Candidate a = stage_.leader("a");
  handleOf(a.record->term()).updateDocument(appended("a"), [&](const DocumentAnswer& first) {
    EXPECT_EQ(first.kind, recorded);
    append(a.record->term(), "b");
    EXPECT_EQ(answers_.all(), Told{}) << "never inside the call";
  });
  stage_.settle();
  EXPECT_EQ(answers_.all(), Told{recorded});
  EXPECT_EQ(stored(), "ab");
}

TEST_F(LeaderDocuments, aChangeThatSaysNoChangesNothingAndTheOthersGoOn) {
  const Candidate a = stage_.leader("a");
  append(a.record->term(), "a");
  const auto no = [](const std::string&) -> StoreResult<std::string> {
    return StoreError{ErrorClass::corrupt, "not mine"};
  };
  handleOf(a.record->term()).updateDocument(no, answers_.done());
  append(a.record->term(), "b");
  stage_.settle();
  EXPECT_EQ(answers_.all(), (Told{refused, recorded, recorded}));
  EXPECT_EQ(stored(), "ab");
}

TEST_F(LeaderDocuments, whatUsersThrowIsLoggedAndHarmsNobody) {
  const Candidate a = stage_.leader("a");
  const auto throws = [](const std::string&) -> StoreResult<std::string> { throw std::runtime_error{"a bad change"}; };
  handleOf(a.record->term()).updateDocument(throws, answers_.done());
  handleOf(a.record->term()).updateDocument(appended("a"), [](const DocumentAnswer&) {
    throw std::runtime_error{"a bad handler"};
  });
  append(a.record->term(), "b");
  stage_.settle();
  EXPECT_EQ(answers_.all(), (Told{refused, recorded}));
  EXPECT_EQ(stored(), "ab");
  EXPECT_TRUE(stage_.logged("a bad change"));
  EXPECT_TRUE(stage_.logged("a bad handler"));
  EXPECT_TRUE(a->isLeader());
}

TEST_F(LeaderDocuments, changesAreNoProgressOfTheWork) {
  const Candidate a = stage_.leader("a", [](GroupOptions& options) { options.lease.progressTimeout = 5s; });
  for (int second = 0; second < 8; ++second) {
    write(a.record->term(), std::to_string(second));
    stage_.advance(1s);
  }
  EXPECT_EQ(a.record->count("revoked"), 1);
  EXPECT_NE(a.record->why().detail.find("no progress"), std::string::npos) << a.record->why().detail;
}

TEST_F(LeaderDocuments, nothingBeginsOnceAllIsClosed) {
  const auto documents = std::make_shared<DocumentWrites>(stage_.key, Logger{}, stage_.memory,
                                                          std::weak_ptr<LeaseDriver>{}, DocumentWrites::Origin{});
  documents->close();
  documents->begin(FencingToken{1}, "text");
  EXPECT_EQ(documents->text(FencingToken{1}), "");
  documents->update(FencingToken{1}, replacedBy("more"), answers_.done());
  EXPECT_TRUE(told({unknown}));
}

TEST_F(LeaderDocuments, theNextTermAnswersWhatTheOneBeforeAskedFor) {
  const auto documents = std::make_shared<DocumentWrites>(stage_.key, Logger{}, stage_.memory,
                                                          std::weak_ptr<LeaseDriver>{}, DocumentWrites::Origin{});
  documents->begin(FencingToken{1}, "");
  documents->update(FencingToken{1}, replacedBy("text"), answers_.done());
  EXPECT_EQ(answers_.all(), Told{});
  documents->begin(FencingToken{2}, "");
  EXPECT_EQ(answers_.all(), Told{unknown});
}

TEST_F(LeaderDocuments, I8_WhateverBecomesOfOneCallTheWriterIsToldTheTruthOnce) {
  for (const Fault fault :
       {Fault::throws, Fault::throwsApplied, Fault::rejected, Fault::unknownApplied, Fault::unknownLost,
        Fault::conflict, Fault::conflictHidden, Fault::neverApplied, Fault::neverLost, Fault::answeredTwice}) {
    SCOPED_TRACE(static_cast<int>(fault));
    Stage stage;
    Answers answers;
    const Candidate a = stage.leader("a");
    a.store->failAt(a.store->calls() + 1, fault);
    handleOf(a.record->term()).updateDocument(replacedBy("text"), answers.done());
    ASSERT_TRUE(stage.advanceUntil([&] { return !answers.all().empty(); }, 2s));
    EXPECT_EQ(stage.stored()->data, "text");
    EXPECT_TRUE(a->isLeader());
    stage.advance(3s);
    EXPECT_EQ(answers.all(), Told{recorded});
    EXPECT_EQ(stage.stored()->data, "text");
  }
}

TEST_F(LeaderDocuments, I8_AnUnacknowledgedWriteStaysOpenUntilTheTermEnds) {
  for (const Fault fault : {Fault::neverApplied, Fault::neverLost, Fault::rejected}) {
    SCOPED_TRACE(static_cast<int>(fault));
    Stage stage;
    Answers answers;
    const Candidate a = stage.leader("a");
    a.store->setAll(fault);
    handleOf(a.record->term()).updateDocument(replacedBy("text"), answers.done());
    stage.advance(1s);
    EXPECT_EQ(answers.all(), Told{});
    ASSERT_TRUE(stage.advanceUntil([&] { return a.record->count("revoked") == 1; }));
    EXPECT_EQ(answers.all(), Told{unknown}) << "nobody knows";
    a.store->setAll(Fault::none);
  }
}

TEST_F(LeaderDocuments, aLostLeaseAnswersWithNotKnown) {
  const Candidate a = stage_.leader("a");
  stage_.usurp("mallory");
  write(a.record->term(), "text");
  stage_.settle();
  EXPECT_EQ(answers_.all(), Told{unknown});
  EXPECT_EQ(stored(), "");
}

TEST_F(LeaderDocuments, I9_WhatTheWorkWritesAsItEndsIsInTheRecordThatIsReleased) {
  const Candidate a = finisher("a");
  EXPECT_EQ(stage_.stop(a), ReleaseResult::released);
  EXPECT_EQ(answers_.all(), Told{recorded});
  EXPECT_EQ(stored(), "ended");
  EXPECT_TRUE(stage_.stored()->released);
}

TEST_F(LeaderDocuments, I9_WhatTheWorkWritesAsItEndsDoesNotWaitForTheWriteUnderWay) {
  Listener listener;
  listener.onElected = [this](const Leadership& term) { term_ = term; };
  listener.onRevoked = [this](const TermEnd&) { append(*term_, "ended"); };
  const Candidate a = stage_.candidateWith("a", std::move(listener));
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader() && term_; }));
  a.store->set(Operation::renew, Fault::rejected);
  append(*term_, "begun ");
  stage_.settle();
  EXPECT_EQ(answers_.all(), Told{});
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
  EXPECT_EQ(answers_.all(), (Told{recorded, recorded}));
  EXPECT_EQ(stored(), "begun ended");
}

TEST_F(LeaderDocuments, I8_TheReleaseCarriesWhatNoRenewalCouldWrite) {
  const Candidate a = finisher("a");
  a.store->set(Operation::renew, Fault::rejected);
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
  EXPECT_EQ(answers_.all(), Told{recorded});
  EXPECT_EQ(stored(), "ended");
}

TEST_F(LeaderDocuments, I8_AReleaseWhoseAnswerIsLostIsAnsweredByTheRecord) {
  const Candidate a = finisher("a");
  a.store->set(Operation::renew, Fault::rejected);
  a.store->set(Operation::release, Fault::unknownApplied);
  a->requestStop();
  stage_.settle();
  EXPECT_EQ(answers_.all(), Told{});
  a.store->set(Operation::release, Fault::none);
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
  EXPECT_EQ(answers_.all(), Told{recorded});
  EXPECT_EQ(stored(), "ended");
}

TEST_F(LeaderDocuments, anElectorThatSteppedDownHasWrittenItsEndToo) {
  const Candidate a = finisher("a");
  a->stepDown();
  stage_.settle();
  EXPECT_EQ(answers_.all(), Told{recorded});
  EXPECT_EQ(stored(), "ended");
}

TEST_F(LeaderDocuments, nothingIsTakenOnceTheElectorIsGone) {
  std::optional<Leadership> term;
  {
    const Candidate a = stage_.leader("a");
    term = a.record->term();
    a.store->setAll(Fault::neverLost);
    write(*term, "text");
  }
  EXPECT_EQ(answers_.all(), Told{unknown});
  write(*term, "text");
  EXPECT_TRUE(told({unknown, unknown}));
}

TEST_F(LeaderDocuments, whatTheStoreCanNeverKeepIsRefusedAndTheTermGoesOn) {
  Record record;
  LeaderElector a{stage_.group("a", std::make_shared<NarrowStore>(stage_.memory)), record.terms(), stage_.runtime()};
  a.start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return record.count("elected") == 1; }));
  write(record.term(), "much too long");
  write(record.term(), "short");
  stage_.advance(1s);
  EXPECT_EQ(answers_.all(), (Told{refused, recorded}));
  EXPECT_EQ(stored(), "short");
  EXPECT_TRUE(a.isLeader());
  stage_.drive<ReleaseResult>([&] { return a.stop(); });
}

TEST_F(LeaderDocuments, whatTheStoreRefusesForGoodIsRefusedAndTheTermGoesOn) {
  Record record;
  const auto narrow = std::make_shared<DataRefusingStore>(stage_.memory, stage_.clock, 8);
  LeaderElector a{stage_.group("a", narrow), record.terms(), stage_.runtime()};
  a.start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return record.count("elected") == 1; }));
  write(record.term(), "short");
  stage_.settle();
  append(record.term(), " and much too long");
  stage_.settle();
  EXPECT_EQ(answers_.all(), (Told{recorded, refused}));
  EXPECT_EQ(answers_.why(), "the item is full");
  EXPECT_EQ(handleOf(record.term()).document(), "short");
  stage_.advance(20s);
  append(record.term(), "er");
  stage_.settle();
  EXPECT_EQ(answers_.all(), (Told{recorded, refused, recorded}));
  EXPECT_EQ(stored(), "shorter");
  EXPECT_EQ(record.lines(), std::vector<std::string>{"elected 1"});
  EXPECT_EQ(stage_.drive<ReleaseResult>([&] { return a.stop(); }), ReleaseResult::released);
}

/// It is in the record, but its answer is late. The release carries more, and the store has no room for that.
TEST_F(LeaderDocuments, I8_AWriteThatAnotherOneHasJoinedIsNotToldAsRefusedWithIt) {
  Listener listener;
  listener.onElected = [this](const Leadership& term) { term_ = term; };
  listener.onRevoked = [this](const TermEnd&) { append(*term_, " and much too long"); };
  const auto store =
      std::make_shared<FaultStore>(std::make_shared<DataRefusingStore>(stage_.memory, stage_.clock, 8), stage_.clock);
  LeaderElector a{stage_.group("a", store), std::move(listener), stage_.runtime()};
  a.start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return term_.has_value(); }));
  store->delayBy(100ms);
  store->set(Operation::renew, Fault::answeredLate);
  append(*term_, "short");
  stage_.settle();
  EXPECT_EQ(stage_.drive<ReleaseResult>([&] { return a.stop(); }, 10ms), ReleaseResult::released);
  EXPECT_EQ(answers_.all(), (Told{unknown, refused}));
  EXPECT_EQ(stored(), "short");
}

TEST_F(LeaderDocuments, whatTheStoreRefusesWhenTheWorkHasEndedDoesNotKeepTheLease) {
  Listener listener;
  listener.onElected = [this](const Leadership& term) { term_ = term; };
  listener.onRevoked = [this](const TermEnd&) { write(*term_, "ended"); };
  LeaderElector a{stage_.group("a", std::make_shared<DataRefusingStore>(stage_.memory, stage_.clock)),
                  std::move(listener), stage_.runtime()};
  a.start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return term_.has_value(); }));
  EXPECT_EQ(stage_.drive<ReleaseResult>([&] { return a.stop(); }), ReleaseResult::released);
  EXPECT_EQ(answers_.all(), Told{refused});
  EXPECT_EQ(stored(), "");
}

}  // namespace
}  // namespace tenure::test
