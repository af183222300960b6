// The document in a leader's record: how a term writes it, and what each writer is told (I8).
#include <gtest/gtest.h>

#include "election/src/term_handle.hpp"
#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// What became of one write.
struct Answers {
  std::vector<bool> all{};

  [[nodiscard]] DocumentWrites::Done done() {
    return [this](bool recorded) { all.push_back(recorded); };
  }
};

using Told = std::vector<bool>;

class LeaderDocuments : public testing::Test {
 protected:
  /// Why it was refused; empty: it was taken.
  std::string write(const Leadership& term, const std::string& text) {
    return handleOf(term).writeDocument(text, answers_.done()).value_or("");
  }
  [[nodiscard]] std::string stored() {
    const auto record = stage_.stored();
    return record ? record->data : "no record";
  }
  /// A candidate whose onRevoked writes how its work ended.
  [[nodiscard]] Candidate finisher(const std::string& name) {
    Listener listener;
    listener.onElected = [this](const Leadership& term) { term_ = term; };
    listener.onRevoked = [this](const TermEnd&) { EXPECT_EQ(write(*term_, "ended"), ""); };
    Candidate made = stage_.candidateWith(name, std::move(listener));
    made->start();
    EXPECT_TRUE(stage_.advanceUntil([&] { return made->isLeader() && term_; }));
    return made;
  }

  Stage stage_;
  Answers answers_;
  std::optional<Leadership> term_;
};

TEST_F(LeaderDocuments, aWriteIsOneRenewalAtOnce) {
  const Candidate a = stage_.leader("a");
  const std::size_t before = a.store->calls(Operation::renew);
  EXPECT_EQ(write(a.record->term(), "first"), "");
  EXPECT_EQ(answers_.all, Told{}) << "never inside the call";
  stage_.settle();
  EXPECT_EQ(answers_.all, Told{true});
  EXPECT_EQ(a.store->calls(Operation::renew), before + 1);
  EXPECT_EQ(stored(), "first");
  EXPECT_EQ(handleOf(a.record->term()).document(), "first");
  stage_.advance(3s);
  EXPECT_EQ(stored(), "first") << "later heartbeats keep it";
}

TEST_F(LeaderDocuments, theSuccessorFindsWhatTheLastTermLeft) {
  const Candidate a = stage_.leader("a");
  ASSERT_EQ(write(a.record->term(), "left"), "");
  stage_.settle();
  stage_.stop(a);
  const Candidate b = stage_.leader("b");
  EXPECT_EQ(handleOf(b.record->term()).document(), "left");
  EXPECT_EQ(stored(), "left");
  EXPECT_EQ(write(a.record->term(), "too late"), "the term is over");
}

TEST_F(LeaderDocuments, ofSeveralTheLastOneWinsAndEachIsTold) {
  const Candidate a = stage_.leader("a");
  for (const char* text : {"one", "two", "three"}) EXPECT_EQ(write(a.record->term(), text), "");
  stage_.settle();
  EXPECT_EQ(answers_.all, (Told{true, true, true}));
  EXPECT_EQ(stored(), "three");
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
    ASSERT_FALSE(handleOf(a.record->term()).writeDocument("text", answers.done()));
    ASSERT_TRUE(stage.advanceUntil([&] { return !answers.all.empty(); }, 2s));
    EXPECT_EQ(stage.stored()->data, "text");
    EXPECT_TRUE(a->isLeader());
    stage.advance(3s);
    EXPECT_EQ(answers.all, Told{true});
    EXPECT_EQ(stage.stored()->data, "text");
  }
}

TEST_F(LeaderDocuments, I8_AWriteThatNobodyAcknowledgesIsNeitherDoneNorFailedUntilTheTermEnds) {
  for (const Fault fault : {Fault::neverApplied, Fault::neverLost, Fault::rejected}) {
    SCOPED_TRACE(static_cast<int>(fault));
    Stage stage;
    Answers answers;
    const Candidate a = stage.leader("a");
    a.store->setAll(fault);
    ASSERT_FALSE(handleOf(a.record->term()).writeDocument("text", answers.done()));
    stage.advance(1s);
    EXPECT_EQ(answers.all, Told{});
    ASSERT_TRUE(stage.advanceUntil([&] { return a.record->count("revoked") == 1; }));
    EXPECT_EQ(answers.all, Told{false}) << "nobody knows";
    a.store->setAll(Fault::none);
  }
}

TEST_F(LeaderDocuments, aLostLeaseAnswersWithNotKnown) {
  const Candidate a = stage_.leader("a");
  stage_.usurp("mallory");
  ASSERT_EQ(write(a.record->term(), "text"), "");
  stage_.settle();
  EXPECT_EQ(answers_.all, Told{false});
  EXPECT_EQ(stored(), "");
}

TEST_F(LeaderDocuments, I9_WhatTheWorkWritesAsItEndsIsInTheRecordThatIsReleased) {
  const Candidate a = finisher("a");
  EXPECT_EQ(stage_.stop(a), ReleaseResult::released);
  EXPECT_EQ(answers_.all, Told{true});
  EXPECT_EQ(stored(), "ended");
  EXPECT_TRUE(stage_.stored()->released);
}

TEST_F(LeaderDocuments, I8_TheReleaseCarriesWhatNoRenewalCouldWrite) {
  const Candidate a = finisher("a");
  a.store->set(Operation::renew, Fault::rejected);
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
  EXPECT_EQ(answers_.all, Told{true});
  EXPECT_EQ(stored(), "ended");
}

TEST_F(LeaderDocuments, I8_AReleaseWhoseAnswerIsLostIsAnsweredByTheRecord) {
  const Candidate a = finisher("a");
  a.store->set(Operation::renew, Fault::rejected);
  a.store->set(Operation::release, Fault::unknownApplied);
  a->requestStop();
  stage_.settle();
  EXPECT_EQ(answers_.all, Told{});
  a.store->set(Operation::release, Fault::none);
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
  EXPECT_EQ(answers_.all, Told{true});
  EXPECT_EQ(stored(), "ended");
}

TEST_F(LeaderDocuments, anElectorThatSteppedDownHasWrittenItsEndToo) {
  const Candidate a = finisher("a");
  a->stepDown();
  stage_.settle();
  EXPECT_EQ(answers_.all, Told{true});
  EXPECT_EQ(stored(), "ended");
}

TEST_F(LeaderDocuments, nothingIsTakenOnceTheElectorIsGone) {
  std::optional<Leadership> term;
  {
    const Candidate a = stage_.leader("a");
    term = a.record->term();
    a.store->setAll(Fault::neverLost);
    ASSERT_EQ(write(*term, "text"), "");
  }
  EXPECT_EQ(answers_.all, Told{false});
  EXPECT_EQ(write(*term, "text"), "the term is over");
}

/// A store with a limit for data.
class NarrowStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& /*key*/, const std::string& data,
                                             const std::map<std::string, std::string>& /*attributes*/) const override {
    if (data.size() <= 8) return {};
    return {{"data", "is too long"}};
  }
};

TEST_F(LeaderDocuments, whatTheStoreCanNeverKeepIsRefusedAndTheTermGoesOn) {
  Record record;
  LeaderElector a{stage_.group("a", std::make_shared<NarrowStore>(stage_.memory)), record.terms(), stage_.runtime()};
  a.start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return record.count("elected") == 1; }));
  EXPECT_EQ(write(record.term(), "much too long"), "is too long");
  EXPECT_EQ(handleOf(record.term()).document(), "");
  EXPECT_EQ(write(record.term(), "short"), "");
  stage_.advance(1s);
  EXPECT_EQ(answers_.all, Told{true});
  EXPECT_TRUE(a.isLeader());
  stage_.drive<ReleaseResult>([&] { return a.stop(); });
}

}  // namespace
}  // namespace tenure::test
